"""windows.jsonl: sync windows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec

from tests.conformance.checks import failed_checks, lacks_fragments, mismatch
from tests.conformance.unreached import window_editing
from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject, SyncWindow
from whysync.argocd.projects import project_problem
from whysync.argocd.sync_windows import windows as sync_windows
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.api.decode import decode

T = TypeVar("T")


def check(record: Object) -> list[str]:
    return _OPS[text(record["op"])](record, fields(record["expect"]))


def _decoded(value: Json, into: type[T]) -> T:
    decoded, problems = decode(fields(value), into)
    assert decoded is not None
    assert not problems, problems
    return decoded


def _windows(record: Object) -> tuple[SyncWindow, ...]:
    return tuple(_decoded(window, SyncWindow) for window in items(record["windows"]))


def _now(record: Object) -> datetime:
    return datetime.fromisoformat(text(record["now"]))


def _listed(
    question: Callable[[tuple[SyncWindow, ...], datetime], tuple[SyncWindow, ...]], name: str
) -> Callable[[Object, Object], list[str]]:
    def ask(record: Object, expect: Object) -> list[str]:
        windows = _windows(record)
        try:
            result = question(windows, _now(record))
        except sync_windows.BadWindow:
            return mismatch("error", expect["error"], True)
        indexes: list[Json] = [
            index for index, window in enumerate(windows) if any(window is w for w in result)
        ]
        failures = mismatch("error", expect.get("error", False), False)
        failures += mismatch("count", expect[f"{name}_count"], len(result))
        if f"{name}_indexes" in expect:
            failures += mismatch("indexes", expect[f"{name}_indexes"], indexes)
        return failures

    return ask


def _window_active(record: Object, expect: Object) -> list[str]:
    try:
        result = sync_windows.is_open(_decoded(record["window"], SyncWindow), _now(record))
    except sync_windows.BadWindow:
        return mismatch("error", expect["error"], True)
    return mismatch("error", expect.get("error", False), False) + mismatch("active", expect["active"], result)


def _can_sync(record: Object, expect: Object) -> list[str]:
    started = text(record.get("operation_started_at"))
    verdict = sync_windows.can_sync(
        _windows(record),
        _now(record),
        manual=record["manual"] is True,
        started_at=datetime.fromisoformat(started) if started else None,
    )
    return [
        *mismatch("can_sync", expect["can_sync"], verdict.allowed),
        *mismatch("error", expect["error"], verdict.error != ""),
    ]


def _matches(record: Object, expect: Object) -> list[str]:
    result = sync_windows.matching(_windows(record), _decoded(record["app"], Application))
    return mismatch("match_count", expect["match_count"], len(result))


def _inspect(record: Object, expect: Object) -> list[str]:
    windows = _windows(record)
    denies = sync_windows.of_kind(windows, "deny")
    answers: Object = {
        "has_windows": bool(windows),
        "has_deny": bool(denies),
        "has_allow": bool(sync_windows.of_kind(windows, "allow")),
        "deny_manual_enabled": sync_windows.all_manual(denies),
        "deny_allows_overrun": sync_windows.all_overrun(denies),
    }
    return [failure for name, value in expect.items() for failure in mismatch(name, value, answers[name])]


def _validate_window(record: Object, expect: Object) -> list[str]:
    problem = window_editing.window_problem(_decoded(record["window"], SyncWindow))
    return mismatch("valid", expect["valid"], problem is None)


def _validate_project(record: Object, expect: Object) -> list[str]:
    project = _decoded(record["project"], AppProject)
    problem = window_editing.windows_problem(project.spec.sync_windows) or project_problem(project)
    failures = mismatch("valid", expect["valid"], problem is None)
    if "error_contains" in expect:
        failures += lacks_fragments("error", expect["error_contains"], problem)
    return failures


def _update(record: Object, expect: Object) -> list[str]:
    window = _decoded(record["window"], SyncWindow)
    try:
        result = window_editing.updated(window, _decoded(record["update"], SyncWindow))
    except ValueError as problem:
        failures = mismatch("error", expect["error"], True)
        return failures + mismatch("error", expect.get("error_equals"), str(problem))
    return failed_checks(msgspec.to_builtins(result), expect["window"])


def _delete(record: Object, expect: Object) -> list[str]:
    windows = _windows(record)
    try:
        remaining, failed = window_editing.removed(windows, integer(record["index"])), False
    except ValueError:
        remaining, failed = windows, True
    failures = mismatch("error", expect["error"], failed)
    return failures + mismatch("remaining", expect["remaining"], len(remaining))


def _identity(record: Object, expect: Object) -> list[str]:
    left, right = (window_editing.identity(_decoded(record[side], SyncWindow)) for side in "ab")
    return mismatch("same_identity", expect["same_identity"], left == right)


_OPS: dict[str, Callable[[Object, Object], list[str]]] = {
    "active": _listed(sync_windows.open_windows, "active"),
    "inactive-allows": _listed(sync_windows.closed_allows, "inactive_allow"),
    "window-active": _window_active,
    "can-sync": _can_sync,
    "matches": _matches,
    "inspect": _inspect,
    "validate-window": _validate_window,
    "validate-project": _validate_project,
    "update-window": _update,
    "delete-window": _delete,
    "window-identity": _identity,
}
