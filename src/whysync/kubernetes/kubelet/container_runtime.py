"""Container runtime: pulls the image of a container, creates, starts, probes, terminates and restarts it.

Mirrors the kubelet's `startContainer`, image manager, prober and back-offs, Kubernetes 1.36, with their
events. A container is a state machine (`Container.step`) that advances when `Container.due` is reached.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync.golang.duration import seconds_text
from whysync.golang.quantity import milli_value
from whysync.json_tree import Json, Missing, Object, dig, text
from whysync.kubernetes.controllers.client import Client, name_of, namespace_of
from whysync.kubernetes.controllers.conditions import format_time
from whysync.kubernetes.kubelet import probes
from whysync.kubernetes.kubelet.container_behavior import ContainerBehavior, connection_error
from whysync.kubernetes.kubelet.container_status import Container, full_image_name, is_image_name, pod_title
from whysync.kubernetes.kubelet.logs import ContainerLogs
from whysync.kubernetes.kubelet.pod_dependencies import missing_env_source
from whysync.kubernetes.kubelet.pod_status import should_restart

_INITIAL_BACKOFF: Final = 10.0
_MAX_BACKOFF: Final = 300.0
SYNC_SECONDS: Final = 12.0
"""How often the kubelet syncs a pod that it could not start."""
_BACKOFF_RESET_SECONDS: Final = 600.0
_ONE_SECOND: Final = timedelta(seconds=1)
_IMAGE_SIZE: Final = 52_428_800
_MAX_EVENTS: Final = 25
_SLOW_RETRY_SECONDS: Final = 300.0
_SLOW_RETRY: Final = timedelta(seconds=_SLOW_RETRY_SECONDS)
_MAX_TERMINATION_MESSAGE: Final = 2048


class PodContext(msgspec.Struct):
    """The pod of a container as it is now, with its node and address."""

    pod: Object
    node: str
    pod_ip: str


class ContainerRuntime:
    def __init__(self, client: Client, behavior: ContainerBehavior, logs: ContainerLogs) -> None:
        self._client = client
        self._behavior = behavior
        self._logs = logs
        self._images: set[tuple[str, str]] = set()

    def advance(self, container: Container, context: PodContext) -> bool:
        """Take the next step if it is due; true if there was one."""
        now = self._client.now
        if container.step == "idle":
            self._ensure_image_exists(container, context)
            return True
        if container.due is None or container.due > now:
            return False
        match container.step:
            case "pulling":
                self._finish_pull(container, context)
            case "pull-failed":
                self._back_off_pull(container, context)
            case "pull-back-off" | "config-error" | "crash-loop-back-off":
                self._ensure_image_exists(container, context)
            case "starting":
                self._start_container(container, context)
            case "running":
                self._update_running(container, context)
            case "restarting":
                self._restart_or_back_off(container, context)
            case "done":
                container.due = None
        return True

    def stop(self, container: Container, context: PodContext, code: int) -> None:
        """Terminate the container if it is running, without a restart."""
        if container.step == "running":
            self._terminate(container, context, code, "")
        container.step, container.due = "done", None

    # -- images -----------------------------------------------------------------------------------

    def _ensure_image_exists(self, container: Container, context: PodContext) -> None:
        container.behavior = self._behavior.of_next_run(context.pod, container.spec, container.role)
        if container.terminated:
            container.last_terminated, container.terminated = container.terminated, {}
        container.reason = container.reason or "ContainerCreating"
        if not is_image_name(container.image):
            self._fail_invalid_image_name(container, context)
            return
        policy = container.spec.get("imagePullPolicy")
        present = (context.node, container.image) in self._images or policy == "Never"
        if present and policy != "Always":
            image = f'Container image "{container.image}"'
            message = f"{image} already present on machine and can be accessed by the pod"
            self._record_event(container, context, "Normal", "Pulled", message)
            self._create_container(container, context)
            return
        self._record_event(container, context, "Normal", "Pulling", f'Pulling image "{container.image}"')
        seconds = container.behavior.pull_seconds
        if container.behavior.pull == "slow":
            seconds = max(seconds, 120.0)
        if present and not container.behavior.pull:
            seconds = 0
        container.step, container.due = "pulling", self._after(seconds)
        if not seconds:
            self._finish_pull(container, context)

    def _fail_invalid_image_name(self, container: Container, context: PodContext) -> None:
        problem = f'couldn\'t parse image name "{container.image}": invalid reference format'
        container.reason = "InvalidImageName"
        container.message = f'Failed to apply default image tag "{container.image}": {problem}'
        container.step, container.due = "pull-back-off", self._after(SYNC_SECONDS)
        self._record_event(container, context, "Warning", "InspectFailed", container.message)
        self._record_event(container, context, "Warning", "Failed", "Error: InvalidImageName")

    def _finish_pull(self, container: Container, context: PodContext) -> None:
        if container.behavior.pull in ("missing", "denied"):
            self._fail_pull(container, context)
            return
        took = seconds_text(container.behavior.pull_seconds)
        message = f'Successfully pulled image "{container.image}" in {took} ({took} including waiting). '
        self._record_event(
            container, context, "Normal", "Pulled", f"{message}Image size: {_IMAGE_SIZE} bytes."
        )
        self._images.add((context.node, container.image))
        container.pull_failures = 0
        self._create_container(container, context)

    def _fail_pull(self, container: Container, context: PodContext) -> None:
        error = pull_error(container.image, container.behavior.pull)
        container.pull_failures += 1
        container.pull_error = container.message = error
        container.reason = "ErrImagePull"
        container.step, container.due = (
            "pull-failed",
            self._after(min(self._pull_backoff(container) / 2, SYNC_SECONDS)),
        )
        message = f'Failed to pull image "{container.image}": {error}'
        self._record_event(container, context, "Warning", "Failed", message)
        self._record_event(container, context, "Warning", "Failed", "Error: ErrImagePull")

    def _back_off_pull(self, container: Container, context: PodContext) -> None:
        backoff = self._pull_backoff(container)
        message = f'Back-off pulling image "{container.image}"'
        container.reason, container.message = (
            "ImagePullBackOff",
            f"{message}: ErrImagePull: {container.pull_error}",
        )
        container.step, container.due = "pull-back-off", self._after(backoff - min(backoff / 2, SYNC_SECONDS))
        self._record_event(container, context, "Normal", "BackOff", message)
        self._record_event(container, context, "Warning", "Failed", "Error: ImagePullBackOff")

    @staticmethod
    def _pull_backoff(container: Container) -> float:
        return min(_INITIAL_BACKOFF * 2.0 ** min(container.pull_failures - 1, 10), _MAX_BACKOFF)

    # -- creating and starting --------------------------------------------------------------------

    def _create_container(self, container: Container, context: PodContext) -> None:
        error = missing_env_source(
            container.spec, namespace_of(context.pod), self._client.api_server.store.get
        ) or verify_run_as_non_root(context.pod, container.spec, container.behavior.image_user)
        if error:
            container.reason, container.message = "CreateContainerConfigError", error
            container.config_failures += 1
            # Further events would be dropped as spam, so retry less often; a new Secret or ConfigMap retries
            # at once (`Kubelet._retry_missing_config`).
            container.step, container.due = (
                "config-error",
                self._after(SYNC_SECONDS if container.config_failures < _MAX_EVENTS else _SLOW_RETRY_SECONDS),
            )
            self._record_event(container, context, "Warning", "Failed", f"Error: {error}")
            return
        container.config_failures = 0
        is_restart = bool(container.last_terminated)
        if container.reason not in ("CrashLoopBackOff", "PodInitializing"):
            container.reason, container.message = "ContainerCreating", ""
        container.step, container.due = (
            "starting",
            self._after(0 if is_restart else container.behavior.start_seconds),
        )
        if is_restart:
            self._start_container(container, context)

    def _start_container(self, container: Container, context: PodContext) -> None:
        now = self._client.now
        if container.last_terminated:
            container.restart_count += 1
        self._record_event(container, context, "Normal", "Created", "Container created")
        self._record_event(container, context, "Normal", "Started", "Container started")
        container.step, container.reason, container.message = "running", "", ""
        container.started_at, container.running_since = format_time(now), now
        container.ready = container.started = False
        container.connected_at = container.probe_at = container.exit_at = container.kill_at = None
        container.probe_failures = 0
        container.run = self._logs.begin(namespace_of(context.pod), name_of(context.pod), container.name)
        for line in container.behavior.log:
            if line.after_seconds <= 0:
                container.run.print(now, line.text)
        container.pending_calls = container.behavior.calls
        if not probes.probe_of(container, "startup"):
            container.started = True
            soon = container.behavior.ready_seconds is not None and container.behavior.ready_seconds <= 1
            if soon and not probes.probe_of(container, "readiness"):
                container.ready = container.role != "init"  # without a probe, a running container is ready
        container.due = now
        self._update_running(container, context)

    # -- running ----------------------------------------------------------------------------------

    def _update_running(self, container: Container, context: PodContext) -> None:
        now = self._client.now
        if container.connected_at is None and container.exit_at is None:
            self._connect(container, context)
        if container.probe_at is not None and container.probe_at <= now:
            self._run_probe(container, context)
        if container.kill_at is not None and container.kill_at <= now and container.step == "running":
            probe = probes.probe_of(container, "liveness")
            output = probes.failure_output(
                container, probe, context.pod_ip, listening=probes.is_listening(container, now)
            )
            message = f"Liveness probe failed: {output}"
            for _ in range(probes.threshold(probe)):
                self._record_event(container, context, "Warning", "Unhealthy", message)
            self._kill_container(container, context, "liveness")
        if container.step == "running" and container.exit_at is not None and container.exit_at <= now:
            self._terminate(container, context, container.exit_code, container.exit_reason)
        if container.step == "running":
            wakeups = [container.probe_at, container.kill_at, container.exit_at]
            if container.connected_at is None and container.exit_at is None:
                wakeups.append(self._after(container.behavior.retry_seconds))
            container.due = min((when for when in wakeups if when is not None), default=None)

    def _connect(self, container: Container, context: PodContext) -> None:
        """Connect to the services that the program calls at its start; continue when all are reachable."""
        now = self._client.now
        while container.pending_calls:
            call = container.pending_calls[0]
            error = connection_error(call, namespace_of(context.pod), self._client.api_server.store.get)
            if error:
                assert container.run is not None
                if container.behavior.on_no_answer == "exit":
                    container.run.print(now, f"failed to connect to {call}: {error}")
                    container.exit_at, container.exit_code, container.exit_reason = (
                        now + _ONE_SECOND,
                        container.behavior.exit_code or 1,
                        "",
                    )
                else:
                    container.run.print(now, f"waiting for {call}: {error}")
                return
            container.pending_calls = container.pending_calls[1:]
        self._on_connected(container, now)

    def _on_connected(self, container: Container, now: datetime) -> None:
        behavior = container.behavior
        container.connected_at = now
        assert container.run is not None
        for line in behavior.log:
            if line.after_seconds > 0:
                container.run.print(now + timedelta(seconds=line.after_seconds), line.text)
        if behavior.runs_seconds is not None:
            oom_killed = behavior.reason == "OOMKilled" and not behavior.exit_code
            container.exit_at = now + timedelta(seconds=behavior.runs_seconds)
            container.exit_code = 137 if oom_killed else behavior.exit_code
            container.exit_reason = behavior.reason
        oom_at = now + timedelta(seconds=behavior.memory_seconds)
        if exceeds_memory_limit(container.spec, behavior.memory) and (
            container.exit_at is None or oom_at < container.exit_at
        ):
            container.exit_at, container.exit_code, container.exit_reason = oom_at, 137, "OOMKilled"
        container.kill_at = probes.liveness_kill_at(container)
        if not container.started:
            container.probe_at = probes.first_probe_at(probes.probe_of(container, "startup"), now)
        elif not container.ready and container.role != "init":
            self._schedule_readiness_probe(container, now)

    def _schedule_readiness_probe(self, container: Container, now: datetime) -> None:
        probe = probes.probe_of(container, "readiness")
        if probe:
            container.probe_at = probes.first_probe_at(probe, container.running_since or now)
            container.probe_at = max(container.probe_at, now)
        elif container.behavior.ready_seconds is not None and container.connected_at is not None:
            container.probe_at = container.connected_at + timedelta(seconds=container.behavior.ready_seconds)

    def _run_probe(self, container: Container, context: PodContext) -> None:
        """Run the startup probe, or the readiness probe once the container has started."""
        now = self._client.now
        probe_type = "readiness" if container.started else "startup"
        probe = probes.probe_of(container, probe_type)
        container.probe_at = None
        if probes.passes_now(container, probe, now):
            if container.started:
                container.ready = True
                return
            container.started, container.probe_failures = True, 0
            if probes.probe_of(container, "readiness"):
                self._schedule_readiness_probe(container, now)
            else:
                container.ready = container.role != "init"
            return
        container.probe_failures += 1
        output = probes.failure_output(
            container, probe, context.pod_ip, listening=probes.is_listening(container, now)
        )
        message = f"{probe_type.capitalize()} probe failed: {output}"
        self._record_event(container, context, "Warning", "Unhealthy", message)
        if probe_type == "startup" and container.probe_failures >= probes.threshold(probe):
            self._kill_container(container, context, "startup")
            return
        interval = probes.period(probe)
        if probe_type == "readiness" and container.probe_failures > _MAX_EVENTS:
            interval = max(interval, _SLOW_RETRY)  # further events would be dropped as spam
            passes_at = probes.passes_at(container, probe)
            if passes_at is not None:
                interval = min(interval, max(passes_at - now, probes.period(probe)))
        container.probe_at = now + interval

    def _kill_container(self, container: Container, context: PodContext, probe_type: str) -> None:
        message = f"Container {container.name} failed {probe_type} probe, will be restarted"
        self._record_event(container, context, "Normal", "Killing", message)
        self._terminate(container, context, 137, "")

    # -- termination and restart ------------------------------------------------------------------

    def _terminate(self, container: Container, context: PodContext, code: int, reason: str) -> None:
        now = self._client.now
        container.terminated = {
            "exitCode": code,
            "reason": reason or ("Error" if code else "Completed"),
            "startedAt": container.started_at,
            "finishedAt": format_time(now),
            "containerID": container.container_id(text(dig(context.pod, "metadata", "uid"))),
        }
        if container.run is not None:
            container.run.end = now
            if code and container.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
                last_lines = "\n".join(container.run.lines(now)[-80:])[-_MAX_TERMINATION_MESSAGE:]
                if last_lines:
                    container.terminated["message"] = f"{last_lines}\n"
        container.ready = container.role == "init" and code == 0
        container.started = False
        container.probe_at = container.kill_at = container.exit_at = None
        if (
            container.running_since is not None
            and (now - container.running_since).total_seconds() > _BACKOFF_RESET_SECONDS
        ):
            container.backoff = 0
        policy = text(dig(context.pod, "spec", "restartPolicy"), "Always")
        if container.role == "init" and code == 0:
            container.step, container.due = "done", None
        elif should_restart(
            container.spec, "OnFailure" if container.role == "init" and policy == "Always" else policy, code
        ):
            container.step, container.due = "restarting", now + _ONE_SECOND
        else:
            container.step, container.due = "done", None

    def _restart_or_back_off(self, container: Container, context: PodContext) -> None:
        if not container.backoff:
            container.backoff = _INITIAL_BACKOFF
            self._ensure_image_exists(container, context)
            return
        backoff = container.backoff
        container.backoff = min(backoff * 2, _MAX_BACKOFF)
        container.last_terminated, container.terminated = container.terminated, {}
        container.reason = "CrashLoopBackOff"
        title = pod_title(context.pod)
        container.message = (
            f"back-off {seconds_text(backoff)} restarting failed container={container.name} pod={title}"
        )
        container.step, container.due = "crash-loop-back-off", self._after(backoff) - _ONE_SECOND
        message = f"Back-off restarting failed container {container.name} in pod {title}"
        self._record_event(container, context, "Warning", "BackOff", message)

    def _record_event(
        self, container: Container, context: PodContext, type: str, reason: str, message: str
    ) -> None:
        self._client.event(
            context.pod, type, reason, message, "kubelet", host=context.node, field_path=container.field_path
        )

    def _after(self, seconds: float) -> datetime:
        return self._client.now + timedelta(seconds=seconds)


def pull_error(image: str, failure: str) -> str:
    """containerd's error; `failure` is `missing` or `denied`, as in `PodBehavior.pull`."""
    full = full_image_name(image)
    unresolved = f'failed to pull and unpack image "{full}": failed to resolve reference "{full}"'
    if failure == "denied":
        return (
            f"rpc error: code = Unknown desc = {unresolved}: pull access denied, repository does not exist "
            "or may require authorization: server message: insufficient_scope: authorization failed"
        )
    return f"rpc error: code = NotFound desc = {unresolved}: {full}: not found"


