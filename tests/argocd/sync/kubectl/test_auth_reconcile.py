"""`kubectl auth reconcile` before an apply of RBAC objects, and what Argo CD shows of both."""

from __future__ import annotations

import pytest

from tests.argocd.sync.kubectl.shop import (
    ACCOUNT,
    ARGOCD,
    DRY,
    RBAC,
    SERVER_SIDE,
    Shop,
    a_binding,
    a_role,
    outcome_of,
    rights,
)
from whysync.argocd.sync.kubectl.auth_reconcile import Rule, missing_rules
from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.api.ref import ref_of

ROLE = "role.rbac.authorization.k8s.io/reader"
BINDING = "rolebinding.rbac.authorization.k8s.io/readers"
PODS = "APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]"
WARNING = ". Warning: resource {} is missing the kubectl.kubernetes.io/last-applied-configuration annotation"


def test_a_new_role_is_reconciled_then_configured() -> None:
    """Nothing stands between the two: Argo CD puts the one output in front of the other."""
    answer = Shop().apply(a_role("get", "list"))
    assert answer.startswith(
        f"{ROLE} reconciled. reconciliation required create\n\tmissing rules added:\n"
        f"\t\t{{Verbs:[get list] {PODS}}}{ROLE} configured{WARNING.format('roles/reader')}"
    )


def test_a_role_as_it_should_be() -> None:
    shop = Shop()
    shop.apply(a_role("get"))
    version = shop.version(a_role())
    assert shop.apply(a_role("get")) == f"{ROLE} reconciled{ROLE} unchanged"
    assert shop.version(a_role()) == version


def test_each_single_permission_that_is_missing_is_told() -> None:
    shop = Shop()
    shop.apply(a_role("get"))
    assert shop.apply(a_role("get", "list", "watch")) == (
        f"{ROLE} reconciled. reconciliation required update\n\tmissing rules added:\n"
        f"\t\t{{Verbs:[list] {PODS}}}\n\t\t{{Verbs:[watch] {PODS}}}{ROLE} configured"
    )
    rules = items(shop.live(a_role()).get("rules"))
    assert rules == a_role("get", "list", "watch")["rules"], "the apply behind it makes one rule of them"


def test_permissions_that_left_the_manifest_go_with_the_apply() -> None:
    shop = Shop()
    shop.apply(a_role("get", "list"))
    assert shop.apply(a_role("get")) == f"{ROLE} reconciled{ROLE} configured"
    assert shop.live(a_role())["rules"] == a_role("get")["rules"]


def test_another_role_makes_another_binding() -> None:
    shop = Shop()
    shop.apply(a_binding("reader", "one"))
    before = dig(shop.live(a_binding()), "metadata", "uid")
    answer = shop.apply(a_binding("writer", "one"))
    assert answer.startswith(f"{BINDING} reconciled. reconciliation required recreate{BINDING} configured")
    assert dig(shop.live(a_binding()), "metadata", "uid") != before


def test_a_role_without_its_group_is_another_role_every_time() -> None:
    shop = Shop()
    short: Object = {**a_binding("reader", "one"), "roleRef": {"kind": "Role", "name": "reader"}}
    shop.apply(short)
    assert "reconciliation required recreate" in shop.apply(short)


def test_subjects_are_added_and_told() -> None:
    shop = Shop()
    shop.apply(a_binding("reader", "one"))
    assert shop.apply(a_binding("reader", "one", "two")).startswith(
        f"{BINDING} reconciled. reconciliation required update\n\tmissing subjects added:\n"
        f"\t\t{{Kind:ServiceAccount APIGroup: Name:two Namespace:shop}}{BINDING} "
    )
    assert len(items(shop.live(a_binding())["subjects"])) == 2


