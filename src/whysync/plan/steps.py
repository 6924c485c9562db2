"""Phases and waves of a run: which resources were applied, failed, were waited for, or not reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from whysync.argocd import hooks
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.hooks import SyncPhase
from whysync.argocd.simulation.simulation import Simulation
from whysync.json_tree import Object, dig, fields, integer, text
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import Waiting
from whysync.messages.wrappers import peel_front
from whysync.plan.plan import Item, State, Step
from whysync.plan.service_callers import needs_of, services_in

_ORDER: Final = tuple(SyncPhase)
_NAMES: Final = {phase.value: number for number, phase in enumerate(_ORDER)}
_FAILED: Final = ("Failed", "Error", "SyncFailed")
_DONE: Final = ("Succeeded", "Synced", "Pruned", "PruneSkipped")
_Key = tuple[int, Ref]


def steps_of(
    simulation: Simulation, name: str, desired: list[Object], events: Iterable[TraceEvent], *, passed: bool
) -> tuple[Step, ...]:
    planned: dict[_Key, tuple[int, Object]] = {}
    for obj in desired:
        for phase in hooks.sync_phases(obj):
            if phase in _ORDER and text(dig(obj, "metadata", "name")):
                planned[_ORDER.index(phase), bare(ref_of(obj))] = hooks.wave_of(obj), obj
    last_events: dict[_Key, TraceEvent] = {}
    first_events: dict[_Key, TraceEvent] = {}
    start: datetime | None = None
    waves: dict[_Key, int] = {key: wave for key, (wave, _) in planned.items()}
    failed = dig(simulation.argocd.status(name), "operationState", "phase") != "Succeeded"
    for event in events:
        if event.app == name and event.kind is TraceKind.STARTED:
            start = start or event.at
        if event.app == name and event.kind is TraceKind.RESULT and event.about is not None:
            key = _NAMES.get(event.phase, 1), bare(event.about)
            last_events[key] = event
            first_events.setdefault(key, event)
            waves.setdefault(key, event.wave or 0)
        if failed and event.app == name and event.kind is TraceKind.ENDED:
            break  # attempts that fail like the first add no information
    message = text(dig(simulation.argocd.status(name), "operationState", "message"))
    namespace = text(dig(simulation.argocd.applications[name], "spec", "destination", "namespace"))
    health = fields(simulation.argocd.status(name).get("health"))
    services = services_in(desired, namespace)
    last_wave = max(((key[0], waves[key]) for key in last_events), default=(-1, 0))
    groups: dict[tuple[int, int], list[Item]] = {}
    ordered = sorted(
        waves.items(),
        key=lambda entry: (entry[0][0], entry[1], hooks.kind_rank(entry[0][1].kind), entry[0][1]),
    )
    for key, wave in ordered:
        event = last_events.get(key)
        succeeded = passed or not failed
        completed = (
            succeeded or (key[0], wave) < last_wave or key[1].kind == "Namespace"
        )  # which has no health
        state = _state(event, completed=completed)
        note = "pruned" if event is not None and event.text == "pruned" else ""
        if state is State.FAILED and event is not None:
            # without kubectl's words around the server's message, which name a temporary file
            note = peel_front(event.text)[1] or event.text
        body = planned[key][1] if key in planned else {}
        needs = needs_of(body, services, namespace) if hooks.is_hook(body) else ()
        if state in (State.FAILED, State.WAITING) and hooks.is_hook(body):
            note = _waits(body, needs) or note
        elif state is State.DONE and not completed and not passed and _is_awaited(key[1], message):
            state, note = State.WAITING, "never healthy"
        elif state is State.DONE and not passed and not failed and _is_blamed(key[1], health):
            state, note = State.WAITING, f"stays {text(health.get('status'))}"
        groups.setdefault((key[0], wave), []).append(
            Item(
                ref=key[1],
                state=state,
                note=note,
                hook=hooks.is_hook(body),
                waits_for=Ref(kind="Service", name=_service(needs[0])) if needs else None,
            )
        )
    return tuple(
        Step(
            phase=_ORDER[phase].value,
            wave=wave,
            items=tuple(members),
            began=_after(start, (first_events.get((phase, member.ref)) for member in members), min),
            ended=_after(start, (last_events.get((phase, member.ref)) for member in members), max),
        )
        for (phase, wave), members in groups.items()
        if not (
            _ORDER[phase] is SyncPhase.SYNC_FAIL
            and all(member.state is State.NOT_REACHED for member in members)
        )
    )


def _state(event: TraceEvent | None, *, completed: bool) -> State:
    if event is None:
        return State.NOT_REACHED
    if event.status in _FAILED:
        return State.FAILED
    if event.status in _DONE or event.text == "pruned" or completed:
        return State.DONE
    return State.WAITING


def _after(
    start: datetime | None,
    events: Iterable[TraceEvent | None],
    selected: Callable[[Iterable[datetime]], datetime],
) -> float | None:
    times = [event.at for event in events if event is not None]
    return (selected(times) - start).total_seconds() if times and start is not None else None


def _service(need: str) -> str:
    """The name in `db.shop:5432`."""
    return need.partition(":")[0].partition(".")[0]


def _waits(hook: Object, needs: tuple[str, ...]) -> str:
    """`waits for Service/shop … deadline 600 s`."""
    parts = [f"waits for Service/{_service(needs[0])}"] if needs else []
    deadline = integer(fields(hook.get("spec")).get("activeDeadlineSeconds"))
    if deadline:
        parts.append(f"deadline {deadline} s")
    elif needs:
        parts.append("no deadline")
    return " … ".join(parts)


def _is_awaited(ref: Ref, message: str) -> bool:
    waiting = understand(message).first(Waiting)
    return waiting is not None and (waiting.kind, waiting.name) == (ref.kind, ref.name)


def _is_blamed(ref: Ref, health: Object) -> bool:
    """The app's health names the resource that causes it: `Caused by apps/Deployment:shop/web`."""
    message = text(health.get("message"))
    return f"{ref.kind}:" in message and message.endswith(f"/{ref.name}")


def bare(ref: Ref) -> Ref:
    """Without version and namespace: a manifest may omit its namespace."""
    return replace(ref, version="", namespace="", cluster="")
