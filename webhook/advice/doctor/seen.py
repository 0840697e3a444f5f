"""What was asked of a cluster, and what came back: all that the checks go by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from selection_spec.errors import GpuspecError, Problem
from selection_spec.table import Table, builtin_table
from webhook.advice.doctor.findings import CannotLookError
from webhook.inventory.facts import Json, mapping
from webhook.inventory.table_object import load_table_text, table_text
from webhook.terms import TABLE_KIND

_NO_ANSWER = 0
_FORBIDDEN = (401, 403)
_NOT_FOUND = 404

_DEFAULT_DOMAIN = "preferred.jp"


class Topic(StrEnum):
    """What is read in any case; each is one list."""

    MUTATING = "mutating"
    VALIDATING = "validating"
    POLICIES = "policies"
    BINDINGS = "bindings"
    SERVICES = "services"
    ENDPOINTS = "endpoints"
    DEPLOYMENTS = "deployments"
    REPLICAS = "replicas"
    SECRET = "secret"  # noqa: S105 -- a topic
    LEASE = "lease"
    TABLES = "tables"
    NODES = "nodes"
    DAEMON_SETS = "daemonSets"
    LIMIT_RANGES = "limitRanges"
    QUOTAS = "quotas"
    PENDING = "pending"
    QUEUED = "queued"


@dataclass(frozen=True, slots=True)
class Place:
    """Where gpuspec is installed, and who asks.

    Attributes:
        namespace: Of its Pods.
        table_name: The SelectionTable in use.
        try_in: The namespace of dry runs.
        version: Of the program that asks.
    """

    namespace: str = "gpuspec-system"
    table_name: str = "default"
    try_in: str = "default"
    version: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One request that changes nothing.

    Attributes:
        path: Where.
        permission: What it takes, as ``list limitranges``.
        query: Of the URL; values are texts.
        body: What to create; None reads.
        single: Whether an object is read, and none of them there is an empty list.
        keep: What is kept of each object, so that a large cluster is not held in memory.
    """

    path: str
    permission: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Json | None = None
    single: bool = False
    keep: Callable[[Json], Json] = dict


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no answer.

    Attributes:
        code: The HTTP status; 0 where nothing was answered in time.
        message: The API server's own words, or why there was no answer.
        permission: What the question took.
    """

    code: int
    message: str
    permission: str

    @property
    def is_absent(self) -> bool:
        """Whether there is no such kind of object."""
        return self.code == _NOT_FOUND

    @property
    def why(self) -> str:
        """The reason, to be read after "could not look: "."""
        if self.code in _FORBIDDEN and " cannot " in self.message:
            return f"permission to {self.permission} is missing"
        said = self.message or f"HTTP status {self.code}"
        return said if self.code == _NO_ANSWER else f"{self.permission}: {said}"


Answer = list[Json] | Refused
Answers = Mapping[str, Answer]

Ago = Callable[[str], float | None]
"""How many seconds ago a time was, as Kubernetes writes times; below 0 in the future, None for
what is no time."""


@dataclass(frozen=True, slots=True)
class Served:
    """The table that an admin wants to be served.

    Attributes:
        raw: The SelectionTable, {} where there is none and the built-in table serves.
        table: It, None where it breaks a law or was not seen.
        problems: The laws it breaks.
        why_not: Why it was not seen.
    """

    raw: Json = field(default_factory=dict)
    table: Table | None = None
    problems: tuple[Problem, ...] = ()
    why_not: str = ""

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"{TABLE_KIND} {self.raw['metadata']['name']}" if self.raw else "the built-in table"


@dataclass(frozen=True, slots=True)
class Seen:
    """All of it; ``begin`` makes one."""

    place: Place
    answers: Answers
    ago: Ago
    served: Served

    @classmethod
    def begin(cls, place: Place, answers: Answers, ago: Ago) -> Seen:
        """Take the answers to the first questions."""
        return cls(place, answers, ago, _served(place, answers[Topic.TABLES]))

    def learn(self, more: Answers) -> Seen:
        """Return it with the answers to further questions."""
        return replace(self, answers={**self.answers, **more})

    def items(self, topic: str) -> list[Json]:
        """Return what was read.

        Raises:
            CannotLookError: It could not be.
        """
        answer = self.answers[topic]
        if isinstance(answer, Refused):
            raise CannotLookError(answer.why)
        return answer

    @property
    def table(self) -> Table:
        """The table.

        Raises:
            CannotLookError: It was not seen, or is none.
        """
        if self.served.table is None:
            raise CannotLookError(self.served.why_not or "the table is not accepted, see above")
        return self.served.table

    @property
    def domain(self) -> str:
        """The domain of its keys; of a table that is not accepted what it says itself."""
        if self.served.table is not None:
            return self.served.table.domain
        said = mapping(self.served.raw.get("spec")).get("resourceDomain")
        return said if isinstance(said, str) else _DEFAULT_DOMAIN


def _served(place: Place, answer: Answer) -> Served:
    if isinstance(answer, Refused):
        # Without the kind of object there is no table either.
        return Served(table=builtin_table()) if answer.is_absent else Served(why_not=answer.why)
    raw = next((one for one in answer if one["metadata"]["name"] == place.table_name), None)
    if raw is None:
        return Served(table=builtin_table())
    try:
        return Served(raw, load_table_text(table_text(raw)))
    except GpuspecError as found:
        return Served(raw, problems=found.problems)
