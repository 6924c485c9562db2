"""Describe what a sync does, as reasons of a `Safety`: damage, outcome, whether it lasts, side effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from whysync.argocd.tracking.method import TrackingMethod
from whysync.diagnosis.drift.mechanism import Mechanism, has_unsynced_revision
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import Reason, ReasonKind
from whysync.diagnosis.sentences import both_or_more
from whysync.diagnosis.symptom import Side
from whysync.fixes.while_syncing import is_running
from whysync.json_tree import Json, Missing, dig, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import phrase
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import WebhookDown
from whysync.messages.patterns.apply import QuotaExceeded
from whysync.messages.patterns.projects import ProjectDenied
from whysync.messages.wrappers import LayerKind
from whysync.proofs.admission import Refusal
from whysync.proofs.restarts import restart_of
from whysync.proofs.simulated_case import SimulatedCase
from whysync.proofs.sync_effects import WORKLOADS, DriftAfterSync, Effects, FieldChange, data_loss_text
from whysync.proofs.sync_safety import failed_before_text
from whysync.queries.pod_security import ENFORCE, is_stricter, newly_refused
from whysync.queries.sync_options import has_option

EVERYTHING: Final = 100
"""The weight of a sync that leaves nothing of the app."""
_MAX_TEXT: Final = 240


class RankedReason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason with its weight; `unsafe` and `unknown` decide the verdict."""

    kind: ReasonKind
    text: str
    refs: tuple[Ref, ...] = ()
    weight: int = 0
    unsafe: bool = False
    unknown: bool = False

    @property
    def reason(self) -> Reason:
        return Reason(kind=self.kind, text=self.text, refs=self.refs)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(refs: Sequence[object], most: int = 2) -> str:
    shown = [str(ref) for ref in refs[:most]]
    if len(refs) > most:
        return f"{', '.join(shown)} and {len(refs) - most} more"
    return " and ".join(shown)


def value_text(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "unset"
    plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(plain, 40)


def shortened(text: str, limit: int = _MAX_TEXT) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def ago(age: timedelta) -> str:
    return f"{duration_text(age)} ago"


def duration_text(age: timedelta) -> str:
    seconds = max(int(age.total_seconds()), 0)
    for size, unit, limit in ((1, "s", 120), (60, "min", 120 * 60), (3600, "h", 48 * 3600)):
        if seconds < limit:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86400} d"


# --- outcome -------------------------------------------------------------------------------------


def outcome(world: SimulatedCase, findings: Sequence[Finding], *, ended: bool) -> Iterator[RankedReason]:
    phase, message = text(world.operation.get("phase")), text(world.operation.get("message"))
    if not ended:
        waits = [key for key in sorted(world.operators.unknown) if f"/{key.kind}/{key.name}" in message]
        if waits:
            refs = tuple(world.ref(key) for key in waits)
            words = f"whether {listed(refs)} becomes healthy is not known: its operator is not simulated"
            yield RankedReason(
                kind=ReasonKind.OPERATOR_NOT_MODELED, text=words, refs=refs, weight=65, unknown=True
            )
            return
        yield RankedReason(
            kind=ReasonKind.SYNC_HANGS,
            text=_unfinished_text(world, message),
            weight=65,
            refs=_failed_refs(world),
        )
        return
    if phase == "Succeeded":
        return
    known = world.case.operation
    blocked = any(
        condition.type.endswith("Error") and condition.type in message
        for condition in world.case.app.status.conditions
    )
    failed = known is not None and known.phase in ("Failed", "Error")
    before = blocked or failed
    running = known is not None and known.phase == "Running"
    if before and not running and _failure_may_be_over(world):
        yield RankedReason(
            kind=ReasonKind.FAILED_BEFORE,
            text=failed_before_text(world.case),
            weight=65,
            refs=_failed_refs(world),
        )
    elif before or running:
        until = _unfixed_cause(findings)
        fails = "fails again" if running or failed else "would fail"  # a condition blocks it, none was tried
        words = f"it {fails} until {until}" if until else f"it {fails}: {shortened(message)}"
        yield RankedReason(kind=ReasonKind.SYNC_FAILS, text=words, weight=65, refs=_failed_refs(world))
    elif has_unsynced_revision(world.case) or known is None or _violates_project(world):
        yield RankedReason(
            kind=ReasonKind.SYNC_FAILS,
            text=f"it would fail: {shortened(_why(world) or message)}",
            weight=65,
            refs=_failed_refs(world),
        )
    else:
        yield RankedReason(
            kind=ReasonKind.MODEL_DIFFERS,
            text="the objects in the facts are not complete enough to simulate it",
            weight=65,
            unknown=True,
            refs=_failed_refs(world),
        )


