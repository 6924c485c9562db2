"""Deployments, ReplicaSets, DaemonSets, StatefulSets, ReplicationControllers, ControllerRevisions.

Mirrors `apps/validation` (and `core/validation` for ReplicationControllers), Kubernetes 1.36.
"""

from __future__ import annotations

from whysync.golang.fmt import go_map
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.stateful_sets import MUTABLE_FIELDS
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal, same, same_plain
from whysync.kubernetes.validation.pods import validate_pod_template_spec
from whysync.kubernetes.validation.scalars import (
    int_or_percent_value,
    is_not_more_than_100_percent,
    validate_enum,
    validate_nonnegative_fields,
    validate_positive_int_or_percent,
)
from whysync.kubernetes.validation.selectors import (
    is_empty,
    is_valid,
    matches,
    printable,
    validate_label_selector,
)
from whysync.kubernetes.validation.volume_claims import validate_persistent_volume_claim_spec

_MISMATCH = "`selector` does not match template `labels`"
_SET_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def validate_deployment(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_deployment_spec(fields(obj.get("spec")))


def validate_deployment_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_deployment_spec(fields(new.get("spec")))
    yield from _validate_selector_unchanged(old, new)


def validate_replica_set(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_replica_set_spec(fields(obj.get("spec")))


def validate_replica_set_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_replica_set_spec(fields(new.get("spec")))
    yield from _validate_selector_unchanged(old, new)


def validate_daemon_set(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_daemon_set_spec(fields(obj.get("spec")))


def validate_daemon_set_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_selector_unchanged(old, new)
    yield from _validate_daemon_set_spec(fields(new.get("spec")))


def validate_stateful_set(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_label)
    yield from _validate_stateful_set_spec(fields(obj.get("spec")), on_create=True)


def validate_stateful_set_update(old: Object, new: Object) -> Problems:
    """A template that was invalid before the change (accepted by an older server) is not validated again."""
    yield from metadata.validate_object_meta_update(old, new)
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    was_bad = any(True for _ in _validate_stateful_set_spec(old_spec, on_create=False))
    yield from _validate_stateful_set_spec(new_spec, on_create=False, with_template=not was_bad)
    with_old_mutable = {**new_spec, **{field: old_spec.get(field) for field in MUTABLE_FIELDS}}
    if not same(with_old_mutable, old_spec, "apps/v1.StatefulSetSpec"):
        yield forbidden("spec", _SET_FORBIDDEN)


def validate_replication_controller(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_replication_controller_spec(fields(obj.get("spec")))


def validate_replication_controller_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_replication_controller_spec(fields(new.get("spec")))


def validate_controller_revision(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_controller_revision_data(obj)


def validate_controller_revision_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_controller_revision_data(new)
    if not same_plain(old.get("data"), new.get("data")):
        yield invalid("data", new.get("data"), IMMUTABLE)


def _validate_selector_unchanged(old: Object, new: Object) -> Problems:
    old_selector, new_selector = dig(old, "spec", "selector"), dig(new, "spec", "selector")
    if not same(old_selector, new_selector, "meta/v1.LabelSelector"):
        yield invalid("spec.selector", printable(new_selector), IMMUTABLE)


def _validate_required_selector(spec: Object, kind: str) -> Problems:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from validate_label_selector(selector, "spec.selector")
    if is_empty(selector):
        yield invalid("spec.selector", printable(selector), f"empty selector is invalid for {kind}")


def _validate_selector_matches_template(spec: Object) -> Problems:
    """`_validate_required_selector` reports an empty selector."""
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    if (selector is None or not is_empty(selector)) and not matches(selector, labels):
        yield invalid("spec.template.metadata.labels", go_map(labels), _MISMATCH)


def _validate_always_running(spec: Object, kind: str) -> Problems:
    pod_spec = fields(dig(spec, "template", "spec"))
    path, policy = "spec.template.spec", text(pod_spec.get("restartPolicy"))
    if policy != "Always":
        yield unsupported(f"{path}.restartPolicy", policy, ("Always",))
    if pod_spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{path}.activeDeadlineSeconds", detail)


def _validate_pod_template_spec_for_replica_set(spec: Object) -> Problems:
    if not is_valid(spec.get("selector")):
        yield invalid("spec.selector", printable(spec.get("selector")), "invalid label selector")
        return
    yield from _validate_selector_matches_template(spec)
    yield from validate_pod_template_spec(spec.get("template"), "spec.template")
    yield from _validate_always_running(spec, "ReplicaSet")


def _validate_deployment_spec(spec: Object) -> Problems:
    yield from validate_nonnegative_fields(spec, "spec", "replicas")
    yield from _validate_required_selector(spec, "deployment")
    yield from _validate_pod_template_spec_for_replica_set(spec)
    yield from _validate_deployment_strategy(fields(spec.get("strategy")))
    yield from validate_nonnegative_fields(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from validate_nonnegative_fields(spec, "spec", "progressDeadlineSeconds")
        if integer(deadline) <= integer(spec.get("minReadySeconds")):
            yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _validate_deployment_strategy(strategy: Object) -> Problems:
    path, kind, rolling = "spec.strategy", text(strategy.get("type")), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", detail)
    elif kind == "RollingUpdate":
        if rolling is None:
            yield required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
        else:
            yield from _validate_rolling_update_deployment(fields(rolling), f"{path}.rollingUpdate")
    else:
        bad_value = internal(strategy, "apps/v1.DeploymentStrategy")
        yield unsupported(path, bad_value, ("Recreate", "RollingUpdate"))


def _validate_rolling_update_deployment(rolling: Object, path: str) -> Problems:
    unavailable, surge = _max_unavailable_and_surge(rolling)
    yield from validate_positive_int_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from validate_positive_int_or_percent(surge, f"{path}.maxSurge")
    if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from is_not_more_than_100_percent(unavailable, f"{path}.maxUnavailable")


def _max_unavailable_and_surge(rolling: Object) -> tuple[Json, Json]:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    return (0 if unavailable is None else unavailable), (0 if surge is None else surge)


def _validate_replica_set_spec(spec: Object) -> Problems:
    yield from validate_nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
    yield from _validate_required_selector(spec, "deployment")  # upstream also prints "deployment" here
    yield from _validate_pod_template_spec_for_replica_set(spec)


def _validate_daemon_set_spec(spec: Object) -> Problems:
    selector = spec.get("selector")
    yield from validate_label_selector(selector, "spec.selector")
    labels = dig(spec, "template", "metadata", "labels")
    if is_valid(selector) and not matches(selector, labels):
        yield invalid("spec.template.metadata.labels", go_map(labels), _MISMATCH)
    if selector is not None and is_empty(selector):
        yield invalid("spec.selector", printable(selector), "empty selector is invalid for daemonset")
    yield from validate_pod_template_spec(spec.get("template"), "spec.template")
    yield from _validate_always_running(spec, "DaemonSet")
    yield from validate_nonnegative_fields(spec, "spec", "minReadySeconds")
    yield from _validate_daemon_set_update_strategy(fields(spec.get("updateStrategy")))
    yield from validate_nonnegative_fields(spec, "spec", "revisionHistoryLimit")


def _validate_daemon_set_update_strategy(strategy: Object) -> Problems:
    path, kind = "spec.updateStrategy", text(strategy.get("type"))
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        bad_value = internal(strategy, "apps/v1.DaemonSetUpdateStrategy")
        yield unsupported(path, bad_value, ("RollingUpdate", "OnDelete"))
        return
    if strategy.get("rollingUpdate") is None:
        yield required(f"{path}.rollingUpdate")
        return
    path = f"{path}.rollingUpdate"
    unavailable, surge = _max_unavailable_and_surge(fields(strategy.get("rollingUpdate")))
    for check in (validate_positive_int_or_percent, is_not_more_than_100_percent):
        yield from check(unavailable, f"{path}.maxUnavailable")
        yield from check(surge, f"{path}.maxSurge")
    if int_or_percent_value(unavailable) and int_or_percent_value(surge):
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not int_or_percent_value(unavailable) and not int_or_percent_value(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _validate_stateful_set_spec(spec: Object, *, on_create: bool, with_template: bool = True) -> Problems:
    policy = text(spec.get("podManagementPolicy"))
    if not policy:
        yield required("spec.podManagementPolicy")
    elif policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _validate_stateful_set_update_strategy(fields(spec.get("updateStrategy")))
    retention = fields(spec.get("persistentVolumeClaimRetentionPolicy"))
    for field in ("whenDeleted", "whenScaled") if retention else ():
        path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
        yield from validate_enum(retention.get(field), path, ("Retain", "Delete"), sort=False)
    if on_create:
        for index, claim in enumerate(items(spec.get("volumeClaimTemplates"))):
            path = f"spec.volumeClaimTemplates[{index}].spec"
            yield from validate_persistent_volume_claim_spec(fields(fields(claim).get("spec")), path)
    yield from validate_nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
    yield from validate_nonnegative_fields(fields(spec.get("ordinals")), "spec.ordinals", "start")
    service = text(spec.get("serviceName"))
    if on_create and service:
        yield from each("spec.serviceName", service, names.dns_label(service))
    yield from _validate_required_selector(spec, "statefulset")
    if is_valid(spec.get("selector")):
        yield from _validate_selector_matches_template(spec)
        if with_template:
            yield from validate_pod_template_spec(_template_with_claim_volumes(spec), "spec.template")
        template_meta = fields(dig(spec, "template", "metadata"))
        yield from metadata.validate_labels(template_meta.get("labels"), "spec.template.labels")
        yield from metadata.validate_annotations(
            template_meta.get("annotations"), "spec.template.annotations"
        )
    else:
        yield invalid("spec.selector", printable(spec.get("selector")), "")
    yield from _validate_always_running(spec, "StatefulSet")


def _template_with_claim_volumes(spec: Object) -> Object:
    """The pod template with a volume per claim template, without the fields the controller overwrites."""
    pod_template = fields(spec.get("template"))
    pod_spec = {
        key: value
        for key, value in fields(pod_template.get("spec")).items()
        if key not in ("subdomain", "hostname")
    }
    claim_names = [text(dig(claim, "metadata", "name")) for claim in items(spec.get("volumeClaimTemplates"))]
    if claim_names:
        claim_volumes: list[Json] = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}}
            for name in dict.fromkeys(claim_names)
        ]
        other_volumes = [
            item for item in items(pod_spec.get("volumes")) if fields(item).get("name") not in claim_names
        ]
        pod_spec["volumes"] = claim_volumes + other_volumes
    return {**pod_template, "spec": pod_spec}


def _validate_stateful_set_update_strategy(strategy: Object) -> Problems:
    path, kind, rolling = "spec.updateStrategy", text(strategy.get("type")), strategy.get("rollingUpdate")
    if not kind:
        yield required(path)
    elif kind == "OnDelete":
        if rolling is not None:
            bad_value = internal(rolling, "apps/v1.RollingUpdateStatefulSetStrategy")
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            yield invalid(f"{path}.rollingUpdate", bad_value, detail)
    elif kind == "RollingUpdate":
        path, rolling_update = f"{path}.rollingUpdate", fields(rolling)
        yield from validate_nonnegative_fields(rolling_update, path, "partition")
        unavailable = rolling_update.get("maxUnavailable")
        if unavailable is not None:
            yield from validate_positive_int_or_percent(unavailable, f"{path}.maxUnavailable")
            if int_or_percent_value(unavailable) == 0:
                yield invalid(f"{path}.maxUnavailable", unavailable, "cannot be 0")
            yield from is_not_more_than_100_percent(unavailable, f"{path}.maxUnavailable")
    else:
        bad_value = internal(strategy, "apps/v1.StatefulSetUpdateStrategy")
        yield invalid(path, bad_value, "must be 'RollingUpdate' or 'OnDelete'")


def _validate_replication_controller_spec(spec: Object) -> Problems:
    """The selector of a ReplicationController is a plain map of labels."""
    yield from validate_nonnegative_fields(spec, "spec", "minReadySeconds")
    selector, labels = fields(spec.get("selector")), dig(spec, "template", "metadata", "labels")
    if not selector:
        yield required("spec.selector")
    yield from validate_nonnegative_fields(spec, "spec", "replicas")
    if spec.get("template") is None:
        yield required("spec.template")
        return
    if selector and not matches({"matchLabels": selector}, labels):
        yield invalid("spec.template.metadata.labels", go_map(labels), _MISMATCH)
    yield from validate_pod_template_spec(spec.get("template"), "spec.template")
    yield from _validate_always_running(spec, "ReplicationController")


def _validate_controller_revision_data(obj: Object) -> Problems:
    yield from validate_nonnegative_fields(obj, "", "revision")
    if obj.get("data") is None:
        yield required("data", "data is mandatory")
    elif not isinstance(obj.get("data"), dict):
        yield required("data", "data must be a valid JSON object")
