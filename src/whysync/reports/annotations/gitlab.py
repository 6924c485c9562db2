"""GitLab's code quality report."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.diagnosis.finding import Severity
from whysync.json_tree import Json
from whysync.reports.annotations.annotation import Annotation
from whysync.reports.json_yaml import as_json
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line

_SEVERITIES = {Severity.CRITICAL: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(rows: Iterable[Annotation]) -> Safe:
    issues: list[Json] = [
        {
            "description": one_line(row.text, 1_000),
            "check_name": row.rule,
            "fingerprint": row.fingerprint,
            "severity": _SEVERITIES[row.severity],
            "location": {"path": row.file.removeprefix("./"), "lines": {"begin": max(row.line or 0, 1)}},
        }
        for row in rows
        if row.severity is not None and row.skipped is None
    ]
    return as_json(issues)
