"""The matcher that tests rely on says what the real scheduler does, Pod by Pod and node by node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from random import Random

import pytest

from tests.cluster.api import Api, Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.generated import generated_nodes, generated_pod
from tests.cluster.namespaces import create_namespace
from tests.cluster.pods import create_pod, wait_decided
from tests.cluster.versions import ON_NEWEST
from tests.matcher import admitting_nodes

pytestmark = ON_NEWEST

SEED = 20260
NODES = 40
PODS = 500
LEAST_SHARE = 0.2
NAMESPACE = "matcher"


@dataclass(frozen=True)
class Question:
    """A Pod for the scheduler, and the nodes that the matcher says it may go to."""

    pod: Json
    admitted: frozenset[str]

    @property
    def name(self) -> str:
        name: str = self.pod["metadata"]["name"]
        return name

    def contradicts(self, node: str | None) -> bool:
        """Whether the matcher and the scheduler's choice cannot both be right."""
        return bool(self.admitted) if node is None else node not in self.admitted


@pytest.fixture(scope="module")
def small_cluster(
    kubernetes: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlane, list[Json]]]:
    """A cluster that has the generated nodes and no others."""
    nodes = generated_nodes(Random(SEED), NODES)  # noqa: S311
    workdir = tmp_path_factory.mktemp(f"matcher-{kubernetes}-")
    with ControlPlane.start(kubernetes, nodes=nodes, workdir=workdir) as control_plane:
        create_namespace(control_plane.api, NAMESPACE)
        yield control_plane, nodes


def test_the_scheduler_agrees(small_cluster: tuple[ControlPlane, list[Json]]) -> None:
    """Each Pod is asked about alone, and tied to a node of its set and to one outside it.

    Alone, the scheduler must choose from the matcher's set, and find nothing when that is empty.
    Tied to one node, its answer is an exact yes or no about that node.
    """
    control_plane, nodes = small_cluster
    random = Random(SEED + 1)  # noqa: S311
    alone = [ask(nodes, f"pod-{number:03d}", random) for number in range(PODS)]
    tied = [tied_question for q in alone for tied_question in tie(q, nodes, random)]
    chosen = decisions(control_plane.api, [*alone, *tied])

    print(f"\nKubernetes {control_plane.version}, seed {SEED}, {NODES} nodes:")
    for what, questions in (("alone", alone), ("tied to one node", tied)):
        placed = sum(chosen[question.name] is not None for question in questions)
        print(f"  {len(questions)} Pods {what}: {placed} placed, {len(questions) - placed} nowhere")
        assert LEAST_SHARE <= placed / len(questions) <= 1 - LEAST_SHARE

    wrong = [q for q in (*alone, *tied) if q.contradicts(chosen[q.name])]
    told = [f"{chosen[q.name]} not in {sorted(q.admitted)}: {json.dumps(q.pod)}" for q in wrong]
    assert told == []


def ask(nodes: list[Json], name: str, random: Random) -> Question:
    names = [node["metadata"]["name"] for node in nodes]
    body = generated_pod(random, name, names)
    return Question(body, frozenset(admitting_nodes(nodes, body)))


def tie(question: Question, nodes: list[Json], random: Random) -> Iterator[Question]:
    """The same Pod for one node that admits it and one that does not, where there are such."""
    names = {node["metadata"]["name"] for node in nodes}
    for side in (question.admitted, names - question.admitted):
        if side:
            node = random.choice(sorted(side))
            body = deepcopy(question.pod)
            body["metadata"]["name"] += f"-on-{node}"
            body["spec"].setdefault("nodeSelector", {})["kubernetes.io/hostname"] = node
            yield Question(body, question.admitted & {node})


def decisions(api: Api, questions: list[Question]) -> dict[str, str | None]:
    """Where the scheduler put each Pod."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda question: create_pod(api, NAMESPACE, question.pod), questions))
    return wait_decided(api, NAMESPACE, [question.name for question in questions])
