"""What a commit needs from outside: objects that others create, and operators of custom resources.

An object that the base references and Git does not contain must exist, or the base would not run. For one
that the commit references for the first time, nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.storage import DEFAULT_CLASS, default_class
from whysync.plan.plan import Assumption, AssumptionKind
from whysync.proofs.assumed import nodes_for, referenced_keys
from whysync.proofs.partial_objects import AssumedCrds, is_built_in_group, pod_templates, unmasked
from whysync.queries.references import references_of

_KINDS: Final = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim")
_REFERABLE: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "PriorityClass",
    "RuntimeClass",
    "IngressClass",
    "ResourceQuota",
    "LimitRange",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
"""Kinds of objects that an object of the head may reference, or that may reject it."""
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_DEFAULT_INGRESS_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
_RBAC_KINDS: Final = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_ALL_PERMISSIONS: Final = "taken-for-granted.whysync.dev"
_VALUE: Final = "dW5rbm93bg=="
_NEAR: Final = 0.85
_NEAR_PART: Final = 0.8
_SEPARATORS: Final = re.compile(r"[-._]+")
_HEALTHY: Final = 'hs = {}\nhs.status = "Healthy"\nreturn hs\n'


def outside_objects(
    known: Iterable[Object],
    desired: list[Object],
    namespace: str,
    *,
    coming: list[Object],
    others: Sequence[Object] = (),
) -> list[Object]:
    """Objects that pods reference and that something other than this Application creates.

    Those that pods of `known` reference exist, because they run. Further ones are created by other
    Applications (`others`) or by operators of custom resources. What `known` declares and `desired` does
    not is removed by the commit: it is not assumed to exist.
    """
    known = list(known)
    declared = {_key(desired_object, namespace) for desired_object in (*desired, *known)}
    needed = {key: None for obj in known for key in _referenced_by(obj, namespace)}
    created = {_key(other, namespace) for other in others}
    operators = _Operators((*desired, *coming, *others), namespace)
    needed |= {
        key: None
        for desired_object in (*desired, *coming)
        for key in _referenced_by(desired_object, namespace)
        if key in created or operators.may_create(key)
    }
    return [
        _placeholder(*key, [*desired, *coming], namespace) for key in sorted(needed) if key not in declared
    ]


def classes_and_nodes(
    known: Iterable[Object], desired: list[Object], *, coming: list[Object]
) -> list[Object]:
    """The classes that manifests name and Git does not contain, and nodes that their pods can use.

    As above, a class that the commit removes is not assumed to exist.
    """
    objects = [*desired, *coming]
    declared = {_kind_and_name(obj) for obj in (*desired, *known)}
    named = {key: None for obj in objects for key in _classes_of(obj) if key[1]}
    classes = [_class(*key) for key in sorted(named) if key not in declared]
    has_default = any(dig(obj, "metadata", "annotations", DEFAULT_CLASS) == "true" for obj in desired)
    if not has_default and any(kind == "StorageClass" for kind, _ in named):
        classes.append(default_class())
    if any(map(_needs_default_ingress_class, objects)) and not any(map(_is_default_ingress_class, desired)):
        classes.append(_class("IngressClass", "default", annotations={_DEFAULT_INGRESS_CLASS: "true"}))
    volumes = [_volume(obj) for obj in objects if _static_volume(obj)]
    missing = [volume for volume in volumes if _kind_and_name(volume) not in declared]
    return [*classes, *missing, *_nodes(objects)]


def _kind_and_name(obj: Object) -> tuple[str, str]:
    return text(obj.get("kind")), text(dig(obj, "metadata", "name"))


def _static_volume(obj: Object) -> str:
    """The name of the volume that a claim names: somebody created it."""
    is_claim = obj.get("kind") == "PersistentVolumeClaim"
    return text(dig(obj, "spec", "volumeName")) if is_claim else ""


def _volume(claim: Object) -> Object:
    spec = fields(claim.get("spec"))
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": _static_volume(claim)},
        "spec": {
            "capacity": {"storage": text(dig(spec, "resources", "requests", "storage"))},
            "accessModes": items(spec.get("accessModes")),
            "storageClassName": text(spec.get("storageClassName")),
            "persistentVolumeReclaimPolicy": "Retain",
            "nfs": {"server": "nfs.example.com", "path": "/"},
        },
    }


def _classes_of(obj: Object) -> Iterator[tuple[str, str]]:
    """Kind and name of the classes that an object names."""
    spec = fields(obj.get("spec"))
    match text(obj.get("kind")):
        case "PersistentVolumeClaim":
            yield "StorageClass", text(spec.get("storageClassName"))
        case "StatefulSet":
            for claim in items(spec.get("volumeClaimTemplates")):
                yield "StorageClass", text(dig(claim, "spec", "storageClassName"))
        case "Ingress":
            yield "IngressClass", text(spec.get("ingressClassName"))
        case _:
            pass
    for template in pod_templates(obj):
        yield "RuntimeClass", text(template.get("runtimeClassName"))
        priority = text(template.get("priorityClassName"))
        if not priority.startswith("system-"):  # every cluster has these
            yield "PriorityClass", priority


def _needs_default_ingress_class(obj: Object) -> bool:
    """Is it an Ingress without a class? Controllers serve it if their class is the default."""
    named = (
        text(dig(obj, "spec", "ingressClassName")),
        text(dig(obj, "metadata", "annotations", _INGRESS_CLASS)),
    )
    return obj.get("kind") == "Ingress" and not any(named)


def _is_default_ingress_class(obj: Object) -> bool:
    return dig(obj, "metadata", "annotations", _DEFAULT_INGRESS_CLASS) == "true"


def _class(kind: str, name: str, *, annotations: Object | None = None) -> Object:
    meta: Object = {"name": name, **({"annotations": annotations} if annotations else {})}
    match kind:
        case "StorageClass":
            return {**default_class(), "metadata": meta}
        case "PriorityClass":
            return {"apiVersion": "scheduling.k8s.io/v1", "kind": kind, "metadata": meta, "value": 1000}
        case "RuntimeClass":
            return {"apiVersion": "node.k8s.io/v1", "kind": kind, "metadata": meta, "handler": "runc"}
        case _:
            spec: Object = {"controller": "example.com/ingress-controller"}
            return {"apiVersion": "networking.k8s.io/v1", "kind": kind, "metadata": meta, "spec": spec}


def _nodes(objects: list[Object]) -> list[Object]:
    """Nodes with the labels and the devices that the pods ask for, and with room for all of them."""
    devices = {
        name
        for obj in objects
        for template in pod_templates(obj)
        for container in (*items(template.get("containers")), *items(template.get("initContainers")))
        for amounts in ("limits", "requests")
        for name in fields(dig(container, "resources", amounts))
        if "/" in name or name.startswith("hugepages-")
    }
    room: Object = {"cpu": "10k", "memory": "100Ti", "ephemeral-storage": "100Ti", "pods": "2500"}
    room |= dict.fromkeys(sorted(devices), "10k")
    return [
        {**node, "status": {**fields(node.get("status")), "capacity": room, "allocatable": room}}
        for node in nodes_for([], objects)
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
            and (group, kind) not in (("argoproj.io", "Application"), ("argoproj.io", "AppProject"))
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


def rights(case: Case) -> tuple[list[Object], tuple[Assumption, ...]]:
    """RBAC objects if syncs use impersonation, and what is assumed.

    Facts rarely contain the permissions of accounts: in that case the syncing account may do everything.
    """
    if not case.argocd.impersonation_enabled:
        return [], ()
    rbac_objects = [manifest.body for kind in _RBAC_KINDS for manifest in case.live_of_kind(kind)]
    if any(text(body.get("kind")).endswith("Binding") for body in rbac_objects):
        return rbac_objects, ()
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
    return [role, binding], (Assumption(kind=AssumptionKind.PERMISSIONS),)


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


def unknown_objects(
    desired: Iterable[Object],
    assumed: Iterable[Object],
    namespace: str,
    *,
    removed: Iterable[Object],
    others: Iterable[Object] = (),
    unused: Iterable[Object] = (),
) -> list[Object]:
    """Objects that pods reference and that nothing in Git creates: people, Terraform or a cloud may do that.

    Whether they exist is not known. One whose name is nearly that of a declared object of its kind is a
    mistake. One that the commit removes (`removed`), or that is declared in a file of the app that is not
    rendered (`unused`), does not exist.
    """
    desired = list(desired)
    present = {_key(obj, namespace) for obj in (*desired, *assumed)}
    gone = {_key(obj, namespace) for obj in removed}
    left_out = {_kind_and_name(obj) for obj in unused}
    needed = {key: None for obj in desired for key in _referenced_by(obj, namespace)}
    names: dict[str, set[str]] = {}
    for kind, _, name in (*present, *(_key(other, namespace) for other in others)):
        names.setdefault(kind, set()).add(name)
    own = {(kind, name) for kind, _, name in present}  # in another namespace
    return [
        _placeholder(*key, desired, namespace)
        for key in sorted(needed)
        if key not in present
        and key not in gone
        and (key[0], key[2]) not in left_out
        and (key[0], key[2]) not in own
        and not any(_is_misspelled(key[2], name) for name in names.get(key[0], ()))
    ]


def _is_misspelled(name: str, other: str) -> bool:
    """Do the names differ by their separators, or in one similar part? Another number is another name."""
    parts, other_parts = _SEPARATORS.split(name), _SEPARATORS.split(other)
    if name == other or SequenceMatcher(None, name, other).ratio() < _NEAR:
        return False
    if len(parts) != len(other_parts):
        return "".join(parts) == "".join(other_parts)
    pairs = [
        (part, other_part) for part, other_part in zip(parts, other_parts, strict=True) if part != other_part
    ]
    return len(pairs) <= 1 and all(
        part.rstrip("0123456789") != other_part.rstrip("0123456789")
        and SequenceMatcher(None, part, other_part).ratio() >= _NEAR_PART
        for part, other_part in pairs
    )


def undeclared_names(objects: Iterable[Object], namespace: str) -> set[tuple[str, str]]:
    """Kind and name of what pods reference and `objects` do not contain."""
    objects = list(objects)
    declared = {_kind_and_name(obj) for obj in objects}
    needed = {(kind, name) for obj in objects for kind, _, name in _referenced_by(obj, namespace)}
    return needed - declared


class _Operators:
    """The Secrets and ConfigMaps that operators create for custom resources.

    Their name is a value of the custom resource (the target of an ExternalSecret), or begins with its name
    (`db-app` for the database cluster `db`).
    """

    def __init__(self, objects: Iterable[Object], namespace: str) -> None:
        self._names: dict[str, set[str]] = {}
        self._prefixes: dict[str, list[str]] = {}
        for obj in objects:
            group = group_of(text(obj.get("apiVersion")))
            if not group or is_built_in_group(group) or group == "argoproj.io":
                continue
            _, own_namespace, name = _key(obj, namespace)
            names = self._names.setdefault(own_namespace, set())
            names |= {name, *_strings(obj.get("spec"))}
            self._prefixes.setdefault(own_namespace, []).append(f"{name}-")

    def may_create(self, key: tuple[str, str, str]) -> bool:
        kind, namespace, name = key
        if kind not in ("Secret", "ConfigMap"):
            return False
        return name in self._names.get(namespace, ()) or any(
            name.startswith(prefix) for prefix in self._prefixes.get(namespace, ())
        )


def _strings(value: Json) -> Iterator[str]:
    queue = [value]
    while queue:
        value = queue.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            queue += value.values()
        elif isinstance(value, list):
            queue += value


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
