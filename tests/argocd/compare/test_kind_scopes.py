from __future__ import annotations

import pytest

from whysync.argocd.compare.kind_scopes import Scopes, is_cluster_scoped_kind
from whysync.json_tree import Object


def definition(scope: str) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io"},
        "spec": {"group": "x.io", "names": {"kind": "Widget"}, "scope": scope},
    }


def widget(namespace: str = "") -> Object:
    meta: Object = {"name": "w", "namespace": namespace} if namespace else {"name": "w"}
    return {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": meta}


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("", "Pod", True),
        ("", "Namespace", False),
        ("apps", "Deployment", True),
        ("rbac.authorization.k8s.io", "ClusterRole", False),
        ("rbac.authorization.k8s.io", "Role", True),
        ("networking.k8s.io", "IngressClass", False),
        ("storage.k8s.io", "CSIStorageCapacity", True),
        ("apiextensions.k8s.io", "CustomResourceDefinition", False),
        ("x.io", "Widget", None),
        ("apps", "Namespace", None),
    ],
)
def test_built_in_kinds_are_known(group: str, kind: str, expected: bool | None) -> None:
    assert Scopes().is_namespaced(group, kind) is expected


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([definition("Cluster")], False),
        ([definition("Namespaced")], True),
        ([widget()], False),
        ([widget(), widget("shop")], True),
        ([widget("shop"), widget()], True),
        ([definition("Cluster"), widget("shop")], False),
        ([{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": 3}], None),
    ],
)
def test_custom_kinds_are_learned(objects: list[Object], expected: bool | None) -> None:
    assert Scopes.from_objects(objects).is_namespaced("x.io", "Widget") is expected


def test_an_object_does_not_overrule_what_is_built_in() -> None:
    odd: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert Scopes.from_objects([odd]).is_namespaced("", "Pod") is True


def test_what_nobody_knows_is_as_the_caller_says() -> None:
    assert Scopes(otherwise=True).is_namespaced("x.io", "Widget") is True


@pytest.mark.parametrize(
    "kind", ["PriorityClass", "StorageClass", "ClusterIssuer", "GatewayClass", "CSINode"]
)
def test_a_text_without_a_group_still_names_a_cluster_scoped_kind(kind: str) -> None:
    assert is_cluster_scoped_kind(kind)


@pytest.mark.parametrize("kind", ["Secret", "Issuer", "Cluster", ""])
def test_other_kinds_are_not_cluster_scoped(kind: str) -> None:
    assert not is_cluster_scoped_kind(kind)