def exceeds_memory_limit(container: Object, memory: str) -> bool:
    """Does the container use more memory than its limit? Nodes never run out of memory."""
    limit = dig(container, "resources", "limits", "memory")
    return bool(memory) and not isinstance(limit, Missing) and milli_value(memory) > milli_value(limit)


def verify_run_as_non_root(pod: Object, container: Object, image_user: str) -> str:
    """Why a container with runAsNonRoot is not created; empty if it is. Mirrors `verifyRunAsNonRoot`.

    The user in the spec takes precedence over the user of the image.
    """
    if _effective_security_field(pod, container, "runAsNonRoot") is not True:
        return ""
    about = f'(pod: "{pod_title(pod)}", container: {text(container.get("name"))})'
    user = _effective_security_field(pod, container, "runAsUser")
    if not isinstance(user, Missing | None):
        return f"container's runAsUser breaks non-root policy {about}" if user == 0 else ""
    if image_user == "0":
        return f"container has runAsNonRoot and image will run as root {about}"
    if image_user and not image_user.isdecimal():
        unsure = "cannot verify user is non-root"
        return f"container has runAsNonRoot and image has non-numeric user ({image_user}), {unsure} {about}"
    return ""


def _effective_security_field(pod: Object, container: Object, field: str) -> Json | Missing:
    """A field of the securityContext; the container's takes precedence over the pod's."""
    value = dig(container, "securityContext", field)
    return dig(pod, "spec", "securityContext", field) if isinstance(value, Missing | None) else value
