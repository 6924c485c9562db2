"""Objects that the facts lack and that must exist, because pods that need them are running.

A Secret that no message reports as missing exists with the keys that pods reference; its values do not
matter. Nodes have the labels and the capacity that the pods need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.kubelet.nodes import ensure_nodes
from whysync.messages.parse import understand
from whysync.messages.patterns.apply import NamespaceMissing
from whysync.messages.patterns.pods import DependencyMissing
from whysync.proofs.partial_objects import pod_templates
from whysync.queries.references import Reference, is_absent

_Name = tuple[str, str, str]
"""Kind, namespace and name."""
_VALUE: Final = "dW5rbm93bg=="


def assumed_objects(
    case: Case, live: Iterable[Object], desired: Iterable[Object], healthy: frozenset[str]
) -> list[Object]:
    """Objects that pod templates reference and that are neither live nor in Git.

    `healthy` has the keys of resources that Argo CD reports as Healthy: everything they reference exists.
    """
    existing = {_name(live_object) for live_object in live}
    coming = {_name(desired_object, case.destination_namespace) for desired_object in desired}
    missing = _reported_missing(case)
    keys_by_name: dict[_Name, set[str]] = {}
    for obj in (*live, *desired):
        namespace = text(dig(obj, "metadata", "namespace")) or case.destination_namespace
        key = ref_of(obj).key._replace(namespace=namespace)
        runs = str(key) in healthy and case.live_of(key) is not None
        for template in pod_templates(obj):
            for kind, name, entry in _references(template):
                place = kind, namespace, name
                if not name or place in existing or place in coming or (kind, name) in missing:
                    continue
                reference = Reference(kind=kind, name=name, pointer="")
                if runs or not is_absent(case, reference, namespace):
                    keys_by_name.setdefault(place, set()).update({entry} - {""})
    return [_placeholder(*place, sorted(keys)) for place, keys in sorted(keys_by_name.items())]


def referenced_keys(
    objects: Iterable[Object], kind: str, namespace: str, name: str, default: str
) -> list[str]:
    """The keys of one Secret or ConfigMap that the pod templates of these objects reference."""
    keys: set[str] = set()
    for obj in objects:
        if (text(dig(obj, "metadata", "namespace")) or default) != namespace:
            continue
        for template in pod_templates(obj):
            keys |= {entry for *reference, entry in _references(template) if reference == [kind, name]}
    return sorted(keys - {""})


def missing_namespaces(case: Case) -> frozenset[str]:
    return frozenset(failure.failure.namespace for failure in case.failures(NamespaceMissing))


def namespaces(case: Case, live: Iterable[Object], desired: Iterable[Object]) -> list[Object]:
    """Namespaces that are not in the facts and that no message reports as missing."""
    used_in_git = {
        text(dig(desired_object, "metadata", "namespace")) or case.destination_namespace
        for desired_object in desired
    }
    live_names = {
        text(dig(live_object, "metadata", "name"))
        for live_object in live
        if live_object.get("kind") == "Namespace"
    }
    coming = {
        text(dig(desired_object, "metadata", "name"))
        for desired_object in desired
        if desired_object.get("kind") == "Namespace"
    }
    if case.has_sync_option("CreateNamespace=true") and not _was_synced_before(case):
        coming.add(case.destination_namespace)
    used = {text(dig(live_object, "metadata", "namespace")) for live_object in live}
    assumed = used_in_git - live_names - (coming - used) - missing_namespaces(case) - {""}
    return [active_namespace(name) for name in sorted(assumed)]


def active_namespace(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _was_synced_before(case: Case) -> bool:
    """Has an earlier sync created the destination namespace? Facts with other namespaces would contain it."""
    return bool(case.app.status.history) and not case.live_of_kind("Namespace")


def _reported_missing(case: Case) -> set[tuple[str, str]]:
    missing = {
        (failure.failure.kind, failure.failure.name)
        for failure in case.failures(DependencyMissing)
        if not failure.failure.key
    }
    for pod in case.live_of_kind("Pod"):
        for group in ("initContainerStatuses", "containerStatuses"):
            for raw in items(pod.status.get(group)):
                message = understand(text(dig(raw, "state", "waiting", "message")))
                missing |= {
                    (failure.kind, failure.name)
                    for failure in message.every(DependencyMissing)
                    if not failure.key
                }
    return missing


def _references(template: Object) -> Iterator[tuple[str, str, str]]:
    """Kind, name and key of every reference of a pod that is not optional."""
    account = text(template.get("serviceAccountName"))
    if account and account != "default":
        yield "ServiceAccount", account, ""
    for raw in items(template.get("volumes")):
        volume = fields(raw)
        claim = text(dig(volume, "persistentVolumeClaim", "claimName"))
        if claim:
            yield "PersistentVolumeClaim", claim, ""
        sources = [volume, *(fields(source) for source in items(dig(volume, "projected", "sources")))]
        for source in sources:
            for kind, field in (("Secret", "secret"), ("ConfigMap", "configMap")):
                reference = fields(source.get(field))
                name = text(reference.get("secretName")) or text(reference.get("name"))
                if name and reference.get("optional") is not True:
                    yield kind, name, ""
                    for item in items(reference.get("items")):
                        yield kind, name, text(dig(item, "key"))
    for group in ("initContainers", "containers"):
        for raw in items(template.get(group)):
            yield from _container_references(fields(raw))


def _container_references(container: Object) -> Iterator[tuple[str, str, str]]:
    for raw in items(container.get("envFrom")):
        for kind, field in (("Secret", "secretRef"), ("ConfigMap", "configMapRef")):
            source = fields(dig(raw, field))
            if source.get("optional") is not True:
                yield kind, text(source.get("name")), ""
    for raw in items(container.get("env")):
        for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
            source = fields(dig(raw, "valueFrom", field))
            if source.get("optional") is not True:
                yield kind, text(source.get("name")), text(source.get("key"))


def _placeholder(kind: str, namespace: str, name: str, keys: list[str]) -> Object:
    obj: Object = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
    values: dict[str, Json] = dict.fromkeys(keys, _VALUE)
    if kind == "Secret":
        obj |= {"type": "Opaque", "data": values}
    elif kind == "ConfigMap":
        obj["data"] = values
    elif kind == "PersistentVolumeClaim":
        obj |= {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeName": f"pv-{name}",
            },
            "status": {"phase": "Bound"},
        }
    return obj


def _name(obj: Object, default: str = "") -> _Name:
    meta = fields(obj.get("metadata"))
    return text(obj.get("kind")), text(meta.get("namespace")) or default, text(meta.get("name"))


_HOSTNAME: Final = "kubernetes.io/hostname"
_MIN_NODES: Final = 3
_MAX_NODES: Final = 50


def nodes_for(live: Iterable[Object], desired: Iterable[Object]) -> list[Object]:
    """Nodes for all DaemonSet pods, with every label that a pod template requires.

    A template whose labels contradict those of another one gets a node of its own.
    """
    objects = [*live, *desired]
    if any(obj.get("kind") == "Node" for obj in objects):
        return []
    labels: Object = {}
    special: list[Object] = []
    for obj in objects:
        for template in pod_templates(obj):
            required: Object = dict(_required_labels(template))
            for key, value in required.items():
                if key != _HOSTNAME:
                    labels.setdefault(key, value)
            if any(labels.get(key) != value for key, value in required.items()) and required not in special:
                special.append(required)
    names = {text(dig(obj, "spec", "nodeName")) for obj in objects if obj.get("kind") == "Pod"} - {""}
    daemons = [
        integer(dig(obj, "status", "desiredNumberScheduled"))
        for obj in objects
        if obj.get("kind") == "DaemonSet"
    ]
    count = min(max([_MIN_NODES, len(names), *daemons]), _MAX_NODES)
    node_names = [
        *sorted(names),
        *(f"node-{number}" for number in range(1, count + 1) if f"node-{number}" not in names),
    ]
    own_labels = [{**labels, **required} for required in special[: _MAX_NODES - count]]
    node_names += [f"node-{count + number}" for number in range(1, len(own_labels) + 1)]
    return [
        _named_node(node, name, node_labels)
        for node, name, node_labels in zip(
            _default_nodes(count + len(own_labels)),
            node_names,
            [*[labels] * count, *own_labels],
            strict=False,
        )
    ]


def _default_nodes(count: int) -> list[Object]:
    """Nodes as the simulation creates them by default."""
    api_server = ApiServer()
    ensure_nodes(api_server, count)
    return [obj for obj in api_server.objects() if obj.get("kind") == "Node"]


def _required_labels(template: Object) -> Iterator[tuple[str, str]]:
    for key, value in fields(template.get("nodeSelector")).items():
        yield key, text(value)
    terms = dig(
        template,
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    for term in items(terms)[:1]:
        for raw in items(dig(term, "matchExpressions")):
            expression = fields(raw)
            values = items(expression.get("values"))
            if expression.get("operator") == "In" and values:
                yield text(expression.get("key")), text(values[0])
            elif expression.get("operator") == "Exists":
                yield text(expression.get("key")), ""


def _named_node(node: Object, name: str, labels: Object) -> Object:
    meta = fields(node.get("metadata"))
    own: Object = {_HOSTNAME: name, **labels}
    own = {**fields(meta.get("labels")), **own}
    return {**node, "metadata": {"name": name, "labels": own}}
