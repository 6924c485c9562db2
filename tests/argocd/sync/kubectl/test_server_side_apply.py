"""`kubectl apply --server-side`: who owns what afterwards, and what is taken over from client-side apply."""

from __future__ import annotations

from msgspec.structs import replace

from tests.argocd.sync.kubectl.shop import (
    ACCOUNT,
    ARGOCD,
    SERVER_SIDE,
    Shop,
    a_config,
    a_deployment,
    a_widget,
    outcome_of,
    rights,
)
from tests.argocd.sync.kubectl.test_client_side import managers
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.protocol import Answer
from whysync.kubernetes.apiserver.protocol import Request as ApiRequest
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

CONFLICT: Object = {
    "kind": "Status",
    "reason": "Conflict",
    "message": "somebody was faster",
    "code": 409,
}


def test_it_says_the_same_whether_it_creates_changes_or_leaves_alone() -> None:
    shop = Shop()
    for image in ("api:1", "api:1", "api:2"):
        answer = shop.apply(a_deployment(image=image), SERVER_SIDE)
        assert answer == "deployment.apps/api serverside-applied"
    assert managers(shop.live(a_deployment())) == [("argocd-controller", "Apply")]


def test_conflicts_are_always_won() -> None:
    shop = Shop()
    path = "/api/v1/namespaces/shop/configmaps/settings"
    theirs = ApiRequest(verb="ssa", path=path, body=a_config(a="theirs"), manager="them")
    assert shop.api_server.send(theirs).ok
    assert shop.apply(a_config(a="ours"), SERVER_SIDE) == "configmap/settings serverside-applied"
    assert shop.live(a_config())["data"] == {"a": "ours"}
    lost = shop.api_server.send(theirs)
    assert lost.code == 409, "and they would have to force it now"


def test_after_client_side_apply_the_annotation_goes_and_so_does_what_left_the_manifest() -> None:
    shop = Shop()
    shop.apply(a_config(a="1", b="2"))
    assert shop.apply(a_config(a="1"), SERVER_SIDE) == "configmap/settings serverside-applied"
    live = shop.live(a_config())
    assert live["data"] == {"a": "1"}
    assert LAST_APPLIED not in fields(dig(live, "metadata", "annotations") or {})
    assert managers(live) == [("argocd-controller", "Apply")]


def test_a_migration_that_the_server_refuses_is_a_warning() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    ground = KubectlClusterOps(_Refusing(shop, "json-patch"))
    assert ground.apply(a_config(a="1"), SERVER_SIDE) == (
        "configmap/settings serverside-applied. Warning: server rejected managed fields migration to "
        "Server-Side Apply. This is non-fatal and will be retried next time you apply. Error: somebody was "
        "faster"
    )
    assert ("argocd-controller", "Update") in managers(shop.live(a_config()))


def test_a_conflict_that_force_does_not_win_is_told_with_advice() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"), SERVER_SIDE)
    stale = a_config(a="2")
    stale["metadata"] = {**fields(stale["metadata"]), "resourceVersion": "1"}
    try:
        shop.cluster_ops.apply(stale, SERVER_SIDE)
    except Refused as problem:
        refusal = problem
    else:
        raise AssertionError("accepted")
    assert refusal.reason is Reason.CONFLICT
    first, *_, last = refusal.message.splitlines()
    assert first.startswith('Operation cannot be fulfilled on configmaps "settings": ')
    assert last == "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts"


def test_force_does_not_go_with_it() -> None:
    answer = Shop().apply(a_deployment(), replace(SERVER_SIDE, force=True))
    assert answer == "refused: error validating options: --force cannot be used with --server-side"


def test_what_the_server_refuses_is_told_as_it_is() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    assert shop.apply(a_deployment(selects="other"), SERVER_SIDE) == (
        'refused: Deployment.apps "api" is invalid: spec.selector: Invalid value: '
        '{"matchLabels":{"app":"other"}}: field is immutable'
    )
    odd = a_deployment("web")
    odd["spec"] = {**fields(odd["spec"]), "replcias": 3}
    answer = shop.apply(odd, SERVER_SIDE)
    assert answer.endswith(".spec.replcias: field not declared in schema"), (
        "here an unknown field is an error"
    )
    assert shop.apply(a_config(namespace="nowhere"), SERVER_SIDE) == 'refused: namespaces "nowhere" not found'
    assert 'no matches for kind "Widget"' in shop.apply(a_widget(), SERVER_SIDE)


def test_whoever_may_patch_but_not_create() -> None:
    shop = Shop()
    for obj in rights("patch"):
        shop.apply(obj)
    message = outcome_of(lambda: shop.as_user().apply(a_config(a="1"), SERVER_SIDE))
    assert message == (
        f'refused: configmaps "settings" is forbidden: User "{ACCOUNT}" cannot create resource "configmaps" '
        'in API group "" in the namespace "shop"'
    )
    shop.apply(a_config(a="1"), SERVER_SIDE)
    changed = outcome_of(lambda: shop.as_user().apply(a_config(a="2"), SERVER_SIDE))
    assert changed == "configmap/settings serverside-applied"


def test_an_object_that_is_being_deleted_gets_a_warning_here_too() -> None:
    shop = Shop()
    with_finalizer = a_config(a="1")
    with_finalizer["metadata"] = {
        **fields(with_finalizer["metadata"]),
        "finalizers": ["example.com/hold"],
    }
    shop.apply(with_finalizer, SERVER_SIDE)
    shop.cluster_ops.delete(ref_of(with_finalizer), Propagation.BACKGROUND)
    assert shop.apply(with_finalizer, SERVER_SIDE) == (
        "configmap/settings serverside-applied. Warning: Detected changes to resource settings which is "
        "currently being deleted."
    )


def test_back_to_the_client_side_warns_once() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"), SERVER_SIDE)
    assert shop.apply(a_config(a="1"), ARGOCD).startswith("configmap/settings configured. Warning: resource ")
    assert shop.apply(a_config(a="1"), ARGOCD) == "configmap/settings unchanged"


class _Refusing:
    """The shop's cluster, but one verb always comes too late."""

    def __init__(self, shop: Shop, verb: str) -> None:
        self.api_server = shop.api_server
        self.kinds = shop.api_server.kinds
        self.now = shop.api_server.now
        self.verb = verb

    def send(self, request: ApiRequest) -> Answer:
        return Answer(code=409, body=CONFLICT) if request.verb == self.verb else self.api_server.send(request)
