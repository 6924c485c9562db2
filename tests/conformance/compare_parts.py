"""The questions of compare.jsonl about single steps of a comparison: a check for each `op`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from tests.conformance.checks import failed_checks, lacks_fragments, mismatch
from tests.conformance.unreached.diff_cache import uses_diff_cache
from tests.conformance.unreached.secret_rows import ShownDiff, masked_row
from whysync.argocd.api.application import Condition, NamespaceMetadata, SyncPolicy
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.app_normalizer import Normalization
from whysync.argocd.compare.app_status import set_conditions
from whysync.argocd.compare.compare_app_state import normalize_target_objects
from whysync.argocd.compare.deletion_confirmation import requires_confirmation
from whysync.argocd.compare.managed_namespace import managed_namespace
from whysync.argocd.compare.orphans import orphans
from whysync.argocd.diff.options import DiffOptions
from whysync.argocd.settings import FilteredResource, Settings, resource_excluded
from whysync.argocd.sync.sync_app_state import kept_history
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key

T = TypeVar("T")


def _decoded(value: Json, into: type[T]) -> T:
    decoded, problems = decode(fields(value), into)
    assert decoded is not None
    assert not problems, problems
    return decoded


def _object(value: Json) -> Object | None:
    return value if isinstance(value, dict) else None


def _prepare_targets(record: Object, expect: Object) -> list[str]:
    namespaced = record["kinds_namespaced"]
    targets = normalize_target_objects(
        [fields(target) for target in items(record["targets"])],
        namespace=text(record["namespace"]),
        is_namespaced=lambda _: namespaced if isinstance(namespaced, bool) else None,
    )
    failures = mismatch("count", expect["count"], len(targets.objects))
    for field in map(fields, items(expect.get("results"))):
        failures += failed_checks(targets.objects[integer(field["index"])], field["checks"])
    conditions = [fields(condition) for condition in items(expect.get("conditions"))]
    failures += mismatch("conditions", len(conditions), len(targets.warnings))
    for field, warning in zip(conditions, targets.warnings, strict=False):
        failures += mismatch("type", field["type"], "RepeatedResourceWarning")
        failures += lacks_fragments("message", field["message_contains"], warning)
    return failures


def _orphaned(record: Object, expect: Object) -> list[str]:
    rows = [fields(row) for row in items(record["namespace_resources"])]
    top_level = [
        (
            Key(*(text(row.get(field)) for field in ("group", "kind", "namespace", "name"))),
            text(row.get("app")),
        )
        for row in rows
    ]
    apps = {app for _, app in top_level if app} | {text(record["app_name"])}
    result = orphans(_decoded(record["project"], AppProject), top_level, existing_apps=apps)
    got: list[Json] = [{"name": key.name, "namespace": key.namespace} for key in result]
    return mismatch("orphaned", expect["orphaned"], got)


def _history(record: Object, expect: Object) -> list[str]:
    entries: tuple[int, ...] = ()
    limit: int | None = None
    lengths: list[Json] = []
    for step in map(fields, items(record["steps"])):
        limit = integer(step["limit"]) if "limit" in step else limit
        for _ in range(integer(step["add"])):
            entries = kept_history((*entries, len(entries)), limit)
        lengths.append(len(entries))
    return mismatch("lengths", expect["lengths"], lengths)


def _deletion_confirmation(record: Object, expect: Object) -> list[str]:
    options = ",".join(text(option) for option in items(record["resource_sync_options"]))
    annotations: Object = {"argocd.argoproj.io/sync-options": options} if options else {}
    obj: Object = {"metadata": {"annotations": annotations}}
    got = requires_confirmation(obj, [text(option) for option in items(record["app_sync_options"])])
    return mismatch("requires_deletion_confirmation", expect["requires_deletion_confirmation"], got)


def _use_diff_cache(record: Object, expect: Object) -> list[str]:
    revisions = [text(revision) for revision in items(record["manifest_revisions"])]
    got = uses_diff_cache(
        fields(record["app"]),
        sources=items(record["sources"]),
        manifest_revisions=revisions,
        manifests=len(revisions),
        now=datetime.fromisoformat(text(record["now"])),
        refresh_timeout=timedelta(seconds=integer(record["status_refresh_timeout_seconds"])),
        server_side_diff=record["server_side_diff"] is True,
        no_cache=record["no_cache"] is True,
    )
    return mismatch("use_diff_cache", expect["use_diff_cache"], got)


def _mask_resource_diff(record: Object, expect: Object) -> list[str]:
    settings = Settings.from_config_maps({"data": record["settings"]}, None)
    main = fields(record["main_diff"])
    server_side = None
    if record["server_side_diff"] is True:
        server_side = ShownDiff(
            modified=main["modified"] is True,
            target=None,
            live=None,
            normalized_live=_object(main["normalized_live"]),
            predicted_live=_object(main["predicted_live"]),
        )
    got = masked_row(
        _object(record["target"]),
        _object(record["live"]),
        options=DiffOptions(normalizer=Normalization.build((), settings.overrides)),
        hide_annotations=settings.sensitive_annotations,
        server_side=server_side,
    )
    failures = mismatch("modified", expect["modified"], got.modified)
    for name in ("target", "live", "normalized_live", "predicted_live"):
        failures += failed_checks(getattr(got, name), expect.get(name))
    if expect.get("predicted_equals_normalized"):
        failures += mismatch("predicted_live", got.normalized_live, got.predicted_live)
    return failures


def _managed_namespace(record: Object, expect: Object) -> list[str]:
    policy = fields(record["sync_policy"])
    metadata: NamespaceMetadata | None = _decoded(policy, SyncPolicy).managed_namespace_metadata
    result = managed_namespace(
        _object(record["namespace_manifest"]), _object(record["live_namespace"]), metadata
    )
    failures = mismatch("sync", expect["sync"], result is not None)
    for name in ("labels", "annotations"):
        if name in expect:
            got = fields(fields((result or {}).get("metadata")).get(name))
            failures += mismatch(name, expect[name], got)
    return failures


def _set_conditions(record: Object, expect: Object) -> list[str]:
    result = set_conditions(
        [_decoded(item, Condition) for item in items(record["existing"])],
        [_decoded(item, Condition) for item in items(record["incoming"])],
        [text(kind) for kind in items(record["evaluated_types"])],
        datetime.fromisoformat(text(record["now"])),
    )
    expected_conditions = [fields(item) for item in items(expect["conditions"])]
    failures = mismatch("conditions", len(expected_conditions), len(result))
    for expected, got in zip(expected_conditions, result, strict=False):
        failures += mismatch("type", expected["type"], got.type)
        failures += mismatch("message", expected["message"], got.message)
        when = got.last_transition_time
        assert when is not None
        if "lastTransitionTime" in expected:
            failures += mismatch(
                "time", expected["lastTransitionTime"], when.isoformat().replace("+00:00", "Z")
            )
        if "lastTransitionTime_after" in expected:
            earliest = datetime.fromisoformat(text(expected["lastTransitionTime_after"]))
            failures += mismatch("time is later", True, when > earliest)
    return failures


def _filter(value: Json) -> FilteredResource:
    raw = fields(value)
    parts = {
        name: tuple(text(item) for item in items(raw.get(key)))
        for name, key in (("api_groups", "apiGroups"), ("kinds", "kinds"), ("clusters", "clusters"))
    }
    return FilteredResource(**parts)


def _names(record: Object) -> list[str]:
    return [text(record[name]) for name in ("group", "kind", "cluster")]


def _resource_excluded(record: Object, expect: Object) -> list[str]:
    settings = Settings(
        resource_inclusions=tuple(_filter(item) for item in items(record["resource_inclusions"])),
        resource_exclusions=tuple(_filter(item) for item in items(record["resource_exclusions"])),
    )
    return mismatch("excluded", expect["excluded"], resource_excluded(settings, *_names(record)))


def _resource_filter(record: Object, expect: Object) -> list[str]:
    return mismatch("match", expect["match"], _filter(record["filter"]).matches(*_names(record)))


def _compare_options(record: Object, expect: Object) -> list[str]:
    options = Settings.from_config_maps({"data": record["settings"]}, None).compare_options
    return [
        failure for name, value in expect.items() for failure in mismatch(name, value, getattr(options, name))
    ]


CHECKS: Final[dict[str, Callable[[Object, Object], list[str]]]] = {
    "prepare-targets": _prepare_targets,
    "orphaned": _orphaned,
    "history": _history,
    "deletion-confirmation": _deletion_confirmation,
    "use-diff-cache": _use_diff_cache,
    "mask-resource-diff": _mask_resource_diff,
    "managed-namespace": _managed_namespace,
    "set-conditions": _set_conditions,
    "resource-excluded": _resource_excluded,
    "resource-filter-match": _resource_filter,
    "compare-options": _compare_options,
}