def _unfinished_text(world: SimulatedCase, message: str) -> str:
    known = world.case.operation
    if known is None or not is_running(world.case):
        return f"it would not finish: {shortened(message)}" if message else "it would not finish"
    if _is_retrying(known.message) and _is_retrying(message):
        # The reported message: the simulation has continued to later attempts.
        return f"it is retried: {shortened(known.message)}"
    why = f": {shortened(message)}" if message and message != known.message else ""
    return f"in the simulation it does not finish{why}"


def _violates_project(world: SimulatedCase) -> bool:
    """Does Argo CD reject it because of an AppProject in the facts, which changed since the last sync?"""
    denied = any(isinstance(failure, ProjectDenied) for failure in understand(_why(world)).failures)
    return world.case.project_manifest is not None and denied


def _is_retrying(message: str) -> bool:
    """Has Argo CD scheduled another retry?"""
    return any(layer.kind is LayerKind.RETRYING for layer in understand(message).layers)


def _unfixed_cause(findings: Sequence[Finding]) -> str:
    """The cause that must be fixed first, from the finding that explains the failure.

    The verdict of the first finding is the headline of the answer, so it is not repeated.
    """
    for finding in findings:
        if finding.side in (Side.APPLY, Side.HEALTH) and not finding.caused_by:
            cause = finding.root or finding.verdict
            is_shown = finding is findings[0] and cause in finding.verdict
            return "the cause is fixed" if is_shown else f"this is fixed: {shortened(cause)}"
    return ""


def _failure_may_be_over(world: SimulatedCase) -> bool:
    """Does the simulation only repeat refusals that can end without a change of the app or of its rights?

    Other objects free a quota, and a webhook comes back. Facts that contain the quota or the webhook's
    Service show whether that happened.
    """
    temporary = {refusal.ref.key for refusal in world.writers.refusals.all if _is_temporary(world, refusal)}
    refs = _failed_refs(world)
    return bool(refs) and all(ref.key in temporary for ref in refs)


def _is_temporary(world: SimulatedCase, refusal: Refusal) -> bool:
    case, failure = world.case, refusal.failure
    match failure:
        case QuotaExceeded() if not failure.must_specify:
            namespace = refusal.ref.namespace or case.destination_namespace
            return case.live_named("ResourceQuota", namespace, failure.quota) is None
        case WebhookDown():
            return case.live_named("Service", failure.namespace, failure.service) is None
        case _:
            return False


def _why(world: SimulatedCase) -> str:
    for row in items(dig(world.operation, "syncResult", "resources")):
        if dig(row, "status") == "SyncFailed" or dig(row, "hookPhase") in ("Failed", "Error"):
            return f"{text(dig(row, 'kind'))} {text(dig(row, 'name'))}: {text(dig(row, 'message'))}"
    return ""


def _failed_refs(world: SimulatedCase) -> tuple[Ref, ...]:
    return tuple(
        Ref(
            group=text(dig(row, "group")),
            version=text(dig(row, "version")),
            kind=text(dig(row, "kind")),
            namespace=text(dig(row, "namespace")),
            name=text(dig(row, "name")),
        )
        for row in items(dig(world.operation, "syncResult", "resources"))
        if dig(row, "status") == "SyncFailed" or dig(row, "hookPhase") in ("Failed", "Error", "Running")
    )


# --- does it last --------------------------------------------------------------------------------


