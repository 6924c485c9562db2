"""Decide whether a fix is proven, likely, not run or rejected.

A fix is proven if the problem stays or comes back without it, and with it the problem is gone in every round
and nothing new is wrong. Missing facts make it likely. A fix that does not help on a simulation that shows
the problem is rejected. Two kinds of findings need no such pair of runs: a refused request is sent again
(`asked_again`), and a commit that Argo CD has not seen is timed with and without a refresh (`seen_sooner`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from whysync.argocd.rbac import Asker, Request, decide, read_policy
from whysync.argocd.tracking.method import TRACKING_ID
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind, Proof, ProofKind, ProofStatus, Remove
from whysync.diagnosis.symptom import APP_DIFFERS, APP_UNHEALTHY, OPERATION, SymptomId, SymptomKind
from whysync.facts.snapshot import Gap, GapKind
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.patches import object_of
from whysync.json_tree import Object, fields, items, same, text
from whysync.kubernetes.api.ref import Key, Ref
from whysync.messages.failure import Unknown
from whysync.messages.parse import understand
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.proofs.apply_fix import (
    Player,
    Refuted,
    Unplayable,
    changes_application,
    leaves_a_deed,
    only_waits,
)
from whysync.proofs.claims import Claim, Unlooked, claim_of
from whysync.proofs.observations import (
    Observer,
    Signs,
    failures_in,
    in_words,
    is_unready,
    signs_for,
    still_differing,
    unseen_images,
)
from whysync.proofs.pod_behavior import was_cut_off
from whysync.proofs.runs import (
    ROUNDS,
    Run,
    With,
    Without,
    can_be_released,
    live_value,
    reaches_cluster,
    trace_of,
    waited,
    with_fix,
)
from whysync.proofs.scope import explained_keys, slice_for
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.sync_reasons import brief
from whysync.queries.previous_revision import previous_revision_of

_BEHAVING: Final = re.compile("/containers/|/securitycontext/")
_BEFORE_IT_STARTS: Final = re.compile("keyref/(?:key|name)$|/resources/requests/")
"""What the kubelet and the scheduler judge: the program is the same, whatever it says."""
_FILE: Final = re.compile(r"/(?:dev/shm|tmp)/[\w.-]+")
_PER_RUN: Final = 5
_FOR_A_PERSON: Final = "what to do about what is seen there is for a person"
_WHOLE_APP: Final = frozenset({APP_DIFFERS, APP_UNHEALTHY, OPERATION})
_OF_THE_SYNC: Final = frozenset({OPERATION, SymptomId.condition("SyncError")})
_MOST_RELEASES: Final = 2
_OF_A_RULE: Final = "/spec/ignoreDifferences/"
_TEMPLATE: Final = re.compile("^/spec/(?:jobTemplate/spec/)?template/")
"""Fields of pod templates: what a release changes."""
_WORKLOADS: Final = frozenset(
    {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod", "Rollout"}
)


class Judge:
    """Of one Case: what happens without a fix is the same for all of them."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._without = Without(case)
        self._courses: dict[frozenset[Key] | None, Without] = {}
        self.work = 0
        """How much was tried so far: runs, each by the number of resources that move in it."""

    def judged(self, finding: Finding, fix: Fix) -> Proof | Rejected:
        """Raises `NotSimulated` and `TimelineNeverSettles`."""
        denied = denied_in(self._case, finding)
        if denied is not None:
            return asked_again(self._case, denied, fix)
        if self._case.app.metadata.deletion_timestamp is not None:
            return not_run(
                ProofKind.NOTHING_TO_FIX, "the app is being deleted: there is nothing that it could come to"
            )
        if is_lag(self._case, finding):
            return self._seen_sooner(finding, fix)
        only = slice_for(self._case, finding)
        claim = claim_of(self._case, finding, fix)
        if claim is not None:
            return self._claimed(claim, fix)
        waits = only_waits(fix.commands)
        if finding.severity is Severity.INFO and not waits:
            return not_run(ProofKind.NOTHING_TO_FIX, "nothing is wrong that it could end")
        self._without = self._courses.setdefault(only, Without(self._case, only))
        start = self._without.waiting.watch
        wanted = self._wanted(finding, start.glimpses[0].signs)
        if not wanted:
            return not_run(ProofKind.NOT_REPRODUCED, "nothing of what it explains shows on a model")
        self.work += _PER_RUN + len(start.world.part.keys)
        if waits:
            return self._waited(finding, wanted, only)
        try:
            course = with_fix(self._case, fix, wanted, only)
        except Unplayable as problem:
            return not_run(ProofKind.NOT_EXECUTABLE, str(problem))
        except Refuted as problem:
            return self._refused(fix, wanted, str(problem))
        return self._verdict(finding, fix, wanted, course)

    def _wanted(self, finding: Finding, start: Signs) -> Signs:
        told = signs_for(self._case, finding.explains)
        return told or start & _WHOLE_APP

    def _refused(self, fix: Fix, wanted: Signs, why: str) -> Proof | Rejected:
        if leaves_a_deed(fix.commands):
            return not_run(ProofKind.HUMAN_DECISION, _FOR_A_PERSON)
        shown = self._without.waiting.shows(wanted)
        return (
            Rejected(why=f"it is refused: {why}")
            if shown
            else not_run(ProofKind.REFUSED, f"on the model it is refused: {why}")
        )

    # --- where there is nothing to be seen, or nothing to be done --------------------------------

    def _seen_sooner(self, finding: Finding, fix: Fix) -> Proof:
        self.work += 2 * _PER_RUN
        try:
            return seen_sooner(self._case, finding, fix)
        except (Unplayable, Refuted) as problem:
            return not_run(ProofKind.NOT_EXECUTABLE, str(problem))

    def _claimed(self, claim: Claim, fix: Fix) -> Proof | Rejected:
        touched = frozenset({claim.key})
        without = Without(self._case, touched=touched)
        shown = without.syncing if claim.shows_in_a_sync else without.waiting
        self.work += 2 * _PER_RUN
        if not claim.shows(shown.watch):
            return not_run(ProofKind.NOT_REPRODUCED, "the model does not show what it says")
        try:
            course = with_fix(self._case, fix, frozenset(), None, touched, syncs=claim.shows_in_a_sync)
        except (Unplayable, Refuted) as problem:
            return not_run(ProofKind.NOT_EXECUTABLE, str(problem))
        trace = trace_of(shown, course)
        new = course.watch.signs - without.waiting.watch.signs
        new = frozenset[SymptomId]() if claim.brings is None else new - claim.brings
        otherwise = self._fails_otherwise(course.watch.world)
        if otherwise:
            return not_run(
                ProofKind.OTHER_CAUSE, f"on the model the sync fails for another reason: {otherwise}"
            )
        if claim.holds(course.watch, course.written) or new:
            words = "; ".join(in_words(sign) for sign in sorted(new)[:2]) or "it is as before"
            return Rejected(why=f"on a model of this cluster, with it {words}", trace=trace)
        gaps = [*course.gaps, *_of_owners(fix, self._case)]
        if gaps:
            return _likely("; ".join(gaps), trace)
        once = claim.shows_in_a_sync and claim.holds(course.watch)
        why = "the first sync with it still overwrites the field" if once else ""
        if isinstance(claim, Unlooked) and claim.behind:
            why = "what the commit changes that waits is not known yet"
        return proven(ROUNDS, trace, why)

    def _waited(self, finding: Finding, wanted: Signs, only: frozenset[Key] | None) -> Proof:
        """To wait is right where it ends by itself; that new images run is then all that it rests on."""
        course = waited(self._case, wanted, only)
        if self._left(finding, wanted, course):
            return not_run(ProofKind.NO_EFFECT, "on the model it does not end by itself")
        new = course.watch.signs - course.watch.at_first - wanted
        if new:
            return not_run(ProofKind.NO_EFFECT, f"on the model {in_words(min(new))} then")
        now = Run(watch=Observer(simulated(self._case, only=only)), since=course.watch.began)
        trace = trace_of(now, course)
        gap = _unseen(course.watch.world) if wanted & _OF_THE_SYNC or _is_unwell(wanted) else ""
        if gap:
            return _likely(f"whether {gap}", trace)
        return proven(ROUNDS, trace, self._held(finding, wanted, course))

    # --- the verdict -----------------------------------------------------------------------------

    def _verdict(self, finding: Finding, fix: Fix, wanted: Signs, course: With) -> Proof | Rejected:
        waiting = self._without.waiting
        if not waiting.shows(wanted):
            gone = wanted & waiting.watch.at_first
            if gone:
                return not_run(ProofKind.ENDS_BY_ITSELF, "on the model it goes away by itself")
            return not_run(ProofKind.NOT_REPRODUCED, "the model does not show the trouble")
        base = self._base(wanted, course)
        left = self._left(finding, wanted, course)
        new = self._new(wanted, course)
        shown = waiting if self._case.self_heals or base is None else base
        trace = trace_of(shown, course)
        if left or new:
            return self._failed(finding, fix, course, left, new, trace)
        if base is None:
            return Proof(
                status=ProofStatus.LIKELY,
                kind=ProofKind.PLAIN_SYNC_HELPS,
                rounds=ROUNDS,
                why="on the model a plain sync ends it too",
                trace=trace,
            )
        otherwise = self._fails_otherwise(base.watch.world)
        if otherwise:
            return not_run(
                ProofKind.OTHER_CAUSE,
                f"without it, on the model the sync fails for another reason: {otherwise}",
            )
        blocked = self._blocked_release(finding, fix)
        if blocked is not None and _TEMPLATE.search(blocked.pointer):
            why = f"with it, a later commit that changes {blocked.pointer} of {blocked.ref} is not deployed"
            return Rejected(why=why, trace=trace)
        gaps = self._gaps(finding, fix, course)
        gaps += self._if_nobody_writes_again(finding, fix, wanted)
        if gaps:
            return _likely("; ".join(gaps), trace)
        if blocked is not None:
            why = f"a later commit that changes {blocked.pointer} is not applied"
            return Proof(
                status=ProofStatus.LIKELY,
                kind=ProofKind.HOLDS_BACK_RELEASES,
                rounds=ROUNDS,
                why=why,
                trace=trace,
            )
        return proven(ROUNDS, trace, self._held(finding, wanted, course))

    def _explained_drifts(self, finding: Finding) -> list[Drift]:
        return [drift for drift in self._case.drifts if drift.symptom in finding.explains]

    def _blocked_release(self, finding: Finding, fix: Fix) -> Drift | None:
        """A field that a later commit could change without the fix, but not with it.

        A rule that is only corrected was meant to ignore the field.
        """
        corrects = any(edit.pointer.startswith(_OF_A_RULE) for edit in fix.edits)
        if fix.kind not in (FixKind.APPLICATION, FixKind.SETTINGS) or corrects or not fix.edits:
            return None
        for drift in self._explained_drifts(finding)[:_MOST_RELEASES]:
            generated = mechanism_of(self._case, drift) is Mechanism.GENERATED
            if generated or not can_be_released(drift):
                continue
            self.work += 2 * _PER_RUN
            only = slice_for(self._case, finding)
            if not reaches_cluster(self._case, drift, fix, only) and reaches_cluster(
                self._case, drift, None, only
            ):
                return drift
        return None

    def _if_nobody_writes_again(self, finding: Finding, fix: Fix, wanted: Signs) -> list[str]:
        """The other future: a writer that was seen once does not return. Empty if that ends well, too."""
        start = self._without.waiting.watch.world
        drifts = self._explained_drifts(finding)
        once = [
            (drift, writer)
            for drift in drifts
            if (writer := start.writers.of(drift.ref, drift.pointer)) is not None
            and writer.again
            and not writer.certain
        ]
        if not once:
            return []
        self.work += _PER_RUN
        course = with_fix(self._case, fix, wanted, slice_for(self._case, finding), returning=False)
        if self._left(finding, wanted, course):
            drift, writer = once[0]
            return [f"whether {writer.who} writes {drift.pointer} again: the fix helps only if it does"]
        for drift, writer in once:
            after = live_value(course.watch, drift)
            dropped = any(edit.pointer == drift.pointer for edit in fix.edits if isinstance(edit, Remove))
            if dropped and not same(after, drift.live_value):
                lost = f"changes it from {brief(drift.live_value)} to {brief(after)}"
                return [f"whether {writer.who} writes {drift.pointer} again: if not, the sync {lost}"]
        return []

    def _base(self, wanted: Signs, course: With) -> Run | None:
        """The course without the fix that still shows the trouble; `None` where a plain sync ends it.

        A fix that needs a sync is held against a plain one; one that is nothing but a sync, against waiting.
        """
        if not course.synced or course.player.only_syncs:
            return self._without.waiting
        return self._without.syncing if self._without.syncing.shows(wanted) else None

    def _left(self, finding: Finding, wanted: Signs, course: With) -> Signs:
        """What is still there in the rounds, or comes back in them."""
        left = course.watch.lasting(wanted, course.settled)
        differing = {sign for sign in left if sign.kind is SymptomKind.DIFFERS and sign.key is not None}
        if differing and not still_differing(course.watch.world, finding.explains):
            left -= differing  # the same object differs elsewhere, which is another cause
        others = failures_in(course.watch.world).keys() - wanted
        if others and not left & failures_in(course.watch.world).keys():
            left -= _OF_THE_SYNC  # it fails still, but for another resource
        return left

    def _new(self, wanted: Signs, course: With) -> Signs:
        before = {sign for glimpse in self._without.waiting.watch.glimpses for sign in glimpse.signs}
        new = course.watch.signs - before - wanted
        return frozenset(sign for sign in new if sign not in _WHOLE_APP or not (_WHOLE_APP & before))

    def _failed(
        self,
        finding: Finding,
        fix: Fix,
        course: With,
        left: Signs,
        new: Signs,
        trace: tuple[str, ...],
    ) -> Proof | Rejected:
        words = "; ".join(in_words(sign) for sign in sorted(left or new)[:2])
        if leaves_a_deed(fix.commands):
            return not_run(ProofKind.HUMAN_DECISION, _FOR_A_PERSON)
        otherwise = self._fails_otherwise(course.watch.world)
        if otherwise:
            return not_run(
                ProofKind.OTHER_CAUSE, f"on the model the sync fails for another reason: {otherwise}"
            )
        others = sorted(failures_in(course.watch.world).keys() - signs_for(self._case, finding.explains))
        if others:
            return not_run(ProofKind.OTHER_CAUSE, f"another cause stands in the way: {in_words(others[0])}")
        gaps = self._gaps(finding, fix, course)
        if gaps:
            return not_run(
                ProofKind.FACTS_MISSING,
                f"on the model {words}, but that may be for want of facts: {'; '.join(gaps)}",
            )
        silent = [sign for sign in sorted(left) if self._waits_for_an_operator(sign)]
        if silent and not left - set(silent) - _WHOLE_APP and not new:
            return not_run(
                ProofKind.OPERATOR_NOT_MODELED,
                f"{in_words(silent[0])} until its operator writes a status, which is not modelled",
            )
        until_then = course.watch.held_until(left, course.settled, course.last_sync)
        if left and until_then and not new:
            return Proof(
                status=ProofStatus.LIKELY,
                kind=ProofKind.UNTIL_NEXT_SYNC,
                rounds=ROUNDS - 1,
                why=f"it holds until the next sync: then {words}",
                trace=trace,
            )
        return Rejected(why=f"on a model of this cluster, with it {words}", trace=trace)

    def _waits_for_an_operator(self, sign: SymptomId) -> bool:
        """A custom resource about which nobody has said a word yet."""
        row = self._case.rows.get(sign.key) if sign.key and sign.kind is SymptomKind.UNHEALTHY else None
        live = self._case.live_of(row.key) if row is not None and not is_builtin(row.ref) else None
        return live is not None and not live.status

    def _fails_otherwise(self, world: SimulatedCase) -> str:
        """What a resource fails with in other words than it did: most often, the facts have it cut short."""
        known = {SymptomId.result(result.key): result.message for result in self._case.results}
        for sign, message in sorted(failures_in(world).items()):
            if message and not _alike(message, known.get(sign, "")):
                return f"{in_words(sign)}: {message[:200]}"
        return ""

    def _held(self, finding: Finding, wanted: Signs, course: With) -> str:
        world = course.watch.world
        notes: list[str] = []
        keys = explained_keys(self._case, finding) & self._case.rows.keys()
        tried = keys & world.part.keys
        if tried and len(tried) < len(keys):
            notes.append(f"tried with {len(tried)} of {len(keys)} resources")
        unseen = unseen_images(world) if _is_unwell(wanted) else []
        if unseen:
            notes.append(f"assumed: that {unseen[0]} runs, which nobody has seen")
        sync, health = world.codes
        if (sync, health) != ("Synced", "Healthy"):
            notes.append(f"what it explains is gone; the app is {sync}, {health} for other causes")
        return "; ".join(notes)

    # --- gaps ------------------------------------------------------------------------------------

    def _gaps(self, finding: Finding, fix: Fix, course: With) -> list[str]:
        world = course.watch.world
        return [
            *course.gaps,
            *_of_facts(finding, fix, world),
            *_of_behaviour(finding, fix, self._case),
            *_of_owners(fix, self._case),
            *_of_time(finding, fix, self._case),
        ]


