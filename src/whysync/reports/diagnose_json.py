"""`diagnose -o json`, version 1. Within a version fields are only added; the schema is generated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import HiddenBy
from whysync.diagnosis.evidence import shortened
from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import EvidenceKey, Finding, KeyKind
from whysync.diagnosis.fix import Fix, ProofKind
from whysync.diagnosis.report import AppReport, Group, ReasonKind, Report, SyncOutcome, SyncSafety
from whysync.diagnosis.symptom import Symptom
from whysync.facts.snapshot import Gap, GapKind
from whysync.fixes.patches import patch_text
from whysync.json_tree import Missing, Object
from whysync.kubernetes.api.manifest import owner_of_kind
from whysync.kubernetes.api.ref import Ref
from whysync.queries.application_set_state import SetReport
from whysync.queries.hidden_drift import UnreportedDifference, unreported_differences
from whysync.queries.recent_changes import ChangeKind, recent_changes
from whysync.reports.proof_text import ProofMark, proof_mark

VERSION = 1


class _Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class RefV1(_Value, frozen=True):
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    cluster: str


class WriterV1(_Value, frozen=True):
    manager: str
    operation: str
    subresource: str
    time: str | None
    kind: str


class EvidenceV1(_Value, frozen=True):
    source: str
    ref: RefV1
    pointer: str
    value: object  # any JSON; msgspec's schemas do not support recursive types
    says: str


class ProofV1(_Value, frozen=True):
    """`kind`: what the proof depends on, or why there is none."""

    status: ProofMark
    kind: ProofKind
    rounds: int
    why: str
    trace: tuple[str, ...]


class LocationV1(_Value, frozen=True):
    """A line of a file in Git, at the commit that Argo CD compared; the path is that in the repository."""

    file: str
    line: int
    column: int


class FixV1(_Value, frozen=True):
    title: str
    kind: str
    patch: str
    risk: str
    destroys: tuple[str, ...]
    proof: ProofV1
    # the first line that it changes, if whysync rendered the manifests from a checkout or a fetch
    location: LocationV1 | None = None


class RejectedFixV1(_Value, frozen=True):
    title: str
    why: str


class KeyV1(_Value, frozen=True):
    """What findings of several apps must have in common to be one cause: this webhook, this repository.

    `scope`: the cluster or the Argo CD instance. `detail`: the reason, such as the refused value.
    """

    kind: KeyKind
    name: str
    scope: str
    detail: str


class FindingV1(_Value, frozen=True):
    id: str
    rule: str
    cause: str
    severity: str
    confidence: str
    verdict: str
    root: str | None
    about: RefV1
    field: str | None
    writer: WriterV1 | None
    explains: tuple[str, ...]
    caused_by: tuple[str, ...]
    evidence: tuple[EvidenceV1, ...]
    fixes: tuple[FixV1, ...]
    rejected_fixes: tuple[RejectedFixV1, ...]
    key: KeyV1 | None = None
    predicted: bool = False
    # where the object or its field is declared, if whysync rendered the manifests from a checkout or a fetch
    location: LocationV1 | None = None


class SymptomV1(_Value, frozen=True):
    id: str
    kind: str
    ref: RefV1 | None
    text: str


class ReasonV1(_Value, frozen=True):
    kind: ReasonKind
    text: str
    refs: tuple[RefV1, ...]


class SafetyV1(_Value, frozen=True):
    """`sync`: whether a sync deletes or interrupts nothing. `outcome`: whether the sync would succeed."""

    sync: SyncSafety
    outcome: SyncOutcome
    reasons: tuple[ReasonV1, ...]


class GapV1(_Value, frozen=True):
    kind: GapKind
    what: str
    why: str
    how_to_get: str


class SkippedV1(_Value, frozen=True):
    rule: str
    needs: tuple[str, ...]


class CrashedV1(_Value, frozen=True):
    rule: str
    error: str


class HiddenV1(_Value, frozen=True):
    """A difference that Argo CD does not report. `null`: that side does not have the field."""

    ref: RefV1
    pointer: str
    desired: object
    live: object
    hidden_by: HiddenBy
    ignore_rule: str


class ChangeV1(_Value, frozen=True):
    """A change since the app was Synced and Healthy; `time` is `null` if it is not in the facts."""

    kind: ChangeKind
    what: str
    ref: RefV1
    time: str | None
    who: str
    before: object
    after: object
    command: str


class ChangesV1(_Value, frozen=True):
    """The newest change first. `began`: when Argo CD first reports the problem, in the field `shownBy`."""

    began: str | None
    shown_by: str
    items: tuple[ChangeV1, ...]
    gaps: tuple[GapV1, ...]


class AppV1(_Value, frozen=True):
    name: str
    namespace: str
    project: str
    sync: str
    health: str
    side: str
    findings: tuple[FindingV1, ...]
    unexplained: tuple[SymptomV1, ...]
    safety: SafetyV1
    gaps: tuple[GapV1, ...]
    skipped: tuple[SkippedV1, ...]
    crashed: tuple[CrashedV1, ...]
    hidden: tuple[HiddenV1, ...] = ()
    changes: ChangesV1 | None = None
    not_understood: tuple[SymptomV1, ...] = ()
    # the Argo CD instance, if the facts are those of several: the name of its bundle
    instance: str = ""
    # where whysync rendered the manifests from; empty if they are Argo CD's, or those in a bundle
    manifests: str = ""
    # the ApplicationSet that owns it, which is in the same namespace; empty if none does
    application_set: str = ""


class GroupV1(_Value, frozen=True):
    """`fix` fixes all the apps at once; `checked`: it was simulated for each of them."""

    cause: str
    rule: str
    apps: tuple[str, ...]
    fix: FixV1 | None
    what: str = ""
    checked: bool = False
    key: KeyV1 | None = None


class SetConditionV1(_Value, frozen=True):
    type: str
    status: str
    reason: str
    message: str


class MemberV1(_Value, frozen=True):
    """An Application of a set. `step` counts from 1; 0 without a rolling sync, -1 if no step selects it.

    `rollout` is its status in the rollout, and `waits` why the rollout does not sync it now.
    """

    name: str
    namespace: str
    sync: str
    health: str
    step: int
    rollout: str
    message: str
    waits: str


class StepV1(_Value, frozen=True):
    """A step of a rolling sync; `maxUpdate` is `null` without a limit."""

    number: int
    selects: str
    max_update: int | None
    apps: tuple[str, ...]


class ApplicationSetV1(_Value, frozen=True):
    name: str
    namespace: str
    conditions: tuple[SetConditionV1, ...]
    generators: tuple[str, ...]
    findings: tuple[FindingV1, ...]
    steps: tuple[StepV1, ...]
    members: tuple[MemberV1, ...]


class ReportV1(_Value, frozen=True):
    version: int
    apps: tuple[AppV1, ...]
    groups: tuple[GroupV1, ...]
    # those asked about with appset/NAME; `apps` are then their Applications
    application_sets: tuple[ApplicationSetV1, ...] = ()


def report_v1(report: Report, sets: Sequence[SetReport] = ()) -> ReportV1:
    return ReportV1(
        version=VERSION,
        apps=tuple(app_v1(app) for app in report.apps),
        groups=tuple(_group(group, report) for group in report.groups),
        application_sets=tuple(map(_application_set, sets)),
    )


def _application_set(one: SetReport) -> ApplicationSetV1:
    return ApplicationSetV1(
        name=one.application_set.ref.name,
        namespace=one.application_set.ref.namespace,
        conditions=tuple(
            SetConditionV1(
                type=condition.type,
                status=condition.status,
                reason=condition.reason,
                message=condition.message,
            )
            for condition in one.conditions
        ),
        generators=one.generators,
        findings=tuple(_finding(finding, one.report.case) for finding in one.report.findings),
        steps=tuple(
            StepV1(number=step.number, selects=step.selects, max_update=step.max_update, apps=step.members)
            for step in one.steps
        ),
        members=tuple(
            MemberV1(
                name=member.name,
                namespace=member.namespace,
                sync=member.sync,
                health=member.health,
                step=member.step,
                rollout=member.status,
                message=member.message,
                waits=member.waits,
            )
            for member in one.members
        ),
    )


def _group(group: Group, report: Report) -> GroupV1:
    case = next((app.case for app in report.apps if app.case.qualified_name in group.apps), None)
    return GroupV1(
        cause=group.cause,
        rule=group.rule,
        apps=group.apps,
        fix=fix_v1(group.fix, case) if group.fix is not None and case is not None else None,
        what=group.what,
        checked=group.checked,
        key=_key(group.key),
    )


def app_v1(report: AppReport) -> AppV1:
    app = report.case.app
    return AppV1(
        name=app.name,
        namespace=app.namespace,
        project=app.project,
        sync=app.status.sync.status,
        health=app.status.health.status,
        side=report.side.value,
        findings=tuple(_finding(finding, report.case) for finding in report.findings),
        unexplained=tuple(_symptom(symptom) for symptom in report.unexplained),
        safety=SafetyV1(
            sync=report.safety.sync,
            outcome=report.safety.outcome,
            reasons=tuple(
                ReasonV1(kind=reason.kind, text=reason.text, refs=tuple(_ref(ref) for ref in reason.refs))
                for reason in report.safety.reasons
            ),
        ),
        gaps=tuple(map(_gap, report.gaps)),
        skipped=tuple(SkippedV1(rule=skipped.rule, needs=skipped.needs) for skipped in report.skipped),
        crashed=tuple(CrashedV1(rule=crashed.rule, error=crashed.error) for crashed in report.crashed),
        hidden=tuple(_hidden(difference) for difference in unreported_differences(report.case)),
        changes=_changes(report.case),
        not_understood=tuple(_symptom(symptom) for symptom in report.not_understood),
        instance=report.case.instance,
        manifests=rendering.words
        if (rendering := report.case.rendering) is not None and rendering.is_desired
        else "",
        application_set=owner_of_kind(report.case.application, "ApplicationSet"),
    )


def _location(location: FileLocation | None) -> LocationV1 | None:
    if location is None:
        return None
    return LocationV1(file=location.path, line=location.line, column=location.column)


def _key(key: EvidenceKey | None) -> KeyV1 | None:
    if key is None:
        return None
    return KeyV1(kind=key.kind, name=key.name, scope=key.scope, detail=key.detail)


def _gap(gap: Gap) -> GapV1:
    return GapV1(kind=gap.kind, what=gap.what, why=gap.why, how_to_get=gap.how_to_get)


def _changes(case: Case) -> ChangesV1 | None:
    recent = recent_changes(case)
    if recent is None:
        return None
    return ChangesV1(
        began=_time(recent.began),
        shown_by=recent.shown_by,
        items=tuple(
            ChangeV1(
                kind=change.kind,
                what=change.what,
                ref=_ref(change.about),
                time=_time(change.time),
                who=change.who,
                before=change.before,
                after=change.after,
                command=change.command,
            )
            for change in recent.changes
        ),
        gaps=tuple(map(_gap, recent.gaps)),
    )


def _time(time: datetime | None) -> str | None:
    return time.isoformat().replace("+00:00", "Z") if time is not None else None


def _hidden(difference: UnreportedDifference) -> HiddenV1:
    desired, live = (
        None if isinstance(value, Missing) else shortened(value)
        for value in (difference.desired, difference.live)
    )
    return HiddenV1(
        ref=_ref(difference.ref),
        pointer=difference.pointer,
        desired=desired,
        live=live,
        hidden_by=difference.hidden_by,
        ignore_rule=difference.ignore_rule,
    )


def _finding(finding: Finding, case: Case) -> FindingV1:
    writer = finding.writer
    return FindingV1(
        id=finding.id,
        rule=finding.rule,
        cause=finding.cause,
        severity=finding.severity.value,
        confidence=finding.confidence.value,
        verdict=finding.verdict,
        root=finding.root,
        about=_ref(finding.about),
        field=finding.field,
        writer=None
        if writer is None
        else WriterV1(
            manager=writer.manager,
            operation=writer.operation,
            subresource=writer.subresource,
            time=_time(writer.time),
            kind=writer.kind.value,
        ),
        explains=tuple(map(str, finding.explains)),
        caused_by=finding.caused_by,
        evidence=tuple(
            EvidenceV1(
                source=evidence.source,
                ref=_ref(evidence.ref),
                pointer=evidence.pointer,
                value=evidence.value,
                says=evidence.says,
            )
            for evidence in finding.evidence
        ),
        fixes=tuple(fix_v1(fix, case) for fix in finding.fixes),
        rejected_fixes=tuple(
            RejectedFixV1(title=rejected.title, why=rejected.why) for rejected in finding.rejected_fixes
        ),
        key=_key(finding.key),
        predicted=finding.predicted,
        location=_location(finding.location),
    )


def fix_v1(fix: Fix, case: Case) -> FixV1:
    return FixV1(
        title=fix.title,
        kind=fix.kind.value,
        patch=patch_text(fix, case),
        risk=fix.risk,
        destroys=fix.destroys,
        proof=ProofV1(
            status=proof_mark(fix),
            kind=fix.proof.kind,
            rounds=fix.proof.rounds,
            why=fix.proof.why,
            trace=fix.proof.trace,
        ),
        location=_location(fix.location),
    )


def _symptom(symptom: Symptom) -> SymptomV1:
    ref = None if symptom.ref is None else _ref(symptom.ref)
    return SymptomV1(id=str(symptom.id), kind=symptom.kind.value, ref=ref, text=symptom.text)


def _ref(ref: Ref) -> RefV1:
    return RefV1(
        group=ref.group,
        version=ref.version,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        cluster=ref.cluster,
    )


def schema() -> Object:
    """The published schema of `diagnose -o json`."""
    generated = msgspec.json.schema(ReportV1, schema_hook=_plain_json)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "whysync report",
        **generated,
    }


def _plain_json(_: type) -> Object:
    return {"description": "any JSON value"}
