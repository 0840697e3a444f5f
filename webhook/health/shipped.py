"""The signals of others that are known from the start (reference: each publisher's own words)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from selection_spec.health import ConditionRule, HealthPolicy, LabelRule, Severity, TaintRule
from webhook.terms import PROBE_CONDITION

_FATAL, _ERROR, _WARNING = Severity.FATAL, Severity.ERROR, Severity.WARNING
_TRUE, _FALSE = "True", "False"

# Monitors that restart let these flicker.
_SETTLED_S = 60.0


def _conditions(
    severity: Severity, types: str, bad: str = _TRUE, min_duration_s: float = 0.0
) -> Iterable[ConditionRule]:
    for one in types.split():
        yield ConditionRule(one, bad, severity, min_duration_s=min_duration_s)


CONDITIONS: Final[Mapping[str, tuple[ConditionRule, ...]]] = {
    "gpuspec probe": tuple(_conditions(_FATAL, PROBE_CONDITION)),
    "node problem detector": (
        *_conditions(_FATAL, "CperHardwareErrorFatal"),
        *_conditions(_ERROR, "KernelDeadlock ReadonlyFilesystem XfsShutdown DiskBadBlock"),
        *_conditions(_ERROR, "KubeletUnhealthy ContainerRuntimeUnhealthy", _TRUE, _SETTLED_S),
        *_conditions(_WARNING, "KubeProxyUnhealthy NTPProblem CorruptDockerOverlay2"),
        *_conditions(_WARNING, "FrequentKubeletRestart FrequentContainerdRestart"),
        *_conditions(_WARNING, "FrequentDockerRestart FrequentUnregisterNetDevice"),
    ),
    "AKS": (
        *_conditions(_FATAL, "GPUMissing"),
        *_conditions(_ERROR, "NVLinkStatusInactive XIDErrors UnhealthyNvidiaDevicePlugin"),
        *_conditions(_WARNING, "IBLinkFlapping"),
    ),
    "EKS node monitoring agent": (
        *_conditions(_FATAL, "AcceleratedHardwareReady", _FALSE),
        *_conditions(_ERROR, "KernelReady StorageReady ContainerRuntimeReady", _FALSE, _SETTLED_S),
        *_conditions(_WARNING, "NetworkingReady", _FALSE),
    ),
    "NVSentinel": (
        *_conditions(_FATAL, "GpuMemWatch GpuNvlinkWatch GpuNvLinkWatch GpuPcieWatch GpuAllWatch"),
        *_conditions(_FATAL, "GpuDriverWatch GpuSmWatch GpuMcuWatch GpuPmuWatch"),
        *_conditions(_FATAL, "GpuNvswitchFatalWatch SysLogsGPUFallenOff"),
        *_conditions(_ERROR, "SysLogsXIDError SysLogsSXIDError SysLogsNICDriverError"),
        *_conditions(_ERROR, "GpuThermalWatch GpuPowerWatch GpuInforomWatch GpuCpusetWatch"),
        *_conditions(_WARNING, "GpuThermalMarginWatch GpuDcgmConnectivityFailure"),
        *_conditions(_WARNING, "GpuDcgmUnresponsive"),
    ),
    "OKE": (
        *_conditions(_FATAL, "GpuCount GpuBus"),
        *_conditions(_ERROR, "GpuEcc GpuRowRemap GpuPcie GpuFabricMgr GpuBadPages GpuXid"),
        *_conditions(_ERROR, "NvlinkSpeed DcgmiHealth Rocminfo RdmaLink"),
        *_conditions(_ERROR, "oci.oraclecloud.com/MaintenanceFault"),
    ),
    "AMD GPU operator": (
        *_conditions(_FATAL, "AMDGPUUnhealthy"),
        *_conditions(_ERROR, "AMDGPUProblem"),
    ),
    "Preferred Networks": (
        *_conditions(_FATAL, "GPUIsLost GPURuntimeError"),
        *_conditions(_ERROR, "DStateProcess"),
        *_conditions(_WARNING, "GPUPendingPage PCIeLinkDegraded"),
    ),
}
"""Conditions by who publishes them."""

TAINTS: Final = (
    TaintRule("amd-gpu-unhealthy", _FATAL),
    TaintRule("nvidia.com/gpu-xid-error", _ERROR),
)
"""Taints of AMD's operator, and as NVSentinel's rules place them."""

LABELS: Final = (
    LabelRule("gke.google.com/recommended-to-run-large-training-workload", "false", _WARNING),
    LabelRule("dgxc.nvidia.com/nvsentinel-state", "quarantined", _WARNING),
    LabelRule("dgxc.nvidia.com/nvsentinel-state", "drain-failed", _WARNING),
    LabelRule("dgxc.nvidia.com/nvsentinel-state", "remediation-failed", _WARNING),
)
"""Labels of GKE and NVSentinel."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Which signals of others count, to be looked up by their names."""

    conditions: Mapping[str, ConditionRule]
    taints: Mapping[str, tuple[TaintRule, ...]]
    labels: Mapping[str, tuple[LabelRule, ...]]


def listening(policy: HealthPolicy) -> Listening:
    """Return the shipped signals with those of a policy, which win, less those that it ignores."""
    shipped = (one for those in CONDITIONS.values() for one in those)
    conditions = {
        one.type: one
        for one in (*shipped, *policy.conditions)
        if one.type not in policy.ignored or one in policy.conditions
    }
    taints: dict[str, tuple[TaintRule, ...]] = {}
    for taint in (*policy.taints, *TAINTS):
        if taint.key not in policy.ignored or taint in policy.taints:
            taints[taint.key] = (*taints.get(taint.key, ()), taint)
    labels: dict[str, tuple[LabelRule, ...]] = {}
    for label in (*policy.labels, *LABELS):
        if label.key not in policy.ignored or label in policy.labels:
            labels[label.key] = (*labels.get(label.key, ()), label)
    return Listening(conditions, taints, labels)
