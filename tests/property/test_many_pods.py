"""Thousands of Pods as nobody would write them through ``decide``; every law holds for each."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import orjson
import pytest

from selection_spec.table import Table, load_table
from tests.builders import Json, make_review, pfn_table
from tests.property.generated import ROW_NAMES, VRAMS, claim, row
from tests.property.laws import check_answer
from tests.property.wild import generated_pod
from webhook.admission.decide import decide
from webhook.admission.reasons import Reason
from webhook.admission.translate import Verdict
from webhook.snapshot import Snapshot

PODS = 3000


def generated_table(seed: int, **spec: object) -> Table:
    """A table of seven rows, all of which have claims."""
    random = Random(seed)  # noqa: S311
    ids = random.sample([(name, vram) for name in ROW_NAMES for vram in VRAMS], 7)
    document = {
        "apiVersion": "gpuspec.preferred.jp/v1alpha1",
        "kind": "SelectionTable",
        "metadata": {"name": f"table-{seed}"},
        "spec": {
            "priorities": [{"classNames": ["high"], "policy": "SmallestFit"}],
            "devices": [
                {"name": name, "vram": f"{vram}gb", "claim": claim(number), **row(random)}
                for number, (name, vram) in enumerate(ids)
            ],
            **spec,
        },
    }
    return load_table(json.dumps(document))


def received(seed: int) -> Json:
    """The Pod as it is once it has come over the wire."""
    pod: Json = orjson.loads(json.dumps(generated_pod(seed)))
    return pod


# What becomes of tables, of workloads, of anything else that is no Pod's creation, and of classes
# on the command line.
_OF_OTHERS = {
    *(Reason.GOOD_TABLE, Reason.BAD_TABLE, Reason.TABLE_IN_USE, Reason.GOOD_WORKLOAD),
    *(Reason.OTHER_OPERATION, Reason.NO_SUCH_PRIORITY, Reason.NO_DEVICE_CLASS),
}


def _never(table: Table) -> set[Reason]:
    """What cannot happen to a Pod by a table: claims are denied what resources are not."""
    if not table.index.claims:
        return {Reason.NO_CLAIM_POSSIBLE}
    # Every claim is judged by itself there, so nothing has to fit together.
    return {Reason.NO_COMMON_DEVICE, Reason.TOO_MANY_FOR_A_NODE} if table.mixed_nodes else set()


TABLES = {
    "pfn": pfn_table(),
    **{f"seed {seed}": generated_table(seed) for seed in (1, 2, 3)},
    "claims": generated_table(4, output="ResourceClaim"),
    "mixed nodes": generated_table(5, output="ResourceClaim", mixedNodes=True),
}


@pytest.mark.rule("R2", "R3", "R4", "R6", "R8", "D8")
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_law_holds_for_every_pod(table: Table) -> None:
    snapshot = Snapshot(table)
    reasons: Counter[Reason] = Counter()
    for seed in range(PODS):
        pod = received(seed)
        decision = decide(make_review(pod), snapshot)
        reasons[decision.reason] += 1

        after = check_answer(pod, decision.answer["response"])

        if decision.outcome is Verdict.PATCHED:
            again = decide(make_review(after), snapshot)
            assert again.outcome is Verdict.UNCHANGED, seed
            assert "patch" not in again.answer["response"], seed
        assert received(seed) == pod
    print(dict(reasons.most_common()))
    assert reasons[Reason.TRANSLATED] >= PODS / 10
    assert reasons.keys() >= set(Reason) - _OF_OTHERS - _never(table)


def test_a_seed_is_a_pod() -> None:
    texts = [json.dumps(generated_pod(seed)) for seed in range(300)]

    assert texts == [json.dumps(generated_pod(seed)) for seed in range(300)]
    assert len(set(texts)) == 300
