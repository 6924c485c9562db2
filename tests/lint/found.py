"""Findings as `whysync lint` reports them, made up."""

from __future__ import annotations

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import NO_OBJECT, Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.kubernetes.api.ref import Ref


def in_file(
    path: str,
    verdict: str,
    *,
    rule: str,
    line: int = 0,
    about: Ref = NO_OBJECT,
    field: str | None = None,
    severity: Severity = Severity.CRITICAL,
    hint: str = "",
    fixes: tuple[Fix, ...] = (),
) -> Finding:
    return Finding(
        about=about,
        verdict=verdict,
        confidence=Confidence.HIGH,
        severity=severity,
        rule=rule,
        field=field,
        hint=hint,
        fixes=fixes,
        location=FileLocation(path=path, line=line),
    )