def persistence_reasons(
    world: SimulatedCase, effects: Effects, result: DriftAfterSync
) -> Iterator[RankedReason]:
    if result.differs_after is None:
        yield from _unhealthy(world)
        return
    refs = tuple(dict.fromkeys(writer.ref for writer in result.writers))
    names = list(dict.fromkeys(writer.who for writer in result.writers))
    writers, alone = both_or_more(names) or "an unknown writer", not names[1:]
    writes = "writes" if alone else "write"
    if result.deleted_keys and not result.writers:
        lost = tuple(world.ref(key) for key in result.deleted_keys)
        text = f"it does not last: {listed(lost)} is deleted again"
        yield RankedReason(kind=ReasonKind.DOES_NOT_LAST, text=text, refs=lost, weight=62)
    elif not result.writers:
        yield RankedReason(
            kind=ReasonKind.DOES_NOT_HELP,
            text="it does not help: the difference remains after every sync",
            weight=62,
        )
    elif result.differs_after <= timedelta():
        yield RankedReason(
            kind=ReasonKind.DOES_NOT_HELP,
            text=f"it does not help: {writers} {'changes' if alone else 'change'} the field back immediately",
            refs=refs,
            weight=62,
        )
    elif result.is_loop and result.period is not None:
        text = f"{writers} {writes} the live value back after every sync"
        observed = _observed_delay(result)
        if result.period_reported:
            text += f", about every {duration_text(result.period)}"
        elif observed:
            text += f", the last time after {observed}"
        restarted = _looping_restarts(world, effects, result)
        if restarted:
            text = f"it restarts the pods of {listed(restarted)}; {text}"
        yield RankedReason(kind=ReasonKind.SYNC_LOOP, text=text, refs=refs, weight=75, unsafe=bool(restarted))
    else:
        observed = _observed_delay(result)
        after = f", as it did {observed} after the last sync" if observed else ""
        text = f"it does not last: {writers} {writes} the live value back{after}"
        yield RankedReason(kind=ReasonKind.DOES_NOT_LAST, text=text, refs=refs, weight=62)


def _observed_delay(result: DriftAfterSync) -> str:
    """The time between the last sync and the other write, if the facts show it."""
    timed = next((writer for writer in result.writers if writer.delay_observed), None)
    return duration_text(timedelta(seconds=timed.seconds)) if timed is not None else ""


def no_effect_reasons(found: Sequence[tuple[Ref, Mechanism]]) -> Iterator[RankedReason]:
    """Differences that remain after a sync, because it changes nothing about them."""
    if not found:
        return
    ref, mechanism = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    defaults = mechanism in (Mechanism.API_DEFAULT, Mechanism.CRD_DEFAULT)
    why = (
        "the API server sets its default again in" if defaults else "Git and the cluster have equal values in"
    )
    yield RankedReason(
        kind=ReasonKind.DOES_NOT_HELP,
        text=f"it does not help: {why} {ref}{more}",
        refs=tuple(ref for ref, _ in found),
        weight=62,
    )


def _looping_restarts(world: SimulatedCase, effects: Effects, result: DriftAfterSync) -> tuple[Ref, ...]:
    """Workloads whose pods are restarted by each sync of the loop."""
    if not result.is_loop:
        return ()
    written = {writer.ref.key for writer in result.writers}
    return tuple(
        ref
        for ref, pods in effects.restarted
        if pods and ref.key in written and restart_of(world.after(ref), pods).restarted
    )


def _unhealthy(world: SimulatedCase) -> Iterator[RankedReason]:
    health = world.sync_and_health[1]
    if health == "Degraded" and world.case.app.status.health.status == health:
        yield RankedReason(
            kind=ReasonKind.STAYS_DEGRADED,
            text="the app stays Degraded: a sync does not fix that",
            weight=42,
        )


# --- side effects --------------------------------------------------------------------------------


