"""Jobs and CronJobs. Mirrors `batch/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.golang.cron import BadSchedule, parse_schedule, time_zone
from whysync.golang.fmt import go_map
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.equality import same
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    invalid,
    required,
    too_long,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.job_policies import failure_policy, success_policy
from whysync.kubernetes.validation.pods import template
from whysync.kubernetes.validation.scalars import domain_prefixed_path, not_negative, one_of, optional_one_of
from whysync.kubernetes.validation.selectors import is_readable, label_selector, matches, printable

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_TEMPLATE = "core/v1.PodTemplateSpec"
_MANY = 100_000
_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_INDEXED = "requires indexed completion mode"


def job(obj: Object, *, prefixed: bool = True) -> Problems:
    spec = fields(obj.get("spec"))
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _generated_selector(obj, spec, prefixed=prefixed)
    yield from _job_spec(spec)
    completions = integer(spec.get("completions"))
    if spec.get("completionMode") == "Indexed" and completions > 0:
        longest = f"{metadata.name_of(obj)}-{completions - 1}"
        if any(True for _ in names.dns_label(longest)):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            yield invalid("metadata.name", metadata.name_of(obj), detail)


def job_on_update(old: Object, new: Object) -> Problems:
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    marked = fields(dig(before, "template", "metadata", "labels"))
    yield from job(new, prefixed=_UID_LABELS[1] in marked and _NAME_LABELS[1] in marked)
    yield from metadata.on_update(old, new)
    yield from _job_spec(after)
    yield from _completions(before, after)
    if not same(before.get("selector"), after.get("selector"), "meta/v1.LabelSelector"):
        yield invalid("spec.selector", printable(after.get("selector")), IMMUTABLE)
    yield from _template_update(old, before, after)
    for field, kind in (
        ("completionMode", ""),
        ("podFailurePolicy", "batch/v1.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "batch/v1.SuccessPolicy"),
    ):
        was, now = before.get(field), after.get(field)
        if not (same(was, now, kind) if kind else was == now):
            yield invalid(f"spec.{field}", internal(now, kind) if kind else now, IMMUTABLE)


def cron_job(obj: Object) -> Problems:
    yield from metadata.on_create(obj, names.dns_subdomain)
    yield from _cron_spec(fields(obj.get("spec")), None)
    if len(metadata.name_of(obj)) > 52:
        yield invalid("metadata.name", metadata.name_of(obj), "must be no more than 52 characters")


def cron_job_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from _cron_spec(fields(new.get("spec")), fields(old.get("spec")))


def _generated_selector(obj: Object, spec: Object, *, prefixed: bool) -> Problems:
    """The server writes a Job's selector and labels itself, unless `manualSelector` is set."""
    if spec.get("manualSelector") is True or spec.get("selector") is None:
        return
    uid, name = text(metadata.meta(obj).get("uid")), metadata.name_of(obj)
    if not uid:
        yield required("metadata.uid")
    labels = fields(dig(spec, "template", "metadata", "labels"))
    expected: Object = {_UID_LABELS[0]: uid, _NAME_LABELS[0]: name}
    if prefixed:
        expected |= {_UID_LABELS[1]: uid, _NAME_LABELS[1]: name}
    for key, value in expected.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            yield required(path, f"must be '{value}'")
        elif labels[key] != value:
            yield invalid(path, go_map(labels), f"must be '{value}'")
    if is_readable(spec.get("selector")) and not matches(spec.get("selector"), expected):
        yield invalid("spec.selector", printable(spec.get("selector")), "`selector` not auto-generated")


def _job_spec(spec: Object) -> Problems:
    yield from _job_without_selector(spec, "spec")
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from label_selector(selector, "spec.selector")
    if is_readable(selector) and not matches(selector, labels):
        detail = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", go_map(labels), detail)


def _job_without_selector(spec: Object, path: str) -> Problems:
    counts = (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    )
    yield from not_negative(spec, path, *counts, "backoffLimitPerIndex", "maxFailedIndexes")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    manager = spec.get("managedBy")
    if manager is not None:
        yield from domain_prefixed_path(text(manager), f"{path}.managedBy")
        if len(text(manager)) > 63:
            yield too_long(f"{path}.managedBy", 63)
    modes = ("NonIndexed", "Indexed")
    yield from optional_one_of(spec.get("completionMode"), f"{path}.completionMode", modes, sort=False)
    if spec.get("completionMode") == "Indexed":
        yield from _indexed(spec, path)
    else:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                yield invalid(f"{path}.{field}", spec.get(field), _INDEXED)
    yield from failure_policy(spec, f"{path}.podFailurePolicy")
    yield from success_policy(spec, f"{path}.successPolicy")
    replacing = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    yield from optional_one_of(spec.get("podReplacementPolicy"), f"{path}.podReplacementPolicy", replacing)
    yield from template(spec.get("template"), f"{path}.template")
    yield from _restart(spec, f"{path}.template.spec.restartPolicy")


