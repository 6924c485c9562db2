from __future__ import annotations

from whysync.argocd.compare.reconcile_pairs import Pair, dedup_live_resources, pair
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Key, ref_of


def thing(
    name: str, *, api: str = "v1", kind: str = "ConfigMap", namespace: str = "", uid: str = ""
) -> Object:
    metadata: Object = {"name": name, "uid": uid or f"{api}{kind}{namespace}{name}"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def by_key(*objects: Object) -> dict[Key, Object]:
    return {ref_of(obj).key: obj for obj in objects}


def test_version_does_not_count_and_the_rest_is_extra() -> None:
    target = thing("a", api="apps/v2", kind="Deployment")
    live = thing("a", api="apps/v1", kind="Deployment", namespace="shop")
    extra = thing("b", namespace="shop")
    missing = thing("c")
    result = pair([target, missing], by_key(extra, live), namespace="shop", is_namespaced=lambda _: True)
    assert result.pairs == (Pair(target, live), Pair(missing, None), Pair(None, extra))


def test_an_unknown_scope_is_tried_both_ways() -> None:
    live = thing("a", api="x.io/v1", kind="Widget")
    for scope, expected in ((None, live), (False, live), (True, None)):
        pairs = pair(
            [thing("a", api="x.io/v1", kind="Widget")],
            by_key(live),
            namespace="shop",
            is_namespaced=lambda _, scope=scope: scope,
        ).pairs
        assert pairs[0].live == expected


def test_one_object_under_two_groups_counts_once() -> None:
    old = thing("a", api="extensions/v1beta1", kind="Ingress", namespace="shop", uid="1")
    new = thing("a", api="networking.k8s.io/v1", kind="Ingress", namespace="shop", uid="1")
    assert list(dedup_live_resources([new], by_key(old, new)).values()) == [new]
    assert list(dedup_live_resources([old], by_key(old, new)).values()) == [old]
    assert len(dedup_live_resources([], by_key(old, new))) == 1


def test_hooks_are_set_apart_and_unknown_ones_vanish() -> None:
    hook: Object = {
        **thing("h"),
        "metadata": {"name": "h", "annotations": {"argocd.argoproj.io/hook": "Sync"}},
    }
    lost: Object = {
        **thing("l"),
        "metadata": {"name": "l", "annotations": {"argocd.argoproj.io/hook": "sync"}},
    }
    result = pair([hook, lost], {}, namespace="", is_namespaced=lambda _: True)
    assert (result.pairs, result.hooks) == ((), (hook,))
