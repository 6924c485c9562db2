"""Objects that the facts lack and that must exist, because pods that need them run.

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
from whysync.messages.patterns.apply import NamespaceMissing
from whysync.messages.patterns.pods import DependencyMissing, FailedMount
from whysync.proofs.partial_objects import pod_templates
from whysync.queries.references import Reference, is_absent

_Name = tuple[str, str, str]
"""Kind, namespace and name."""
_VALUE: Final = "dW5rbm93bg=="


def assumed_objects(
    case: Case, live: Iterable[Object], desired: Iterable[Object], well: frozenset[str]
) -> list[Object]:
    """What the templates of live and desired objects name, that neither is live nor comes from Git.

    `well` has the keys of what Argo CD calls healthy: all that these name is there.
    """
    there = {_name(live_object) for live_object in live}
    coming = {_name(desired_object, case.destination_namespace) for desired_object in desired}
    missing = _said_to_be_missing(case)
    found: dict[_Name, set[str]] = {}
    for obj in (*live, *desired):
        namespace = text(dig(obj, "metadata", "namespace")) or case.destination_namespace
        key = ref_of(obj).key._replace(namespace=namespace)
        runs = str(key) in well and case.live_of(key) is not None
        for template in pod_templates(obj):
            for kind, name, entry in _named(template):
                place = kind, namespace, name
                if not name or place in there or place in coming or (kind, name) in missing:
                    continue
                reference = Reference(kind=kind, name=name, pointer="")
                if runs or not is_absent(case, reference, namespace):
                    found.setdefault(place, set()).update({entry} - {""})
    return [_made(*place, sorted(keys)) for place, keys in sorted(found.items())]


def asked_keys(objects: Iterable[Object], kind: str, namespace: str, name: str, default: str) -> list[str]:
    """The keys that the templates of these objects ask one Secret or ConfigMap for."""
    found: set[str] = set()
    for obj in objects:
        if (text(dig(obj, "metadata", "namespace")) or default) != namespace:
            continue
        for template in pod_templates(obj):
            found |= {key for asked, title, key in _named(template) if (asked, title) == (kind, name)}
    return sorted(found - {""})


def missing_namespaces(case: Case) -> frozenset[str]:
    return frozenset(failure.failure.namespace for failure in case.failures(NamespaceMissing))


def namespaces(case: Case, live: Iterable[Object], desired: Iterable[Object]) -> list[Object]:
    """Of those that are not live: Argo CD was never told that they are not there."""
    named = {
        text(dig(desired_object, "metadata", "namespace")) or case.destination_namespace
        for desired_object in desired
    }
    known = {
        text(dig(live_object, "metadata", "name"))
        for live_object in live
        if live_object.get("kind") == "Namespace"
    }
    coming = {
        text(dig(desired_object, "metadata", "name"))
        for desired_object in desired
        if desired_object.get("kind") == "Namespace"
    }
    if case.has_sync_option("CreateNamespace=true"):
        coming.add(case.destination_namespace)
    used = {text(dig(live_object, "metadata", "namespace")) for live_object in live}
    wanted = named - known - (coming - used) - missing_namespaces(case) - {""}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        for name in sorted(wanted)
    ]


def _said_to_be_missing(case: Case) -> set[tuple[str, str]]:
    found = {
        (failure.failure.kind, failure.failure.name)
        for failure in case.failures(DependencyMissing)
        if not failure.failure.key
    }
    for mount in case.failures(FailedMount):
        found |= {(kind, name) for kind, name in _in_words(mount.message.text)}
    for pod in case.live_of_kind("Pod"):
        for group in ("initContainerStatuses", "containerStatuses"):
            for raw in items(pod.status.get(group)):
                found |= set(_in_words(text(dig(raw, "state", "waiting", "message"))))
    return found


def _in_words(told: str) -> Iterator[tuple[str, str]]:
    for word, kind in (
        ("secret", "Secret"),
        ("configmap", "ConfigMap"),
        ("serviceaccount", "ServiceAccount"),
    ):
        _, found, rest = told.partition(f'{word} "')
        name, quote, after = rest.partition('"')
        if found and quote and "not found" in after:
            yield kind, name.rpartition("/")[2]


def _named(template: Object) -> Iterator[tuple[str, str, str]]:
    """Kind, name and key of all that a pod names and is not optional."""
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
                told = fields(source.get(field))
                name = text(told.get("secretName")) or text(told.get("name"))
                if name and told.get("optional") is not True:
                    yield kind, name, ""
                    for item in items(told.get("items")):
                        yield kind, name, text(dig(item, "key"))
    for group in ("initContainers", "containers"):
        for raw in items(template.get(group)):
            yield from _of_container(fields(raw))


def _of_container(container: Object) -> Iterator[tuple[str, str, str]]:
    for raw in items(container.get("envFrom")):
        for kind, field in (("Secret", "secretRef"), ("ConfigMap", "configMapRef")):
            told = fields(dig(raw, field))
            if told.get("optional") is not True:
                yield kind, text(told.get("name")), ""
    for raw in items(container.get("env")):
        for kind, field in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
            told = fields(dig(raw, "valueFrom", field))
            if told.get("optional") is not True:
                yield kind, text(told.get("name")), text(told.get("key"))


def _made(kind: str, namespace: str, name: str, keys: list[str]) -> Object:
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


_FEWEST: Final = 3
_MOST: Final = 50


def nodes_for(live: Iterable[Object], desired: Iterable[Object]) -> list[Object]:
    """As many as the largest DaemonSet counts, with every label that a template asks for."""
    objects = [*live, *desired]
    if any(obj.get("kind") == "Node" for obj in objects):
        return []
    labels: Object = {}
    for obj in objects:
        for template in pod_templates(obj):
            for key, value in _wished(template):
                labels.setdefault(key, value)
    names = {text(dig(obj, "spec", "nodeName")) for obj in objects if obj.get("kind") == "Pod"} - {""}
    daemons = [
        integer(dig(obj, "status", "desiredNumberScheduled"))
        for obj in objects
        if obj.get("kind") == "DaemonSet"
    ]
    count = min(max([_FEWEST, len(names), *daemons]), _MOST)
    named = [
        *sorted(names),
        *(f"node-{number}" for number in range(1, count + 1) if f"node-{number}" not in names),
    ]
    return [_called(one, name, labels) for one, name in zip(_plain(count), named, strict=False)]


def _plain(count: int) -> list[Object]:
    """As the model makes them for itself."""
    empty = ApiServer()
    ensure_nodes(empty, count)
    return [obj for obj in empty.objects() if obj.get("kind") == "Node"]


def _wished(template: Object) -> Iterator[tuple[str, str]]:
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
            told = fields(raw)
            values = items(told.get("values"))
            if told.get("operator") == "In" and values:
                yield text(told.get("key")), text(values[0])
            elif told.get("operator") == "Exists":
                yield text(told.get("key")), ""


def _called(node: Object, name: str, labels: Object) -> Object:
    meta = fields(node.get("metadata"))
    own: Object = {**labels, **fields(meta.get("labels")), "kubernetes.io/hostname": name}
    return {**node, "metadata": {"name": name, "labels": own}}