def side_effect_reasons(
    world: SimulatedCase, effects: Effects, result: DriftAfterSync, *, sure: bool
) -> Iterator[RankedReason]:
    yield from _takeovers(world, effects)
    for ref, phase in effects.hooks if not is_running(world.case) else ():
        yield RankedReason(
            kind=ReasonKind.RUNS_HOOKS, text=f"it runs the {phase} hook {ref}", refs=(ref,), weight=38
        )
    looping = _looping_restarts(world, effects, result)
    for ref, pods in effects.restarted:
        if pods and ref not in looping:
            yield _restart_reason(world, ref, pods)
    written_back = {writer.ref.key for writer in result.writers}  # reported by `persistence_reasons`
    overwritten = [
        change
        for change in effects.overwritten
        if change.by_other_writer
        and not change.by_hand
        and not _is_scale(change)
        and change.ref.key not in written_back
    ]
    for change in overwritten[:3]:
        who = phrase(change.writer) if change.writer is not None else "an unknown writer"
        when = f" {ago(change.age)}" if change.age is not None else ""
        words = f"it overwrites {change.pointer} of {change.ref}, which {who} wrote{when}"
        yield RankedReason(kind=ReasonKind.OVERWRITES, text=words, refs=(change.ref,), weight=36)
    jobs = bool(effects.created) and all(ref.kind == "Job" for ref in effects.created)
    if effects.created:
        yield RankedReason(
            kind=ReasonKind.CREATES,
            text=f"it creates {'and runs ' if jobs else ''}{listed(effects.created)}",
            refs=effects.created,
            weight=20,
        )
    changed = tuple(dict.fromkeys(change.ref for change in effects.overwritten if not change.by_other_writer))
    described = {
        *(change.ref for change in effects.overwritten if _is_generated_secret(change)),
        *(ref for ref, _ in effects.restarted),
        *(ref for ref, _ in effects.taken_over),
        *(ref for ref, _, _ in effects.scaled),
    }
    updated = [ref for ref in changed if ref not in described]
    policy = [ref for ref in updated if ref.kind == "Namespace" and world.case.desired_of(ref.key) is None]
    if policy:
        words = f"it writes the labels and annotations of {listed(policy)} from the sync policy"
        yield RankedReason(kind=ReasonKind.UPDATES, text=words, refs=tuple(policy), weight=20)
    updated = [ref for ref in updated if ref not in policy]
    if updated:
        yield RankedReason(
            kind=ReasonKind.UPDATES,
            text=f"it updates {listed(updated)} to what Git declares",
            refs=tuple(updated),
            weight=20,
        )
    if not is_running(world.case):  # that sync has its own prune option
        yield from _unpruned_reasons(world, effects)
    if sure and effects.is_nothing and text(world.operation.get("phase")) == "Succeeded":
        yield RankedReason(
            kind=ReasonKind.CHANGES_NOTHING, text="it changes nothing in the cluster", weight=41
        )


def _restart_reason(world: SimulatedCase, ref: Ref, pods: int) -> RankedReason:
    restart = restart_of(world.after(ref), pods)
    if not restart.restarted:
        text = f"it changes the pod template of {ref}, but {restart.how}"
        return RankedReason(kind=ReasonKind.UPDATES, text=text, refs=(ref,), weight=37)
    several = f"{restart.restarted} of the {pods} pods" if restart.restarted < pods else f"the {pods} pods"
    text = f"it restarts {several if pods > 1 else 'the pod'} of {ref}, {restart.how}"
    return RankedReason(kind=ReasonKind.RESTARTS_PODS, text=text, refs=(ref,), weight=39)


def _unpruned_reasons(world: SimulatedCase, effects: Effects) -> Iterator[RankedReason]:
    """What a sync with `--prune` would delete; that includes auto-sync with `automated.prune`."""
    rows = [row for row in world.case.app.status.resources if not row.hook]  # hooks are never pruned
    unpruned = [row.ref for row in rows if row.requires_pruning and not _is_terminating(world, row.ref)]
    if not unpruned:
        return
    prunable = [ref for ref in unpruned if not _is_kept(world, ref)]
    without_prune = "without --prune " if prunable else ""
    text = f"{without_prune}it leaves {listed(unpruned)} in the cluster"
    lost = [f"{ref} {_loss(world, effects, ref)[0]}" for ref in prunable if _loss(world, effects, ref)[0]]
    if len(prunable) == len(rows):
        text += f"; with --prune it deletes everything that the app has ({counted(len(prunable), 'object')})"
    elif lost:
        more = f" and {counted(len(lost) - 2, 'object')} more" if len(lost) > 2 else ""
        text += f"; with --prune it deletes {', '.join(lost[:2])}{more}"
    elif prunable:
        them = listed(prunable) if len(prunable) < len(unpruned) else "it" if len(prunable) == 1 else "them"
        text += f"; with --prune it deletes {them}"
    if world.case.prunes and prunable and len(prunable) < len(rows):
        text += "; auto-sync prunes (automated.prune is true)"
    yield RankedReason(kind=ReasonKind.LEAVES_UNPRUNED, text=text, refs=tuple(unpruned), weight=34)