def _likely(gap: str, trace: tuple[str, ...]) -> Proof:
    return Proof(
        status=ProofStatus.LIKELY,
        kind=ProofKind.FACTS_MISSING,
        rounds=ROUNDS,
        why=f"not known: {gap}",
        trace=trace,
    )


def _of_time(finding: Finding, fix: Fix, case: Case) -> list[str]:
    """More time helps where there was too little of it: how much is needed nobody has seen.

    That holds too where it has been given already, and a sync is all that is left to do.
    """
    named = {edit.pointer for edit in fix.edits}
    if "/spec/activeDeadlineSeconds" in named and fix.target is not None:
        return [f"how long {fix.target} needs"]
    if "/data/controller.sync.timeout.seconds" in named:
        return ["how long the sync needs"]
    ended = (
        result.ref
        for result in case.results
        if was_cut_off(result) and SymptomId.result(result.key) in finding.explains
    )
    return [f"how long {ref} needs" for ref in ended if fix.commands][:1]


def _unseen(world: SimulatedCase) -> str:
    """What has to come up, and was not seen to: on the model it does."""
    images = unseen_images(world)
    if images:
        return f"{images[0]} runs, which nobody has seen"
    unready = [
        live_object.ref
        for live_object in world.part.live
        if live_object.ref.kind == "Pod" and is_unready(live_object)
    ]
    return f"{unready[0]} becomes ready" if unready else ""


