"""The way of one container: pull, make, start, run, end, start again.

Mirrors the kubelet's `startContainer`, its image manager and its back-offs, Kubernetes 1.36. A step is taken
when its time has come; each tells what the kubelet would tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from whysync.golang.duration import seconds_text
from whysync.golang.quantity import milli_value
from whysync.json_tree import Json, Missing, Object, dig, text
from whysync.kubernetes.controllers.client import Client, name_of, namespace_of
from whysync.kubernetes.kubelet import probes
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior, no_answer
from whysync.kubernetes.kubelet.container_status import Container, stamp
from whysync.kubernetes.kubelet.formatting import full_image, is_image, pod_title
from whysync.kubernetes.kubelet.logs import LogBook
from whysync.kubernetes.kubelet.pod_dependencies import lack_of_config
from whysync.kubernetes.kubelet.pod_status import restarts

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

    def step(self, container: Container, at: ContainerPlace) -> bool:
        """Take the next step if it is time; true where there was one."""
        now = self._client.now
        if container.step == "idle":
            self._begin(container, at)
            return True
        if container.due is None or container.due > now:
            return False
        match container.step:
            case "pulling":
                self._pulled(container, at)
            case "pull-failed":
                self._wait_to_pull(container, at)
            case "pull-waits" | "unconfigured" | "crash-waits":
                self._begin(container, at)
            case "starting":
                self._start(container, at)
            case "running":
                self._go_on(container, at)
            case "ended":
                self._restart(container, at)
            case "done":
                container.due = None
        return True

    def stop(self, container: Container, at: ContainerPlace, code: int, reason: str = "") -> None:
        """End a container that runs, for good."""
        if container.step == "running":
            self._end(container, at, code, reason)
        container.step, container.due = "done", None

    # -- images -----------------------------------------------------------------------------------

    def _begin(self, container: Container, at: ContainerPlace) -> None:
        container.part = self._behaviour.of_run(at.pod, container.spec, container.role)
        if container.ended:
            container.last, container.ended = container.ended, {}
        container.reason = container.reason or "ContainerCreating"
        if not is_image(container.image):
            self._refuse_name(container, at)
            return
        policy = container.spec.get("imagePullPolicy")
        present = (at.node, container.image) in self._images or policy == "Never"
        if present and policy != "Always":
            image = f'Container image "{container.image}"'
            message = f"{image} already present on machine and can be accessed by the pod"
            self._tell(container, at, "Normal", "Pulled", message)
            self._make(container, at)
            return
        self._tell(container, at, "Normal", "Pulling", f'Pulling image "{container.image}"')
        seconds = container.part.pull_seconds
        if container.part.pull == "slow":
            seconds = max(seconds, 120.0)
        if present and not container.part.pull:
            seconds = 0
        container.step, container.due = "pulling", self._after(seconds)
        if not seconds:
            self._pulled(container, at)

    def _refuse_name(self, container: Container, at: ContainerPlace) -> None:
        problem = f'couldn\'t parse image name "{container.image}": invalid reference format'
        container.reason = "InvalidImageName"
        container.message = f'Failed to apply default image tag "{container.image}": {problem}'
        container.step, container.due = "pull-waits", self._after(SYNC)
        self._tell(container, at, "Warning", "InspectFailed", container.message)
        self._tell(container, at, "Warning", "Failed", "Error: InvalidImageName")

    def _pulled(self, container: Container, at: ContainerPlace) -> None:
        if container.part.pull in ("missing", "denied"):
            self._fail_to_pull(container, at)
            return
        took = seconds_text(container.part.pull_seconds)
        message = f'Successfully pulled image "{container.image}" in {took} ({took} including waiting). '
        self._tell(container, at, "Normal", "Pulled", f"{message}Image size: {_SIZE} bytes.")
        self._images.add((at.node, container.image))
        container.failures = 0
        self._make(container, at)

    def _fail_to_pull(self, container: Container, at: ContainerPlace) -> None:
        why = pull_error(container.image, container.part.pull)
        container.failures += 1
        container.pull_error = container.message = why
        container.reason = "ErrImagePull"
        container.step, container.due = (
            "pull-failed",
            self._after(min(self._pull_backoff(container) / 2, SYNC)),
        )
        self._tell(container, at, "Warning", "Failed", f'Failed to pull image "{container.image}": {why}')
        self._tell(container, at, "Warning", "Failed", "Error: ErrImagePull")

    def _wait_to_pull(self, container: Container, at: ContainerPlace) -> None:
        waits = self._pull_backoff(container)
        message = f'Back-off pulling image "{container.image}"'
        container.reason, container.message = (
            "ImagePullBackOff",
            f"{message}: ErrImagePull: {container.pull_error}",
        )
        container.step, container.due = "pull-waits", self._after(waits - min(waits / 2, SYNC))
        self._tell(container, at, "Normal", "BackOff", message)
        self._tell(container, at, "Warning", "Failed", "Error: ImagePullBackOff")

    @staticmethod
    def _pull_backoff(container: Container) -> float:
        return min(_FIRST_BACKOFF * 2.0 ** min(container.failures - 1, 10), _LONGEST_BACKOFF)

    # -- making and starting ----------------------------------------------------------------------

    def _make(self, container: Container, at: ContainerPlace) -> None:
        lack = lack_of_config(container.spec, namespace_of(at.pod), self._client.api_server.store.get)
        why = (
            lack.message
            if lack is not None
            else verify_run_as_non_root(at.pod, container.spec, container.part.image_user)
        )
        if why:
            container.reason, container.message = "CreateContainerConfigError", why
            container.tries += 1
            # After so many tries nobody is told any more; what is missing wakes the kubelet when it comes.
            container.step, container.due = (
                "unconfigured",
                self._after(SYNC if container.tries < _MOST_TOLD else _SELDOM_SECONDS),
            )
            self._tell(container, at, "Warning", "Failed", f"Error: {why}")
            return
        container.tries = 0
        again = bool(container.last)
        if container.reason not in ("CrashLoopBackOff", "PodInitializing"):
            container.reason, container.message = "ContainerCreating", ""
        container.step, container.due = "starting", self._after(0 if again else container.part.start_seconds)
        if again:
            self._start(container, at)

    def _start(self, container: Container, at: ContainerPlace) -> None:
        now = self._client.now
        if container.last:
            container.restarts += 1
        self._tell(container, at, "Normal", "Created", "Container created")
        self._tell(container, at, "Normal", "Started", "Container started")
        container.step, container.reason, container.message = "running", "", ""
        container.started_at, container.running_since = stamp(now), now
        container.ready = container.started = False
        container.begun = container.probe_at = container.exit_at = container.kill_at = None
        container.probe_failures = 0
        container.run = self._logs.begin(namespace_of(at.pod), name_of(at.pod), container.name)
        for line in container.part.log:
            if line.after_seconds <= 0:
                container.run.say(now, line.text)
        container.calls = container.part.calls
        if not probes.probe_of(container, "startup"):
            container.started = True
            soon = container.part.ready_seconds is not None and container.part.ready_seconds <= 1
            if soon and not probes.probe_of(container, "readiness"):
                container.ready = container.role != "init"  # without a probe, to run is to be ready
        container.due = now
        self._go_on(container, at)

    # -- running ----------------------------------------------------------------------------------

    def _go_on(self, container: Container, at: ContainerPlace) -> None:
        now = self._client.now
        if container.begun is None and container.exit_at is None:
            self._call(container, at)
        if container.probe_at is not None and container.probe_at <= now:
            self._look(container, at)
        if container.kill_at is not None and container.kill_at <= now and container.step == "running":
            probe = probes.probe_of(container, "liveness")
            why = probes.failure(container, probe, at.address, up=probes.is_up(container, now))
            message = f"Liveness probe failed: {why}"
            for _ in range(probes.threshold(probe)):
                self._tell(container, at, "Warning", "Unhealthy", message)
            self._kill(container, at, "liveness")
        if container.step == "running" and container.exit_at is not None and container.exit_at <= now:
            self._end(container, at, container.exit_code, container.exit_reason)
        if container.step == "running":
            dates = [container.probe_at, container.kill_at, container.exit_at]
            if container.begun is None and container.exit_at is None:
                dates.append(self._after(container.part.retry_seconds))
            container.due = min((when for when in dates if when is not None), default=None)

    def _call(self, container: Container, at: ContainerPlace) -> None:
        """Look for the services that it needs; when all answer, its own life begins."""
        now = self._client.now
        while container.calls:
            call = container.calls[0]
            why = no_answer(call, namespace_of(at.pod), self._client.api_server.store.get)
            if why:
                assert container.run is not None
                if container.part.on_no_answer == "exit":
                    container.run.say(now, f"failed to connect to {call}: {why}")
                    container.exit_at, container.exit_code, container.exit_reason = (
                        now + _MOMENT,
                        container.part.exit_code or 1,
                        "",
                    )
                else:
                    container.run.say(now, f"waiting for {call}: {why}")
                return
            container.calls = container.calls[1:]
        self._begin_life(container, now)

    def _begin_life(self, container: Container, now: datetime) -> None:
        part = container.part
        container.begun = now
        assert container.run is not None
        for line in part.log:
            if line.after_seconds > 0:
                container.run.say(now + timedelta(seconds=line.after_seconds), line.text)
        if part.runs_seconds is not None:
            killed = part.reason == "OOMKilled" and not part.exit_code
            container.exit_at = now + timedelta(seconds=part.runs_seconds)
            container.exit_code, container.exit_reason = 137 if killed else part.exit_code, part.reason
        full = now + timedelta(seconds=part.memory_seconds)
        if takes_too_much(container.spec, part.memory) and (
            container.exit_at is None or full < container.exit_at
        ):
            container.exit_at, container.exit_code, container.exit_reason = full, 137, "OOMKilled"
        container.kill_at = probes.killed_at(container)
        if not container.started:
            container.probe_at = probes.first_look(probes.probe_of(container, "startup"), now)
        elif not container.ready and container.role != "init":
            self._await_ready(container, now)

    def _await_ready(self, container: Container, now: datetime) -> None:
        probe = probes.probe_of(container, "readiness")
        if probe:
            container.probe_at = probes.first_look(probe, container.running_since or now)
            container.probe_at = max(container.probe_at, now)
        elif container.part.ready_seconds is not None and container.begun is not None:
            container.probe_at = container.begun + timedelta(seconds=container.part.ready_seconds)

    def _look(self, container: Container, at: ContainerPlace) -> None:
        """One probe, of its start or of its readiness."""
        now = self._client.now
        which = "readiness" if container.started else "startup"
        probe = probes.probe_of(container, which)
        container.probe_at = None
        if probes.answers(container, probe, now):
            if container.started:
                container.ready = True
                return
            container.started, container.probe_failures = True, 0
            if probes.probe_of(container, "readiness"):
                self._await_ready(container, now)
            else:
                container.ready = container.role != "init"
            return
        container.probe_failures += 1
        why = probes.failure(container, probe, at.address, up=probes.is_up(container, now))
        message = f"{which.capitalize()} probe failed: {why}"
        self._tell(container, at, "Warning", "Unhealthy", message)
        if which == "startup" and container.probe_failures >= probes.threshold(probe):
            self._kill(container, at, "startup")
            return
        often = probes.period(probe)
        if which == "readiness" and container.probe_failures > _MOST_TOLD:
            often = max(often, _SELDOM)  # nobody is told any more: the events of a pod are limited
            passes = probes.passes_at(container, probe)
            if passes is not None:
                often = min(often, max(passes - now, probes.period(probe)))
        container.probe_at = now + often

    def _kill(self, container: Container, at: ContainerPlace, which: str) -> None:
        self._tell(
            container,
            at,
            "Normal",
            "Killing",
            f"Container {container.name} failed {which} probe, will be restarted",
        )
        self._end(container, at, 137, "")

    # -- the end and what comes after -------------------------------------------------------------

    def _end(self, container: Container, at: ContainerPlace, code: int, reason: str) -> None:
        now = self._client.now
        container.ended = {
            "exitCode": code,
            "reason": reason or ("Error" if code else "Completed"),
            "startedAt": container.started_at,
            "finishedAt": stamp(now),
            "containerID": container.identity(text(dig(at.pod, "metadata", "uid"))),
        }
        if container.run is not None:
            container.run.end = now
            if code and container.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
                last_lines = "\n".join(container.run.lines(now)[-80:])[-_LAST_WORDS:]
                if last_lines:
                    container.ended["message"] = f"{last_lines}\n"
        container.ready = container.role == "init" and code == 0
        container.started = False
        container.probe_at = container.kill_at = container.exit_at = None
        if (
            container.running_since is not None
            and (now - container.running_since).total_seconds() > _FORGIVEN_AFTER
        ):
            container.backoff = 0
        policy = text(dig(at.pod, "spec", "restartPolicy"), "Always")
        if container.role == "init" and code == 0:
            container.step, container.due = "done", None
        elif restarts(
            container.spec, "OnFailure" if container.role == "init" and policy == "Always" else policy, code
        ):
            container.step, container.due = "ended", now + _MOMENT
        else:
            container.step, container.due = "done", None

    def _restart(self, container: Container, at: ContainerPlace) -> None:
        if not container.backoff:
            container.backoff = _FIRST_BACKOFF
            self._begin(container, at)
            return
        waits = container.backoff
        container.backoff = min(waits * 2, _LONGEST_BACKOFF)
        container.last, container.ended = container.ended, {}
        container.reason = "CrashLoopBackOff"
        title = pod_title(at.pod)
        container.message = (
            f"back-off {seconds_text(waits)} restarting failed container={container.name} pod={title}"
        )
        container.step, container.due = "crash-waits", self._after(waits) - _MOMENT
        message = f"Back-off restarting failed container {container.name} in pod {title}"
        self._tell(container, at, "Warning", "BackOff", message)

    def _tell(self, container: Container, at: ContainerPlace, type: str, reason: str, message: str) -> None:
        self._client.event(
            at.pod, type, reason, message, "kubelet", host=at.node, field_path=container.field_path
        )

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
    return bool(memory) and not isinstance(limit, Missing) and milli_value(memory) > milli_value(limit)


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
