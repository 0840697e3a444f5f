"""What became of making ResourceClaimTemplates, and when to try again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from webhook.controllers.claim_jobs import Done, Failure
from webhook.controllers.pauses import Pauses
from webhook.inventory.claim_needs import TemplateKey

# For how long a template counts as there that the mirror does not show: the watch is behind, or
# somebody has deleted it again; of one that was there already, somebody may have taken our label.
_MADE_S = 5.0
_FOUND_S = 60.0


@dataclass(slots=True)
class Tries:
    """What is known from earlier tries; times are seconds of a steady clock.

    Attributes:
        failures: The last answer about each template that is not there.
    """

    failures: dict[TemplateKey, Failure] = field(default_factory=dict)
    _templates: Pauses[TemplateKey] = field(default_factory=Pauses)
    _namespaces: Pauses[str] = field(default_factory=Pauses)
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
        for names, seconds in ((done.made, _MADE_S), (done.found, _FOUND_S)):
            for name in names:
                key = (done.namespace, name)
                self._assumed[key] = now + seconds
                self._templates.succeeded(key)
                self.failures.pop(key, None)
        for name, failure in done.failed.items():
            key = (done.namespace, name)
            self.failures[key] = failure
            self._templates.failed(key, now)
            if not failure.of_content:
                self._namespaces.failed(done.namespace, now)

    def there(self, seen: Iterable[TemplateKey], now: float) -> set[TemplateKey]:
        """Return the templates that are there, whether the mirror shows them yet or not."""
        there = set(seen)
        self._assumed = {
            key: until for key, until in self._assumed.items() if key not in there and until > now
        }
        return there | self._assumed.keys()

    def seconds_assumed(self, now: float) -> float:
        """Return in how many seconds the first template is missing that was taken to be there."""
        return min(self._assumed.values(), default=math.inf) - now

    def may_work(self, namespace: str, now: float) -> bool:
        """Tell whether a namespace may have a job, which the last one did not speak against."""
        return self._jobs.is_over(namespace, now)

    def due(self, keys: Iterable[TemplateKey], now: float) -> list[TemplateKey]:
        """Return what may be tried now, in the order in which to do so.

        What has failed comes last: where a namespace refuses one of several, the others are made.
        """
        may = (
            key
            for key in keys
            if self._templates.is_over(key, now) and self._namespaces.is_over(key[0], now)
        )
        return sorted(may, key=self._templates.failures)

    def keep(self, missing: Collection[TemplateKey]) -> None:
        """Forget what nobody needs any more."""
        namespaces = {namespace for namespace, _ in missing}
        self.failures = {key: one for key, one in self.failures.items() if key in missing}
        self._templates.keep(missing)
        self._namespaces.keep(namespaces)
