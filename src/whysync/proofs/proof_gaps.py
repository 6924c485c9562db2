"""What a proof would have to know and the facts do not show: each gap completes "not known: ..."."""

from __future__ import annotations

import re
from typing import Final

from whysync.argocd.tracking.method import TRACKING_ID
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import text
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.apply_fix import changes_application
from whysync.proofs.observations import SymptomIds, is_unready, observable_symptoms, unobserved_images
from whysync.proofs.pod_behavior import was_interrupted
from whysync.proofs.simulated_case import SimulatedCase
from whysync.queries.hook_runs import was_terminated_by_timeout
from whysync.queries.previous_revision import previous_revision_of

_POD_BEHAVIOR: Final = re.compile("/containers/|/securitycontext/")
_BEFORE_START: Final = re.compile("keyref/(?:key|name)$|/resources/requests/")
"""Fields that the kubelet and the scheduler evaluate: they do not change how the program behaves."""
_WORKLOADS: Final = frozenset(
    {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod", "Rollout"}
)


def gaps_of(finding: Finding, fix: Fix, case: Case, world: SimulatedCase) -> list[str]:
    """Everything that is not known about the fix of this finding, apart from what its run assumed."""
    return [
        *_gaps_of_facts(finding, fix, world),
        *_unknown_pod_behavior(finding, fix, case),
        *owner_gaps(fix, case),
        *_unknown_durations(finding, fix, case),
    ]


def _unknown_durations(finding: Finding, fix: Fix, case: Case) -> list[str]:
    """How long a hook or a sync needs that was interrupted by its deadline.

    That is unknown too if the deadline was raised already and only a sync is left to do.
    """
    changed = {edit.pointer for edit in fix.edits}
    if "/spec/activeDeadlineSeconds" in changed and fix.target is not None:
        return [f"how long {fix.target} needs"]
    if "/data/controller.sync.timeout.seconds" in changed:
        return ["how long the sync needs"]
    interrupted = (
        result.ref
        for result in case.results
        if was_interrupted(result) and SymptomId.result(result.key) in finding.explains
    )
    if not fix.commands:
        return []
    needed = [f"how long {ref} needs" for ref in interrupted][:1]
    timed_out = OPERATION in finding.explains and was_terminated_by_timeout(case)
    return needed or (["how long the sync needs"] if timed_out else [])


def unobserved_start(world: SimulatedCase) -> str:
    """What must become ready and was never observed to: in the simulation it does."""
    images = unobserved_images(world)
    if images:
        return f"{images[0]} runs (not observed yet)"
    unready = [
        live_object.ref
        for live_object in world.scope.live
        if live_object.ref.kind == "Pod" and is_unready(live_object)
    ]
    return f"{unready[0]} becomes ready" if unready else ""


def has_unhealthy(symptoms: SymptomIds) -> bool:
    return any(symptom.kind is SymptomKind.UNHEALTHY for symptom in symptoms)


def _gaps_of_facts(finding: Finding, fix: Fix, world: SimulatedCase) -> list[str]:
    """The gaps of the simulation that concern the objects of the finding or the fix."""
    refs = [finding.about, *([fix.target] if fix.target is not None else [])]
    return [gap.what for gap in world.gaps if any(_is_about(gap, ref) for ref in refs)]


def _is_about(gap: Gap, ref: Ref) -> bool:
    if gap.about is None:
        return False
    if gap.kind is GapKind.NO_SCHEMA:
        return gap.about.kind == ref.kind
    return (gap.about.kind, gap.about.place) == (ref.kind, ref.place)


def _unknown_pod_behavior(finding: Finding, fix: Fix, case: Case) -> list[str]:
    """How pods of a changed template behave is unknown, unless that template still runs."""
    if fix.target is None or fix.target.kind not in _WORKLOADS or not fix.edits:
        return []
    before = previous_revision_of(case, fix.target)
    if before is not None and before.edits == fix.edits:
        return []
    unhealthy = has_unhealthy(observable_symptoms(case, finding.explains))
    inside = [edit.pointer for edit in fix.edits if _POD_BEHAVIOR.search(edit.pointer.lower())]
    changed = [pointer for pointer in inside if not _BEFORE_START.search(pointer.lower())]
    return [f"how its pods behave with the new {changed[0]}"] if unhealthy and changed else []


def claims_not_in_facts(case: Case, symptoms: SymptomIds) -> list[str]:
    """Claims that are not in the facts, without which the Pods of unhealthy StatefulSets do not start."""
    gaps: list[str] = []
    for key in sorted({id.key for id in symptoms if id.kind is SymptomKind.UNHEALTHY and id.key is not None}):
        live = case.live_of(key)
        if key.kind != "StatefulSet" or live is None or not live.spec.get("volumeClaimTemplates"):
            continue
        if not any(c.ref.namespace == key.namespace for c in case.live_of_kind("PersistentVolumeClaim")):
            gaps.append(f"the claims of {live.ref}")
    return gaps


def owner_gaps(fix: Fix, case: Case) -> list[str]:
    """A change of the Application may not last if an ApplicationSet or an app of apps creates it.

    In the template of an ApplicationSet it lasts, and concerns its other Applications too.
    """
    if fix.kind is not FixKind.APPLICATION and not changes_application(fix.commands):
        return []
    application_sets = [
        owner_reference.name
        for owner_reference in case.app.metadata.owner_references
        if owner_reference.kind == "ApplicationSet"
    ]
    parent = text(case.application.annotations.get(TRACKING_ID)).partition(":")[0]
    if application_sets:
        name = application_sets[0]
        if fix.kind is FixKind.APPLICATION:  # its place is the template
            return [f"its effect on the other apps of ApplicationSet {name}"]
        return [f"whether it lasts: ApplicationSet {name} generates the app, and its template may revert it"]
    return [f"whether it lasts: Application {parent} manages this Application from Git"] if parent else []
