"""``gpuspec explain`` of what becomes a claim: whole texts for 80 columns, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selection_spec.table import load_table
from tests.builders import PodBuilder, asking, make_pod
from tests.webhook.cli.claim_tables import NVIDIA, PRODUCTS, claim_document, claim_table, whole
from tests.webhook.cli.running import answer, run
from webhook.cli.outputs import cel_lines

_LOW = ("--priority", "0")


def _text(table: str, *arguments: str, stdin: str | None = None, code: int = 0) -> str:
    result = run("explain", *arguments, "--table", table, *_LOW, stdin=stdin)
    assert result.exit_code == code, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout.replace(load_table(Path(table).read_bytes()).digest, "DIGEST")


@pytest.mark.rule("C1", "C2", "C4", "N6")
def test_alternatives_in_order_with_their_cel(tmp_path: Path) -> None:
    assert (
        _text(claim_table(tmp_path), "any-24gb:2")
        == """\
allowed: v100-32gb, a30-24gb, a100-80gb
policy: EveryFit (from default); table claims DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    16 GB, 24 asked for
v100-32gb  yes   D4    32 GB, 24 asked for; 2 of 8 on a node
a30-24gb   yes   D4    24 GB, 24 asked for; 2 of 6 on a node
a100-80gb  yes   D4    80 GB, 24 asked for; 2 of 4 on a node

The Pod gets:
  claim gpuspec-main for main: 2 devices of the first of these that is free on
    its node
    1. v100-32gb, DeviceClass gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["Tesla V100-SXM2-32GB"]
    2. a30-24gb, DeviceClass gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["NVIDIA A30"]
    3. a100-80gb, DeviceClass gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["NVIDIA A100-SXM4-80GB"]
    from ResourceClaimTemplate gpuspec-eaea6855d5b4dc96ba225d240c00ffd9
  (the controller makes the templates, "gpuspec mutate" prints them)
  prefers (weight 100): gpu-model = v100-32gb
  prefers (weight 10): gpu-model In v100-32gb, a30-24gb
  tolerates: gpu-model=v100-32gb:NoSchedule, gpu-model=a30-24gb:NoSchedule,
    gpu-model=a100-80gb:NoSchedule
"""
    )


@pytest.mark.rule("C1", "C5")
def test_who_shares_a_claim_and_who_has_one_alike(tmp_path: Path) -> None:
    pod = (
        make_pod()
        .init("fetch", any_24gb=1)
        .sidecar("watch", any_24gb=1)
        .container("main", any_24gb=1)
        .metadata(labels={"kueue.x-k8s.io/queue-name": "team"})
    )
    text = _text(claim_table(tmp_path), "-f", "-", stdin=json.dumps(pod.build()))
    assert (
        text
        == """\
Pod/train
allowed: v100-32gb
warning: using v100-32gb only: Kueue takes no claim with alternatives
policy: EveryFit (from default); table claims DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    init container "fetch": 16 GB, 24 asked for
v100-32gb  yes   D4    32 GB, 24 asked for; 2 of 8 on a node
a30-24gb   no    C5    dearer, and Kueue takes no claim with alternatives
a100-80gb  no    C5    dearer, and Kueue takes no claim with alternatives

The Pod gets:
  claim gpuspec-main for fetch and main: 1 device of
    v100-32gb, DeviceClass gpu.nvidia.com
    device.driver == "gpu.nvidia.com" &&
    device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
    "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("") in
    ["Tesla V100-SXM2-32GB"]
    from ResourceClaimTemplate gpuspec-fa269301be374d496a10eb4254241dc3
  claim gpuspec-watch for watch: the same as gpuspec-main
  (the controller makes the templates, "gpuspec mutate" prints them)
  tolerates: gpu-model=v100-32gb:NoSchedule
"""
    )


@pytest.mark.rule("C5")
def test_a_namespace_of_kueues_is_said(tmp_path: Path) -> None:
    table = claim_table(tmp_path)
    assert _text(table, "any-24gb", "--kueue").splitlines()[:2] == [
        "allowed: v100-32gb",
        "warning: using v100-32gb only: Kueue takes no claim with alternatives",
    ]
    assert _text(table, "any-24gb").startswith("allowed: v100-32gb, a30-24gb, a100-80gb\n")


@pytest.mark.rule("D1")
def test_on_mixed_nodes_each_claim_has_rows_of_its_own(tmp_path: Path) -> None:
    table = claim_table(tmp_path, mixedNodes=True)
    text = _text(table, "v100:8", "a100")
    assert (
        text
        == """\
allowed: v100-16gb, v100-32gb, a100-80gb
policy: EveryFit (from default); table claims DIGEST

