"""The result of lint: findings, and notes for what was not checked."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whysync.diagnosis.finding import Finding, Severity
from whysync.manifests.files import Note


class Suppressed(msgspec.Struct, frozen=True, kw_only=True):
    finding: Finding
    reason: str
    how: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in a stable order: by file, line, rule and text."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    files: int = 0
    objects: int = 0
    in_baseline: int = 0

    def count(self, severity: Severity) -> int:
        return sum(1 for finding in self.findings if finding.severity is severity)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(
        sorted(
            findings,
            key=lambda finding: (
                finding.path,
                finding.line,
                finding.rule,
                finding.field or "",
                finding.verdict,
            ),
        )
    )
