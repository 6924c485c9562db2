"""Stages of kwok for the Pods whose behavior a scenario scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from whysync.json_tree import Json, Object
from whysync.kubernetes.controllers.behavior import PodBehavior

_WEIGHT: Final = 10
_NEVER_SECONDS: Final = 36_000
_SOON_SECONDS: Final = 5
_PARTS: Final = """\
{{ $now := Now }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "%(ready)s", lastTransitionTime: {{ $now | Quote }}%(why_not_ready)s}
- {type: ContainersReady, status: "%(ready)s", lastTransitionTime: {{ $now | Quote }}%(why_not_ready)s}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: %(is_ready)s
  started: %(is_started)s
  restartCount: %(restarts)s
  state: %(state)s
%(last)s{{ end }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
phase: %(phase)s
startTime: {{ $now | Quote }}
"""
_NOW: Final = "{{ $now | Quote }}"
_NOT_READY: Final = (
    ", reason: ContainersNotReady, message:"
    ' "containers with unready status: [{{ range .spec.containers }}{{ .name }}{{ end }}]"'
)


def why_not_scripted(behavior: PodBehavior) -> str:
    """Why Pods cannot behave like this on the real cluster; empty if they can."""
    unsupported = {
        "times": behavior.times is not None,
        "unschedulable": behavior.unschedulable,
        "pull: slow": behavior.pull == "slow",
    }
    return ", ".join(name for name, used in unsupported.items() if used)


def is_simulated(behavior: PodBehavior) -> bool:
    """Does the model's kubelet decide the status of these Pods, because no stage can?"""
    return bool(
        behavior.calls
        or behavior.serves
        or behavior.up_seconds
        or behavior.memory
        or behavior.image_user
        or behavior.live_seconds is not None
        or behavior.container != PodBehavior().container
    )


def stages_of(
    scenario: str, behaviors: tuple[PodBehavior, ...], *, simulates_all: bool = False
) -> Iterator[Object]:
    """The stages for these behaviors; with `simulates_all`, one that keeps kwok from starting any Pod."""
    if simulates_all:
        yield _stage(f"{scenario}-simulated", [], [], None, seconds=_NEVER_SECONDS)
        return
    for number, behavior in enumerate(behaviors):
        name = f"{scenario}-{number}"
        selector = _selector(behavior)
        if is_simulated(behavior):
            yield _stage(f"{name}-simulated", selector, [], None, seconds=_NEVER_SECONDS)
        elif behavior.pull:
            yield _stage(f"{name}-pull", selector, _not_started(), _pull_fails(behavior))
        elif behavior.runs_seconds is not None and behavior.exit_code:
            yield _stage(f"{name}-start", selector, _not_started(), _runs(ready=False))
            yield from _exits(name, selector, behavior)
        elif behavior.runs_seconds is not None:
            yield _stage(
                f"{name}-start", selector, _not_started(), _runs(ready=behavior.ready_seconds is not None)
            )
            done = _status("Succeeded", _terminated(0, "Completed"), ready=False)
            yield _stage(f"{name}-done", selector, _phase("Running"), done, seconds=behavior.runs_seconds)
        elif behavior.ready_seconds is None or behavior.ready_seconds > _SOON_SECONDS:
            # A Pod that takes longer is not ready when its scenario ends.
            yield _stage(f"{name}-start", selector, _not_started(), _runs(ready=False))
            # It keeps running: nothing may complete it, as the stage for Jobs would.
            yield _stage(f"{name}-stays", selector, _phase("Running"), None, seconds=_NEVER_SECONDS)


def _exits(name: str, selector: list[Json], behavior: PodBehavior) -> Iterator[Object]:
    """A container that exits with an error: Pods of Jobs fail, others crash again and again."""
    reason = behavior.reason or "Error"
    failed = _status("Failed", _terminated(behavior.exit_code, reason), ready=False)
    never: Object = {"key": ".spec.restartPolicy", "operator": "In", "values": ["Never"]}
    again: Object = {"key": ".spec.restartPolicy", "operator": "NotIn", "values": ["Never"]}
    seconds = min(behavior.runs_seconds or 0.0, 2.0)
    yield _stage(f"{name}-fail", [*selector, never], _phase("Running"), failed, seconds=seconds)
    waiting = '{waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}'
    last = f"  lastState: {_terminated(behavior.exit_code, reason)}\n"
    loops = _status("Running", waiting, ready=False, restarts=5, last=last)
    started: Object = {
        "key": ".status.containerStatuses.[].state.running",
        "operator": "Exists",
    }
    yield _stage(f"{name}-crash", [*selector, again, started], _phase("Running"), loops, seconds=seconds)


def _pull_fails(behavior: PodBehavior) -> str:
    problem = {
        "missing": "not found",
        "denied": "failed to authorize: failed to fetch oauth token: unexpected status: 403 Forbidden",
    }.get(behavior.pull, "not found")
    text = f'printf "Back-off pulling image %q: ErrImagePull: %s: {problem}" .image .image | Quote'
    state = "{waiting: {reason: ImagePullBackOff, message: {{ " + text + " }}}}"
    return _status("Pending", state, ready=False)


def _runs(*, ready: bool) -> str:
    return _status("Running", f"{{running: {{startedAt: {_NOW}}}}}", ready=ready)


def _terminated(code: int, reason: str) -> str:
    return (
        f"{{terminated: {{exitCode: {code}, reason: {json.dumps(reason)}, startedAt: {_NOW},"
        f" finishedAt: {_NOW}}}}}"
    )


def _status(phase: str, state: str, *, ready: bool, restarts: int = 0, last: str = "") -> str:
    return _PARTS % {
        "ready": str(ready),
        "is_ready": str(ready).lower(),
        "is_started": str(ready or "running" in state).lower(),
        "why_not_ready": "" if ready else _NOT_READY,
        "restarts": restarts,
        "state": state,
        "last": last,
        "phase": phase,
    }


def _stage(
    name: str, selector: list[Json], when: list[Json], status: str | None, *, seconds: float = 0.0
) -> Object:
    alive: Object = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}
    following: Object = {"statusTemplate": status} if status else {}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "weight": _WEIGHT,
            "selector": {"matchExpressions": [alive, *selector, *when]},
            "delay": {"durationMilliseconds": int(seconds * 1000)},
            "next": following,
        },
    }


def _not_started() -> list[Json]:
    return [{"key": ".status.podIP", "operator": "DoesNotExist"}]


def _phase(phase: str) -> list[Json]:
    return [{"key": ".status.phase", "operator": "In", "values": [phase]}]


def _selector(behavior: PodBehavior) -> list[Json]:
    """Expressions of jq; globs become regular expressions."""
    selector: list[Json] = []
    tests = (
        (".metadata.namespace", behavior.namespace),
        (".metadata.name", behavior.name),
        (".spec.containers.[0].image", behavior.image),
    )
    for path, glob in tests:
        if glob != "*":
            # Not `fnmatch.translate`: it uses lookaheads, which Go's regular expressions do not have.
            pattern = ".*".join(re.escape(part) for part in glob.split("*"))
            key = f"{path} | test({json.dumps(f'^{pattern}$')}) | tostring"
            selector.append({"key": key, "operator": "In", "values": ["true"]})
    for label, value in behavior.labels.items():
        selector.append(
            {"key": f".metadata.labels[{json.dumps(label)}]", "operator": "In", "values": [value]}
        )
    return selector