for container-1:
ROW        KEPT  RULE  WHY
v100-16gb  yes   D4    16 GB, any amount is fine; 8 of 8 on a node
v100-32gb  yes   D4    32 GB, any amount is fine; 8 of 8 on a node
a30-24gb   no    G2    is not called v100
a100-80gb  no    G2    is not called v100

for container-2:
ROW        KEPT  RULE  WHY
v100-16gb  no    G2    is not called a100
v100-32gb  no    G2    is not called a100
a30-24gb   no    G2    is not called a100
a100-80gb  yes   D4    80 GB, any amount is fine; 1 of 4 on a node

The Pod gets:
  claim gpuspec-container-1 for container-1: 8 devices of the first of these
    that is free on its node
    1. v100-16gb, DeviceClass gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["Tesla V100-SXM2-16GB"]
    2. v100-32gb, DeviceClass gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["Tesla V100-SXM2-32GB"]
    from ResourceClaimTemplate gpuspec-ee20760b242a7b128bff78aa1a28b864
  claim gpuspec-container-2 for container-2: 1 device of
    a100-80gb, DeviceClass gpu.nvidia.com
    device.driver == "gpu.nvidia.com" &&
    device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
    "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("") in
    ["NVIDIA A100-SXM4-80GB"]
    from ResourceClaimTemplate gpuspec-29c96ebee57e9281849eb22cc76c9681
  (the controller makes the templates, "gpuspec mutate" prints them)
  prefers (weight 100): gpu-model = v100-16gb
  prefers (weight 10): gpu-model In v100-16gb, v100-32gb
  tolerates: gpu-model=v100-16gb:NoSchedule, gpu-model=v100-32gb:NoSchedule,
    gpu-model=a100-80gb:NoSchedule,
    gpuspec.preferred.jp/reserved=v100-16gb:NoSchedule,
    gpuspec.preferred.jp/reserved=v100-32gb:NoSchedule,
    gpuspec.preferred.jp/reserved=a100-80gb:NoSchedule
"""
    )
    found = answer(run("explain", "v100:8", "a100", "-o", "json", "--table", table, *_LOW))
    assert [(one["name"], one["candidates"]) for one in found["containers"]] == [
        ("container-1", ["v100-16gb", "v100-32gb"]),
        ("container-2", ["a100-80gb"]),
    ]


@pytest.mark.rule("D9")
def test_a_table_of_both_outputs(tmp_path: Path) -> None:
    table = claim_table(tmp_path, "a100-80gb")
    assert (
        _text(table, "any-24gb")
        == """\
allowed: v100-32gb, a30-24gb
warning: left out, as they are not nvidia.com/gpu: a100-80gb
policy: EveryFit (from default); table claims DIGEST

ROW        KEPT  RULE  WHY
v100-16gb  no    G3    16 GB, 24 asked for
v100-32gb  yes   D4    32 GB, 24 asked for; 1 of 8 on a node
a30-24gb   yes   D4    24 GB, 24 asked for; 1 of 6 on a node
a100-80gb  no    D9    is claims, the first row kept is nvidia.com/gpu

The Pod gets:
  limits of main: nvidia.com/gpu: 1
  requires a node with: gpu-model In v100-32gb, a30-24gb
  prefers (weight 100): gpu-model = v100-32gb
  tolerates: gpu-model=v100-32gb:NoSchedule, gpu-model=a30-24gb:NoSchedule
"""
    )


@pytest.mark.rule("D9")
@pytest.mark.parametrize(
    ("spec", "output"),
    [("any-24gb", "ExtendedResource"), ("a100", "ResourceClaim"), ("zzz", None)],
)
def test_the_output_is_that_of_the_rows(tmp_path: Path, spec: str, output: str | None) -> None:
    """Nothing is said of it where the Pod is denied and the table has both."""
    result = run("explain", spec, "-o", "json", "--table", claim_table(tmp_path, "a100-80gb"))
    assert json.loads(result.stdout)["output"] == output


@pytest.mark.rule("C6", "N7", "C2")
@pytest.mark.parametrize(
    ("pod", "per_node", "said"),
    [
        pytest.param(
            asking(any_80gb=33),
            64,
            """\
  container "main": preferred.jp/gpu-any-80gb: 33: a claim holds at most 32
  devices; ask for 32 or less in one container
""",
            id="C6",
        ),
        pytest.param(
            asking(a100=1).spec(nodeName="node-1"),
            4,
            """\
  the Pod is bound by spec.nodeName, and a claim gets its devices from the
  scheduler; remove nodeName; a nodeSelector on kubernetes.io/hostname chooses a
  node, too