def _is_unwell(wanted: Signs) -> bool:
    return any(sign.kind is SymptomKind.UNHEALTHY for sign in wanted)


def _of_facts(finding: Finding, fix: Fix, world: SimulatedCase) -> list[str]:
    """Those of the world's gaps that are about what the fix or the finding is about."""
    refs = [finding.about, *([fix.target] if fix.target is not None else [])]
    return [gap.what for gap in world.gaps if any(_is_about(gap, ref) for ref in refs)]


def _is_about(gap: Gap, ref: Ref) -> bool:
    if gap.about is None:
        return False
    if gap.kind is GapKind.NO_SCHEMA:
        return gap.about.kind == ref.kind
    return (gap.about.kind, gap.about.place) == (ref.kind, ref.place)


def _of_behaviour(finding: Finding, fix: Fix, case: Case) -> list[str]:
    """How pods of a changed template behave nobody has seen, unless they still run."""
    if fix.target is None or fix.target.kind not in _WORKLOADS or not fix.edits:
        return []
    before = previous_revision_of(case, fix.target)
    if before is not None and before.edits == fix.edits:
        return []
    health = _is_unwell(signs_for(case, finding.explains))
    inside = [edit.pointer for edit in fix.edits if _BEHAVING.search(edit.pointer.lower())]
    changed = [pointer for pointer in inside if not _BEFORE_IT_STARTS.search(pointer.lower())]
    return [f"how its pods behave with another {changed[0]}"] if health and changed else []


