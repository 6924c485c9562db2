"""Fields that the server sets or resets in objects of certain kinds before it stores them.

Mirrors the registry strategies (`PrepareForCreate`, `PrepareForUpdate`) and the default admission plugins of
Kubernetes 1.36. Field managers do not own what is set here, because ownership is computed before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whysync.json_tree import MISSING, Json, Object, copy, copy_object, dig, fields, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.conversion import TEMPLATE_GENERATION
from whysync.kubernetes.apiserver.service_allocation import (
    RegistryContext,
    prepare_service_for_create,
    prepare_service_for_update,
    spec_of,
)


def prepare_for_create(obj: Object, resource: Resource, zero: Object, registry: RegistryContext) -> Object:
    strategy = _PREPARE_FOR_CREATE.get((resource.group, resource.kind))
    new = dict(obj) if strategy is None else _mutable_copy(obj)
    if resource.status and resource.kind not in _KEEP_STATUS:
        _copy_status(zero, new)
    if strategy is not None:
        strategy(new, registry)
    return new


def prepare_for_update(new: Object, old: Object, resource: Resource, registry: RegistryContext) -> Object:
    strategy = _PREPARE_FOR_UPDATE.get((resource.group, resource.kind))
    new = dict(new) if strategy is None else _mutable_copy(new)
    if resource.status:
        _copy_status(old, new)
    if strategy is not None:
        strategy(new, old, registry)
    return new


def _mutable_copy(obj: Object) -> Object:
    """A deep copy that may be changed; managedFields, which no strategy changes, are shared."""
    meta = fields(obj.get("metadata"))
    owners = meta.get("managedFields")
    if owners is None:
        return copy_object(obj)
    bare: Object = {**meta, "managedFields": None}
    new = copy_object({**obj, "metadata": bare})
    fields(new.get("metadata"))["managedFields"] = owners
    return new


_KEEP_STATUS: Final = frozenset({"Node"})


def _copy_status(source: Object, target: Object) -> None:
    if "status" in source:
        target["status"] = source["status"]
    else:
        target.pop("status", None)


def raises_generation(new: Object, old: Object, resource: Resource) -> bool:
    """Does this change raise `metadata.generation`?"""
    if resource.kind == "Deployment" and resource.group == "apps":
        old_meta, new_meta = fields(old.get("metadata")), fields(new.get("metadata"))
        if fields(old_meta.get("annotations")) != fields(new_meta.get("annotations")):
            return True
    if resource.kind == "EndpointSlice":
        old_meta, new_meta = fields(old.get("metadata")), fields(new.get("metadata"))
        if fields(old_meta.get("labels")) != fields(new_meta.get("labels")):
            return True
    if resource.kind == "PriorityClass":
        return False
    ignored = {"apiVersion", "kind", "metadata"} | ({"status"} if resource.status else set[str]())
    keys = (new.keys() | old.keys()) - ignored
    return any((new.get(key) or None) != (old.get(key) or None) for key in keys)  # empty is none


def prepare_pod_for_create(obj: Object, registry: RegistryContext) -> None:
    spec = spec_of(obj)
    _set_priority(spec, registry)
    _set_overhead(spec, registry)
    _add_default_tolerations(spec)
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    status: Object = {"phase": "Pending", "qosClass": compute_pod_qos(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": registry.now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    obj["status"] = status


def prepare_pod_for_update(new: Object, old: Object, __: RegistryContext) -> None:
    spec, old_spec = spec_of(new), fields(old.get("spec"))
    if spec.get("priorityClassName") == old_spec.get("priorityClassName"):
        for key in ("priority", "preemptionPolicy"):
            if spec.get(key) is None and key in old_spec:
                spec[key] = old_spec[key]
    _add_default_tolerations(spec)


def _set_priority(spec: Object, registry: RegistryContext) -> None:
    name = text(spec.get("priorityClassName"))
    value, policy = 0, "PreemptLowerPriority"
    system = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
    if name in system:
        value = system[name]
    else:
        chosen = registry.find("scheduling.k8s.io", "priorityclasses", name) if name else None
        if not name:
            defaults = [
                priority_class
                for priority_class in registry.all_of("scheduling.k8s.io", "priorityclasses")
                if priority_class.get("globalDefault")
            ]
            chosen = defaults[0] if defaults else None
        if chosen is not None:
            spec["priorityClassName"] = fields(chosen.get("metadata")).get("name")
            class_value = chosen.get("value")
            value = class_value if isinstance(class_value, int) else 0
            policy = text(chosen.get("preemptionPolicy"), policy)
    spec["priority"] = value
    if not spec.get("preemptionPolicy"):
        spec["preemptionPolicy"] = policy


def _set_overhead(spec: Object, registry: RegistryContext) -> None:
    name = text(spec.get("runtimeClassName"))
    runtime_class = registry.find("node.k8s.io", "runtimeclasses", name) if name else None
    if runtime_class is None:
        return
    overhead = dig(runtime_class, "overhead", "podFixed")
    if isinstance(overhead, dict) and not spec.get("overhead"):
        spec["overhead"] = copy(overhead)
    scheduling = fields(runtime_class.get("scheduling"))
    selector = fields(scheduling.get("nodeSelector"))
    if selector:
        spec["nodeSelector"] = {**fields(spec.get("nodeSelector")), **selector}
    more = items(scheduling.get("tolerations"))
    if more:
        spec["tolerations"] = [*items(spec.get("tolerations")), *(copy(toleration) for toleration in more)]


def _add_default_tolerations(spec: Object) -> None:
    tolerations = [*items(spec.get("tolerations"))]
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_tolerates(fields(toleration), key) for toleration in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )
    spec["tolerations"] = tolerations


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def compute_pod_qos(spec: Object) -> str:
    """The QoS class of a Pod: Guaranteed, BestEffort or Burstable. Mirrors `ComputePodQOS`."""
    pod_level = fields(spec.get("resources"))
    resource_lists = (
        [pod_level]
        if pod_level.get("requests") or pod_level.get("limits")
        else [
            fields(fields(container).get("resources"))
            for group in ("initContainers", "containers")
            for container in items(spec.get(group))
        ]
    )
    any_amount, guaranteed = False, True
    for resources in resource_lists:
        requests = _cpu_and_memory(resources.get("requests"))
        limits = _cpu_and_memory(resources.get("limits"))
        any_amount = any_amount or bool(requests or limits)
        if set(limits) != {"cpu", "memory"} or any(
            requests.get(name, limits[name]) != limits[name] for name in limits
        ):
            guaranteed = False
    if not any_amount:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _cpu_and_memory(value: Json) -> Object:
    return {
        name: amount
        for name, amount in fields(value).items()
        if name in {"cpu", "memory"} and amount not in ("0", 0)
    }


def prepare_node_for_create(obj: Object, _: RegistryContext) -> None:
    """Adds the not-ready taint. Mirrors the `TaintNodesByCondition` admission plugin."""
    spec = spec_of(obj)
    taint: Object = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    if taint not in items(spec.get("taints")):
        spec["taints"] = [*items(spec.get("taints")), taint]


def prepare_stateful_set_for_create(obj: Object, _: RegistryContext) -> None:
    """Drops `maxUnavailable`, which is behind a feature gate that is off."""
    update = dig(obj, "spec", "updateStrategy", "rollingUpdate")
    if isinstance(update, dict):
        update.pop("maxUnavailable", None)


def prepare_stateful_set_for_update(new: Object, old: Object, registry: RegistryContext) -> None:
    if dig(old, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable") is MISSING:
        prepare_stateful_set_for_create(new, registry)


def prepare_daemon_set_for_create(obj: Object, _: RegistryContext) -> None:
    _set_template_generation(obj, "1")


def prepare_daemon_set_for_update(new: Object, old: Object, _: RegistryContext) -> None:
    """Counts the changes of the pod template; writers cannot set the annotation."""
    old_generation = text(dig(old, "metadata", "annotations", TEMPLATE_GENERATION), "1")
    changed = dig(new, "spec", "template") != dig(old, "spec", "template")
    generation = int(old_generation) if old_generation.isdecimal() else 1
    _set_template_generation(new, str(generation + 1 if changed else generation))


def _set_template_generation(obj: Object, number: str) -> None:
    meta = obj.get("metadata")
    if isinstance(meta, dict):
        meta["annotations"] = {**fields(meta.get("annotations")), TEMPLATE_GENERATION: number}


def prepare_job_for_create(obj: Object, _: RegistryContext) -> None:
    spec = spec_of(obj)
    if spec.get("manualSelector"):
        return
    meta = fields(obj.get("metadata"))
    uid, name = meta.get("uid"), meta.get("name")
    template = spec.get("template")
    template = template if isinstance(template, dict) else {}
    spec["template"] = template
    template_meta = template.get("metadata")
    template_meta = template_meta if isinstance(template_meta, dict) else {}
    template["metadata"] = template_meta
    labels: Object = {
        **fields(template_meta.get("labels")),
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    if meta.get("labels") and meta["labels"] == template_meta.get("labels"):
        # In the server, labels defaulted from the template are the same map as the template's labels.
        meta["labels"] = dict(labels)
    template_meta["labels"] = labels
    if spec.get("selector") is None:
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def prepare_namespace_for_create(obj: Object, _: RegistryContext) -> None:
    spec = spec_of(obj)
    finalizers = items(spec.get("finalizers"))
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]
    obj["status"] = {"phase": "Active"}


def prepare_namespace_for_update(new: Object, old: Object, _: RegistryContext) -> None:
    """Finalizers of a namespace change only through the `finalize` subresource."""
    spec = fields(old.get("spec"))
    if "finalizers" in spec:
        spec_of(new)["finalizers"] = copy(spec["finalizers"])


def prepare_persistent_volume_claim_for_create(obj: Object, registry: RegistryContext) -> None:
    obj["status"] = {"phase": "Pending"}
    _add_finalizer(obj, "kubernetes.io/pvc-protection")
    spec = spec_of(obj)
    _normalize_data_sources(spec)
    if spec.get("storageClassName") is None:
        for storage_class in registry.all_of("storage.k8s.io", "storageclasses"):
            annotations = fields(fields(storage_class.get("metadata")).get("annotations"))
            if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
                spec["storageClassName"] = fields(storage_class.get("metadata")).get("name")
                break


def _normalize_data_sources(spec: Object) -> None:
    """Sets `dataSource` from `dataSourceRef`, or the other way around. Mirrors `NormalizeDataSources`."""
    source, source_ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if isinstance(source, dict) and source_ref is None:
        spec["dataSourceRef"] = copy(source)
    elif isinstance(source_ref, dict) and source is None and not source_ref.get("namespace"):
        spec["dataSource"] = copy(source_ref)


def prepare_persistent_volume_for_create(obj: Object, registry: RegistryContext) -> None:
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": registry.now}
    _add_finalizer(obj, "kubernetes.io/pv-protection")


def prepare_volume_attributes_class_for_create(obj: Object, _: RegistryContext) -> None:
    _add_finalizer(obj, "kubernetes.io/vac-protection")


def _add_finalizer(obj: Object, finalizer: str) -> None:
    meta = obj.get("metadata")
    if isinstance(meta, dict) and finalizer not in items(meta.get("finalizers")):
        meta["finalizers"] = [*items(meta.get("finalizers")), finalizer]


def prepare_ingress_for_create(obj: Object, registry: RegistryContext) -> None:
    spec = spec_of(obj)
    annotations = fields(fields(obj.get("metadata")).get("annotations"))
    if spec.get("ingressClassName") is not None or "kubernetes.io/ingress.class" in annotations:
        return
    for ingress_class in registry.all_of("networking.k8s.io", "ingressclasses"):
        class_annotations = fields(fields(ingress_class.get("metadata")).get("annotations"))
        if class_annotations.get("ingressclass.kubernetes.io/is-default-class") == "true":
            spec["ingressClassName"] = fields(ingress_class.get("metadata")).get("name")
            return


def prepare_secret_for_update(new: Object, old: Object, _: RegistryContext) -> None:
    if not new.get("type"):
        new["type"] = old.get("type")


def prepare_definition_for_create(obj: Object, _: RegistryContext) -> None:
    stored: list[Json] = [
        fields(version).get("name")
        for version in items(spec_of(obj).get("versions"))
        if fields(version).get("storage")
    ]
    obj["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    }


def prepare_definition_for_update(new: Object, _: Object, __: RegistryContext) -> None:
    status = new.get("status")
    if not isinstance(status, dict):
        return
    stored = items(status.get("storedVersions"))
    for version in items(spec_of(new).get("versions")):
        name = fields(version).get("name")
        if fields(version).get("storage") and name not in stored:
            status["storedVersions"] = stored = [*stored, name]


_PREPARE_FOR_CREATE: Final[dict[tuple[str, str], Callable[[Object, RegistryContext], None]]] = {
    ("", "Pod"): prepare_pod_for_create,
    ("", "Node"): prepare_node_for_create,
    ("apps", "StatefulSet"): prepare_stateful_set_for_create,
    ("apps", "DaemonSet"): prepare_daemon_set_for_create,
    ("batch", "Job"): prepare_job_for_create,
    ("", "Namespace"): prepare_namespace_for_create,
    ("", "PersistentVolumeClaim"): prepare_persistent_volume_claim_for_create,
    ("", "PersistentVolume"): prepare_persistent_volume_for_create,
    ("storage.k8s.io", "VolumeAttributesClass"): prepare_volume_attributes_class_for_create,
    ("networking.k8s.io", "Ingress"): prepare_ingress_for_create,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): prepare_definition_for_create,
    ("", "Service"): prepare_service_for_create,
}
_PREPARE_FOR_UPDATE: Final[dict[tuple[str, str], Callable[[Object, Object, RegistryContext], None]]] = {
    ("", "Pod"): prepare_pod_for_update,
    ("apps", "StatefulSet"): prepare_stateful_set_for_update,
    ("apps", "DaemonSet"): prepare_daemon_set_for_update,
    ("", "Namespace"): prepare_namespace_for_update,
    ("", "Secret"): prepare_secret_for_update,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): prepare_definition_for_update,
    ("", "Service"): prepare_service_for_update,
}
