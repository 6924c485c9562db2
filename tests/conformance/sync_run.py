"""sync_run.jsonl: an operation from step to step; the other questions are answered beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from tests.argocd.sync.stub import StubClusterOps
from tests.conformance import sync_run_app, sync_run_parts
from tests.conformance.checks import contains, lacks_fragments, mismatch
from tests.conformance.sync_run_given import ground_of, request_of, state_of
from whysync.argocd.sync.hooks import has_hook_finalizer
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step, terminate
from whysync.json_tree import Json, Object, fields, items, text


def check(record: Object) -> list[str]:
    return _CHECKS[text(record["op"])](record, fields(record["expect"]))


def _run(record: Object, expect: Object) -> list[str]:
    ground = ground_of(record)
    state = state_of(fields(record.get("initial_state")))
    confirmed = False
    failures: list[str] = []
    expected_steps = [fields(step) for step in items(expect.get("steps"))]
    for at, (inputs, expected) in enumerate(
        zip(map(fields, items(record["steps"])), expected_steps, strict=True)
    ):
        confirmed = confirmed or fields(inputs.get("set")).get("prune_confirmed") is True
        request = replace(request_of(record, inputs.get("pairs")), prune_confirmed=confirmed)
        state = _overwritten(state, items(inputs.get("set_results")))
        ground.pauses.clear()
        state = step(state, request, ground)
        failures += [f"step {at + 1}: {result}" for result in _judge(expected, state, ground)]
    return failures


def _overwritten(state: State, overrides: list[Json]) -> State:
    phases = {text(fields(item).get("name")): text(fields(item).get("hook_phase")) for item in overrides}
    results = (
        msgspec.structs.replace(result, hook_phase=phases.get(result.name, result.hook_phase))
        for result in state.results
    )
    return replace(state, results=tuple(results))


def _terminate(record: Object, expect: Object) -> list[str]:
    ground = ground_of(record)
    request = request_of(record, record["pairs"])
    return _judge(expect, terminate(state_of(fields(record["initial_state"])), request, ground), ground)


def _judge(expect: Object, state: State, ground: StubClusterOps) -> list[str]:
    results: list[Object] = [
        {
            "kind": result.kind,
            "name": result.name,
            "status": result.status,
            "message": result.message,
            "hook_phase": result.hook_phase,
        }
        for result in state.results
    ]
    answers: dict[str, Callable[[Json], list[str]]] = {
        "phase": lambda expected: mismatch("phase", expected, state.phase),
        "message": lambda expected: mismatch("message", expected, state.message),
        "message_contains": lambda expected: lacks_fragments("message", expected, state.message),
        "result_count": lambda expected: mismatch("results", expected, len(results)),
        "results": lambda expected: _results(
            expected, results, ordered=expect.get("results_ordered") is True
        ),
        "results_ordered": lambda _: [],
        "absent_results": lambda expected: [
            f"result of {name}: expected none"
            for name in items(expected)
            if any(r["name"] == name for r in results)
        ],
        "first_result_message_contains": lambda expected: lacks_fragments(
            "first result", expected, text(results[0]["message"])
        ),
        "commands": lambda expected: _commands(expected, ground),
        "delete_attempted": lambda expected: mismatch("tried", expected, ground.attempted_deletions > 0),
        "delete_count": lambda expected: mismatch("deletions", expected, len(ground.deletions)),
        "deleted": lambda expected: mismatch("deleted", expected, [ref.name for ref in ground.deletions]),
        "discovery_calls": lambda expected: mismatch("discoveries", expected, ground.discoveries),
        "finalizer_update_count": lambda expected: mismatch("updates", expected, len(ground.updates)),
        "finalizers_removed": lambda expected: mismatch(
            "finalizers", expected, bool(ground.updates) and not any(map(has_hook_finalizer, ground.updates))
        ),
        "wave_callback": lambda expected: mismatch("pause", expected, _pause(ground)),
    }
    return [failure for name, expected in expect.items() for failure in answers[name](expected)]


def _results(expected: Json, result: list[Object], *, ordered: bool) -> list[str]:
    if ordered:
        pairs = zip(map(fields, items(expected)), result, strict=False)
        return [f"result: expected {field}, got {got}" for field, got in pairs if not _fits(got, field)]
    return [
        f"result: expected {field}, got {result}"
        for field in map(fields, items(expected))
        if not any(_fits(got, field) for got in result)
    ]


def _fits(got: Object, expected: Object) -> bool:
    plain = {
        key: value for key, value in expected.items() if key not in ("message_contains", "hook_phase_in")
    }
    fragment = text(expected.get("message_contains"))
    phases = items(expected.get("hook_phase_in")) or [got["hook_phase"]]
    return contains(got, plain) and fragment in text(got["message"]) and got["hook_phase"] in phases


def _commands(expected: Json, ground: StubClusterOps) -> list[str]:
    last = {command.ref.name: command for command in ground.commands}
    failures: list[str] = []
    for field in map(fields, items(expected)):
        command = last[text(field["name"])]
        got: Object = {
            "name": command.ref.name,
            "command": command.verb,
            "force": command.mode.force,
            "validate": command.mode.validate,
            "server_side_apply": command.mode.server_side,
            "manager": command.mode.manager,
        }
        failures += mismatch("command", field, {key: got[key] for key in field})
    return failures


def _pause(ground: StubClusterOps) -> Json:
    if not ground.pauses:
        return None
    phase, wave, final = ground.pauses[-1]
    return {"phase": phase, "wave": wave, "final": final}


_CHECKS: Final[dict[str, Callable[[Object, Object], list[str]]]] = {
    "run": _run,
    "terminate": _terminate,
    **sync_run_app.CHECKS,
    **sync_run_parts.CHECKS,
}
