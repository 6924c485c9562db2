"""The findings of `whysync lint` as annotations."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from whysync.diagnosis.finding import NO_OBJECT, Finding
from whysync.lint.baseline import key_of
from whysync.lint.outcome import Outcome
from whysync.reports.annotations.annotation import Annotation


def lint_rows(outcome: Outcome) -> list[Annotation]:
    """The findings, then those that are suppressed."""
    counter: Counter[tuple[str, ...]] = Counter()
    rows = [_row(finding, counter) for finding in outcome.findings]
    return rows + [
        _row(suppressed.finding, counter, suppressed=suppressed.reason) for suppressed in outcome.suppressed
    ]


def _row(finding: Finding, seen: Counter[tuple[str, ...]], *, suppressed: str | None = None) -> Annotation:
    key = key_of(finding)
    seen[key] += 1
    about = "" if finding.about == NO_OBJECT else f" {finding.about}"
    hint = f"\n{finding.hint}" if finding.hint else ""
    return Annotation(
        message=finding.verdict,
        severity=finding.severity,
        rule=finding.rule,
        help=finding.hint,
        title=f"{finding.rule}{about} (line {finding.line})",
        file=finding.path,
        line=finding.line,
        fingerprint=_fingerprint(key, seen[key]),
        skipped=suppressed,
        suite=finding.path,
        failure_type=finding.severity.value,
        details=f"{finding.place}: {finding.verdict}{hint}",
    )


def _fingerprint(key: tuple[str, ...], nth: int) -> str:
    """The line is not part of it; equal findings are numbered."""
    return sha256("\x00".join((*key, str(nth))).encode("utf-8", "replace")).hexdigest()
