"""``gpuspec validate`` on a mixed tree, beside only reading its YAML with libyaml."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from statistics import median
from time import process_time
from typing import Any

import yaml

from selection_spec.documents import survey_manifests
from selection_spec.table import builtin_table
from tests.bench.figures import table
from tests.corpus_texts import corpus_texts
from webhook.admission.translate import Context
from webhook.advice.findings.validation import Source, validate
from webhook.cli.basis import Basis
from webhook.cli.priorities import Priorities
from webhook.cli.validate.judges import PodJudge
from webhook.inventory.priority_classes import PriorityClasses
from webhook.snapshot import Snapshot

TARGET = 500
"""Documents a second, on one core."""

_DOCUMENTS = 200
_FEWEST = 3
_READER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What a repository mostly holds beside Pods that want GPUs.
_OTHERS = """\
apiVersion: v1
kind: Service
metadata: {{name: service-{number}, labels: {{app: app-{number}, team: infrastructure}}}}
spec:
  type: ClusterIP
  selector: {{app: app-{number}}}
  ports:
    - {{name: http, port: 80, targetPort: 8080}}
    - {{name: metrics, port: 9090, targetPort: 9090}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{number}
  labels: {{app: app-{number}, team: infrastructure}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: app-{number}}}}}
  template:
    metadata:
      labels: {{app: app-{number}, team: infrastructure}}
    spec:
      containers:
        - name: main
          image: registry.example/app:{number}
          ports: [{{containerPort: 8080}}, {{containerPort: 9090}}]
          env:
            - {{name: LEVEL, value: info}}
            - {{name: REGION, valueFrom: {{configMapKeyRef: {{name: region, key: name}}}}}}
          readinessProbe: {{httpGet: {{path: /healthz, port: 8080}}, periodSeconds: 10}}
          resources:
            requests: {{cpu: 100m, memory: 128Mi}}
            limits: {{memory: 256Mi}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings-{number}}}
data:
  settings.toml: |
    [server]
    port = 8080
    workers = {number}
"""


@dataclass(frozen=True)
class Tree:
    """Texts of manifests."""

    name: str
    texts: tuple[bytes, ...]

    @property
    def documents(self) -> int:
        return sum(len(survey_manifests(text).documents) for text in self.texts)


def bench(seconds: float) -> None:
    """Measure and print every tree, for so many seconds each."""
    judge = _judge()
    lines = []
    for tree in trees():
        read, judged = _medians([partial(_read, tree), partial(_judged, tree, judge)], seconds)
        count = tree.documents
        size = sum(map(len, tree.texts)) / count / 1000
        rates = (f"{count / read:,.0f}", f"{count / judged:,.0f}", f"{judged / read:.1f}")
        lines.append((tree.name, f"{size:.1f}", *rates))
    print("Judging by the built-in table, documents a second of one core (median).\n")
    print(table(("", "KB each", "only read", "judged", "times"), lines))
    print(f"  target of the mixed tree: at least {TARGET} judged")


def trees() -> tuple[Tree, ...]:
    """Return a repository as they are, and one in which every file asks for devices."""
    corpus = [text for text in corpus_texts() if survey_manifests(text).documents]
    others = (_OTHERS.format(number=number).encode() for number in range(_DOCUMENTS))
    some = islice(cycle(corpus), _DOCUMENTS // 4)
    mixed = (*islice(others, _DOCUMENTS // 4), *some)
    return Tree("mixed", mixed), Tree("all ask for devices", tuple(corpus))


def _judge() -> PodJudge:
    found = builtin_table()
    return PodJudge(Basis(Snapshot(found), Priorities(found)), Context(), PriorityClasses())


def _read(tree: Tree) -> None:
    for text in tree.texts:
        try:
            list(yaml.load_all(text, Loader=_READER))
        except yaml.YAMLError:
            # What kubectl reads is not always what this reader reads.
            continue


def _judged(tree: Tree, judge: PodJudge) -> None:
    for number, text in enumerate(tree.texts):
        validate(Source(f"{number}.yaml", text), judge, judge.basis.snapshot.table)


def _medians(actions: Sequence[Callable[[], None]], seconds: float) -> list[float]:
    """Do all actions in turns and return the seconds of CPU that each takes."""
    took: list[list[float]] = [[] for _ in actions]
    end = process_time() + seconds * len(actions)
    while len(took[0]) < _FEWEST or process_time() < end:
        for times, action in zip(took, actions, strict=True):
            started = process_time()
            action()
            times.append(process_time() - started)
    return [median(times) for times in took]
