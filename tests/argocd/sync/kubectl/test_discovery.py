"""What is served, single objects, definitions that come, and the pause between waves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.argocd.sync.kubectl.shop import Shop, a_config, a_definition, a_namespace, a_widget, outcome_of
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.kubectl.client import groups_of
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import dig
from whysync.kubernetes.api.ref import Ref, ref_of

GONE = "the server could not find the requested resource"


def test_kinds_that_are_served() -> None:
    ground = Shop().cluster_ops
    assert ground.discover("apps/v1", "Deployment", "get").namespaced
    assert not ground.discover("v1", "Namespace", "get").namespaced
    kinds = {(kind.group, kind.version, kind.kind) for kind in ground.kinds()}
    assert {("apps", "v1", "Deployment"), ("", "v1", "ConfigMap")} <= kinds


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        (
            "shop.example/v1",
            "Widget",
            f"failed to discover server resources for group version shop.example/v1: {GONE}",
        ),
        (
            "apps/v1beta1",
            "Deployment",
            f"failed to discover server resources for group version apps/v1beta1: {GONE}",
        ),
        ("apps/v1", "Widget", 'Widget.apps "" not found'),
        ("v1", "Widget", 'Widget "" not found'),
    ],
)
def test_unknown_kinds_are_refused(api_version: str, kind: str, message: str) -> None:
    shop = Shop()
    with pytest.raises(Refused) as refusal:
        shop.cluster_ops.discover(api_version, kind, "get")
    assert (refusal.value.message, refusal.value.reason) == (message, Reason.NOT_FOUND)
    ref = Ref(
        group=api_version.rpartition("/")[0],
        version=api_version.rpartition("/")[2],
        kind=kind,
        namespace="shop",
        name="x",
    )
    with pytest.raises(Refused) as refusal:
        shop.cluster_ops.delete(ref, Propagation.FOREGROUND)
    assert refusal.value.message == f"failed to get api resource: {message}"
    with pytest.raises(Refused) as refusal:
        shop.cluster_ops.update({"apiVersion": api_version, "kind": kind}, dry_run=False)
    assert refusal.value.message == f"error creating discovery client for config: {message}"


def test_a_definition_that_comes_meanwhile_is_seen() -> None:
    shop = Shop()
    assert outcome_of(lambda: str(shop.cluster_ops.discover("shop.example/v1", "Widget", "get"))).startswith(
        "refused"
    )
    shop.apply(a_definition())
    assert shop.cluster_ops.discover("shop.example/v1", "Widget", "get").namespaced
    assert shop.apply(a_widget(size=1)) == "widget.shop.example/w created"


def test_single_objects() -> None:
    shop = Shop()
    config = a_config(a="1")
    shop.apply(config)
    assert shop.cluster_ops.get(ref_of(config))["data"] == {"a": "1"}
    shop.cluster_ops.patch(ref_of(config), [{"op": "replace", "path": "/data/a", "value": "2"}])
    assert shop.cluster_ops.get(ref_of(config))["data"] == {"a": "2"}
    shop.cluster_ops.update({**shop.live(config), "data": {"a": "3"}}, dry_run=True)
    assert shop.cluster_ops.get(ref_of(config))["data"] == {"a": "2"}
    shop.cluster_ops.delete(ref_of(config), Propagation.FOREGROUND)
    shop.api_server.settle()
    with pytest.raises(Refused) as refusal:
        shop.cluster_ops.get(ref_of(config))
    assert (refusal.value.message, refusal.value.reason) == (
        'configmaps "settings" not found',
        Reason.NOT_FOUND,
    )


def test_a_namespace_on_a_kind_that_has_none_is_no_obstacle() -> None:
    shop = Shop()
    odd = a_namespace("shop")
    odd["metadata"] = {"name": "shop", "namespace": "shop", "labels": {"a": "b"}}
    shop.cluster_ops.update(odd, dry_run=False)
    assert dig(shop.cluster_ops.get(ref_of(odd)), "metadata", "labels", "a") == "b"


def test_a_pause_is_noted_not_waited_for() -> None:
    shop = Shop()
    shop.cluster_ops.pause("Sync", 0, final=True)
    assert shop.cluster_ops.not_before is None
    shop.cluster_ops.pause("Sync", 0, final=False)
    assert shop.cluster_ops.not_before == shop.api_server.now() + timedelta(seconds=2)
    quick = KubectlClusterOps(shop.api_server, wave_delay=0.5)
    quick.pause("Sync", 1, final=False)
    assert quick.not_before == shop.api_server.now() + timedelta(seconds=0.5)


def test_groups_of_users() -> None:
    assert groups_of("") == ()
    assert groups_of("jane") == ("system:authenticated",)
    assert groups_of("system:serviceaccount:shop:x") == (
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    )
