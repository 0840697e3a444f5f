"""The table whose health settings are tried: two rows, and no health section yet."""

TWO_ROWS = """\
apiVersion: gpuspec.preferred.jp/v1alpha1
kind: SelectionTable
metadata: {name: test}
spec:
  devices:
    - name: a100
      vram: 80gb
      perNode: 8
      nodes: {matchLabels: {gpu-model: a100-80gb}}
      resource: nvidia.com/gpu
    - name: t4
      vram: 16gb
      perNode: 4
      nodes: {matchLabels: {gpu-model: t4-16gb}}
      resource: nvidia.com/gpu
"""
