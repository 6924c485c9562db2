"""Jobs and CronJobs. Mirrors `batch/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.golang.cron import BadSchedule, parse_schedule, time_zone
from whysync.golang.fmt import go_map, quoted
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    duplicate,
    each,
    invalid,
    invalid_without_value,
    required,
    too_long,
    too_many,
    unsupported,
)
from whysync.kubernetes.validation.internal_types import internal, same
from whysync.kubernetes.validation.pods import validate_pod_template_spec
from whysync.kubernetes.validation.scalars import (
    validate_domain_prefixed_path,
    validate_enum,
    validate_nonnegative_fields,
    validate_optional_enum,
)
from whysync.kubernetes.validation.selectors import is_valid, matches, printable, validate_label_selector

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_TEMPLATE = "core/v1.PodTemplateSpec"
_MANY = 100_000
_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_INDEXED = "requires indexed completion mode"


def validate_job(obj: Object, *, prefixed: bool = True) -> Problems:
    spec = fields(obj.get("spec"))
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_generated_selector(obj, spec, prefixed=prefixed)
    yield from _validate_job_spec(spec)
    completions = integer(spec.get("completions"))
    if spec.get("completionMode") == "Indexed" and completions > 0:
        longest_pod_name = f"{metadata.name_of(obj)}-{completions - 1}"
        if any(True for _ in names.dns_label(longest_pod_name)):
            detail = f"will not able to create pod with invalid DNS label: {longest_pod_name}"
            yield invalid("metadata.name", metadata.name_of(obj), detail)


def validate_job_update(old: Object, new: Object) -> Problems:
    old_spec, new_spec = fields(old.get("spec")), fields(new.get("spec"))
    template_labels = fields(dig(old_spec, "template", "metadata", "labels"))
    yield from validate_job(
        new, prefixed=_UID_LABELS[1] in template_labels and _NAME_LABELS[1] in template_labels
    )
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_job_spec(new_spec)
    yield from _validate_completions_update(old_spec, new_spec)
    if not same(old_spec.get("selector"), new_spec.get("selector"), "meta/v1.LabelSelector"):
        yield invalid("spec.selector", printable(new_spec.get("selector")), IMMUTABLE)
    yield from _validate_pod_template_update(old, old_spec, new_spec)
    for field, kind in (
        ("completionMode", ""),
        ("podFailurePolicy", "batch/v1.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "batch/v1.SuccessPolicy"),
    ):
        old_value, new_value = old_spec.get(field), new_spec.get(field)
        if not (same(old_value, new_value, kind) if kind else old_value == new_value):
            yield invalid(f"spec.{field}", internal(new_value, kind) if kind else new_value, IMMUTABLE)


def validate_cron_job(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    yield from _validate_cron_job_spec(fields(obj.get("spec")), None)
    if len(metadata.name_of(obj)) > 52:
        yield invalid("metadata.name", metadata.name_of(obj), "must be no more than 52 characters")


def validate_cron_job_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_cron_job_spec(fields(new.get("spec")), fields(old.get("spec")))


def _validate_generated_selector(obj: Object, spec: Object, *, prefixed: bool) -> Problems:
    """The server generates selector and labels of a Job, unless `manualSelector` is set."""
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
    if is_valid(spec.get("selector")) and not matches(spec.get("selector"), expected):
        yield invalid("spec.selector", printable(spec.get("selector")), "`selector` not auto-generated")


def _validate_job_spec(spec: Object) -> Problems:
    yield from _validate_job_spec_without_selector(spec, "spec")
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from validate_label_selector(selector, "spec.selector")
    if is_valid(selector) and not matches(selector, labels):
        detail = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", go_map(labels), detail)


def _validate_job_spec_without_selector(spec: Object, path: str) -> Problems:
    counts = (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    )
    yield from validate_nonnegative_fields(spec, path, *counts, "backoffLimitPerIndex", "maxFailedIndexes")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    manager = spec.get("managedBy")
    if manager is not None:
        yield from validate_domain_prefixed_path(text(manager), f"{path}.managedBy")
        if len(text(manager)) > 63:
            yield too_long(f"{path}.managedBy", 63)
    modes = ("NonIndexed", "Indexed")
    yield from validate_optional_enum(spec.get("completionMode"), f"{path}.completionMode", modes, sort=False)
    if spec.get("completionMode") == "Indexed":
        yield from _validate_indexed_completion_mode(spec, path)
    else:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                yield invalid(f"{path}.{field}", spec.get(field), _INDEXED)
    yield from validate_pod_failure_policy(spec, f"{path}.podFailurePolicy")
    yield from validate_success_policy(spec, f"{path}.successPolicy")
    replacement_policies = (
        ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    )
    yield from validate_optional_enum(
        spec.get("podReplacementPolicy"), f"{path}.podReplacementPolicy", replacement_policies
    )
    yield from validate_pod_template_spec(spec.get("template"), f"{path}.template")
    yield from _validate_restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _validate_restart_policy(spec: Object, path: str) -> Problems:
    policy = text(dig(spec, "template", "spec", "restartPolicy"))
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _validate_indexed_completion_mode(spec: Object, path: str) -> Problems:
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


def _validate_completions_update(old_spec: Object, new_spec: Object) -> Problems:
    old_completions, new_completions = old_spec.get("completions"), new_spec.get("completions")
    if old_completions == new_completions:
        return
    if new_spec.get("completionMode") != "Indexed":
        yield invalid("spec.completions", new_completions, IMMUTABLE)
    elif new_completions is not None and new_completions != new_spec.get("parallelism"):
        yield invalid(
            "spec.completions", new_completions, "can only be modified in tandem with spec.parallelism"
        )


def _validate_pod_template_update(old_job: Object, old_spec: Object, new_spec: Object) -> Problems:
    """Scheduling fields and resources of a suspended Job that has not started may change."""
    old_template, new_template = fields(old_spec.get("template")), fields(new_spec.get("template"))
    if not _is_suspended_before_start(old_job, old_spec):
        if not same(old_template, new_template, _TEMPLATE):
            yield invalid("spec.template", internal(new_template, _TEMPLATE), IMMUTABLE)
        return
    allowed = _with_allowed_template_changes(
        fields(old_template.get("spec")), fields(new_template.get("spec"))
    )
    if not same(allowed, fields(new_template.get("spec")), "core/v1.PodSpec"):
        yield invalid("spec.template.spec", internal(new_template.get("spec"), "core/v1.PodSpec"), IMMUTABLE)


def _is_suspended_before_start(old_job: Object, old_spec: Object) -> bool:
    status = fields(old_job.get("status"))
    if old_spec.get("suspend") is not True or integer(status.get("active")):
        return False
    suspended = any(
        fields(item).get("type") == "Suspended" and fields(item).get("status") == "True"
        for item in items(status.get("conditions"))
    )
    return status.get("startTime") is None or suspended


def _with_allowed_template_changes(old_spec: Object, new_spec: Object) -> Object:
    allowed = dict(old_spec)
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        allowed[field] = new_spec.get(field)
    old_affinity = {
        key: value for key, value in fields(old_spec.get("affinity")).items() if key != "nodeAffinity"
    }
    node_affinity = fields(new_spec.get("affinity")).get("nodeAffinity")
    if new_spec.get("affinity") is not None:
        allowed["affinity"] = {**old_affinity, "nodeAffinity": node_affinity}
    else:
        allowed["affinity"] = old_affinity or None
    for field in ("containers", "initContainers"):
        old_containers, new_containers = items(old_spec.get(field)), items(new_spec.get(field))
        if field in old_spec and len(old_containers) == len(new_containers):
            allowed[field] = [
                _with_resources(fields(old_container), fields(new_container))
                for old_container, new_container in zip(old_containers, new_containers, strict=True)
            ]
    return allowed


def _with_resources(old: Object, new: Object) -> Object:
    return {**old, "resources": new.get("resources")} if old.get("name") == new.get("name") else old


def _validate_cron_job_spec(spec: Object, old_spec: Object | None) -> Problems:
    schedule, zone = text(spec.get("schedule")), spec.get("timeZone")
    if not schedule:
        yield required("spec.schedule")
    else:
        allowed = old_spec is not None and "TZ" in text(old_spec.get("schedule"))
        yield from _validate_schedule_format(schedule, zoned=zone is not None, allowed=allowed)
    yield from validate_nonnegative_fields(spec, "spec", "startingDeadlineSeconds")
    if zone is not None and (old_spec is None or old_spec.get("timeZone") != zone):
        yield from _validate_time_zone(text(zone))
    policies = ("Allow", "Forbid", "Replace")
    yield from validate_enum(spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", policies)
    job_spec, path = fields(dig(spec, "jobTemplate", "spec")), "spec.jobTemplate.spec"
    yield from _validate_job_spec_without_selector(job_spec, path)
    if job_spec.get("selector") is not None:
        yield invalid(
            f"{path}.selector", printable(job_spec.get("selector")), "`selector` will be auto-generated"
        )
    if job_spec.get("manualSelector") is True:
        yield unsupported(f"{path}.manualSelector", True, ("nil", "false"))
    yield from validate_nonnegative_fields(
        spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )


def _validate_schedule_format(schedule: str, *, zoned: bool, allowed: bool) -> Problems:
    error = _schedule_error(schedule)
    if error:
        yield invalid("spec.schedule", schedule, error)
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


def _validate_time_zone(zone: str) -> Problems:
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid("spec.timeZone", zone, detail)
    elif time_zone(zone) is None:
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def validate_pod_failure_policy(spec: Object, path: str) -> Problems:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    rules = items(policy.get("rules"))
    if len(rules) > 20:
        yield too_many(f"{path}.rules", len(rules), 20)
    pod_spec = fields(dig(spec, "template", "spec"))
    container_names = {
        text(fields(item).get("name"))
        for field in ("containers", "initContainers")
        for item in items(pod_spec.get(field))
    }
    for index, rule in enumerate(rules):
        yield from _validate_pod_failure_policy_rule(
            fields(rule), f"{path}.rules[{index}]", spec, container_names
        )


def validate_success_policy(spec: Object, path: str) -> Problems:
    policy = spec.get("successPolicy")
    if not isinstance(policy, dict):
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(path, internal(policy, "batch/v1.SuccessPolicy"), _INDEXED)
        return
    rules = items(policy.get("rules"))
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", detail)
    for index, item in enumerate(rules):
        rule, item_path = fields(item), f"{path}.rules[{index}]"
        count = rule.get("succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            yield required(item_path, "at least one of succeededCount or succeededIndexes must be specified")
        completions = integer(spec.get("completions"))
        if count is not None and integer(count) > completions:
            detail = f"must be less than or equal to {completions} (the number of specified completions)"
            yield invalid(f"{item_path}.succeededCount", count, detail)


def _validate_pod_failure_policy_rule(
    rule: Object, path: str, spec: Object, container_names: set[str]
) -> Problems:
    action = text(rule.get("action"))
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from _validate_choice(action, f"{path}.action", _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), items(rule.get("onPodConditions"))
    if isinstance(codes, dict):
        yield from _validate_on_exit_codes(codes, f"{path}.onExitCodes", container_names)
    for index, item in enumerate(conditions):
        item_path, kind = f"{path}.onPodConditions[{index}]", text(fields(item).get("type"))
        yield from each(f"{item_path}.type", kind, names.qualified_name(kind))
        yield from _validate_choice(text(fields(item).get("status")), f"{item_path}.status", _STATUSES)
    if isinstance(codes, dict) and conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield invalid_without_value(path, detail)
    if codes is None and not conditions:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        yield invalid_without_value(path, detail)


def _validate_on_exit_codes(codes: Object, path: str, container_names: set[str]) -> Problems:
    operator, values = text(codes.get("operator")), items(codes.get("values"))
    yield from _validate_choice(operator, f"{path}.operator", _OPERATORS)
    container = codes.get("containerName")
    if container is not None and container not in container_names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", container, detail)
    if not values:
        bad_value = values if isinstance(codes.get("values"), list) else None
        yield invalid(f"{path}.values", bad_value, "at least one value is required")
    elif len(values) > 255:
        yield too_many(f"{path}.values", len(values), 255)
    numbers = [integer(value) for value in values]
    for index, number in enumerate(numbers):
        if operator == "In" and number == 0:
            yield invalid(f"{path}.values[{index}]", number, "must not be 0 for the In operator")
        if number in numbers[:index]:
            yield duplicate(f"{path}.values[{index}]", number)
    if numbers != sorted(numbers):
        yield invalid(f"{path}.values", values, "must be ordered")


def _validate_choice(value: str, path: str, supported: tuple[str, ...]) -> Problems:
    if not value:
        yield required(path, f"valid values: [{' '.join(quoted(name) for name in supported)}]")
    elif value not in supported:
        yield unsupported(path, value, supported)