def _is_terminating(world: SimulatedCase, ref: Ref) -> bool:
    """Was it deleted already? Then only its finalizers keep it, whatever a sync does."""
    live = world.case.live_of(ref.key)
    return live is not None and bool(live.meta.get("deletionTimestamp"))


def _is_kept(world: SimulatedCase, ref: Ref) -> bool:
    """Does `Prune=false` keep it, even in a sync with `--prune`?"""
    live = world.case.live_of(ref.key)
    return world.case.has_sync_option("Prune=false") or (live is not None and has_option(live, "Prune=false"))


def _loss(world: SimulatedCase, effects: Effects, ref: Ref) -> tuple[str, int]:
    """Describes what is lost with an object, with the weight of the loss; empty if nothing is."""
    data, pods = data_loss_text(world, ref), effects.pods_of(ref)
    if data:
        return data, 95
    if pods:
        return f"with {counted(pods, 'running pod')}", 85
    return ("and its address is lost", 80) if _has_address(world, ref) else ("", 0)


def _takeovers(world: SimulatedCase, effects: Effects) -> Iterator[RankedReason]:
    """Objects taken over from another Application; it is unsafe to overwrite fields of that Application.

    Any tool may set the tracking label; only Argo CD writes the tracking annotation.
    """
    by_label = world.case.argocd.tracking_method == TrackingMethod.LABEL
    names = world.case.index.apps_by_name
    for ref, other in effects.taken_over:
        changed = [
            change.pointer
            for change in effects.overwritten
            if change.ref == ref and not change.by_other_writer
        ]
        if by_label and other.rpartition("_")[2] not in names:
            yield RankedReason(
                kind=ReasonKind.TAKES_OVER,
                text=f"it takes over {ref}, which is tracked by {other}",
                refs=(ref,),
                weight=61,
            )
        elif changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            text = f"it takes over {ref} from Application {other}, and overwrites its {changed[0]}{more}"
            yield RankedReason(kind=ReasonKind.TAKES_OVER, text=text, refs=(ref,), weight=84, unsafe=True)
        else:
            yield RankedReason(
                kind=ReasonKind.TAKES_OVER,
                text=f"it takes over {ref} from Application {other}",
                refs=(ref,),
                weight=61,
            )


def _is_scale(change: FieldChange) -> bool:
    return change.pointer == "/spec/replicas" or change.mechanism is Mechanism.AUTOSCALED


# --- damage --------------------------------------------------------------------------------------

_ENFORCE_POINTER: Final = "/metadata/labels/" + ENFORCE.replace("/", "~1")
RECENT: Final = timedelta(hours=1)
"""A manual change within this time is assumed to be part of handling an incident."""
_MAX_DETAILED: Final = 2


def damage_reasons(world: SimulatedCase, effects: Effects) -> Iterator[RankedReason]:
    yield from _deleted(world, effects)
    yield from _recreated(world, effects)
    yield from _dropped_pods(effects)
    yield from _refused_pods(world, effects)
    yield from _manual_changes(effects)
    yield from _generated(effects)