def test_a_protected_role_is_left_alone_by_the_one_and_changed_by_the_other() -> None:
    shop = Shop()
    protected = a_role("get")
    meta = fields(protected["metadata"])
    protected["metadata"] = {**meta, "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}
    shop.apply(protected)
    more: Object = {**protected, "rules": a_role("get", "list")["rules"]}
    assert shop.apply(more).startswith(
        f"{ROLE} reconciled. reconciliation required update, but object opted out "
        "(rbac.authorization.kubernetes.io/autoupdate: false)\n"
    )
    assert shop.live(more)["rules"] == more["rules"]


def test_an_aggregated_role() -> None:
    shop = Shop()
    selector: Object = {"matchLabels": {"part": "one"}}
    role: Object = {
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": "all", "namespace": "shop"},
        "aggregationRule": {"clusterRoleSelectors": [selector]},
        "rules": [],
    }
    shop.apply(role)
    two: Object = {"matchLabels": {"part": "two"}}
    role["aggregationRule"] = {"clusterRoleSelectors": [selector, two]}
    assert "reconciliation required update" in shop.apply(role)
    plain: Object = {key: value for key, value in role.items() if key != "aggregationRule"}
    assert "reconciliation required update" in shop.apply(plain)
    bare: Object = {**role, "metadata": {"name": "all"}}
    assert "aggregationRule" not in shop.cluster_ops.get(ref_of(bare))


def test_a_namespace_that_is_not_there() -> None:
    shop = Shop()
    lost = a_role("get", namespace="nowhere")
    assert shop.apply(lost) == (
        "refused: error running kubectl auth reconcile: error getting namespace nowhere: "
        'namespaces "nowhere" not found'
    )
    assert shop.apply(lost, DRY).endswith(f"{ROLE} created (dry run)"), "a dry run does not look"
    assert not shop.find(ref_of({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}}))


def test_dry_run_changes_nothing() -> None:
    shop = Shop()
    answer = shop.apply(a_role("get"), DRY)
    assert answer.startswith(f"{ROLE} reconciled (dry run). reconciliation required create")
    assert answer.endswith(f"{ROLE} created (dry run)")
    assert not shop.has(a_role())


def test_server_side_apply_does_without() -> None:
    assert Shop().apply(a_role("get"), SERVER_SIDE) == f"{ROLE} serverside-applied"


def test_who_may_not_is_told_so_of_a_role_and_gets_nonsense_of_a_binding() -> None:
    shop = Shop()
    for obj in rights("get", group="", resources=("namespaces",)):
        shop.apply(obj)
    user = shop.as_user()
    assert outcome_of(lambda: user.apply(a_role("get"), ARGOCD)) == (
        f'refused: error running kubectl auth reconcile: roles.rbac.authorization.k8s.io "reader" is '
        f'forbidden: User "{ACCOUNT}" cannot get resource "roles" in API group "rbac.authorization.k8s.io" '
        'in the namespace "shop"'
    )
    assert outcome_of(lambda: user.apply(a_binding(), ARGOCD)) == (
        "refused: error running kubectl auth reconcile: error running kubectl auth reconcile: runtime error: "
        "invalid memory address or nil pointer dereference"
    )


@pytest.mark.parametrize(
    ("existing", "requested", "missing"),
    [
        ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, "apps deployments get", False),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, "apps pods get", True),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["*/log"]}, " pods/log get", False),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, " pods/log get", True),
        (
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            " pods get",
            True,
        ),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, " pods list", True),
    ],
)
def test_what_rules_cover(existing: Object, requested: str, *, missing: bool) -> None:
    group, resource, verb = requested.split(" ")
    request = Rule(verbs=(verb,), groups=(group,), resources=(resource,))
    assert missing_rules([Rule.of(existing)], [request]) == ([request] if missing else [])


def test_rules_on_names_and_urls() -> None:
    two_names = Rule(verbs=("get",), groups=("",), resources=("pods",), names=("a", "b"))
    one_name = Rule(verbs=("get",), groups=("",), resources=("pods",), names=("a",))
    assert missing_rules([two_names], [one_name]) == []
    assert missing_rules([one_name], [two_names]) == [
        Rule(verbs=("get",), groups=("",), resources=("pods",), names=("b",))
    ]
    urls = Rule(verbs=("get",), urls=("/metrics/*",))
    assert missing_rules([urls], [Rule(verbs=("get",), urls=("/metrics/x",))]) == []
    assert missing_rules([urls], [Rule(verbs=("get",), urls=("/healthz",))]) == [
        Rule(verbs=("get",), urls=("/healthz",))
    ]
    assert (
        str(urls) == "{Verbs:[get] APIGroups:[] Resources:[] ResourceNames:[] NonResourceURLs:[/metrics/*]}"
    )
    assert urls.body == {"verbs": ["get"], "nonResourceURLs": ["/metrics/*"]}
