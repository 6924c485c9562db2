"""What a commit needs from outside: objects that others create, and operators of custom resources.

A Secret that the base references and Git does not contain must exist, or the base would not run. For one that
the commit references for the first time, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.proofs.assumed import referenced_keys
from whysync.proofs.partial_objects import AssumedCrds, is_built_in_group, unmasked
from whysync.queries.references import references_of

_KINDS: Final = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim")
_REFERABLE: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "PersistentVolumeClaim",
    "StorageClass",
    "PriorityClass",
    "IngressClass",
    "ResourceQuota",
    "LimitRange",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
"""Kinds of objects that an object of the head may reference, or that may reject it."""
_RBAC_KINDS: Final = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_ALL_PERMISSIONS: Final = "taken-for-granted.whysync.dev"
_VALUE: Final = "dW5rbm93bg=="
_HEALTHY: Final = 'hs = {}\nhs.status = "Healthy"\nreturn hs\n'


def outside_objects(
    known: Iterable[Object], desired: list[Object], namespace: str, *, coming: list[Object]
) -> list[Object]:
    """Objects that pods of `known` reference and Git does not contain, and what operators create.

    What `known` declares and `desired` does not is removed by the commit: it is not assumed to exist.
    """
    known = list(known)
    declared = {_key(desired_object, namespace) for desired_object in (*desired, *known)}
    needed = {key: None for obj in known for key in _referenced_by(obj, namespace)}
    needed |= {
        key: None
        for desired_object in (*desired, *coming)
        for key in _created_by_operators(desired_object, namespace)
    }
    return [
        _placeholder(*key, [*desired, *coming], namespace) for key in sorted(needed) if key not in declared
    ]


def health_of_custom_kinds(desired: Iterable[Object]) -> dict[str, str]:
    """Settings that make custom resources healthy: their operators are assumed to work."""
    settings: dict[str, str] = {}
    for desired_object in desired:
        group, kind = group_of(text(desired_object.get("apiVersion"))), text(desired_object.get("kind"))
        if (
            group
            and kind
            and not is_built_in_group(group)
            and (group, kind) != ("argoproj.io", "Application")
        ):
            settings[f"resource.customizations.health.{group}_{kind}"] = _HEALTHY
    return dict(sorted(settings.items()))


def referable_objects(case: Case) -> list[Object]:
    """Objects of the cluster that the head may reference, or that may reject it."""
    return [unmasked(live.body) for kind in _REFERABLE for live in case.live_of_kind(kind)]


def new_kinds(case: Case, head: list[Object]) -> list[Object]:
    """CRDs for kinds of the head that neither the head nor the facts define."""
    manifests = (*case.index.snapshot.live, *case.desired)
    known_kinds = {(manifest.ref.group, manifest.ref.kind) for manifest in manifests}
    known_kinds |= {
        (text(crd.spec.get("group")), text(dig(crd.spec, "names", "kind")))
        for crd in case.live_of_kind("CustomResourceDefinition")
    }
    crds = AssumedCrds(case, [], head).definitions()
    return [
        crd
        for crd in crds
        if (text(dig(crd, "spec", "group")), text(dig(crd, "spec", "names", "kind"))) not in known_kinds
    ]


def rights(case: Case) -> tuple[list[Object], str]:
    """RBAC objects if syncs use impersonation, and what is assumed.

    Facts rarely contain the permissions of accounts: in that case the syncing account may do everything.
    """
    if not case.argocd.impersonation_enabled:
        return [], ""
    rbac_objects = [manifest.body for kind in _RBAC_KINDS for manifest in case.live_of_kind(kind)]
    if any(text(body.get("kind")).endswith("Binding") for body in rbac_objects):
        return rbac_objects, ""
    group = "rbac.authorization.k8s.io"
    role: Object = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": _ALL_PERMISSIONS},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ],
    }
    binding: Object = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _ALL_PERMISSIONS},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": _ALL_PERMISSIONS},
        "subjects": [{"kind": "Group", "apiGroup": group, "name": "system:serviceaccounts"}],
    }
    return [role, binding], "the account of the sync is assumed to have the permissions that it needs"


def let_webhooks_fail(case: Case, api_server: ApiServer) -> None:
    """Make webhooks fail that the facts show to be unreachable; all others are assumed to allow the request.

    Unreachable are those with a URL on the server's own machine, and those whose Service has no ready pod.
    """
    slices: dict[tuple[str, str], list[Object]] = {}
    for endpoint_slice in case.live_of_kind("EndpointSlice"):
        service = text(dig(endpoint_slice.body, "metadata", "labels", "kubernetes.io/service-name"))
        slices.setdefault((endpoint_slice.ref.namespace, service), []).append(endpoint_slice.body)
    services = {
        (service_manifest.ref.namespace, service_manifest.ref.name): service_manifest.body
        for service_manifest in case.live_of_kind("Service")
    }
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for configuration in case.live_of_kind(kind):
            for hook in map(fields, items(configuration.body.get("webhooks"))):
                client = fields(hook.get("clientConfig"))
                target = fields(client.get("service"))
                service_key = text(target.get("namespace")), text(target.get("name"))
                if (
                    service_key in services
                    and slices.get(service_key)
                    and not any(map(_has_ready, slices[service_key]))
                ):
                    api_server.load([services[service_key], *slices[service_key]])
                elif "url" not in client:
                    continue
                api_server.webhooks.pop(text(hook.get("name")), None)


def _has_ready(slice: Object) -> bool:
    return any(
        dig(endpoint, "conditions", "ready") is not False for endpoint in items(slice.get("endpoints"))
    )


def _referenced_by(obj: Object, namespace: str) -> Iterator[tuple[str, str, str]]:
    own_namespace = text(dig(obj, "metadata", "namespace")) or namespace
    for reference in references_of(Manifest(obj, role=Role.DESIRED)):
        if reference.kind in _KINDS and reference.name:
            yield reference.kind, own_namespace, reference.name


def _created_by_operators(obj: Object, namespace: str) -> Iterator[tuple[str, str, str]]:
    meta = fields(obj.get("metadata"))
    own_namespace, name = text(meta.get("namespace")) or namespace, text(meta.get("name"))
    match text(obj.get("kind")):
        case "ExternalSecret":
            yield "Secret", own_namespace, text(dig(obj, "spec", "target", "name")) or name
        case "SealedSecret":
            yield "Secret", own_namespace, text(dig(obj, "spec", "template", "metadata", "name")) or name
        case "Certificate":
            secret = text(dig(obj, "spec", "secretName"))
            if secret:
                yield "Secret", own_namespace, secret
        case _:
            return


def _key(obj: Object, namespace: str) -> tuple[str, str, str]:
    meta = fields(obj.get("metadata"))
    return text(obj.get("kind")), text(meta.get("namespace")) or namespace, text(meta.get("name"))


def _placeholder(kind: str, space: str, name: str, desired: list[Object], namespace: str) -> Object:
    obj: Object = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": space}}
    values: dict[str, Json] = dict.fromkeys(referenced_keys(desired, kind, space, name, namespace), _VALUE)
    match kind:
        case "Secret":
            return {**obj, "type": "Opaque", "data": values}
        case "ConfigMap":
            return {**obj, "data": values}
        case "PersistentVolumeClaim":
            resources: Object = {"requests": {"storage": "1Gi"}}
            spec: Object = {
                "accessModes": ["ReadWriteOnce"],
                "resources": resources,
                "volumeName": f"pv-{name}",
            }
            return {**obj, "spec": spec, "status": {"phase": "Bound"}}
        case _:
            return obj