def _deleted(world: SimulatedCase, effects: Effects) -> Iterator[RankedReason]:
    deleted = effects.deleted
    if deleted and not any(key in world.objects() for key in world.scope.keys):
        yield RankedReason(
            kind=ReasonKind.DELETES,
            text=f"it deletes everything that the app has ({counted(len(deleted), 'object')})",
            refs=deleted,
            weight=EVERYTHING,
            unsafe=True,
        )
    harmless: list[Ref] = []
    for ref in deleted:
        lost, weight = _loss(world, effects, ref)
        if not lost:
            harmless.append(ref)
            continue
        yield RankedReason(
            kind=ReasonKind.DELETES, text=f"it deletes {ref} {lost}", refs=(ref,), weight=weight, unsafe=True
        )
    if harmless:
        yield RankedReason(
            kind=ReasonKind.DELETES, text=f"it deletes {listed(harmless)}", refs=tuple(harmless), weight=30
        )


def _has_address(world: SimulatedCase, ref: Ref) -> bool:
    status = dig(world.before.get(ref.key, {}), "status", "loadBalancer", "ingress")
    return ref.kind in ("Service", "Ingress") and bool(items(status))


def _recreated(world: SimulatedCase, effects: Effects) -> Iterator[RankedReason]:
    for ref in effects.recreated:
        data, pods = data_loss_text(world, ref), effects.pods_of(ref)
        if data:
            yield RankedReason(
                kind=ReasonKind.RECREATES,
                text=f"it deletes {ref} {data}, and recreates it",
                refs=(ref,),
                weight=95,
                unsafe=True,
            )
        elif pods:
            stop = "its running pod stops" if pods == 1 else f"its {pods} running pods stop"
            text = f"it deletes {ref} and recreates it: {stop} first"
            yield RankedReason(kind=ReasonKind.RECREATES, text=text, refs=(ref,), weight=85, unsafe=True)
        else:
            yield RankedReason(
                kind=ReasonKind.RECREATES, text=f"it deletes {ref} and recreates it", refs=(ref,), weight=35
            )


def _was_stopped(field: FieldChange) -> bool:
    """Did a writer that is not known set the number? 0 is then on purpose.

    A manual change is a reason of its own, and an autoscaler scales again.
    """
    return not field.from_new_commit and not field.by_hand and field.mechanism is Mechanism.SCALED


def _dropped_pods(effects: Effects) -> Iterator[RankedReason]:
    scaled_down: list[tuple[Ref, int, str]] = []
    for ref, before, after in effects.scaled:
        field = next((change for change in effects.overwritten if _is_replicas(change, ref)), None)
        dropped = _dropped_count(effects, ref, before, after)
        if dropped and field is not None and not field.from_new_commit:
            has_writer = field.by_hand or (
                field.by_other_writer and field.mechanism is not Mechanism.AUTOSCALED
            )
            by = f", set by {_writer_and_age(field)}" if has_writer else ""
            scaled_down.append((ref, dropped, f"{before} now{by}, Git declares {after}"))
        elif before == 0 and field is not None and _was_stopped(field):
            yield RankedReason(
                kind=ReasonKind.SCALES,
                text=f"it starts {ref} again, which was scaled to 0 (Git declares {after}): ask first",
                refs=(ref,),
                weight=88,
                unsafe=True,
            )
        else:
            yield RankedReason(
                kind=ReasonKind.SCALES,
                text=f"it scales {ref} from {before} to {after}",
                refs=(ref,),
                weight=40,
            )
    if len(scaled_down) > _MAX_DETAILED:
        refs, total = tuple(ref for ref, _, _ in scaled_down), sum(number for _, number, _ in scaled_down)
        yield RankedReason(
            kind=ReasonKind.DROPS_PODS,
            text=f"it terminates {total} running pods of {listed(refs)}",
            refs=refs,
            weight=93,
            unsafe=True,
        )
        return
    for ref, number, detail in scaled_down:
        effect = (
            f"it terminates {counted(number, 'running pod')}"
            if ref.kind in WORKLOADS
            else f"it removes {counted(number, 'replica')}"
        )
        text = f"{effect} of {ref} ({detail})"
        yield RankedReason(kind=ReasonKind.DROPS_PODS, text=text, refs=(ref,), weight=93, unsafe=True)


