"""The questions of compare.jsonl that the whole comparison answers: `compare` and `compare-repo-error`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.conformance.checks import failed_checks, lacks_fragments, mismatch
from tests.conformance.given import EveryKindNamespaced, GivenLive
from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.compare_app_state import NotComparedYet, compare, compare_with_grace
from whysync.argocd.compare.comparison import Comparison, Inputs
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.projects import Cluster
from whysync.argocd.settings import Settings
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key

_NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_CONTROL_PLANE: Final = "fake-argocd-ns"


def _compare(record: Object) -> list[str]:
    expect = fields(record.get("expect"))
    comparison = compare(_inputs(record))
    failures: list[str] = []
    for name, check in _CHECKS.items():
        if name in expect:
            failures += check(comparison, expect[name])
    unknown = set(expect) - set(_CHECKS)
    return failures + [f"no check for {name}" for name in sorted(unknown)]


def _repo_error(record: Object) -> list[str]:
    expect = fields(record.get("expect"))
    first_seen = _NOW - timedelta(seconds=integer(record.get("seconds_since_first_error")))
    inputs = _inputs(record)
    grace = integer(record.get("grace_seconds"))
    failures: list[str] = []
    try:
        compare_with_grace(inputs, first_seen=None, grace_seconds=grace)
        failures.append("the first error: expected to be kept back")
    except NotComparedYet:
        pass
    result = compare_with_grace(inputs, first_seen=first_seen, grace_seconds=grace)
    return failures + mismatch("sync_status", expect.get("sync_status"), str(result.sync))


def _inputs(record: Object) -> Inputs:
    body = fields(record.get("app"))
    app, _ = decode(body, Application)
    project, _ = decode(fields(record.get("project")), AppProject)
    assert app is not None
    lives = [fields(row) for row in items(record.get("lives"))]
    config: Object = {"data": fields(record.get("settings"))}
    revisions = items(record.get("revisions")) or [record.get("revision")]
    destination = app.spec.destination
    return Inputs(
        application=body,
        app=app,
        project=project,
        settings=Settings.from_config_maps(config, None),
        targets=[fields(target) for target in items(record.get("targets"))],
        live=GivenLive({_key(fields(row.get("key"))): fields(row.get("object")) for row in lives}),
        now=_NOW,
        scopes=EveryKindNamespaced() if record.get("all_kinds_namespaced") else Scopes(),
        cluster=Cluster(server=destination.server, name=destination.name),
        control_plane_namespace=_CONTROL_PLANE,
        revisions=tuple(text(revision) for revision in revisions if text(revision)),
        target_error=text(record.get("repo_error")) or None,
        integrity_problems=_integrity_problems(fields(record.get("source_integrity_result"))),
    )


def _key(raw: Object) -> Key:
    return Key(*(text(raw.get(field)) for field in ("group", "kind", "namespace", "name")))


def _integrity_problems(result: Object) -> tuple[str, ...]:
    return tuple(
        f"{text(fields(check).get('name'))}: {text(problem)}"
        for check in items(result.get("checks"))
        for problem in items(fields(check).get("problems"))
    )


def _conditions(comparison: Comparison, expected: Json) -> list[str]:
    result: list[Json] = [
        {"type": condition.type, "message": condition.message} for condition in comparison.conditions
    ]
    written = [fields(condition) for condition in items(comparison.status.get("conditions"))]
    failures = mismatch("number of conditions", len(items(expected)), len(result))
    failures += mismatch("number of conditions in the status", len(result), len(written))
    for claim in map(fields, items(expected)):
        kind = claim.get("type")
        messages = [
            text(field.get("message")) for field in map(fields, result) if kind in (None, field.get("type"))
        ]
        if "message_contains" in claim:
            failures += lacks_fragments(
                str(kind or "condition"), claim["message_contains"], "\n".join(messages)
            )
        elif "message" not in claim:
            failures += [] if messages else [f"condition: expected {kind}, got {result}"]
        else:
            exact: Object = {"type": claim.get("type"), "message": claim.get("message")}
            failures += [] if exact in result else [f"condition: expected {exact}, got {result}"]
    return failures


def _predicted_live(result: Comparison, expected: Json) -> list[str]:
    failures: list[str] = []
    for claim in map(fields, items(expected)):
        diff = result.resources[integer(claim.get("index"))].diff
        predicted = diff.predicted_live if diff else None
        failures += failed_checks(predicted, claim.get("checks"))
        if "labels_except_metadata_name" in claim:
            labels = dict(fields(dig(predicted, "metadata", "labels")))
            labels.pop("kubernetes.io/metadata.name", None)
            failures += mismatch("labels", claim["labels_except_metadata_name"], labels)
    return failures


def _reconciled_targets(result: Comparison, expected: Json) -> list[str]:
    failures: list[str] = []
    for claim in map(fields, items(expected)):
        failures += failed_checks(result.resources[integer(claim.get("index"))].target, claim.get("checks"))
    return failures


def _hook_waves(result: Comparison, expected: Json) -> list[str]:
    rows = [fields(row) for row in items(result.status.get("resources"))]
    waves: list[Json] = [row.get("syncWave") for row in rows if row.get("hook")]
    return mismatch("waves of hooks", [expected] * max(len(waves), 1), waves)


_CHECKS: Final[dict[str, Callable[[Comparison, Json], list[str]]]] = {
    "sync_status": lambda comparison, expected: mismatch(
        "sync", expected, dig(comparison.status, "sync", "status")
    ),
    "app_health": lambda comparison, expected: mismatch(
        "health", expected, dig(comparison.status, "health", "status")
    ),
    "resource_count": lambda comparison, expected: mismatch(
        "resources", expected, len(items(comparison.status.get("resources")))
    ),
    "managed_count": lambda comparison, expected: mismatch("managed", expected, len(comparison.resources)),
    "revision": lambda comparison, expected: mismatch(
        "revision", expected, dig(comparison.status, "sync", "revision") or ""
    ),
    "revisions": lambda comparison, expected: mismatch(
        "revisions", expected, dig(comparison.status, "sync", "revisions") or []
    ),
    "hook_count": lambda comparison, expected: mismatch("hooks", expected, len(comparison.hooks)),
    "conditions": _conditions,
    "predicted_live": _predicted_live,
    "reconciled_targets": _reconciled_targets,
    "hook_resources_sync_wave": _hook_waves,
}

CHECKS: Final[dict[str, Callable[[Object], list[str]]]] = {
    "compare": _compare,
    "compare-repo-error": _repo_error,
}
