"""What Pods bring along for ResourceClaimTemplates, and what of it may be made (semantics C3).

It is a user's text. Only what has its own hash for a name, and holds nothing but what admission
writes for a table of this cluster, is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from selection_spec.rows import Row
from selection_spec.table import builtin_table
from webhook.controllers.claim_jobs import Failure
from webhook.controllers.claim_words import Cause, failed, forged, refused, unanswered
from webhook.controllers.tables import TableHeld, loaded
from webhook.inventory.claim_needs import TemplateKey
from webhook.inventory.pod_facts import PodFacts
from webhook.kube.cluster import Json
from webhook.placement.templates import refusal, wanted
from webhook.terms import CLAIMS_ANNOTATION

_Text = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What is to become of the templates that are missing.

    Attributes:
        specs: The ResourceClaimSpecs of those that may be made.
        causes: Why each of them is not there.
    """

    specs: Mapping[TemplateKey, Json]
    causes: Mapping[TemplateKey, Cause]


@dataclass(slots=True)
class Sources:
    """Reads what Pods bring along; no text is read twice while a Pod waits with it.

    Attributes:
        in_use: The name of the table that serves.
    """

    in_use: str
    _read: dict[_Text, dict[str, Json]] = field(default_factory=dict)
    _classes: dict[str, frozenset[str]] = field(default_factory=dict)
    _builtin: frozenset[str] = field(default_factory=lambda: _classes_of(builtin_table().rows))

    def judge(
        self,
        missing: Mapping[TemplateKey, tuple[PodFacts, ...]],
        tables: Mapping[str, TableHeld],
        failures: Mapping[TemplateKey, Failure],
    ) -> Judged:
        """Find for each missing template what it is to hold, and whether it may.

        Args:
            missing: The Pods that need each.
            tables: The SelectionTables of the cluster, by name.
            failures: Why the API server refused to make some.
        """
        classes = self._known_classes(tables)
        former, self._read = self._read, {}
        specs: dict[TemplateKey, Json] = {}
        causes: dict[TemplateKey, Cause] = {}
        for key, pods in missing.items():
            brought = (self._brought(pod, former).get(key[1]) for pod in pods)
            spec = next((one for one in brought if one is not None), None)
            if spec is None:
                causes[key] = forged()
            elif why := refusal(spec, classes):
                causes[key] = refused(why)
            else:
                specs[key] = spec
                causes[key] = failed(failures[key]) if key in failures else unanswered()
        return Judged(specs, causes)

    def _brought(self, pod: PodFacts, former: Mapping[_Text, dict[str, Json]]) -> dict[str, Json]:
        text = pod.claims, pod.templates
        if text not in self._read:
            self._read[text] = former[text] if text in former else _wanted(*text)
        return self._read[text]

    def _known_classes(self, tables: Mapping[str, TableHeld]) -> frozenset[str]:
        """Return the DeviceClasses of all tables, and the built-in one's where that serves.

        A table that cannot be read has those that it had: admission goes on with it, too.
        """
        known = {}
        for name, held in tables.items():
            table = loaded(held.text).table
            former = self._classes.get(name, frozenset())
            known[name] = former if table is None else _classes_of(table.rows)
        if self.in_use not in tables:
            known[self.in_use] = self._builtin
        self._classes = known
        return frozenset().union(*known.values())


def _classes_of(rows: Iterable[Row]) -> frozenset[str]:
    return frozenset(row.claim.device_class for row in rows if row.claim is not None)


def _wanted(claims: str, templates: tuple[str, ...]) -> dict[str, Json]:
    return wanted(
        {
            "metadata": {"annotations": {CLAIMS_ANNOTATION: claims}},
            "spec": {"resourceClaims": [{"resourceClaimTemplateName": one} for one in templates]},
        }
    )
