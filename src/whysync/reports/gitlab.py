"""Findings as GitLab's code quality report."""

from __future__ import annotations

from collections import Counter

from whysync.diagnosis.finding import Severity
from whysync.json_tree import Json
from whysync.lint.remark import Outcome
from whysync.reports.json_yaml import as_json
from whysync.reports.output import Safe
from whysync.reports.sarif import fingerprint
from whysync.reports.screen import one_line

_SEVERITIES = {Severity.CRITICAL: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(outcome: Outcome) -> Safe:
    seen: Counter[tuple[str, ...]] = Counter()
    found: list[Json] = []
    for remark in outcome.remarks:
        seen[remark.key] += 1
        hint = f" ({remark.hint})" if remark.hint else ""
        found.append(
            {
                "description": one_line(f"{remark.message}{hint}", 1_000),
                "check_name": remark.check,
                "fingerprint": fingerprint(remark, seen[remark.key]),
                "severity": _SEVERITIES[remark.severity],
                "location": {
                    "path": remark.path.removeprefix("./"),
                    "lines": {"begin": max(remark.line, 1)},
                },
            }
        )
    return as_json(found)
