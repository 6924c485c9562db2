"""Decide whether a fix is proven, likely, not run or rejected.

A fix is proven if the problem stays or comes back without it, and with it the problem is gone in every round
and nothing new is wrong. Missing facts make it likely. A fix that does not help on a simulation that shows
the problem is rejected. Two kinds of findings need no such pair of runs: a denied request is evaluated again
(`rbac_proof`), and the time until Argo CD sees a commit is measured (`refresh_proof`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind, Proof, ProofKind, ProofStatus, Remove
from whysync.diagnosis.symptom import APP_DIFFERS, APP_UNHEALTHY, OPERATION, SymptomId, SymptomKind
from whysync.json_tree import same
from whysync.kubernetes.api.ref import Key
from whysync.messages.failure import Unknown
from whysync.messages.parse import understand
from whysync.proofs.apply_fix import (
    NotExecutable,
    StepRefused,
    only_waits,
    requires_human_decision,
    why_not_executable,
)
from whysync.proofs.hidden_symptoms import HiddenSymptom, NotReconciled, hidden_symptom_of
from whysync.proofs.observations import (
    Observer,
    SymptomIds,
    describe_symptom,
    drifts_now,
    failed_resources,
    observable_symptoms,
    unobserved_images,
)
from whysync.proofs.proof_gaps import (
    claims_not_in_facts,
    gaps_of,
    has_unhealthy,
    owner_gaps,
    unobserved_start,
)
from whysync.proofs.proof_results import ROUNDS, Rejected, likely, not_run, proven
from whysync.proofs.rbac_proof import verify_rbac_fix
from whysync.proofs.refresh_proof import verify_refresh
from whysync.proofs.required_facts import denied_request, explains_only_lag
from whysync.proofs.runs import (
    BaselineRuns,
    FixRun,
    Run,
    can_be_released,
    live_value,
    reaches_cluster,
    run_waiting,
    run_with_fix,
    trace_of,
)
from whysync.proofs.scope import explained_keys, finding_scope
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.sync_reasons import value_text

_FILE: Final = re.compile(r"/(?:dev/shm|tmp)/[\w.-]+")
_COST_PER_RUN: Final = 5
_HUMAN_DECISION: Final = "what to do about the result requires a human decision"
_APP_SYMPTOMS: Final = frozenset({APP_DIFFERS, APP_UNHEALTHY, OPERATION})
_SYNC_SYMPTOMS: Final = frozenset({OPERATION, SymptomId.condition("SyncError")})
_MAX_RELEASES: Final = 2
_IGNORE_RULES: Final = "/spec/ignoreDifferences/"
_POD_TEMPLATE: Final = re.compile("^/spec/(?:jobTemplate/spec/)?template/")
"""Fields of pod templates: these are what a release changes."""


class FixVerifier:
    """Verifies the fixes of one Case; the runs without a fix are shared by all of them."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._baseline = BaselineRuns(case)
        self._baselines: dict[frozenset[Key] | None, BaselineRuns] = {}
        self.work = 0
        """The cost so far: the number of runs, weighted by the number of simulated resources."""

    def verify(self, finding: Finding, fix: Fix) -> Proof | Rejected:
        """Raises `NotSimulated` and `NeverSettles`."""
        denied = denied_request(self._case, finding)
        if denied is not None:
            return verify_rbac_fix(self._case, denied, fix)
        if self._case.app.metadata.deletion_timestamp is not None:
            return not_run(ProofKind.NOTHING_TO_FIX, "the app is being deleted")
        if explains_only_lag(self._case, finding):
            return self._verify_refresh(finding, fix)
        only = finding_scope(self._case, finding)
        hidden = hidden_symptom_of(self._case, finding, fix)
        if hidden is not None:
            return self._verify_hidden(hidden, fix)
        waits = only_waits(fix.commands)
        if finding.severity is Severity.INFO and not waits:
            return _not_run_for_notice(fix)
        self._baseline = self._baselines.setdefault(only, BaselineRuns(self._case, only))
        start = self._baseline.no_action.observer
        explained = self._explained_symptoms(finding, start.samples[0].symptoms)
        if not explained:
            return not_run(
                ProofKind.NOT_REPRODUCED, "the simulation does not show the symptoms of this finding"
            )
        self.work += _COST_PER_RUN + len(start.world.scope.keys)
        if waits:
            return self._verify_waiting(finding, explained, only)
        try:
            run = run_with_fix(self._case, fix, explained, only)
        except NotExecutable as problem:
            return not_run(ProofKind.NOT_EXECUTABLE, str(problem))
        except StepRefused as problem:
            return self._refused(fix, explained, str(problem))
        return self._verdict(finding, fix, explained, run)

    def _explained_symptoms(self, finding: Finding, start: SymptomIds) -> SymptomIds:
        """Symptoms that the simulation can show; those of the app as a whole if there are none."""
        return observable_symptoms(self._case, finding.explains) or start & _APP_SYMPTOMS

    def _refused(self, fix: Fix, explained: SymptomIds, why: str) -> Proof | Rejected:
        if requires_human_decision(fix.commands):
            return not_run(ProofKind.HUMAN_DECISION, _HUMAN_DECISION)
        shown = self._baseline.no_action.persisting(explained)
        return (
            Rejected(why=f"it is refused: {why}")
            if shown
            else not_run(ProofKind.REFUSED, f"refused in the simulation: {why}")
        )

    # --- other ways to verify --------------------------------------------------------------------

    def _verify_refresh(self, finding: Finding, fix: Fix) -> Proof:
        self.work += 2 * _COST_PER_RUN
        try:
            return verify_refresh(self._case, finding, fix)
        except (NotExecutable, StepRefused) as problem:
            return not_run(ProofKind.NOT_EXECUTABLE, str(problem))

    def _verify_hidden(self, hidden: HiddenSymptom, fix: Fix) -> Proof | Rejected:
        touched = frozenset({hidden.key})
        baseline = BaselineRuns(self._case, touched=touched)
        before = baseline.manual_sync if hidden.needs_sync else baseline.no_action
        self.work += 2 * _COST_PER_RUN
        if not hidden.present_without_fix(before.observer):
            return not_run(ProofKind.NOT_REPRODUCED, "the simulation does not show the problem")
        try:
            run = run_with_fix(self._case, fix, frozenset(), None, touched, syncs=hidden.needs_sync)
        except (NotExecutable, StepRefused) as problem:
            return not_run(ProofKind.NOT_EXECUTABLE, str(problem))
        trace = trace_of(before, run)
        new = run.observer.symptoms - baseline.no_action.observer.symptoms
        new = frozenset[SymptomId]() if hidden.reveals is None else new - hidden.reveals
        other_failure = self._other_failure(run.observer.world)
        if other_failure:
            return not_run(
                ProofKind.OTHER_CAUSE, f"in the simulation the sync fails for another reason: {other_failure}"
            )
        if hidden.present_with_fix(run.observer, run.journal_length) or new:
            result = "; ".join(describe_symptom(symptom) for symptom in sorted(new)[:2]) or "nothing changes"
            return Rejected(why=f"in a simulation with this fix, {result}", trace=trace)
        gaps = [*run.gaps, *owner_gaps(fix, self._case)]
        if gaps:
            return likely("; ".join(gaps), trace)
        once = hidden.needs_sync and hidden.present_with_fix(run.observer)
        why = "the first sync after the fix still overwrites the field" if once else ""
        if isinstance(hidden, NotReconciled) and hidden.commit_pending:
            why = "what the pending commit changes is not known yet"
        return proven(ROUNDS, trace, why)

    def _verify_waiting(self, finding: Finding, explained: SymptomIds, only: frozenset[Key] | None) -> Proof:
        """Waiting is right if the problem ends by itself; new images are assumed to run."""
        run = run_waiting(self._case, explained, only)
        if self._remaining(finding, explained, run):
            return not_run(ProofKind.NO_EFFECT, "in the simulation it does not resolve by itself")
        new = run.observer.symptoms - run.observer.initial_symptoms - explained
        if new:
            return not_run(ProofKind.NO_EFFECT, f"in the simulation, {describe_symptom(min(new))} afterwards")
        now = Run(observer=Observer(simulated(self._case, only=only)), since=run.observer.started_at)
        trace = trace_of(now, run)
        gap = (
            unobserved_start(run.observer.world)
            if explained & _SYNC_SYMPTOMS or has_unhealthy(explained)
            else ""
        )
        if gap:
            return likely(f"whether {gap}", trace)
        return proven(ROUNDS, trace, self._notes(finding, explained, run))

    # --- the verdict -----------------------------------------------------------------------------

    def _verdict(self, finding: Finding, fix: Fix, explained: SymptomIds, run: FixRun) -> Proof | Rejected:
        no_action = self._baseline.no_action
        if not no_action.persisting(explained):
            if explained & no_action.observer.initial_symptoms:
                return not_run(ProofKind.ENDS_BY_ITSELF, "in the simulation it resolves by itself")
            return not_run(ProofKind.NOT_REPRODUCED, "the simulation does not show the problem")
        baseline = self._failing_baseline(explained, run)
        remaining = self._remaining(finding, explained, run)
        new = self._new_symptoms(explained, run)
        compared = no_action if self._case.self_heals or baseline is None else baseline
        trace = trace_of(compared, run)
        if remaining or new:
            return self._failed(finding, fix, run, remaining, new, trace)
        if baseline is None:
            if explained & _SYNC_SYMPTOMS and finding.already_fixed is None:
                return not_run(ProofKind.NOT_REPRODUCED, "in the simulation the sync does not fail")
            return Proof(
                status=ProofStatus.LIKELY,
                kind=ProofKind.PLAIN_SYNC_HELPS,
                rounds=ROUNDS,
                why="in the simulation a plain sync helps as well",
                trace=trace,
            )
        other_failure = self._other_failure(baseline.observer.world)
        if other_failure and not finding.predicted:
            return not_run(
                ProofKind.OTHER_CAUSE,
                f"without the fix, the simulated sync fails for another reason: {other_failure}",
            )
        blocked = self._blocked_release(finding, fix)
        if blocked is not None and _POD_TEMPLATE.search(blocked.pointer):
            field = f"{blocked.pointer} of {blocked.ref}"
            why = f"with this fix, a later commit that changes {field} is not deployed"
            return Rejected(why=why, trace=trace)
        gaps = self._gaps(finding, fix, run)
        gaps += self._gaps_without_repeats(finding, fix, explained)
        if gaps:
            return likely("; ".join(gaps), trace)
        if blocked is not None:
            why = f"a later commit that changes {blocked.pointer} is not applied"
            return Proof(
                status=ProofStatus.LIKELY,
                kind=ProofKind.HOLDS_BACK_RELEASES,
                rounds=ROUNDS,
                why=why,
                trace=trace,
            )
        return proven(ROUNDS, trace, self._notes(finding, explained, run))

    def _explained_drifts(self, finding: Finding) -> list[Drift]:
        return [drift for drift in self._case.drifts if drift.symptom in finding.explains]

    def _blocked_release(self, finding: Finding, fix: Fix) -> Drift | None:
        """A field that a later commit could change without the fix, but not with it.

        A fix that corrects an existing ignore rule is exempt: that rule was meant to ignore the field.
        """
        corrects = any(edit.pointer.startswith(_IGNORE_RULES) for edit in fix.edits)
        if fix.kind not in (FixKind.APPLICATION, FixKind.SETTINGS) or corrects or not fix.edits:
            return None
        for drift in self._explained_drifts(finding)[:_MAX_RELEASES]:
            generated = mechanism_of(self._case, drift) is Mechanism.GENERATED
            if generated or not can_be_released(drift):
                continue
            self.work += 2 * _COST_PER_RUN
            only = finding_scope(self._case, finding)
            if not reaches_cluster(self._case, drift, fix, only) and reaches_cluster(
                self._case, drift, None, only
            ):
                return drift
        return None

    def _gaps_without_repeats(self, finding: Finding, fix: Fix, explained: SymptomIds) -> list[str]:
        """Gaps if a writer that was seen only once does not write again; empty if the fix helps then too."""
        start = self._baseline.no_action.observer.world
        drifts = self._explained_drifts(finding)
        unconfirmed = [
            (drift, writer)
            for drift in drifts
            if (writer := start.writers.of(drift.ref, drift.pointer)) is not None
            and writer.repeats
            and not writer.confirmed
        ]
        if not unconfirmed:
            return []
        self.work += _COST_PER_RUN
        run = run_with_fix(
            self._case, fix, explained, finding_scope(self._case, finding), assume_repeats=False
        )
        if self._remaining(finding, explained, run):
            drift, writer = unconfirmed[0]
            return [f"whether {writer.who} writes {drift.pointer} again: the fix helps only if it does"]
        for drift, writer in unconfirmed:
            after = live_value(run.observer, drift)
            dropped = any(edit.pointer == drift.pointer for edit in fix.edits if isinstance(edit, Remove))
            if dropped and not same(after, drift.live_value):
                change = f"changes it from {value_text(drift.live_value)} to {value_text(after)}"
                return [f"whether {writer.who} writes {drift.pointer} again: if not, the sync {change}"]
        return []

    def _failing_baseline(self, explained: SymptomIds, run: FixRun) -> Run | None:
        """The run without the fix that still shows the problem; `None` if a plain sync solves it.

        A fix that needs a sync is compared with a plain sync; a fix that is only a sync, with no action.
        """
        if not run.synced or run.runner.only_syncs:
            return self._baseline.no_action
        return self._baseline.manual_sync if self._baseline.manual_sync.persisting(explained) else None

    def _remaining(self, finding: Finding, explained: SymptomIds, run: FixRun) -> SymptomIds:
        """Symptoms that are still present in the rounds after the fix, or return in them."""
        remaining = run.observer.persisting(explained, run.settled_at)
        differing = {
            symptom
            for symptom in remaining
            if symptom.kind is SymptomKind.DIFFERS and symptom.key is not None
        }
        if differing:
            remaining -= self._differing_for_other_reasons(finding, run, differing)
        others = failed_resources(run.observer.world).keys() - explained
        if others and not remaining & failed_resources(run.observer.world).keys():
            remaining -= _SYNC_SYMPTOMS  # the sync still fails, but for another resource
        return remaining

    def _differing_for_other_reasons(
        self, finding: Finding, run: FixRun, differing: Collection[SymptomId]
    ) -> SymptomIds:
        """Objects that differ only in fields of other findings, not in one that the fix adds."""
        now = drifts_now(run.observer.world)
        if any(drift.symptom in finding.explains for drift in now):
            return frozenset()
        others = {_place(drift) for drift in self._case.drifts if drift.symptom not in finding.explains}
        added = {drift.key for drift in now if _place(drift) not in others}
        return frozenset(symptom for symptom in differing if symptom.key not in added)

    def _new_symptoms(self, explained: SymptomIds, run: FixRun) -> SymptomIds:
        known = {
            symptom for sample in self._baseline.no_action.observer.samples for symptom in sample.symptoms
        }
        new = run.observer.symptoms - known - explained
        return frozenset(
            symptom for symptom in new if symptom not in _APP_SYMPTOMS or not (_APP_SYMPTOMS & known)
        )

    def _failed(
        self,
        finding: Finding,
        fix: Fix,
        run: FixRun,
        remaining: SymptomIds,
        new: SymptomIds,
        trace: tuple[str, ...],
    ) -> Proof | Rejected:
        result = "; ".join(describe_symptom(symptom) for symptom in sorted(remaining or new)[:2])
        if requires_human_decision(fix.commands):
            return not_run(ProofKind.HUMAN_DECISION, _HUMAN_DECISION)
        other_failure = self._other_failure(run.observer.world)
        if other_failure:
            return not_run(
                ProofKind.OTHER_CAUSE, f"in the simulation the sync fails for another reason: {other_failure}"
            )
        others = sorted(
            failed_resources(run.observer.world).keys() - observable_symptoms(self._case, finding.explains)
        )
        if others:
            return not_run(ProofKind.OTHER_CAUSE, f"another cause blocks it: {describe_symptom(others[0])}")
        gaps = [*self._gaps(finding, fix, run), *claims_not_in_facts(self._case, remaining | new)]
        if gaps:
            return not_run(
                ProofKind.FACTS_MISSING,
                f"in the simulation {result}, possibly because facts are missing: {'; '.join(gaps)}",
            )
        unreported = [symptom for symptom in sorted(remaining) if self._waits_for_operator(symptom)]
        if unreported and not remaining - set(unreported) - _APP_SYMPTOMS and not new:
            symptom = describe_symptom(unreported[0])
            why = f"{symptom} until its operator writes a status; that operator is not simulated"
            return not_run(ProofKind.OPERATOR_NOT_MODELED, why)
        absent_until = run.observer.absent_until(remaining, run.settled_at, run.last_sync_at)
        if remaining and absent_until and not new:
            return Proof(
                status=ProofStatus.LIKELY,
                kind=ProofKind.UNTIL_NEXT_SYNC,
                rounds=ROUNDS - 1,
                why=f"it helps until the next sync; then {result}",
                trace=trace,
            )
        return Rejected(why=f"in a simulation with this fix, {result}", trace=trace)

    def _waits_for_operator(self, symptom: SymptomId) -> bool:
        """Is it a custom resource whose operator has not written a status yet?"""
        row = (
            self._case.rows.get(symptom.key)
            if symptom.key and symptom.kind is SymptomKind.UNHEALTHY
            else None
        )
        live = self._case.live_of(row.key) if row is not None and not is_builtin(row.ref) else None
        return live is not None and not live.status

    def _other_failure(self, world: SimulatedCase) -> str:
        """A failure that differs from the reported one, usually because the facts have a partial object."""
        reported = {SymptomId.result(result.key): result.message for result in self._case.results}
        for symptom, message in sorted(failed_resources(world).items()):
            if message and not _same_failure(message, reported.get(symptom, "")):
                return f"{describe_symptom(symptom)}: {message[:200]}"
        return ""

    def _notes(self, finding: Finding, explained: SymptomIds, run: FixRun) -> str:
        """Restrictions of a proof: resources that were left out, images that never ran, other causes."""
        world = run.observer.world
        notes: list[str] = []
        keys = explained_keys(self._case, finding) & self._case.rows.keys()
        simulated_keys = keys & world.scope.keys
        if simulated_keys and len(simulated_keys) < len(keys):
            notes.append(f"simulated with {len(simulated_keys)} of {len(keys)} resources")
        images = unobserved_images(world) if has_unhealthy(explained) else []
        if images:
            notes.append(f"assumes that {images[0]} runs, which has not been observed")
        sync, health = world.sync_and_health
        if (sync, health) != ("Synced", "Healthy"):
            notes.append(f"this problem is gone; the app is {sync}, {health} for other reasons")
        return "; ".join(notes)

    def _gaps(self, finding: Finding, fix: Fix, run: FixRun) -> list[str]:
        return [*run.gaps, *gaps_of(finding, fix, self._case, run.observer.world)]


def _not_run_for_notice(fix: Fix) -> Proof:
    """A notice has no symptom that a fix must remove; a fix that a user carries out has its own reason."""
    problem = why_not_executable(fix.commands) if fix.commands else ""
    if problem:
        return not_run(ProofKind.NOT_EXECUTABLE, problem)
    return not_run(
        ProofKind.NOTHING_TO_FIX, "the finding is a notice, without a failure that a simulation could show"
    )


def _place(drift: Drift) -> tuple[Key, str]:
    """The field without the positions in lists, which a fix can shift."""
    parts = ("*" if part.isdecimal() else part for part in drift.pointer.split("/"))
    return drift.key, "/".join(parts)


def _same_failure(message: str, other: str) -> bool:
    """Are both messages the same failure: equal apart from file names, or of the same parsed type?"""
    if _FILE.sub("", message) == _FILE.sub("", other):
        return True
    return bool(_failure_types(message) & _failure_types(other))


def _failure_types(message: str) -> set[tuple[str, str]]:
    """The types of the failures in a message, each with its field if it has one."""
    return {
        (type(failure).__name__, getattr(failure, "pointer", ""))
        for failure in understand(message).failures
        if not isinstance(failure, Unknown)
    }