def _restart(spec: Object, path: str) -> Problems:
    policy = text(dig(spec, "template", "spec", "restartPolicy"))
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _indexed(spec: Object, path: str) -> Problems:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism = integer(spec.get("parallelism"))
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > _MANY:
        detail = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", parallelism, detail)
    if completions is not None and failed is not None and integer(failed) > integer(completions):
        yield invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")
    if integer(failed) > _MANY:
        yield invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MANY}")
    if integer(completions) <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return
    detail = f"when completions are above {_MANY} and used with backoff limit per index"
    if failed is None:
        yield required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {_MANY}")
    if parallelism > 10_000:
        yield invalid(f"{path}.parallelism", parallelism, f"must be less than or equal to 10000 {detail}")
    if integer(failed) > 10_000:
        yield invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to 10000 {detail}")


def _completions(before: Object, after: Object) -> Problems:
    was, now = before.get("completions"), after.get("completions")
    if was == now:
        return
    if after.get("completionMode") != "Indexed":
        yield invalid("spec.completions", now, IMMUTABLE)
    elif now is not None and now != after.get("parallelism"):
        yield invalid("spec.completions", now, "can only be modified in tandem with spec.parallelism")


def _template_update(old: Object, before: Object, after: Object) -> Problems:
    """A suspended Job that has not started may still be moved to other nodes and get other resources."""
    was, now = fields(before.get("template")), fields(after.get("template"))
    if not _is_waiting(old, before):
        if not same(was, now, _TEMPLATE):
            yield invalid("spec.template", internal(now, _TEMPLATE), IMMUTABLE)
        return
    allowed = _as_if_allowed(fields(was.get("spec")), fields(now.get("spec")))
    if not same(allowed, fields(now.get("spec")), "core/v1.PodSpec"):
        yield invalid("spec.template.spec", internal(now.get("spec"), "core/v1.PodSpec"), IMMUTABLE)


def _is_waiting(old: Object, before: Object) -> bool:
    status = fields(old.get("status"))
    if before.get("suspend") is not True or integer(status.get("active")):
        return False
    suspended = any(
        fields(item).get("type") == "Suspended" and fields(item).get("status") == "True"
        for item in items(status.get("conditions"))
    )
    return status.get("startTime") is None or suspended


def _as_if_allowed(was: Object, now: Object) -> Object:
    allowed = dict(was)
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        allowed[field] = now.get(field)
    others = {key: value for key, value in fields(was.get("affinity")).items() if key != "nodeAffinity"}
    nodes = fields(now.get("affinity")).get("nodeAffinity")
    if now.get("affinity") is not None:
        allowed["affinity"] = {**others, "nodeAffinity": nodes}
    else:
        allowed["affinity"] = others or None
    for field in ("containers", "initContainers"):
        old, new = items(was.get(field)), items(now.get(field))
        if field in was and len(old) == len(new):
            allowed[field] = [
                _with_resources(fields(old_container), fields(other))
                for old_container, other in zip(old, new, strict=True)
            ]
    return allowed


def _with_resources(old: Object, new: Object) -> Object:
    return {**old, "resources": new.get("resources")} if old.get("name") == new.get("name") else old


def _cron_spec(spec: Object, old: Object | None) -> Problems:
    schedule, zone = text(spec.get("schedule")), spec.get("timeZone")
    if not schedule:
        yield required("spec.schedule")
    else:
        allowed = old is not None and "TZ" in text(old.get("schedule"))
        yield from _schedule(schedule, zoned=zone is not None, allowed=allowed)
    yield from not_negative(spec, "spec", "startingDeadlineSeconds")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        yield from _time_zone(text(zone))
    policies = ("Allow", "Forbid", "Replace")
    yield from one_of(spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", policies)
    inner, path = fields(dig(spec, "jobTemplate", "spec")), "spec.jobTemplate.spec"
    yield from _job_without_selector(inner, path)
    if inner.get("selector") is not None:
        yield invalid(
            f"{path}.selector", printable(inner.get("selector")), "`selector` will be auto-generated"
        )
    if inner.get("manualSelector") is True:
        yield unsupported(f"{path}.manualSelector", True, ("nil", "false"))
    yield from not_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule(schedule: str, *, zoned: bool, allowed: bool) -> Problems:
    wrong = _schedule_error(schedule)
    if wrong:
        yield invalid("spec.schedule", schedule, wrong)
    if "TZ" not in schedule:
        return
    if not allowed:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid("spec.schedule", schedule, detail)
    elif zoned:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid("spec.schedule", schedule, detail)


def _schedule_error(schedule: str) -> str:
    """CronJobs support descriptors such as `@daily`, which Argo CD's sync windows do not."""
    if schedule.startswith("@every "):
        return ""
    if schedule.startswith("@"):
        return "" if schedule in _DESCRIPTORS else f"unrecognized descriptor: {schedule}"
    try:
        parse_schedule(schedule)
    except BadSchedule as problem:
        return str(problem)
    return ""


def _time_zone(zone: str) -> Problems:
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid("spec.timeZone", zone, detail)
    elif time_zone(zone) is None:
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")
