"""Which templates may be made, and of which Pods' texts; of what is known why not (C3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from selection_spec.rows import Row
from selection_spec.table import builtin_table
from webhook.controllers.claim_jobs import Done, Failure
from webhook.controllers.claim_texts import Refusal
from webhook.controllers.claim_words import (
    Cause,
    failed,
    forged,
    refused,
    unanswered,
    unknown_class,
)
from webhook.controllers.tables import TableHeld, loaded
from webhook.inventory.claim_needs import TemplateKey
from webhook.inventory.pod_facts import PodFacts

# Of the Pods that need one template, how many are asked for it in one job: usually the first has
# it, and what forged ones bring along is looked at once.
_ASKED = 100


@dataclass(frozen=True, slots=True)
class Judged:
    """What is to become of the templates that are missing.

    Attributes:
        askable: By template that may be made, the Pods that may bring along what it holds.
        causes: Why each of those that are missing is not there.
        classes: The DeviceClasses that templates may ask for.
    """

    askable: Mapping[TemplateKey, tuple[PodFacts, ...]]
    causes: Mapping[TemplateKey, Cause]
    classes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Known:
    """The DeviceClasses of all tables, and the tables that cannot be read."""

    classes: frozenset[str]
    unread: tuple[str, ...]


@dataclass(slots=True)
class Sources:
    """Remembers what Pods have brought along; no text is read twice while a Pod waits with it.

    Attributes:
        in_use: The name of the table that serves.
    """

    in_use: str
    _empty: set[tuple[str, str]] = field(default_factory=set)
    _refused: dict[TemplateKey, Refusal] = field(default_factory=dict)
    _classes: dict[str, frozenset[str]] = field(default_factory=dict)
    _builtin: frozenset[str] = field(default_factory=lambda: _classes_of(builtin_table().rows))

    def note(self, done: Done) -> None:
        """Remember what was found in the texts that a job has read."""
        self._empty.update(done.empty)
        for name, refusal in done.refused.items():
            self._refused[done.namespace, name] = refusal

    def judge(
        self,
        missing: Mapping[TemplateKey, tuple[PodFacts, ...]],
        tables: Mapping[str, TableHeld],
        failures: Mapping[TemplateKey, Failure],
    ) -> Judged:
        """Find for each missing template who may bring along what it is to hold.

        Args:
            missing: The Pods that need each.
            tables: The SelectionTables of the cluster, by name.
            failures: Why the API server refused to make some.
        """
        known = self._known(tables)
        self._keep(missing)
        askable: dict[TemplateKey, tuple[PodFacts, ...]] = {}
        causes: dict[TemplateKey, Cause] = {}
        for key, pods in missing.items():
            refusal = self._refused.get(key)
            if refusal is not None and refusal.classes in {None, known.classes}:
                causes[key] = _cause(refusal, known)
            elif asked := tuple(self._unread(key, pods)):
                askable[key] = asked
                causes[key] = failed(failures[key]) if key in failures else unanswered()
            else:
                causes[key] = forged()
        return Judged(askable, causes, known.classes)

    def _unread(self, key: TemplateKey, pods: Iterable[PodFacts]) -> Iterator[PodFacts]:
        """Yield Pods, each with another text, that may bring along what a template holds."""
        texts = {""}
        for pod in pods:
            if pod.claims not in texts and (pod.claims, key[1]) not in self._empty:
                texts.add(pod.claims)
                yield pod
                if len(texts) > _ASKED:
                    return

    def _keep(self, missing: Mapping[TemplateKey, tuple[PodFacts, ...]]) -> None:
        """Forget what was found for templates, or in texts, that nobody waits with any more."""
        self._refused = {key: one for key, one in self._refused.items() if key in missing}
        if self._empty:
            self._empty &= {(pod.claims, key[1]) for key, pods in missing.items() for pod in pods}

    def _known(self, tables: Mapping[str, TableHeld]) -> _Known:
        """Return the DeviceClasses of all tables, and the built-in one's where that serves.

        A table that cannot be read has those that it had: admission goes on with it, too.
        """
        known: dict[str, frozenset[str]] = {}
        unread = []
        for name, held in tables.items():
            table = loaded(held.text).table
            if table is not None:
                known[name] = _classes_of(table.rows)
                continue
            unread.append(name)
            if name in self._classes:
                known[name] = self._classes[name]
        if self.in_use not in tables:
            known[self.in_use] = self._builtin
        self._classes = known
        return _Known(frozenset().union(*known.values()), tuple(unread))


def _cause(refusal: Refusal, known: _Known) -> Cause:
    if refusal.classes is None:
        return refused(refusal.what)
    return unknown_class(refusal.what, known.unread)


def _classes_of(rows: Iterable[Row]) -> frozenset[str]:
    return frozenset(row.claim.device_class for row in rows if row.claim is not None)
