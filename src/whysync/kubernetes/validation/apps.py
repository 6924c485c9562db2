"""Deployments, ReplicaSets, DaemonSets, StatefulSets, and what of them may not change.

Mirrors `apps/validation` (and `core/validation` for ReplicationControllers), Kubernetes 1.36.
"""

from __future__ import annotations

from whysync.golang.fmt import go_map
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same, same_plain
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.pods import template
from whysync.kubernetes.validation.scalars import (
    at_most_all,
    not_negative,
    number_or_percent,
    one_of,
    positive_or_percent,
)
from whysync.kubernetes.validation.selectors import is_empty, is_readable, label_selector, matches, printable
from whysync.kubernetes.validation.volume_claims import claim_spec

_MISMATCH = "`selector` does not match template `labels`"
_SET_MUTABLE = (
    "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)  # fmt: skip
_SET_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def deployment(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _deployment_spec(fields(obj.get("spec")))


def deployment_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _deployment_spec(fields(new.get("spec")))
    yield from _same_selector(old, new)


def replica_set(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _replica_set_spec(fields(obj.get("spec")))


def replica_set_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _replica_set_spec(fields(new.get("spec")))
    yield from _same_selector(old, new)


def daemon_set(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _daemon_set_spec(fields(obj.get("spec")))


def daemon_set_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _same_selector(old, new)
    yield from _daemon_set_spec(fields(new.get("spec")))


def stateful_set(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_label)
    yield from _stateful_set_spec(fields(obj.get("spec")), on_create=True)


def stateful_set_on_update(old: Object, new: Object) -> Problems:
    """A template that was bad before (accepted by an older server) is not held against the change."""
    yield from metadata.on_update(old, new)
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    was_bad = any(True for _ in _stateful_set_spec(before, on_create=False))
    yield from _stateful_set_spec(after, on_create=False, with_template=not was_bad)
    with_old_mutable = {**after, **{field: before.get(field) for field in _SET_MUTABLE}}
    if not same(with_old_mutable, before, "apps/v1.StatefulSetSpec"):
        yield forbidden("spec", _SET_FORBIDDEN)


def replication_controller(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _controller_spec(fields(obj.get("spec")))


def replication_controller_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _controller_spec(fields(new.get("spec")))


def controller_revision(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _revision(obj)


def controller_revision_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _revision(new)
    if not same_plain(old.get("data"), new.get("data")):
        yield invalid("data", new.get("data"), IMMUTABLE)


def _same_selector(old: Object, new: Object) -> Problems:
    before, after = dig(old, "spec", "selector"), dig(new, "spec", "selector")
    if not same(before, after, "meta/v1.LabelSelector"):
        yield invalid("spec.selector", printable(after), IMMUTABLE)


def _selector(spec: Object, kind: str) -> Problems:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from label_selector(selector, "spec.selector")
    if is_empty(selector):
        yield invalid("spec.selector", printable(selector), f"empty selector is invalid for {kind}")


def _matching(spec: Object) -> Problems:
    """An empty selector is complained about elsewhere."""
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    if (selector is None or not is_empty(selector)) and not matches(selector, labels):
        yield invalid("spec.template.metadata.labels", go_map(labels), _MISMATCH)


def _always_running(spec: Object, kind: str) -> Problems:
    pod_spec = fields(dig(spec, "template", "spec"))
    path, policy = "spec.template.spec", text(pod_spec.get("restartPolicy"))
    if policy != "Always":
        yield unsupported(f"{path}.restartPolicy", policy, ("Always",))
    if pod_spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{path}.activeDeadlineSeconds", detail)


def _template_of_replicas(spec: Object, kind: str) -> Problems:
    if not is_readable(spec.get("selector")):
        yield invalid("spec.selector", printable(spec.get("selector")), "invalid label selector")
        return
    yield from _matching(spec)
    yield from template(spec.get("template"), "spec.template")
    yield from _always_running(spec, kind)


def _deployment_spec(spec: Object) -> Problems:
    yield from not_negative(spec, "spec", "replicas")
    yield from _selector(spec, "deployment")
    yield from _template_of_replicas(spec, "ReplicaSet")
    yield from _deployment_strategy(fields(spec.get("strategy")))
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from not_negative(spec, "spec", "progressDeadlineSeconds")
        if integer(deadline) <= integer(spec.get("minReadySeconds")):
            yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _deployment_strategy(strategy: Object) -> Problems:
    path, kind, rolling = "spec.strategy", text(strategy.get("type")), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", detail)
    elif kind == "RollingUpdate":
        if rolling is None:
            yield required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
        else:
            yield from _rolling_deployment(fields(rolling), f"{path}.rollingUpdate")
    else:
        shown = internal(strategy, "apps/v1.DeploymentStrategy")
        yield unsupported(path, shown, ("Recreate", "RollingUpdate"))


def _rolling_deployment(rolling: Object, path: str) -> Problems:
    unavailable, surge = _counts(rolling)
    yield from positive_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from positive_or_percent(surge, f"{path}.maxSurge")
    if number_or_percent(unavailable) == 0 and number_or_percent(surge) == 0:
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from at_most_all(unavailable, f"{path}.maxUnavailable")


def _counts(rolling: Object) -> tuple[Json, Json]:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    return (0 if unavailable is None else unavailable), (0 if surge is None else surge)


def _replica_set_spec(spec: Object) -> Problems:
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from _selector(spec, "deployment")  # upstream's word also here
    yield from _template_of_replicas(spec, "ReplicaSet")


def _daemon_set_spec(spec: Object) -> Problems:
    selector = spec.get("selector")
    yield from label_selector(selector, "spec.selector")
    labels = dig(spec, "template", "metadata", "labels")
    if is_readable(selector) and not matches(selector, labels):
        yield invalid("spec.template.metadata.labels", go_map(labels), _MISMATCH)
    if selector is not None and is_empty(selector):
        yield invalid("spec.selector", printable(selector), "empty selector is invalid for daemonset")
    yield from template(spec.get("template"), "spec.template")
    yield from _always_running(spec, "DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds")
    yield from _daemon_set_strategy(fields(spec.get("updateStrategy")))
    yield from not_negative(spec, "spec", "revisionHistoryLimit")


def _daemon_set_strategy(strategy: Object) -> Problems:
    path, kind = "spec.updateStrategy", text(strategy.get("type"))
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = internal(strategy, "apps/v1.DaemonSetUpdateStrategy")
        yield unsupported(path, shown, ("RollingUpdate", "OnDelete"))
        return
    if strategy.get("rollingUpdate") is None:
        yield required(f"{path}.rollingUpdate")
        return
    path = f"{path}.rollingUpdate"
    unavailable, surge = _counts(fields(strategy.get("rollingUpdate")))
    for check in (positive_or_percent, at_most_all):
        yield from check(unavailable, f"{path}.maxUnavailable")
        yield from check(surge, f"{path}.maxSurge")
    if number_or_percent(unavailable) and number_or_percent(surge):
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not number_or_percent(unavailable) and not number_or_percent(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _stateful_set_spec(spec: Object, *, on_create: bool, with_template: bool = True) -> Problems:
    policy = text(spec.get("podManagementPolicy"))
    if not policy:
        yield required("spec.podManagementPolicy")
    elif policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_set_strategy(fields(spec.get("updateStrategy")))
    retention = fields(spec.get("persistentVolumeClaimRetentionPolicy"))
    for field in ("whenDeleted", "whenScaled") if retention else ():
        path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
        yield from one_of(retention.get(field), path, ("Retain", "Delete"), sort=False)
    if on_create:
        for index, claim in enumerate(items(spec.get("volumeClaimTemplates"))):
            path = f"spec.volumeClaimTemplates[{index}].spec"
            yield from claim_spec(fields(fields(claim).get("spec")), path)
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from not_negative(fields(spec.get("ordinals")), "spec.ordinals", "start")
    service = text(spec.get("serviceName"))
    if on_create and service:
        yield from each("spec.serviceName", service, names.dns_label(service))
    yield from _selector(spec, "statefulset")
    if is_readable(spec.get("selector")):
        yield from _matching(spec)
        if with_template:
            yield from template(_with_claims(spec), "spec.template")
        labeled = fields(dig(spec, "template", "metadata"))
        yield from metadata.labels(labeled.get("labels"), "spec.template.labels")
        yield from metadata.annotation_map(labeled.get("annotations"), "spec.template.annotations")
    else:
        yield invalid("spec.selector", printable(spec.get("selector")), "")
    yield from _always_running(spec, "StatefulSet")


def _with_claims(spec: Object) -> Object:
    """The template with a volume per claim template, and without what the controller overwrites."""
    pod_template = fields(spec.get("template"))
    pod_spec = {
        key: value
        for key, value in fields(pod_template.get("spec")).items()
        if key not in ("subdomain", "hostname")
    }
    claimed = [text(dig(claim, "metadata", "name")) for claim in items(spec.get("volumeClaimTemplates"))]
    if claimed:
        added: list[Json] = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claimed)
        ]
        others = [item for item in items(pod_spec.get("volumes")) if fields(item).get("name") not in claimed]
        pod_spec["volumes"] = added + others
    return {**pod_template, "spec": pod_spec}


def _stateful_set_strategy(strategy: Object) -> Problems:
    path, kind, rolling = "spec.updateStrategy", text(strategy.get("type")), strategy.get("rollingUpdate")
    if not kind:
        yield required(path)
    elif kind == "OnDelete":
        if rolling is not None:
            shown = internal(rolling, "apps/v1.RollingUpdateStatefulSetStrategy")
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            yield invalid(f"{path}.rollingUpdate", shown, detail)
    elif kind == "RollingUpdate":
        path, rolling_update = f"{path}.rollingUpdate", fields(rolling)
        yield from not_negative(rolling_update, path, "partition")
        unavailable = rolling_update.get("maxUnavailable")
        if unavailable is not None:
            yield from positive_or_percent(unavailable, f"{path}.maxUnavailable")
            if number_or_percent(unavailable) == 0:
                yield invalid(f"{path}.maxUnavailable", unavailable, "cannot be 0")
            yield from at_most_all(unavailable, f"{path}.maxUnavailable")
    else:
        shown = internal(strategy, "apps/v1.StatefulSetUpdateStrategy")
        yield invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _controller_spec(spec: Object) -> Problems:
    """Here the selector is a plain map."""
    yield from not_negative(spec, "spec", "minReadySeconds")
    selector, labels = fields(spec.get("selector")), dig(spec, "template", "metadata", "labels")
    if not selector:
        yield required("spec.selector")
    yield from not_negative(spec, "spec", "replicas")
    if spec.get("template") is None:
        yield required("spec.template")
        return
    if selector and not matches({"matchLabels": selector}, labels):
        yield invalid("spec.template.metadata.labels", go_map(labels), _MISMATCH)
    yield from template(spec.get("template"), "spec.template")
    yield from _always_running(spec, "ReplicationController")


def _revision(obj: Object) -> Problems:
    yield from not_negative(obj, "", "revision")
    if obj.get("data") is None:
        yield required("data", "data is mandatory")
    elif not isinstance(obj.get("data"), dict):
        yield required("data", "data must be a valid JSON object")
