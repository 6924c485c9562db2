"""`kubectl apply` on the client's side: every outcome, in the words that Argo CD shows."""

from __future__ import annotations

import pytest

from tests.argocd.sync.kubectl.shop import (
    ACCOUNT,
    ARGOCD,
    DRY,
    FORCE,
    Shop,
    a_config,
    a_definition,
    a_deployment,
    a_namespace,
    a_widget,
    outcome_of,
    rights,
)
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.protocol import Answer
from whysync.kubernetes.apiserver.protocol import Request as ApiRequest
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.merge.last_applied import LAST_APPLIED

NO_ANNOTATION = (
    f"Warning: resource configmaps/settings is missing the {LAST_APPLIED} annotation which is required by "
    " apply.  apply should only be used on resources created declaratively by either  create --save-config "
    "or  apply. The missing annotation will be patched automatically."
)


def managers(obj: Object) -> list[tuple[str, str]]:
    rows = [fields(row) for row in items(dig(obj, "metadata", "managedFields"))]
    return [(text(row.get("manager")), text(row.get("operation"))) for row in rows]


def test_created_unchanged_configured() -> None:
    shop = Shop()
    assert shop.apply(a_deployment()) == "deployment.apps/api created"
    assert shop.apply(a_deployment()) == "deployment.apps/api unchanged"
    assert shop.apply(a_deployment(image="api:2")) == "deployment.apps/api configured"
    assert managers(shop.live(a_deployment())) == [("argocd-controller", "Update")]


def test_kinds_of_the_core_and_custom_ones_are_named_alike() -> None:
    shop = Shop()
    assert shop.apply(a_config(a="1")) == "configmap/settings created"
    definition = "customresourcedefinition.apiextensions.k8s.io/widgets.shop.example"
    assert shop.apply(a_definition()) == f"{definition} created"
    assert shop.apply(a_definition()) == f"{definition} unchanged"
    assert shop.apply(a_widget(size=1)) == "widget.shop.example/w created"
    assert shop.apply(a_widget(size=2)) == "widget.shop.example/w configured"


def test_what_left_the_manifest_is_removed_and_what_others_added_stays() -> None:
    shop = Shop()
    shop.apply(a_config(a="1", b="2"))
    live = shop.live(a_config())
    shop.cluster_ops.update({**live, "data": {**fields(live.get("data")), "theirs": "3"}}, dry_run=False)
    assert shop.apply(a_config(a="1")) == "configmap/settings configured"
    assert shop.live(a_config())["data"] == {"a": "1", "theirs": "3"}


def test_an_object_that_nobody_applied_before_gets_a_warning() -> None:
    shop = Shop()
    shop.cluster_ops.create(a_config(a="1"), ARGOCD)
    assert shop.apply(a_config(a="1")) == f"configmap/settings configured. {NO_ANNOTATION}"
    assert shop.apply(a_config(a="1")) == "configmap/settings unchanged"


def test_an_object_that_is_being_deleted_gets_a_warning() -> None:
    shop = Shop()
    with_finalizer = a_config(a="1")
    with_finalizer["metadata"] = {
        **fields(with_finalizer["metadata"]),
        "finalizers": ["example.com/hold"],
    }
    shop.apply(with_finalizer)
    shop.cluster_ops.delete(ref_of(with_finalizer), Propagation.BACKGROUND)
    warning = "Warning: Detected changes to resource settings which is currently being deleted."
    assert shop.apply(with_finalizer) == f"configmap/settings unchanged. {warning}"
    with_finalizer["data"] = {"a": "2"}
    assert shop.apply(with_finalizer) == f"configmap/settings configured. {warning}"


def test_a_field_that_cannot_be_changed() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    answer = shop.apply(a_deployment(selects="other"))
    head, _, tail = answer.partition('": ')
    assert head.startswith('refused: error when patching "/dev/shm/')
    assert tail == (
        'Deployment.apps "api" is invalid: spec.selector: '
        'Invalid value: {"matchLabels":{"app":"other"}}: field is immutable'
    )
    assert answer == shop.apply(a_deployment(selects="other")), "the same words every time"


def test_force_deletes_it_and_creates_it_anew() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    before = dig(shop.live(a_deployment()), "metadata", "uid")
    assert shop.apply(a_deployment(selects="other"), FORCE) == "deployment.apps/api configured"
    after = shop.live(a_deployment())
    assert dig(after, "metadata", "uid") != before
    assert dig(after, "spec", "selector", "matchLabels", "app") == "other"
    assert shop.apply(a_deployment(selects="other")) == "deployment.apps/api unchanged"


