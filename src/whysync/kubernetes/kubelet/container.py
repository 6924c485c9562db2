"""The way of one container: pull, make, start, run, end, start again.

Mirrors the kubelet's `startContainer`, its image manager and its back-offs, Kubernetes 1.36. A step is taken
when its time has come; each tells what the kubelet would tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from whysync.golang.duration import seconds_text
from whysync.json_tree import Json, Missing, Object, dig, text
from whysync.kubernetes.controllers.client import Client, name_of, namespace_of
from whysync.kubernetes.kubelet import probes
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior, no_answer
from whysync.kubernetes.kubelet.container_status import Container, stamp
from whysync.kubernetes.kubelet.formatting import full_image, is_image, pod_title
from whysync.kubernetes.kubelet.logs import LogBook
from whysync.kubernetes.kubelet.pod_dependencies import lack_of_config
from whysync.kubernetes.kubelet.pod_status import restarts
from whysync.kubernetes.scheduler.resources import thousandths

_FIRST_BACKOFF: Final = 10.0
_LONGEST_BACKOFF: Final = 300.0
SYNC: Final = 12.0
"""How often the kubelet looks at a pod that it could not start."""
_FORGIVEN_AFTER: Final = 600.0
_MOMENT: Final = timedelta(seconds=1)
_SIZE: Final = 52_428_800
_MOST_TOLD: Final = 25
_SELDOM_SECONDS: Final = 300.0
_SELDOM: Final = timedelta(seconds=_SELDOM_SECONDS)
_LAST_WORDS: Final = 2048


@dataclass(slots=True)
class ContainerPlace:
    """Where a container runs: its pod as it is now, and its address."""

    pod: Object
    node: str
    address: str


class ContainerRuntime:
    def __init__(self, client: Client, behaviour: ContainerBehavior, logs: LogBook) -> None:
        self._client = client
        self._behaviour = behaviour
        self._logs = logs
        self._images: set[tuple[str, str]] = set()

    def step(self, one: Container, at: ContainerPlace) -> bool:
        """Take the next step if it is time; true where there was one."""
        now = self._client.now
        if one.step == "idle":
            self._begin(one, at)
            return True
        if one.due is None or one.due > now:
            return False
        match one.step:
            case "pulling":
                self._pulled(one, at)
            case "pull-failed":
                self._wait_to_pull(one, at)
            case "pull-waits" | "unconfigured" | "crash-waits":
                self._begin(one, at)
            case "starting":
                self._start(one, at)
            case "running":
                self._go_on(one, at)
            case "ended":
                self._restart(one, at)
            case "done":
                one.due = None
        return True

    def stop(self, one: Container, at: ContainerPlace, code: int, reason: str = "") -> None:
        """End a container that runs, for good."""
        if one.step == "running":
            self._end(one, at, code, reason)
        one.step, one.due = "done", None

    # -- images -----------------------------------------------------------------------------------

    def _begin(self, one: Container, at: ContainerPlace) -> None:
        one.part = self._behaviour.of_run(at.pod, one.spec, one.role)
        if one.ended:
            one.last, one.ended = one.ended, {}
        one.reason = one.reason or "ContainerCreating"
        if not is_image(one.image):
            self._refuse_name(one, at)
            return
        present = (at.node, one.image) in self._images or one.spec.get("imagePullPolicy") == "Never"
        if present and one.spec.get("imagePullPolicy") != "Always":
            said = f'Container image "{one.image}" already present on machine and can be accessed by the pod'
            self._tell(one, at, "Normal", "Pulled", said)
            self._make(one, at)
            return
        self._tell(one, at, "Normal", "Pulling", f'Pulling image "{one.image}"')
        seconds = one.part.pull_seconds
        if one.part.pull == "slow":
            seconds = max(seconds, 120.0)
        if present and not one.part.pull:
            seconds = 0
        one.step, one.due = "pulling", self._after(seconds)
        if not seconds:
            self._pulled(one, at)

    def _refuse_name(self, one: Container, at: ContainerPlace) -> None:
        said = f'couldn\'t parse image name "{one.image}": invalid reference format'
        one.reason = "InvalidImageName"
        one.message = f'Failed to apply default image tag "{one.image}": {said}'
        one.step, one.due = "pull-waits", self._after(SYNC)
        self._tell(one, at, "Warning", "InspectFailed", one.message)
        self._tell(one, at, "Warning", "Failed", "Error: InvalidImageName")

    def _pulled(self, one: Container, at: ContainerPlace) -> None:
        if one.part.pull in ("missing", "denied"):
            self._fail_to_pull(one, at)
            return
        took = seconds_text(one.part.pull_seconds)
        said = f'Successfully pulled image "{one.image}" in {took} ({took} including waiting). '
        self._tell(one, at, "Normal", "Pulled", f"{said}Image size: {_SIZE} bytes.")
        self._images.add((at.node, one.image))
        one.failures = 0
        self._make(one, at)

    def _fail_to_pull(self, one: Container, at: ContainerPlace) -> None:
        why = pull_error(one.image, one.part.pull)
        one.failures += 1
        one.pull_error = one.message = why
        one.reason = "ErrImagePull"
        one.step, one.due = "pull-failed", self._after(min(self._pull_backoff(one) / 2, SYNC))
        self._tell(one, at, "Warning", "Failed", f'Failed to pull image "{one.image}": {why}')
        self._tell(one, at, "Warning", "Failed", "Error: ErrImagePull")

    def _wait_to_pull(self, one: Container, at: ContainerPlace) -> None:
        waits = self._pull_backoff(one)
        said = f'Back-off pulling image "{one.image}"'
        one.reason, one.message = "ImagePullBackOff", f"{said}: ErrImagePull: {one.pull_error}"
        one.step, one.due = "pull-waits", self._after(waits - min(waits / 2, SYNC))
        self._tell(one, at, "Normal", "BackOff", said)
        self._tell(one, at, "Warning", "Failed", "Error: ImagePullBackOff")

    @staticmethod
    def _pull_backoff(one: Container) -> float:
        return min(_FIRST_BACKOFF * 2.0 ** min(one.failures - 1, 10), _LONGEST_BACKOFF)

    # -- making and starting ----------------------------------------------------------------------

    def _make(self, one: Container, at: ContainerPlace) -> None:
        lack = lack_of_config(one.spec, namespace_of(at.pod), self._client.model.store.get)
        why = (
            lack.message
            if lack is not None
            else verify_run_as_non_root(at.pod, one.spec, one.part.image_user)
        )
        if why:
            one.reason, one.message = "CreateContainerConfigError", why
            one.tries += 1
            # After so many tries nobody is told any more; what is missing wakes the kubelet when it comes.
            one.step, one.due = (
                "unconfigured",
                self._after(SYNC if one.tries < _MOST_TOLD else _SELDOM_SECONDS),
            )
            self._tell(one, at, "Warning", "Failed", f"Error: {why}")
            return
        one.tries = 0
        again = bool(one.last)
        if one.reason not in ("CrashLoopBackOff", "PodInitializing"):
            one.reason, one.message = "ContainerCreating", ""
        one.step, one.due = "starting", self._after(0 if again else one.part.start_seconds)
        if again:
            self._start(one, at)

    def _start(self, one: Container, at: ContainerPlace) -> None:
        now = self._client.now
        if one.last:
            one.restarts += 1
        self._tell(one, at, "Normal", "Created", "Container created")
        self._tell(one, at, "Normal", "Started", "Container started")
        one.step, one.reason, one.message = "running", "", ""
        one.started_at, one.running_since = stamp(now), now
        one.ready = one.started = False
        one.begun = one.probe_at = one.exit_at = one.kill_at = None
        one.probe_failures = 0
        one.run = self._logs.begin(namespace_of(at.pod), name_of(at.pod), one.name)
        for line in one.part.log:
            if line.after_seconds <= 0:
                one.run.say(now, line.text)
        one.calls = one.part.calls
        if not probes.probe_of(one, "startup"):
            one.started = True
            soon = one.part.ready_seconds is not None and one.part.ready_seconds <= 1
            if soon and not probes.probe_of(one, "readiness"):
                one.ready = one.role != "init"  # without a probe, to run is to be ready
        one.due = now
        self._go_on(one, at)

    # -- running ----------------------------------------------------------------------------------

    def _go_on(self, one: Container, at: ContainerPlace) -> None:
        now = self._client.now
        if one.begun is None and one.exit_at is None:
            self._call(one, at)
        if one.probe_at is not None and one.probe_at <= now:
            self._look(one, at)
        if one.kill_at is not None and one.kill_at <= now and one.step == "running":
            probe = probes.probe_of(one, "liveness")
            said = (
                f"Liveness probe failed: {probes.failure(one, probe, at.address, up=probes.is_up(one, now))}"
            )
            for _ in range(probes.threshold(probe)):
                self._tell(one, at, "Warning", "Unhealthy", said)
            self._kill(one, at, "liveness")
        if one.step == "running" and one.exit_at is not None and one.exit_at <= now:
            self._end(one, at, one.exit_code, one.exit_reason)
        if one.step == "running":
            dates = [one.probe_at, one.kill_at, one.exit_at]
            if one.begun is None and one.exit_at is None:
                dates.append(self._after(one.part.retry_seconds))
            one.due = min((when for when in dates if when is not None), default=None)

    def _call(self, one: Container, at: ContainerPlace) -> None:
        """Look for the services that it needs; when all answer, its own life begins."""
        now = self._client.now
        while one.calls:
            call = one.calls[0]
            why = no_answer(call, namespace_of(at.pod), self._client.model.store.get)
            if why:
                assert one.run is not None
                if one.part.on_no_answer == "exit":
                    one.run.say(now, f"failed to connect to {call}: {why}")
                    one.exit_at, one.exit_code, one.exit_reason = now + _MOMENT, one.part.exit_code or 1, ""
                else:
                    one.run.say(now, f"waiting for {call}: {why}")
                return
            one.calls = one.calls[1:]
        self._begin_life(one, now)

    def _begin_life(self, one: Container, now: datetime) -> None:
        part = one.part
        one.begun = now
        assert one.run is not None
        for line in part.log:
            if line.after_seconds > 0:
                one.run.say(now + timedelta(seconds=line.after_seconds), line.text)
        if part.runs_seconds is not None:
            killed = part.reason == "OOMKilled" and not part.exit_code
            one.exit_at = now + timedelta(seconds=part.runs_seconds)
            one.exit_code, one.exit_reason = 137 if killed else part.exit_code, part.reason
        full = now + timedelta(seconds=part.memory_seconds)
        if takes_too_much(one.spec, part.memory) and (one.exit_at is None or full < one.exit_at):
            one.exit_at, one.exit_code, one.exit_reason = full, 137, "OOMKilled"
        one.kill_at = probes.killed_at(one)
        if not one.started:
            one.probe_at = probes.first_look(probes.probe_of(one, "startup"), now)
        elif not one.ready and one.role != "init":
            self._await_ready(one, now)

    def _await_ready(self, one: Container, now: datetime) -> None:
        probe = probes.probe_of(one, "readiness")
        if probe:
            one.probe_at = probes.first_look(probe, one.running_since or now)
            one.probe_at = max(one.probe_at, now)
        elif one.part.ready_seconds is not None and one.begun is not None:
            one.probe_at = one.begun + timedelta(seconds=one.part.ready_seconds)

    def _look(self, one: Container, at: ContainerPlace) -> None:
        """One probe, of its start or of its readiness."""
        now = self._client.now
        which = "readiness" if one.started else "startup"
        probe = probes.probe_of(one, which)
        one.probe_at = None
        if probes.answers(one, probe, now):
            if one.started:
                one.ready = True
                return
            one.started, one.probe_failures = True, 0
            if probes.probe_of(one, "readiness"):
                self._await_ready(one, now)
            else:
                one.ready = one.role != "init"
            return
        one.probe_failures += 1
        why = probes.failure(one, probe, at.address, up=probes.is_up(one, now))
        said = f"{which.capitalize()} probe failed: {why}"
        self._tell(one, at, "Warning", "Unhealthy", said)
        if which == "startup" and one.probe_failures >= probes.threshold(probe):
            self._kill(one, at, "startup")
            return
        often = probes.period(probe)
        if which == "readiness" and one.probe_failures > _MOST_TOLD:
            often = max(often, _SELDOM)  # nobody is told any more: the events of a pod are limited
            passes = probes.passes_at(one, probe)
            if passes is not None:
                often = min(often, max(passes - now, probes.period(probe)))
        one.probe_at = now + often

    def _kill(self, one: Container, at: ContainerPlace, which: str) -> None:
        self._tell(
            one, at, "Normal", "Killing", f"Container {one.name} failed {which} probe, will be restarted"
        )
        self._end(one, at, 137, "")

    # -- the end and what comes after -------------------------------------------------------------

    def _end(self, one: Container, at: ContainerPlace, code: int, reason: str) -> None:
        now = self._client.now
        one.ended = {
            "exitCode": code,
            "reason": reason or ("Error" if code else "Completed"),
            "startedAt": one.started_at,
            "finishedAt": stamp(now),
            "containerID": one.identity(text(dig(at.pod, "metadata", "uid"))),
        }
        if one.run is not None:
            one.run.end = now
            if code and one.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
                said = "\n".join(one.run.lines(now)[-80:])[-_LAST_WORDS:]
                if said:
                    one.ended["message"] = f"{said}\n"
        one.ready = one.role == "init" and code == 0
        one.started = False
        one.probe_at = one.kill_at = one.exit_at = None
        if one.running_since is not None and (now - one.running_since).total_seconds() > _FORGIVEN_AFTER:
            one.backoff = 0
        policy = text(dig(at.pod, "spec", "restartPolicy"), "Always")
        if one.role == "init" and code == 0:
            one.step, one.due = "done", None
        elif restarts(one.spec, "OnFailure" if one.role == "init" and policy == "Always" else policy, code):
            one.step, one.due = "ended", now + _MOMENT
        else:
            one.step, one.due = "done", None

    def _restart(self, one: Container, at: ContainerPlace) -> None:
        if not one.backoff:
            one.backoff = _FIRST_BACKOFF
            self._begin(one, at)
            return
        waits = one.backoff
        one.backoff = min(waits * 2, _LONGEST_BACKOFF)
        one.last, one.ended = one.ended, {}
        one.reason = "CrashLoopBackOff"
        title = pod_title(at.pod)
        one.message = f"back-off {seconds_text(waits)} restarting failed container={one.name} pod={title}"
        one.step, one.due = "crash-waits", self._after(waits) - _MOMENT
        said = f"Back-off restarting failed container {one.name} in pod {title}"
        self._tell(one, at, "Warning", "BackOff", said)

    def _tell(self, one: Container, at: ContainerPlace, type: str, reason: str, message: str) -> None:
        self._client.event(at.pod, type, reason, message, "kubelet", host=at.node, field_path=one.field_path)

    def _after(self, seconds: float) -> datetime:
        return self._client.now + timedelta(seconds=seconds)


def pull_error(image: str, how: str) -> str:
    """`how` is `missing` or `denied`, as in a `PodScript`."""
    full = full_image(image)
    tried = f'failed to pull and unpack image "{full}": failed to resolve reference "{full}"'
    if how == "denied":
        return (
            f"rpc error: code = Unknown desc = {tried}: pull access denied, repository does not exist or "
            "may require authorization: server message: insufficient_scope: authorization failed"
        )
    return f"rpc error: code = NotFound desc = {tried}: {full}: not found"


def takes_too_much(container: Object, memory: str) -> bool:
    """Does it use more memory than its limit lets it? Without a limit, the node has enough."""
    limit = dig(container, "resources", "limits", "memory")
    return bool(memory) and not isinstance(limit, Missing) and thousandths(memory) > thousandths(limit)


def verify_run_as_non_root(pod: Object, container: Object, image_user: str) -> str:
    """Why the kubelet does not make a container that must not run as root; empty where it does.

    Mirrors `verifyRunAsNonRoot`, Kubernetes 1.36: the spec's user counts before that of the image.
    """
    if _security(pod, container, "runAsNonRoot") is not True:
        return ""
    about = f'(pod: "{pod_title(pod)}", container: {text(container.get("name"))})'
    user = _security(pod, container, "runAsUser")
    if not isinstance(user, Missing | None):
        return f"container's runAsUser breaks non-root policy {about}" if user == 0 else ""
    if image_user == "0":
        return f"container has runAsNonRoot and image will run as root {about}"
    if image_user and not image_user.isdecimal():
        unsure = "cannot verify user is non-root"
        return f"container has runAsNonRoot and image has non-numeric user ({image_user}), {unsure} {about}"
    return ""


def _security(pod: Object, container: Object, field: str) -> Json | Missing:
    """The container's own word counts before the pod's."""
    own = dig(container, "securityContext", field)
    return dig(pod, "spec", "securityContext", field) if isinstance(own, Missing) or own is None else own
