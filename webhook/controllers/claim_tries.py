"""What became of making ResourceClaimTemplates, and when to try again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from webhook.controllers.claim_jobs import Done, Failure
from webhook.controllers.pauses import Pauses
from webhook.inventory.claim_needs import TemplateKey

# For how long a template counts as there that the mirror does not show: the watch is behind, or
# somebody has deleted it again.
_MADE_S = 5.0


@dataclass(slots=True)
class Tries:
    """What is known from earlier tries; times are seconds of a steady clock.

    Attributes:
        failures: The last answer about each template that is not there.

    A namespace that refuses one template may take another: each is tried once all the same, one at
    a time. One that hangs is left alone, whatever is to be made there.
    """

    failures: dict[TemplateKey, Failure] = field(default_factory=dict)
    _templates: Pauses[TemplateKey] = field(default_factory=Pauses)
    _namespaces: Pauses[str] = field(default_factory=Pauses)
    _hanging: Pauses[str] = field(default_factory=Pauses)
    _refusals: dict[str, Failure] = field(default_factory=dict)
    _jobs: Pauses[str] = field(default_factory=Pauses)
    _assumed: dict[TemplateKey, float] = field(default_factory=dict)

    def note(self, done: Done, now: float) -> None:
        """Remember what came of a job."""
        if done.is_cut_off:
            self._jobs.failed(done.namespace, now)
        else:
            self._jobs.succeeded(done.namespace)
        if done.made or done.found:
            self._namespaces.succeeded(done.namespace)
            self._hanging.succeeded(done.namespace)
        for name in (*done.made, *done.found):
            key = (done.namespace, name)
            self._assumed[key] = now + _MADE_S
            self._templates.succeeded(key)
            self.failures.pop(key, None)
        for name, failure in done.failed.items():
            key = (done.namespace, name)
            self.failures[key] = failure
            self._templates.failed(key, now)
            if not failure.of_content:
                self._refusals[done.namespace] = failure
                pauses = self._hanging if failure.hangs else self._namespaces
                if pauses.is_over(done.namespace, now):
                    pauses.failed(done.namespace, now)

    def unseen(self, seen: Collection[TemplateKey], now: float) -> Collection[TemplateKey]:
        """Return the templates that are there though the mirror does not show them yet."""
        self._assumed = {
            key: until for key, until in self._assumed.items() if key not in seen and until > now
        }
        return self._assumed.keys()

    def seconds_assumed(self, now: float) -> float:
        """Return in how many seconds the first template is missing that was taken to be there."""
        return min(self._assumed.values(), default=math.inf) - now

    def may_work(self, namespace: str, now: float) -> bool:
        """Tell whether a namespace may have a job, which the last one did not speak against."""
        return self._jobs.is_over(namespace, now)

    def is_slow(self, namespace: str) -> bool:
        """Tell whether the last job in a namespace waited for answers in vain."""
        return self._hanging.failures(namespace) > 0 or self._jobs.failures(namespace) > 0

    def is_refused(self, namespace: str) -> bool:
        """Tell whether anything that is needed in a namespace could not be made."""
        return any(one == namespace for one, _ in self.failures)

    def why(self, keys: Iterable[TemplateKey], now: float) -> dict[TemplateKey, Failure]:
        """Return why templates are not there; of one not tried yet, why its namespace waits."""
        found = {key: self.failures.get(key) or self._held_up(key[0], now) for key in keys}
        return {key: failure for key, failure in found.items() if failure is not None}

    def _held_up(self, namespace: str, now: float) -> Failure | None:
        may = self._namespaces.is_over(namespace, now) and self._hanging.is_over(namespace, now)
        return None if may else self._refusals.get(namespace)

    def due(self, keys: Iterable[TemplateKey], now: float) -> list[TemplateKey]:
        """Return what may be tried now, in the order in which to do so.

        What has failed comes last: where a namespace refuses one of several, the others are made.
        """
        may = (
            key
            for key in keys
            if self._templates.is_over(key, now) and self._hanging.is_over(key[0], now)
        )
        found: list[TemplateKey] = []
        probed: set[str] = set()
        for key in sorted(may, key=self._templates.failures):
            namespace = key[0]
            if not self._namespaces.is_over(namespace, now):
                if namespace in probed or key in self.failures:
                    continue
                probed.add(namespace)
            found.append(key)
        return found

    def keep(self, missing: Collection[TemplateKey], inhabited: Collection[str]) -> None:
        """Forget what nobody needs any more; ``inhabited`` namespaces have Pods or templates."""
        namespaces = {namespace for namespace, _ in missing}
        self.failures = {key: one for key, one in self.failures.items() if key in missing}
        self._templates.keep(missing)
        self._namespaces.keep(namespaces)
        self._hanging.keep(namespaces)
        self._refusals = {key: one for key, one in self._refusals.items() if key in namespaces}
        self._jobs.keep(inhabited)
