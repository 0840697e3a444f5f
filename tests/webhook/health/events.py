"""What may happen to a little cluster, one thing at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from selection_spec.health import HealthPolicy, Mode
from tests.webhook.health.simulated import (
    DRA_ROW,
    ERROR,
    FATAL,
    PLUGIN_ROW,
    TOLD,
    UNMONITORED,
    WARNING,
    WITHHELD,
    Running,
    Simulated,
)
from webhook.health.fences import is_tainted, rule_name
from webhook.health.ledger import Ledger
from webhook.health.stored_ledger import ledger_of, ledger_text
from webhook.health.subjects import Subject, node_subject
from webhook.terms import HEALTH_LABEL

WHAT: Final = (
    *("condition", "device", "well", "restart", "ready", "reboot"),
    *("mode", "unmark", "crash", "reject", "storm", "resume"),
)


@dataclass(frozen=True, slots=True)
class Event:
    """What happens after ``wait`` seconds; ``where`` and ``how`` choose among what there is."""

    what: str
    where: int = 0
    how: int = 0
    wait: int = 1


def happen(  # noqa: C901, PLR0912 - one kind of event a case
    world: Simulated, policy: HealthPolicy, event: Event, number: int
) -> HealthPolicy:
    """Let one thing happen, the ``number``-th; return the policy from then on."""
    how = event.how
    names = list(world.nodes)
    name = names[event.where % len(names)]
    node = world.nodes[name]
    devices = list(world.devices(name))
    device = devices[how % len(devices)]
    match event.what:
        case "condition":
            type_ = (FATAL, ERROR, WARNING)[how % 3]
            _set_condition(world, name, type_, ("True", "False", "Unknown", "")[how // 3 % 4])
        case "device":
            shown = (WITHHELD, TOLD) if device.resource else ("NoSchedule", "None", UNMONITORED)
            world.sick[device] = shown[how // len(devices) % len(shown)]
        case "well":
            world.sick.pop(device, None)
        case "restart" if node.capacity:
            world.restarting ^= {name}
        case "ready":
            world.nodes[name] = replace(node, ready=not node.ready)
        case "reboot":
            world.nodes[name] = replace(node, boot=str(int(node.boot) + 1))
            kept = {one: at for one, at in world.befallen.items() if one.node != name}
            world.befallen = kept
        case "mode":
            row, mode = (PLUGIN_ROW, DRA_ROW)[how % 2], tuple(Mode)[how // 2 % 3]
            return replace(policy, row_modes={**policy.row_modes, row: mode})
        case "unmark":
            _unmark(world, name)
        case "crash" if world.pods:
            _crash(world, world.pods[event.where % len(world.pods)], number, how)
        case "reject":
            _reject(world, device, number)
        case "storm":
            for one in names:
                if (one[0] == "a") is bool(how % 2):
                    _set_condition(world, one, (FATAL, ERROR)[how // 2 % 2], "True")
        case "resume":
            resume(world)
    return policy


def resume(world: Simulated) -> None:
    """Let a person resume all rows, in the ledger as it is stored."""
    ledger = (ledger_of(world.ledger) or Ledger()).resume(None)
    world.ledger = ledger_text(ledger)
    world.state = replace(world.state, ledger=ledger)


def _set_condition(world: Simulated, name: str, type_: str, status: str) -> None:
    if status:
        world.conditions[name][type_] = status
    else:
        world.conditions[name].pop(type_, None)


def _unmark(world: Simulated, name: str) -> None:
    """Let a person remove whatever we have placed on a node and for its devices."""
    node = world.nodes[name]
    if is_tainted(node):
        world.unmarked.add(node_subject(name))
        world.placed.discard(name)
    labels = {key: value for key, value in node.labels.items() if key != HEALTH_LABEL}
    world.nodes[name] = replace(node, taints=(), labels=labels)
    for device in world.devices(name):
        if world.rules.pop(rule_name(device), None) is not None:
            world.unmarked.add(device)


def _crash(world: Simulated, pod: Running, number: int, how: int) -> None:
    """Let a Pod crash, and with it one of another program where ``how`` is odd."""
    if pod.device is None or pod.rejected:
        return
    those = [pod]
    if how % 2:
        other = Running(f"{pod.name}-x", pod.namespace, f"{pod.namespace}/ReplicaSet/x", "ignore")
        other.device, other.generation = pod.device, number
        world.pods.append(other)
        those.append(other)
    world.now += 1.0  # after whatever happened before, a reboot for instance
    for one in those:
        one.crashes = (*one.crashes[-1:], world.now)
        if world.shape.names_devices or pod.device.driver:
            world.befallen.setdefault(pod.device, []).append((world.now, one.program))


def _reject(world: Simulated, device: Subject, number: int) -> None:
    """Let a kubelet reject a Pod."""
    world.now += 1.0
    dead = Running(f"dead-{number}", "team-0", "team-0/ReplicaSet/dead", "", device=device)
    dead.rejected = world.now
    world.pods.append(dead)
    if device.resource:  # a claim's Pod asks for none of the resources that (f) is about
        world.befallen.setdefault(node_subject(device.node), []).append((world.now, dead.program))