def test_force_does_not_touch_what_can_be_changed() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    before = dig(shop.live(a_deployment()), "metadata", "uid")
    assert shop.apply(a_deployment(image="api:2"), FORCE) == "deployment.apps/api configured"
    assert dig(shop.live(a_deployment()), "metadata", "uid") == before


def test_force_gives_up_at_once_where_a_finalizer_holds_the_old_one() -> None:
    shop = Shop()
    with_finalizer = a_deployment()
    with_finalizer["metadata"] = {
        **fields(with_finalizer["metadata"]),
        "finalizers": ["example.com/hold"],
    }
    shop.apply(with_finalizer)
    other: Object = {**a_deployment(selects="other"), "metadata": with_finalizer["metadata"]}
    assert shop.apply(other, FORCE) == "refused: context deadline exceeded"


def test_force_brings_the_old_one_back_where_the_new_one_is_refused() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    broken = a_deployment(selects="other")
    template = fields(fields(broken["spec"])["template"])
    template["metadata"] = {"labels": {"app": "third"}}
    answer = shop.apply(broken, FORCE)
    assert answer.startswith('refused: Deployment.apps "api" is invalid: ')
    assert "`selector` does not match template `labels`" in answer
    assert dig(shop.live(a_deployment()), "spec", "selector", "matchLabels", "app") == "api"


def test_a_namespace_that_is_not_there() -> None:
    shop = Shop(namespace=False)
    with pytest.raises(Refused) as refusal:
        shop.cluster_ops.apply(a_config(a="1"), ARGOCD)
    assert refusal.value.message == 'namespaces "shop" not found'
    assert refusal.value.reason is Reason.NOT_FOUND


def test_a_kind_that_nothing_serves() -> None:
    answer = Shop().apply(a_widget())
    head, _, tail = answer.partition("/dev/shm/")
    assert head == 'refused: resource mapping not found for name: "w" namespace: "shop" from "'
    assert tail.partition('": ')[2] == (
        'no matches for kind "Widget" in version "shop.example/v1"\nensure CRDs are installed first'
    )


def test_who_may_not_read_does_not_get_as_far_as_writing() -> None:
    shop = Shop()
    user = shop.as_user()
    message = outcome_of(lambda: user.apply(a_deployment(), ARGOCD))
    assert message.startswith(
        "refused: error when retrieving current configuration of:\n"
        'Resource: "apps/v1, Resource=deployments", GroupVersionKind: "apps/v1, Kind=Deployment"\n'
        'Name: "api", Namespace: "shop"\nfrom server for: '
    )
    assert message.endswith(
        f'deployments.apps "api" is forbidden: User "{ACCOUNT}" cannot get resource "deployments" in API '
        'group "apps" in the namespace "shop"'
    )


def test_who_may_read_only() -> None:
    shop = Shop()
    for obj in rights("get"):
        shop.apply(obj)
    user = shop.as_user()
    forbidden = f'User "{ACCOUNT}" cannot {{}} resource "configmaps" in API group "" in the namespace "shop"'
    assert outcome_of(lambda: user.apply(a_config(a="1"), ARGOCD)) == (
        f"refused: configmaps is forbidden: {forbidden.format('create')}"
    )
    shop.apply(a_config(a="1"))
    message = outcome_of(lambda: user.apply(a_config(a="2"), ARGOCD))
    assert message.endswith(f'": configmaps "settings" is forbidden: {forbidden.format("patch")}')


def test_the_groups_of_a_service_account_count() -> None:
    shop = Shop()
    role, binding = rights("get", "create")
    group: Object = {
        "kind": "Group",
        "apiGroup": "rbac.authorization.k8s.io",
        "name": "system:serviceaccounts:shop",
    }
    binding["subjects"] = [group]
    for obj in (role, binding):
        shop.apply(obj)
    assert shop.as_user().apply(a_config(a="1"), ARGOCD) == "configmap/settings created"
    other = shop.as_user("system:serviceaccount:elsewhere:deployer")
    assert outcome_of(lambda: other.apply(a_config(a="1"), ARGOCD)).startswith("refused: ")


def test_an_unknown_field_is_dropped_without_a_word() -> None:
    shop = Shop()
    odd = a_deployment()
    odd["spec"] = {**fields(odd["spec"]), "replcias": 3}
    assert shop.apply(odd) == "deployment.apps/api created"
    assert "replcias" not in fields(shop.live(odd)["spec"])
    assert shop.apply(odd) == "deployment.apps/api configured", "and found missing every time"


