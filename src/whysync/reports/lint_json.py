"""What lint found, as data: version 1, in which fields are only ever added."""

from __future__ import annotations

import msgspec

from whysync.diagnosis.finding import Severity
from whysync.kubernetes.api.ref import Ref
from whysync.manifests.remark import Outcome, Remark, Suppressed
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
        findings=tuple(map(_finding, outcome.remarks)),
        suppressed=tuple(map(_suppressed, outcome.suppressed)),
        notes=tuple(NoteV1(path=note.path, why=note.why, matters=note.matters) for note in outcome.notes),
    )


def _finding(remark: Remark) -> LintFindingV1:
    return LintFindingV1(
        check=remark.check,
        severity=remark.severity.value,
        message=remark.message,
        hint=remark.hint,
        path=remark.path,
        line=remark.line,
        object=_object(remark.ref),
        field=remark.field,
        fix=FixV1(title=remark.mend.title, safe=remark.mend.safe) if remark.mend else None,
    )


def _object(ref: Ref | None) -> ObjectV1 | None:
    if ref is None:
        return None
    return ObjectV1(
        group=ref.group, version=ref.version, kind=ref.kind, namespace=ref.namespace, name=ref.name
    )


def _suppressed(one: Suppressed) -> SuppressedV1:
    remark = one.remark
    return SuppressedV1(
        check=remark.check, path=remark.path, line=remark.line, reason=one.reason, how=one.how
    )
