"""Compare the result of a scenario with its expectations; the differences as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whysync.argocd.api.application import Application
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import AppReport, Report
from whysync.lab.scenario import Expected, ExpectedFix, Scenario


def differences(scenario: Scenario, report: Report) -> list[str]:
    if not scenario.expects:
        return ["the scenario expects nothing: add expect: to it"]
    by_name = {app.name: app for app in report.apps}
    mismatches: list[str] = []
    for expected in scenario.expects:
        app = by_name.get(expected.app)
        if expected.gone:
            mismatches += [f"{expected.app}: it is still there"] if app is not None else []
        elif app is None:
            mismatches.append(f"{expected.app}: there is no such Application at the end")
        else:
            mismatches += [f"{expected.app}: {mismatch}" for mismatch in _of_app(expected, app)]
    return mismatches


def _of_app(expected: Expected, report: AppReport) -> Iterator[str]:
    app = report.case.app
    operation = app.status.operation_state
    first = report.first
    pairs = (
        ("operation phase", expected.phase, operation.phase if operation else "None"),
        ("operation message", expected.message, operation.message if operation else ""),
        ("sync", expected.sync, app.status.sync.status or "None"),
        ("health", expected.health, app.status.health.status or "None"),
        ("cause", expected.cause, first.cause if first else "none"),
        ("rule", expected.rule, first.rule if first else "none"),
        ("about", expected.about, str(first.about) if first else ""),
        ("field", expected.field, (first.field or "") if first else ""),
        ("writer", expected.writer, first.writer.manager if first and first.writer else ""),
        ("root", expected.root, (first.root or "") if first else ""),
        ("safety of a sync", expected.safety, report.safety.sync.value),
        *_of_fix(expected.fix, first.fixes[0] if first and first.fixes else None),
    )
    for field, expected_value, actual in pairs:
        if expected_value is not None and not matches(expected_value, actual):
            yield f"{field} is {actual!r}, expected {expected_value!r}"
    if expected.conditions is not None:
        yield from _conditions(expected, app)
    for crashed in report.crashed:
        yield f"rule {crashed.rule} crashed: {crashed.error}"


def _of_fix(expected: ExpectedFix | None, fix: Fix | None) -> Iterator[tuple[str, str | None, str]]:
    """An assumption of a proof must be expected: without `why` there must be none."""
    if expected is None:
        return
    yield "proof of the first fix", expected.proof, fix.proof.status.value if fix else "none"
    if fix is not None:
        yield "why of the first fix", expected.why or "", fix.proof.why
        yield "first fix", expected.title, fix.title


def _conditions(expected: Expected, app: Application) -> Iterator[str]:
    expected_conditions = expected.conditions or {}
    actual = {condition.type: condition.message for condition in app.status.conditions}
    for type in sorted(expected_conditions.keys() | actual.keys()):
        if type not in actual:
            yield f"condition {type} is missing"
        elif type not in expected_conditions:
            yield f"condition {type} is there and not expected: {actual[type]!r}"
        elif expected_conditions[type] and not matches(expected_conditions[type], actual[type]):
            yield f"condition {type} is {actual[type]!r}, expected {expected_conditions[type]!r}"


def matches(expected: str, actual: str) -> bool:
    """Equal texts; `*` matches anything, such as a generated file name."""
    if "*" not in expected:
        return expected == actual
    pattern = ".*".join(re.escape(part) for part in expected.split("*"))
    return re.fullmatch(pattern, actual, re.DOTALL) is not None
