"""A cluster in memory with the namespace `shop`, objects to put there, and syncs that run to their end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.sync.cluster_ops import Mode, Reason, Refused
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import NamespaceMaker, Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step
from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.apiserver.protocol import Request as ApiRequest
from whysync.kubernetes.apiserver.server import ApiServer

ARGOCD = Mode(manager="argocd-controller")
SERVER_SIDE = replace(ARGOCD, server_side=True)
FORCE = replace(ARGOCD, force=True)
DRY = replace(ARGOCD, dry_run=True)
ADMIN = Mode()
RBAC = "rbac.authorization.k8s.io/v1"
ACCOUNT = "system:serviceaccount:shop:deployer"


class Shop:
    def __init__(self, *, namespace: bool = True) -> None:
        self.api_server = ApiServer()
        self.cluster_ops = KubectlClusterOps(self.api_server)
        if namespace:
            self.cluster_ops.create(a_namespace("shop"), ADMIN)

    def as_user(self, user: str = ACCOUNT) -> KubectlClusterOps:
        return KubectlClusterOps(self.api_server, user=user)

    def apply(self, obj: Object, mode: Mode = ARGOCD) -> str:
        """What is shown, of a refusal too."""
        return outcome_of(lambda: self.cluster_ops.apply(obj, mode))

    def live(self, obj: Object) -> Object:
        return self.cluster_ops.get(ref_of(obj))

    def has(self, obj: Object) -> bool:
        return self.find(ref_of(obj)) is not None

    def find(self, ref: Ref) -> Object | None:
        try:
            return self.cluster_ops.get(ref)
        except Refused as problem:
            if problem.reason is not Reason.NOT_FOUND:
                raise
            return None

    def set_status(self, obj: Object, status: Object) -> None:
        """What a controller would write."""
        live = self.live(obj)
        served = next(kind for kind in self.api_server.kinds() if kind.kind == obj["kind"])
        ref = ref_of(live)
        body: Object = {**live, "status": status}
        path = served.path(ref.namespace, ref.name, "status")
        assert self.api_server.send(ApiRequest(verb="update", path=path, body=body)).ok

    def version(self, obj: Object) -> Json:
        value = dig(self.live(obj), "metadata", "resourceVersion")
        assert isinstance(value, str)
        return value

    # -- syncs --------------------------------------------------------------------------------------

    def request(
        self,
        targets: Iterable[Object],
        hooks: Iterable[Object] = (),
        options: SyncOptions = SyncOptions(),  # noqa: B008  (frozen)
        *,
        make_namespace: NamespaceMaker | None = None,
    ) -> Request:
        """What a comparison would ask for: whatever has the label `app: mine` is the app's."""
        expected = {ref_of(target).key: target for target in targets}
        pairs = [Pair(target, self.find(ref_of(target))) for target in expected.values()]
        hooks = tuple(hooks)
        known = {*expected, *(ref_of(hook).key for hook in hooks)}
        for obj in self.api_server.objects():
            if dig(obj, "metadata", "labels", "app") == "mine" and ref_of(obj).key not in known:
                pairs.append(Pair(None, obj))
        pairs += [Pair(None, live) for hook in hooks if (live := self.find(ref_of(hook))) is not None]
        return Request(
            namespace="shop",
            revision="0123456789abcdef",
            pairs=tuple(pairs),
            hooks=hooks,
            options=options,
            make_namespace=make_namespace,
        )

    def sync(
        self,
        targets: Iterable[Object] = (),
        hooks: Iterable[Object] = (),
        options: SyncOptions = SyncOptions(),  # noqa: B008  (frozen)
        *,
        meanwhile: Callable[[], None] = lambda: None,
        most: int = 12,
        make_namespace: NamespaceMaker | None = None,
    ) -> list[State]:
        """Steps until it is over, or nothing new is said; `meanwhile` happens between them."""
        targets, hooks = tuple(targets), tuple(hooks)
        states = [State()]
        for _ in range(most):
            request = self.request(targets, hooks, options, make_namespace=make_namespace)
            states.append(step(states[-1], request, self.cluster_ops))
            if states[-1].is_finished:
                break
            self.api_server.settle()
            meanwhile()
        return states[1:]


def outcome_of(act: Callable[[], str]) -> str:
    try:
        return act()
    except Refused as problem:
        return f"refused: {problem.message}"


def messages(state: State) -> dict[str, str]:
    return {result.name: result.message for result in state.results}


def outcomes(state: State) -> dict[str, str]:
    return {result.name: f"{result.status} {result.hook_phase}" for result in state.results}


# -- objects ----------------------------------------------------------------------------------------


def marked(obj: Object, **annotations: str) -> Object:
    """`marked(obj, wave="1", hook="PreSync", policy="HookSucceeded", options="Force=true")`."""
    names = {"wave": "sync-wave", "hook": "hook", "policy": "hook-delete-policy", "options": "sync-options"}
    meta = fields(obj.get("metadata"))
    result: Object = {f"argocd.argoproj.io/{names[key]}": value for key, value in annotations.items()}
    return {**obj, "metadata": {**meta, "annotations": {**fields(meta.get("annotations")), **result}}}


def mine(obj: Object) -> Object:
    meta = fields(obj.get("metadata"))
    return {**obj, "metadata": {**meta, "labels": {**fields(meta.get("labels")), "app": "mine"}}}


def a_namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def a_config(name: str = "settings", *, namespace: str = "shop", **data: Json) -> Object:
    meta: Object = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": dict(data)}


def a_deployment(name: str = "api", *, selects: str = "", image: str = "api:1") -> Object:
    labels: Object = {"app": selects or name}
    pod: Object = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    }


def a_job(name: str = "migrate", *, image: str = "migrate:1") -> Object:
    pod: Object = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"template": {"spec": pod}},
    }


def a_role(*verbs: str, name: str = "reader", namespace: str = "shop") -> Object:
    rule: Object = {"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}
    meta: Object = {"name": name, "namespace": namespace}
    return {"apiVersion": RBAC, "kind": "Role", "metadata": meta, "rules": [rule]}


def a_binding(role: str = "reader", *accounts: str, name: str = "readers") -> Object:
    subjects: list[Json] = [
        {"kind": "ServiceAccount", "name": account, "namespace": "shop"} for account in accounts
    ]
    return {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": "shop"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": subjects,
    }


def a_definition() -> Object:
    schema: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Object = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def a_widget(name: str = "w", **spec: Json) -> Object:
    meta: Object = {"name": name, "namespace": "shop"}
    return {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": meta, "spec": dict(spec)}


def rights(*verbs: str, group: str = "*", resources: tuple[str, ...] = ("*",)) -> list[Object]:
    """What lets the service account `deployer` do something in `shop`."""
    rule: Object = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    role: Object = {**a_role(name="deploys"), "rules": [rule]}
    return [role, a_binding("deploys", "deployer", name="deploys")]