""",
            id="N7",
        ),
    ],
)
def test_denials_read_as_the_webhooks(
    tmp_path: Path, pod: PodBuilder, per_node: int, said: str
) -> None:
    document = claim_document()
    document["spec"]["devices"][3]["perNode"] = per_node
    file = tmp_path / "t.yaml"
    file.write_text(json.dumps(document))
    text = _text(str(file), "-f", "-", stdin=json.dumps(pod.build()), code=1)
    assert text.partition("policy:")[0] == f"Pod/train\ndenied\n{said}"


@pytest.mark.rule("C1", "C2")
def test_json(tmp_path: Path) -> None:
    """Templates are whole objects, as the controller makes them."""
    table = claim_table(tmp_path, "a30-24gb", "a100-80gb")
    found = answer(run("explain", "a30:3", "-o", "json", "--table", table, *_LOW))
    name = found["placement"]["templates"][0]["metadata"]["name"]
    assert found["output"] == "ResourceClaim"
    assert found["placement"] == {
        "nodeSelector": {},
        "affinity": {},
        "tolerations": [
            {
                "key": "gpu-model",
                "operator": "Equal",
                "value": "a30-24gb",
                "effect": "NoSchedule",
            },
            {
                "key": "gpuspec.preferred.jp/reserved",
                "operator": "Equal",
                "value": "a30-24gb",
                "effect": "NoSchedule",
            },
        ],
        "resources": {"main": {"limits": {}, "requests": {}, "claims": [{"name": "gpuspec-main"}]}},
        "resourceClaims": [{"name": "gpuspec-main", "resourceClaimTemplateName": name}],
        "templates": [
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": name, "labels": {"gpuspec.preferred.jp/template": "gpu"}},
                "spec": {
                    "spec": {
                        "devices": {
                            "requests": [
                                {
                                    "name": "gpu",
                                    "exactly": {
                                        "deviceClassName": NVIDIA,
                                        "selectors": [
                                            {"cel": {"expression": whole(PRODUCTS["a30-24gb"])}}
                                        ],
                                        "allocationMode": "ExactCount",
                                        "count": 3,
                                    },
                                }
                            ]
                        }
                    }
                },
            }
        ],
    }


@pytest.mark.rule("C2")
def test_rows_of_one_alternative_are_all_named(tmp_path: Path) -> None:
    """More than eight rows are merged by cost; own selectors keep their lines and their spaces."""
    document = claim_document()
    (row, *_) = document["spec"]["devices"]
    document["spec"]["devices"] = [
        {**row, "name": f"card{number}", "cost": number // 5, "claim": {**row["claim"]}}
        for number in range(9)
    ]
    for number, one in enumerate(document["spec"]["devices"]):
        one["claim"]["products"] = [f"Card  {number}"]
    one["claim"]["selectors"] = [{"cel": {"expression": "true // nothing else\n|| false"}}]
    file = tmp_path / "t.yaml"
    file.write_text(json.dumps(document))
    assert (
        _text(str(file), "any").partition("its node\n")[2].partition("    from ")[0]
        == """\
    1. card0-16gb, card1-16gb, card2-16gb, card3-16gb, card4-16gb, DeviceClass
       gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["Card  0", "Card  1", "Card  2", "Card  3", "Card  4"]
    2. card5-16gb, card6-16gb, card7-16gb, card8-16gb, DeviceClass
       gpu.nvidia.com
       device.driver == "gpu.nvidia.com" &&
       (device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["Card  5", "Card  6", "Card  7"] ||
       (device.attributes["gpu.nvidia.com"].?type.orValue("gpu") in ["gpu",
       "amdgpu"] && device.attributes["gpu.nvidia.com"].?productName.orValue("")
       in ["Card  8"]) && (true // nothing else
       || false
       ))
"""
    )


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        pytest.param("a == b", ["  a == b"], id="short"),
        pytest.param(
            f'{"x" * 70} in ["a  b", "\\" c", \'d "  e\']',
            [f"  {'x' * 70} in", '  ["a  b", "\\" c", \'d "  e\']'],
            id="texts are whole",
        ),
        pytest.param("a // why\n&& b", ["  a // why", "  && b"], id="a comment ends its line"),
        pytest.param('"never closed a b', ['  " never closed a b'], id="no CEL"),
        pytest.param('"\x1b[31m é"', ['  "\\x1b[31m é"'], id="nothing a terminal obeys"),
        pytest.param(f'"{"y " * 60}"', [f'  "{"y " * 60}"'], id="a long text stays whole"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_cel_in_lines(expression: str, lines: list[str]) -> None:
    assert list(cel_lines(expression, "  ")) == lines
