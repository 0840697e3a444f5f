"""Pod templates are found by structure, in any document, wherever they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.workloads import pod_templates

_SPEC = {"containers": [{"name": "main"}]}


def _object(kind: str, **fields: object) -> dict[str, object]:
    return {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "a"}, **fields}


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (_object("Pod", spec=_SPEC), [((), "Pod/a", "Pod")]),
        # A Pod is one, whatever is in it; what is wrong with it is for others to say.
        (_object("Pod"), [((), "Pod/a", "Pod")]),
        (
            _object("Pod", spec=_SPEC, metadata={"generateName": "a-"}),
            [((), "Pod/a-", "Pod")],
        ),
        (_object("Pod", spec=_SPEC, metadata=None), [((), "Pod/?", "Pod")]),
        (
            _object("Deployment", spec={"template": {"spec": _SPEC}}),
            [(("spec", "template"), "Deployment/a", "Deployment")],
        ),
        (
            _object("CronJob", spec={"jobTemplate": {"spec": {"template": {"spec": _SPEC}}}}),
            [(("spec", "jobTemplate", "spec", "template"), "CronJob/a", "CronJob")],
        ),
        (
            _object("PodTemplate", template={"spec": _SPEC}),
            [(("template",), "PodTemplate/a", "PodTemplate")],
        ),
        (
            _object(
                "RayCluster",
                spec={
                    "headGroupSpec": {"template": {"spec": _SPEC}},
                    "workerGroupSpecs": [{"template": {"spec": _SPEC}}],
                },
            ),
            [
                (("spec", "headGroupSpec", "template"), "RayCluster/a", "RayCluster"),
                (("spec", "workerGroupSpecs", 0, "template"), "RayCluster/a", "RayCluster"),
            ],
        ),
        # Objects within objects are their own.
        (
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    _object("Pod", spec=_SPEC),
                    _object("DaemonSet", spec={"template": {"spec": _SPEC}}),
                    _object("ConfigMap", data={"a": "b"}),
                ],
            },
            [
                (("items", 0), "Pod/a", "Pod"),
                (("items", 1, "spec", "template"), "DaemonSet/a", "DaemonSet"),
            ],
        ),
        (
            {"spec": _SPEC},
            [((), "Pod", "")],
        ),
        # No Pods.
        (_object("ConfigMap", data={"spec": "containers: []"}), []),
        (_object("X", spec={"containers": []}), []),
        (_object("X", spec={"containers": ["main"]}), []),
        (_object("X", spec={"containers": [{"image": "no name"}]}), []),
        (_object("X", spec={"containers": {"name": "main"}}), []),
        (_object("X", spec=[{"containers": 5}]), []),
        (
            _object(
                "CustomResourceDefinition",
                spec={"properties": {"spec": {"properties": {"containers": {"type": "array"}}}}},
            ),
            [],
        ),
        ([], []),
        ("text", []),
        (None, []),
    ],
)
def test_where_templates_are(document: object, found: list[tuple[object, str, str]]) -> None:
    templates = list(pod_templates(document))
    assert [(one.path, one.owner, one.kind) for one in templates] == found
    for template in templates:
        node = document
        for step in template.path:
            node = node[step]  # type: ignore[index]
        assert template.pod is node


def test_a_pod_is_not_searched_for_more() -> None:
    pod = _object("Pod", spec={**_SPEC, "extra": {"spec": _SPEC}})
    assert [one.path for one in pod_templates(pod)] == [()]


_json = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["apiVersion", "kind", "metadata", "name", "spec", "containers", "template"]
            ),
            children,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(_json)
def test_nothing_raises_on_any_document(document: object) -> None:
    for template in pod_templates(document):
        assert isinstance(template.pod, dict)
        assert template.owner


def test_depth_is_bounded() -> None:
    document: dict[str, object] = {"spec": _SPEC}
    for _ in range(100):
        document = {"template": document}
    assert list(pod_templates(document)) == []
