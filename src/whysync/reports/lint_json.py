"""`lint -o json`, version 1. Within a version fields are only added."""

from __future__ import annotations

import msgspec

from whysync.diagnosis.finding import NO_OBJECT, Finding, Severity
from whysync.kubernetes.api.ref import Ref
from whysync.lint.outcome import Outcome, Suppressed
from whysync.reports.json_yaml import as_json
from whysync.reports.output import Safe

VERSION = 1


class _Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class ObjectV1(_Value, frozen=True):
    group: str
    version: str
    kind: str
    namespace: str
    name: str


class FixV1(_Value, frozen=True):
    title: str
    safe: bool


class LintFindingV1(_Value, frozen=True):
    check: str
    severity: str
    message: str
    hint: str
    path: str
    line: int
    column: int
    object: ObjectV1 | None
    field: str | None
    fix: FixV1 | None


class SuppressedV1(_Value, frozen=True):
    check: str
    path: str
    line: int
    reason: str
    how: str


class NoteV1(_Value, frozen=True):
    path: str
    why: str
    matters: bool


class SummaryV1(_Value, frozen=True):
    critical: int
    warning: int
    info: int
    suppressed: int
    in_baseline: int
    files: int
    objects: int


class LintV1(_Value, frozen=True):
    version: int
    summary: SummaryV1
    findings: tuple[LintFindingV1, ...]
    suppressed: tuple[SuppressedV1, ...]
    notes: tuple[NoteV1, ...]


def render(outcome: Outcome) -> Safe:
    return as_json(lint_v1(outcome))


def lint_v1(outcome: Outcome) -> LintV1:
    return LintV1(
        version=VERSION,
        summary=SummaryV1(
            critical=outcome.count(Severity.CRITICAL),
            warning=outcome.count(Severity.WARNING),
            info=outcome.count(Severity.INFO),
            suppressed=len(outcome.suppressed),
            in_baseline=outcome.in_baseline,
            files=outcome.files,
            objects=outcome.objects,
        ),
        findings=tuple(map(_finding, outcome.findings)),
        suppressed=tuple(map(_suppressed, outcome.suppressed)),
        notes=tuple(NoteV1(path=note.path, why=note.why, matters=note.matters) for note in outcome.notes),
    )


def _finding(finding: Finding) -> LintFindingV1:
    fix = finding.fixes[0] if finding.fixes else None
    return LintFindingV1(
        check=finding.rule,
        severity=finding.severity.value,
        message=finding.verdict,
        hint=finding.hint,
        path=finding.path,
        line=finding.line,
        column=finding.location.column if finding.location else 0,
        object=None if finding.about == NO_OBJECT else _object(finding.about),
        field=finding.field,
        fix=FixV1(title=fix.title, safe=fix.keeps_meaning) if fix else None,
    )


def _object(ref: Ref) -> ObjectV1:
    return ObjectV1(
        group=ref.group, version=ref.version, kind=ref.kind, namespace=ref.namespace, name=ref.name
    )


def _suppressed(suppressed: Suppressed) -> SuppressedV1:
    finding = suppressed.finding
    return SuppressedV1(
        check=finding.rule, path=finding.path, line=finding.line, reason=suppressed.reason, how=suppressed.how
    )
