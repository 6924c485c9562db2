"""The cause of a sync failure that only the simulation shows, as a finding."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from whysync.argocd.api.application import Application
from whysync.argocd.server.server import Denied
from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import SymptomKind
from whysync.facts.simulated import snapshot_of
from whysync.json_tree import Missing, fields
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Role
from whysync.proofs.simulated_case import SimulatedCase, simulated

_MAX_SYNC_TIME: Final = timedelta(minutes=30)
_OF_A_SYNC: Final = frozenset({SymptomKind.OPERATION, SymptomKind.RESULT})
_OWN_ROLES: Final = frozenset({Role.DESIRED.value, Role.LIVE.value})


def predicted_failure(report: AppReport) -> Finding | None:
    """Why a sync would fail, according to the simulated verdict.

    The facts show no such failure, so the finding explains no symptom. It cites only what the facts have too.
    """
    case = report.case
    world = simulated(case, disable_auto_sync=True, assume_repeats=False)
    world.simulation.timeline.settle()
    try:
        world.sync()
    except Denied:
        return None
    world.until(lambda: not world.is_operating, _MAX_SYNC_TIME)
    after = _case_after(world)
    if after is None:
        return None
    failed = {symptom.id for symptom in after.symptoms if symptom.kind in _OF_A_SYNC}
    refused = {symptom.key for symptom in failed if symptom.key is not None}
    if any(finding.field is None and finding.about.key in refused for finding in report.findings):
        return None  # the facts show already what is wrong with the object
    findings = diagnose(after, diagnosis_rules()).findings
    causes = (finding for finding in findings if failed.intersection(finding.explains))
    cause = next((finding for finding in causes if not finding.caused_by), None)
    reported = {(finding.cause, finding.about.key) for finding in report.findings}
    if cause is None or (cause.cause, cause.about.key) in reported:
        return None
    return _as_prediction(cause, case)


def _case_after(world: SimulatedCase) -> Case | None:
    """The app after the simulated sync, with its own sync policy."""
    snapshot = snapshot_of(world.simulation)
    for application in snapshot.applications:
        if application.ref.place == world.app:
            spec = fields(world.case.application.body.get("spec"))
            with_policy = application.with_body({**application.body, "spec": spec})
            app = decode(with_policy.body, Application)[0] or Application()
            return Case(SnapshotIndex(snapshot), with_policy, app)
    return None


def _as_prediction(finding: Finding, case: Case) -> Finding:
    return replace(
        finding,
        predicted=True,
        severity=Severity.WARNING,
        confidence=min(finding.confidence, Confidence.MEDIUM, key=lambda confidence: confidence.weight),
        explains=(),
        because=(),
        evidence=tuple(_in_facts(finding.evidence, case)),
    )


def _in_facts(evidence: Sequence[Evidence], case: Case) -> list[Evidence]:
    """Citations of manifests and live objects that have the same value in the facts."""
    result: list[Evidence] = []
    for citation in evidence:
        if citation.source in _OWN_ROLES:
            find = case.desired_of if citation.source == Role.DESIRED.value else case.live_of
            manifest = find(citation.ref.key)
            value = manifest.at(citation.pointer) if manifest is not None else Missing()
            if value == citation.value:
                result.append(citation)
    return result