def test_an_unknown_field_with_more_below_it_cannot_be_patched() -> None:
    """The first apply passes it over; the second compares it with the first, and knows no such field."""
    shop = Shop()
    odd = a_deployment()
    odd["spec"] = {**fields(odd["spec"]), "extra": {"a": 1}}
    assert shop.apply(odd) == "deployment.apps/api created"
    odd["spec"] = {**fields(odd["spec"]), "extra": {"a": 2}}
    why = '\nfor: unable to find api field in struct DeploymentSpec for the json field "extra"'
    tried = shop.apply(odd, DRY)
    assert tried.startswith('refused: creating patch with:\noriginal:\n{"apiVersion":"apps/v1",')
    assert tried.endswith(why)
    answer = shop.apply(odd)
    assert answer.startswith('refused: error when patching "/dev/shm/')
    assert answer.endswith(why)


def test_a_wrong_type_is_told_without_the_name_of_a_file() -> None:
    shop = Shop()
    odd = a_deployment()
    odd["spec"] = {**fields(odd["spec"]), "replicas": "three"}
    assert shop.apply(odd) == (
        'refused: Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal '
        "string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


def test_a_manifest_that_insists_on_an_old_version_loses_after_six_tries() -> None:
    shop = Shop()
    shop.apply(a_config(a="1"))
    stale = a_config(a="2")
    stale["metadata"] = {**fields(stale["metadata"]), "resourceVersion": "1"}
    counted = _Counting(shop.api_server)
    ground = KubectlClusterOps(counted)
    message = outcome_of(lambda: ground.apply(stale, ARGOCD))
    assert message.endswith(
        '": Operation cannot be fulfilled on configmaps "settings": the object has been modified; please '
        "apply your changes to the latest version and try again"
    )
    assert counted.verbs.count("strategic-patch") == 6


class _Counting:
    def __init__(self, model: ApiServer) -> None:
        self.api_server = model
        self.kinds = model.kinds
        self.now = model.now
        self.verbs: list[str] = []

    def send(self, request: ApiRequest) -> Answer:
        self.verbs.append(request.verb)
        return self.api_server.send(request)


def test_names_that_the_server_should_make_up() -> None:
    shop = Shop()
    unnamed = a_config(a="1")
    unnamed["metadata"] = {"generateName": "settings-", "namespace": "shop"}
    assert shop.apply(unnamed) == "refused: from settings-: cannot use generate name with apply"
    assert shop.cluster_ops.create(unnamed, ARGOCD).startswith("configmap/settings-")


def test_without_a_namespace_nothing_is_asked() -> None:
    shop = Shop()
    lost = a_config(a="1")
    lost["metadata"] = {"name": "settings"}
    assert shop.apply(lost).endswith('": an empty namespace may not be set when a resource name is provided')


def test_kinds_without_namespaces_lose_theirs() -> None:
    shop = Shop()
    odd = a_namespace("other")
    odd["metadata"] = {"name": "other", "namespace": "shop"}
    assert shop.apply(odd) == "namespace/other created"
    message = text(dig(shop.live(a_namespace("other")), "metadata", "annotations", LAST_APPLIED))
    assert '"namespace"' not in message


# -- dry run ----------------------------------------------------------------------------------------


def test_a_dry_run_changes_nothing_and_says_so() -> None:
    shop = Shop()
    assert shop.apply(a_deployment(), DRY) == "deployment.apps/api created (dry run)"
    assert not shop.has(a_deployment())
    shop.apply(a_deployment())
    assert shop.apply(a_deployment(), DRY) == "deployment.apps/api unchanged (dry run)"
    version = shop.version(a_deployment())
    assert shop.apply(a_deployment(image="api:2"), DRY) == "deployment.apps/api configured (dry run)"
    assert shop.version(a_deployment()) == version


def test_what_a_dry_run_does_not_see() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    assert shop.apply(a_deployment(selects="other"), DRY) == "deployment.apps/api configured (dry run)"
    nowhere = a_config(namespace="nowhere")
    assert shop.apply(nowhere, DRY) == "configmap/settings created (dry run)"
    odd = a_deployment("web")
    odd["spec"] = {"replicas": "three"}
    assert shop.apply(odd, DRY) == "deployment.apps/web created (dry run)"


def test_what_a_dry_run_sees() -> None:
    shop = Shop()
    assert "no matches for kind" in shop.apply(a_widget(), DRY)
    assert "is forbidden" in outcome_of(lambda: shop.as_user().apply(a_deployment(), DRY))