def _refused_pods(world: SimulatedCase, effects: Effects) -> Iterator[RankedReason]:
    """A stricter Pod Security level: the workloads of the namespace cannot replace their Pods."""
    enforced = [
        change
        for change in effects.overwritten
        if change.ref.kind == "Namespace" and change.pointer == _ENFORCE_POINTER
    ]
    for change in enforced:
        level, before = (value if isinstance(value, str) else "" for value in (change.after, change.before))
        if not is_stricter(level, before):
            continue
        live_objects = world.case.index.live_by_namespace.get(change.ref.name, ())  # the scope is smaller
        reported = {live.key: live.body for live in live_objects}
        objects = [obj for _, obj in sorted({**reported, **world.objects()}.items())]
        refused = list(newly_refused(objects, change.ref.name, level=level, before=before))
        if not refused:
            continue
        refs = tuple(ref for ref, _ in refused)
        words = (
            f"it makes namespace {change.ref.name} refuse new Pods of {listed(refs)}, which violate"
            f" PodSecurity {level}; running Pods stay until they are replaced"
        )
        yield RankedReason(kind=ReasonKind.REFUSES_PODS, text=words, refs=refs, weight=91, unsafe=True)


def _dropped_count(effects: Effects, ref: Ref, before: int, after: int) -> int:
    return max(min(effects.pods_of(ref), before) - after, 0)


def _writer_and_age(change: FieldChange) -> str:
    writer = phrase(change.writer) if change.writer is not None else "an unknown writer"
    return f"{writer} {ago(change.age)}" if change.age is not None else f"{writer} at an unknown time"


def _is_replicas(change: FieldChange, ref: Ref) -> bool:
    return change.ref == ref and change.pointer == "/spec/replicas"


def _manual_changes(effects: Effects) -> Iterator[RankedReason]:
    scaled_down = {
        ref for ref, before, after in effects.scaled if _dropped_count(effects, ref, before, after)
    }
    changes = [
        change
        for change in effects.overwritten
        if change.by_hand and not (change.ref in scaled_down and change.pointer == "/spec/replicas")
    ]
    recent = [change for change in changes if change.age is not None and change.age < RECENT]
    undated = [change for change in changes if change.age is None]
    old = [change for change in changes if change.age is not None and change.age >= RECENT]
    yield from _reverted_fields(recent, weight=92, unsafe=True)
    yield from _reverted_fields(undated, weight=70, unknown=True)
    yield from _reverted_fields(old, weight=50)


def _reverted_fields(
    changes: Sequence[FieldChange], *, weight: int, unsafe: bool = False, unknown: bool = False
) -> Iterator[RankedReason]:
    """One reason per field; for many fields, the first and the number of others."""
    shown = changes if len(changes) <= _MAX_DETAILED else changes[:1]
    for change in shown:
        values = f"{value_text(change.before)}, Git declares {value_text(change.after)}"
        text = f"it reverts {change.pointer} of {change.ref} ({values}), set by {_writer_and_age(change)}"
        if len(shown) < len(changes):
            text += f", and {len(changes) - 1} more manually changed fields"
        refs = tuple(dict.fromkeys(each.ref for each in changes)) if shown is not changes else (change.ref,)
        yield RankedReason(
            kind=ReasonKind.UNDOES_MANUAL_CHANGE,
            text=text,
            refs=refs,
            weight=weight,
            unsafe=unsafe,
            unknown=unknown,
        )


def _is_generated_secret(change: FieldChange) -> bool:
    is_secret = change.ref.kind == "Secret" and change.pointer.startswith("/data")
    return is_secret and change.mechanism is Mechanism.GENERATED


def _generated(effects: Effects) -> Iterator[RankedReason]:
    """Secret values that rendering generates each time: clients that use the old value lose access."""
    generated: dict[Ref, list[str]] = {}
    for change in effects.overwritten:
        if _is_generated_secret(change):
            generated.setdefault(change.ref, []).append(change.pointer)
    for ref, changed in generated.items():
        value = "the value that is rendered now" if len(changed) == 1 else "the values that are rendered now"
        yield RankedReason(
            kind=ReasonKind.REPLACES_GENERATED_VALUE,
            text=f"it replaces {listed(changed)} of {ref} with {value}",
            refs=(ref,),
            weight=80,
            unsafe=True,
        )
