"""The entries of webhook configurations: whose they are, what they call, what they match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from webhook.advice.doctor.findings import CannotLookError
from webhook.advice.doctor.seen import Seen, Topic
from webhook.inventory.facts import Json, mapping, mappings
from webhook.terms import SERVICE, TABLE_GROUP

_ANY = "*"
_HTTPS = 443

QUEUED_PATH: Final = "/mutate/kueue"
VALIDATING_PATH: Final = "/validate"
"""Where tables are looked at before they are stored."""

TRANSLATING: Final = ("/mutate", QUEUED_PATH)
"""Where Pods are translated, those that Kueue admits by the first of these."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of a configuration.

    Attributes:
        configuration: The configuration's name.
        raw: The entry as it stands there.
    """

    configuration: str
    raw: Json

    @property
    def name(self) -> str:
        """Its own name."""
        return str(self.raw.get("name") or "")

    @property
    def is_ours(self) -> bool:
        """Whether it is of this project, by its name: that of the configuration may be chosen."""
        return self.name.endswith(f".{TABLE_GROUP}")

    @property
    def service(self) -> tuple[str, str] | None:
        """Namespace and name of the Service that it calls; None where it calls a URL."""
        service = mapping(self._client.get("service"))
        return (str(service.get("namespace")), str(service.get("name"))) if service else None

    @property
    def host(self) -> str:
        """The name that the serving certificate has to carry."""
        if self.service is None:
            return urlsplit(str(self._client.get("url") or "")).hostname or ""
        namespace, name = self.service
        return f"{name}.{namespace}.svc"

    @property
    def port(self) -> int:
        """The port of the Service that it calls."""
        port = mapping(self._client.get("service")).get("port")
        return port if type(port) is int else _HTTPS

    @property
    def path(self) -> str:
        """What is called there."""
        url = urlsplit(str(self._client.get("url") or ""))
        return str(mapping(self._client.get("service")).get("path") or url.path)

    @property
    def bundle(self) -> str:
        """The authorities that are trusted, PEM in base 64; "" where there are none."""
        return str(self._client.get("caBundle") or "")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Its ``matchConditions``, CEL."""
        return tuple(
            str(one.get("expression") or "") for one in mappings(self.raw.get("matchConditions"))
        )

    @property
    def sees_new_pods(self) -> bool:
        """Whether its rules match the creation of Pods, in one namespace or all."""
        return any(
            _matches(rule, "operations", "CREATE")
            and _matches(rule, "apiGroups", "")
            and (_matches(rule, "resources", "pods") or _matches(rule, "resources", "*/*"))
            for rule in mappings(self.raw.get("rules"))
        )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Tell whether it is called for objects in a namespace with these labels (k8s)."""
        selector = mapping(self.raw.get("namespaceSelector"))
        plain = mapping(selector.get("matchLabels"))
        return all(labels.get(key) == value for key, value in plain.items()) and all(
            _fulfils(labels, one) for one in mappings(selector.get("matchExpressions"))
        )

    @property
    def _client(self) -> Json:
        return mapping(self.raw.get("clientConfig"))


def entries(configurations: Iterable[Json]) -> Iterator[Entry]:
    """Yield every entry of webhook configurations, in the order in which they are called."""
    for one in sorted(configurations, key=lambda one: str(one["metadata"]["name"])):
        for raw in mappings(one.get("webhooks")):
            yield Entry(str(one["metadata"]["name"]), raw)


def our_entries(seen: Seen, topic: Topic) -> list[Entry]:
    """Return our entries of the mutating or the validating configurations.

    Raises:
        CannotLookError: They were not seen.
    """
    own = seen.place.namespace, SERVICE
    return [one for one in entries(seen.items(topic)) if one.is_ours or one.service == own]


def translating(seen: Seen) -> list[Entry]:
    """Return our entries that translate Pods with a spec, at least one.

    Raises:
        CannotLookError: They were not seen, or there is none.
    """
    found = [one for one in our_entries(seen, Topic.MUTATING) if one.path in TRANSLATING]
    if not found:
        raise CannotLookError("no webhook configuration sends Pods to gpuspec")
    return found


def _fulfils(labels: Mapping[str, str], requirement: Json) -> bool:
    value, values = labels.get(str(requirement.get("key"))), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _matches(rule: Json, part: str, value: str) -> bool:
    listed = rule.get(part)
    return isinstance(listed, list) and (value in listed or _ANY in listed)
