"""ignore.jsonl: ignoreDifferences, overrides, known types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tests.conformance.checks import contains, failed_checks, mismatch
from whysync.argocd import ignore_differences as ignore
from whysync.argocd.api.application import IgnoreDifference
from whysync.argocd.settings import ResourceOverride, Settings, known_type_fields, overrides_from_json
from whysync.argocd.sync.sync_app_state import normalize_target
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.merge.structured import DEDUCED


def same_rules(left: Iterable[IgnoreDifference] | None, right: Iterable[IgnoreDifference] | None) -> bool:
    """Mirrors `IgnoreDifferences.Equals`, Argo CD 3.6: no list and an empty one are the same."""
    return tuple(left or ()) == tuple(right or ())


def check(record: Object) -> list[str]:
    return _OPS[text(record["op"])](record, fields(record["expect"]))


def _rules(value: Json) -> tuple[IgnoreDifference, ...]:
    result: list[IgnoreDifference] = []
    for raw in items(value):
        rule, problems = decode(fields(raw), IgnoreDifference)
        assert rule is not None
        assert not problems
        result.append(rule)
    return tuple(result)


def _overrides(record: Object) -> Mapping[str, ResourceOverride]:
    return overrides_from_json(fields(record.get("overrides")))


def _normalize(record: Object, expect: Object) -> list[str]:
    try:
        normalizer = ignore.Normalizer.build(_rules(record.get("rules")), _overrides(record))
    except ignore.BadRule as problem:
        return [] if expect.get("rules_error") else [f"rules do not compile: {problem}"]
    if expect.get("rules_error"):
        return ["expected an error in the rules"]
    obj = record["object"]
    if not isinstance(obj, dict):  # whoever has no object cannot ask
        return mismatch("error", expect.get("error", False), got=True)
    normalized, applied = normalizer.apply(obj)
    failures = failed_checks(normalized, expect.get("normalized"))
    failures += mismatch("error", expect.get("error", False), got=False)
    if expect.get("unchanged"):
        failures += mismatch("unchanged", obj, normalized)
    problems = [removal.problem for item in applied for removal in item.removals if removal.problem]
    if "logs_error" in expect:
        failures += mismatch("logs_error", expect["logs_error"], bool(problems))
    if "log_contains" in expect and not problems:
        failures.append("expected a failure to be reported")
    if "patch_error_contains" in expect:
        expected = text(expect["patch_error_contains"])
        failures += (
            [] if any(expected in problem for problem in problems) else [f"lacks {expected}: {problems}"]
        )
    return failures


def _both(
    rules: tuple[IgnoreDifference, ...],
    overrides: Mapping[str, ResourceOverride],
    target: Object,
    live: Object,
) -> tuple[Object, Object]:
    normalizer = ignore.Normalizer.build(rules, overrides)
    managers = normalizer.trusted_managers(ref_of(target))
    live, target = ignore.without_trusted_changes(live, target, managers, ignore.atom_for(target))
    known = known_type_fields(overrides)
    return (
        ignore.with_known_types(normalizer.normalize(target), known),
        ignore.with_known_types(normalizer.normalize(live), known),
    )


def _normalize_pair(record: Object, expect: Object) -> list[str]:
    target, live = fields(record["target"]), fields(record["live"])
    new_target, new_live = _both(_rules(record["rules"]), _overrides(record), target, live)
    failures = failed_checks(new_target, expect.get("target")) + failed_checks(new_live, expect.get("live"))
    if expect.get("unchanged"):
        failures += mismatch("target", target, new_target) + mismatch("live", live, new_live)
    return failures


def _managed_fields(record: Object, expect: Object) -> list[str]:
    managers = tuple(text(name) for name in items(record["trusted_managers"]))
    target, live = record["target"], record["live"]
    noop = not managers or target is None or live is None
    failures = mismatch("noop", expect.get("noop", noop), noop) + mismatch(
        "error", expect.get("error", False), got=False
    )
    if not isinstance(target, dict) or not isinstance(live, dict):
        return failures
    atom = ignore.atom_for(target) if record["type"] is not None else DEDUCED
    new_live, new_target = ignore.without_trusted_changes(live, target, managers, atom)
    return [
        *failures,
        *failed_checks(new_target, expect.get("target")),
        *failed_checks(new_live, expect.get("live")),
    ]


def _match_rules(record: Object, expect: Object) -> list[str]:
    query = fields(record["query"])
    ref = Ref(
        group=text(query.get("group")),
        kind=text(query.get("kind")),
        namespace=text(query.get("namespace")),
        name=text(query.get("name")),
    )
    rules = (
        *ignore.system_rules(_overrides(record)),
        *ignore.application_rules(_rules(record["rules"])),
    )
    matching = [rule for rule in rules if rule.trusts_managers_for(ref)]
    failures = mismatch("matched", expect["matched"], bool(matching))
    if "merged" in expect:
        merged: Object = {
            "jsonPointers": list(dict.fromkeys(pointer for rule in matching for pointer in rule.pointers)),
            "jqPathExpressions": list(
                dict.fromkeys(expression for rule in matching for expression in rule.expressions)
            ),
            "managedFieldsManagers": list(
                dict.fromkeys(manager for rule in matching for manager in rule.managers)
            ),
        }
        failures += mismatch("merged", expect["merged"], merged)
    return failures


def _respect(record: Object, expect: Object) -> list[str]:
    target, live = fields(record["target"]), fields(record["live"])
    # the test behind these vectors runs with the default settings: `/status` is ignored
    normalized_target, normalized_live = _both(_rules(record["rules"]), Settings().overrides, target, live)
    result = normalize_target(
        target, live, normalized_target=normalized_target, normalized_live=normalized_live
    )
    return failed_checks(result, expect.get("result"))


def _known_types(record: Object, expect: Object) -> list[str]:
    obj = ignore.with_known_types(fields(record["object"]), known_type_fields(_overrides(record)))
    failures = mismatch("error", expect.get("error", False), got=False)
    return failures + failed_checks(obj, expect.get("normalized"))


def _known_types_config(record: Object, expect: Object) -> list[str]:
    configured = known_type_fields(_overrides(record))
    expected = [fields(item) for item in items(expect["configured_group_kinds_include"])]
    return [
        f"{item} is not configured"
        for item in expected
        if (text(item.get("group")), text(item.get("kind"))) not in configured
    ]


def _known_types_list(_: Object, expect: Object) -> list[str]:
    return [
        f"{name} is not known" for name in items(expect["supported"]) if ignore.known_type(text(name)) is None
    ]


def _rules_equal(record: Object, expect: Object) -> list[str]:
    return mismatch("equal", expect["equal"], same_rules(_rules(record["a"]), _rules(record["b"])))


def _settings_overrides(record: Object, expect: Object) -> list[str]:
    settings = Settings.from_config_maps({"data": record["settings"]}, None)
    got: Object = {key: override.as_json() for key, override in settings.overrides.items()}
    failures: list[str] = []
    if "override_count" in expect:
        failures += mismatch("override_count", expect["override_count"], len(got))
    included = expect.get("overrides_include")
    if included is not None and not contains(got, included):
        failures += mismatch("overrides_include", included, got)
    return failures


_OPS: dict[str, Callable[[Object, Object], list[str]]] = {
    "normalize": _normalize,
    "normalize-pair": _normalize_pair,
    "managed-fields": _managed_fields,
    "match-rules": _match_rules,
    "respect-ignore-differences": _respect,
    "known-types": _known_types,
    "known-types-config": _known_types_config,
    "known-types-list": _known_types_list,
    "rules-equal": _rules_equal,
    "settings-overrides": _settings_overrides,
}