def _of_owners(fix: Fix, case: Case) -> list[str]:
    """An ApplicationSet or an app of apps creates the Application: a change of it may not last."""
    if fix.kind is not FixKind.APPLICATION and not changes_application(fix.commands):
        return []
    makers = [
        owner_reference.name
        for owner_reference in case.app.metadata.owner_references
        if owner_reference.kind == "ApplicationSet"
    ]
    parent = text(case.application.annotations.get(TRACKING_ID)).partition(":")[0]
    if makers:
        return [f"whether it lasts: ApplicationSet {makers[0]} makes the app, and its template may undo it"]
    return [f"whether it lasts: Application {parent} brings this one from Git"] if parent else []


def _alike(one: str, other: str) -> bool:
    """The same failure: in the same words but for names of files, or the same as far as it is understood."""
    if _FILE.sub("", one) == _FILE.sub("", other):
        return True
    return bool(_understood(one) & _understood(other))


def _understood(message: str) -> set[tuple[str, str]]:
    """What kind of failure, and of which field where it tells."""
    return {
        (type(failure).__name__, getattr(failure, "pointer", ""))
        for failure in understand(message).failures
        if not isinstance(failure, Unknown)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """It does not help: it is not offered."""

    why: str
    trace: tuple[str, ...] = ()


def not_run(kind: ProofKind, why: str) -> Proof:
    return Proof(status=ProofStatus.NOT_RUN, kind=kind, why=why)


def proven(rounds: int, trace: tuple[str, ...], why: str = "") -> Proof:
    return Proof(status=ProofStatus.PROVEN, kind=ProofKind.HOLDS, rounds=rounds, why=why, trace=trace)


def denied_in(case: Case, finding: Finding) -> ArgocdDenied | None:
    """The refused request that the finding is about."""
    told = set(finding.explains)
    return next(
        (failure.failure for failure in case.failures(ArgocdDenied) if not told.isdisjoint(failure.symptoms)),
        None,
    )


def asked_again(case: Case, denied: ArgocdDenied, fix: Fix) -> Proof | Rejected:
    """Only a line of policy is tried: what else a person does to a policy is not told as data."""
    config = case.settings("argocd-rbac-cm")
    if not fix.line:
        return not_run(ProofKind.READ_ONLY, "it changes nothing: it only looks")
    if config is None:
        return not_run(ProofKind.FACTS_MISSING, "argocd-rbac-cm is not among the facts")
    if not denied.subject:
        return not_run(ProofKind.FACTS_MISSING, "who asked is not told")
    after = policy_edit(fix.line, case)
    target = object_of(after, case)
    assert target is not None
    asked = f"{denied.subject}: {denied.resource}, {denied.action}, {denied.object}"
    before, then = (_allowed(case, body, denied) for body in (config.body, edited(target.body, after.edits)))
    if before:
        return not_run(ProofKind.NOTHING_TO_FIX, "the policy at hand allows it already")
    if not then:
        return Rejected(why=f"with that line Argo CD still refuses {asked}")
    trace = ("without the fix", f"  {asked}: refused", "with the fix", f"  {asked}: allowed")
    return proven(rounds=1, trace=trace)


def _allowed(case: Case, config: Object, denied: ArgocdDenied) -> bool:
    data = {key: value for key, value in fields(config.get("data")).items() if isinstance(value, str)}
    request = Request(resource=denied.resource, action=denied.action, object=denied.object)
    projects = {case.app.project: case.project} if case.project is not None else {}
    return decide(read_policy(data), Asker(subject=denied.subject, is_token=True), request, projects).allowed


_LONGEST: Final = timedelta(hours=1)


def is_lag(case: Case, finding: Finding) -> bool:
    """Does it explain nothing but that the branch has moved on?"""
    kinds = {symptom.id: symptom.kind for symptom in case.symptoms}
    return bool(finding.explains) and all(
        kinds.get(explain) is SymptomKind.BEHIND for explain in finding.explains
    )


def seen_sooner(case: Case, finding: Finding, fix: Fix) -> Proof:
    """Raises `NotSimulated`, `Unplayable`, `Refuted` and `TimelineNeverSettles`."""
    if finding.severity is not Severity.INFO:
        return not_run(
            ProofKind.FACTS_MISSING, "Argo CD should have seen it long ago: why it did not is not known"
        )
    if not fix.commands:
        return not_run(ProofKind.NO_EFFECT, "it does not make Argo CD look")
    by_itself, at_once = _until_seen(case, None), _until_seen(case, fix)
    if at_once is None or (by_itself is not None and at_once >= by_itself):
        return not_run(ProofKind.NO_EFFECT, "on the model it is not seen sooner with it")
    return proven(
        rounds=1,
        why="what that commit changes is not known yet",
        trace=(
            "without the fix",
            _told(by_itself, "it is seen by itself"),
            "with the fix",
            f"   +0:00  {fix.commands[0] if fix.commands else fix.title}",
            _told(at_once, "it is seen"),
        ),
    )


def _told(waited: timedelta | None, words: str) -> str:
    if waited is None:
        return "       …  it is not seen within an hour"
    seconds = int(waited.total_seconds())
    return f"  {f'+{seconds // 60}:{seconds % 60:02}':>6}  {words}"


def _until_seen(case: Case, fix: Fix | None) -> timedelta | None:
    world = simulated(case)
    commit = world.push(case.desired)
    watch = Observer(world)
    began = watch.now

    def is_seen() -> bool:
        told = fields(world.status.get("sync"))
        return commit in (told.get("revision"), *items(told.get("revisions")))

    if fix is not None:
        Player(watch).carry_out(fix)
    return watch.now - began if watch.run(_LONGEST, is_seen) else None
