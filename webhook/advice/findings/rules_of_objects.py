"""The rules about objects beside admission: keys that do nothing, workloads, tables."""

from __future__ import annotations

from typing import Final

from selection_spec.errors import Level
from webhook.advice.findings.rule import Rule

STRAY: Final = Rule(
    "GS201",
    "key-does-nothing",
    Level.WARNING,
    "A key of ours stands where nobody reads it.",
    "Only `resources` of a Pod's containers ask for devices.",
    wrong="""\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {resources: {requests: {storage: 1Gi, preferred.jp/gpu-a100: 1}}}""",
    right="""\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {resources: {requests: {storage: 1Gi}}}""",
    semantics=("A8",),
)

QUOTA: Final = Rule(
    "GS202",
    "quota-does-not-count",
    Level.WARNING,
    "A ResourceQuota counts a key that no Pod has once it is admitted.",
    "A quota is charged for what admission has made of a Pod: the devices' own resource, or their "
    "DeviceClass.",
    wrong="""\
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus}
spec: {hard: {requests.preferred.jp/gpu-a100: 8}}""",
    right="""\
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus}
spec: {hard: {requests.nvidia.com/gpu: 8}}""",
)

LIMIT_RANGE: Final = Rule(
    "GS203",
    "limit-range",
    Level.WARNING,
    "A LimitRange has a key of ours, which it would give to every container, or limit for none.",
    "Its defaults are put into each container that has none: then every Pod there wants a GPU. "
    "Its bounds hold for nobody, for admission has replaced the key by then.",
    wrong="""\
apiVersion: v1
kind: LimitRange
metadata: {name: defaults}
spec: {limits: [{type: Container, default: {preferred.jp/gpu-any: 1}}]}""",
    right="""\
apiVersion: v1
kind: LimitRange
metadata: {name: defaults}
spec: {limits: [{type: Container, default: {memory: 1Gi}}]}""",
    semantics=("A5",),
)

MENTIONED: Final = Rule(
    "GS204",
    "mentioned-in-text",
    Level.NOTE,
    "A text, such as a ConfigMap's, mentions a key of ours and is not judged.",
    "It may be a manifest that something applies later. Judge that where it is made.",
    wrong="""\
apiVersion: v1
kind: ConfigMap
metadata: {name: jobs}
data:
  pod.yaml: |
    limits: {preferred.jp/gpu-a100: 1}""",
)

FLEET: Final = Rule(
    "GS205",
    "more-than-there-is",
    Level.WARNING,
    "A workload asks for more devices at once than all nodes that fit have together.",
    "Some of its Pods would never be scheduled. Judged with `--fleet` or `--cluster` only.",
)

BY_HAND: Final = Rule(
    "GS206",
    "by-hand",
    Level.NOTE,
    "A Pod asks for devices by their own resource, and chooses nodes by hand.",
    "A spec says the same in one line, and goes on to do so when labels or taints change.",
    wrong="""\
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - key: nvidia.com/gpu.product
                operator: In
                values: [A30, NVIDIA-A30]
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      resources: {limits: {nvidia.com/gpu: 1}}""",
    right="""\
spec:
  containers:
    - name: train
      resources: {limits: {preferred.jp/gpu-a30: 1}}""",
)

OPERATORS: Final = Rule(
    "GS207",
    "for-its-operator",
    Level.NOTE,
    "A key of ours stands in a custom kind where no container's resources are known to be.",
    "What becomes of it is for that kind's operator to say. The Pods that it makes are judged when "
    "they are made.",
    wrong="""\
apiVersion: example.com/v1
kind: Farm
metadata: {name: farm}
spec: {perBarn: {preferred.jp/gpu-a100: 1}}""",
)

TABLE: Final = Rule(
    "GS301",
    "bad-table",
    Level.ERROR,
    "A SelectionTable breaks a law, and would be refused.",
    "`gpuspec table lint FILE` tells the same.",
    wrong="""\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: default}
spec:
  devices:
    - name: a100
      vram: 80gb
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu""",
    right="""\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: default}
spec:
  devices:
    - name: a100
      vram: 80gb
      perNode: 8
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu""",
)

TABLE_SMELL: Final = Rule(
    "GS302",
    "doubtful-table",
    Level.WARNING,
    "Something in a SelectionTable is allowed and probably not meant.",
    "`gpuspec table lint FILE` tells the same.",
    wrong="""\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: default}
spec:
  devices:
    - name: a100
      aliases: [v100]
      vram: 80gb
      perNode: 8
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu""",
    right="""\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: default}
spec:
  devices:
    - name: a100
      aliases: [ampere]
      vram: 80gb
      perNode: 8
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu""",
)

RULES: Final = (
    STRAY,
    QUOTA,
    LIMIT_RANGE,
    MENTIONED,
    FLEET,
    BY_HAND,
    OPERATORS,
    TABLE,
    TABLE_SMELL,
)
