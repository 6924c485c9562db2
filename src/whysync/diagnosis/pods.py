"""Pods of a workload: the states of their containers, and the log line with the root cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.sentences import one_line
from whysync.json_tree import fields, integer, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.logs import LogFailure, log_failure

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_MAX_DEPTH = 5


class ContainerHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The states of one container; `pointer` is its entry in the Pod's status."""

    name: str
    pointer: str
    init: bool
    restarts: int
    waiting: str
    waiting_message: str
    exit_code: int | None
    exit_reason: str
    exit_message: str
    image: str

    @property
    def last_words(self) -> str:
        """Of its termination message, which is often the end of its log, the line that reports the failure;
        else the last line."""
        lines = [line.strip() for line in self.exit_message.splitlines() if line.strip()]
        failure = log_failure(lines)
        if failure is not None:
            return one_line(failure.text)
        return one_line(lines[-1]) if lines else ""

    @property
    def is_failing(self) -> bool:
        return bool(self.waiting and self.waiting not in _STARTING) or self.exit_code not in (None, 0)


# Reasons of a container that is starting normally.
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})


class PodHistory(msgspec.Struct, frozen=True, kw_only=True):
    pod: Manifest
    containers: tuple[ContainerHistory, ...]
    logs: tuple[Log, ...]

    @property
    def failing(self) -> tuple[ContainerHistory, ...]:
        return tuple(container for container in self.containers if container.is_failing)

    def log_of(self, container: ContainerHistory) -> Log | None:
        """The log of the failed run: the previous one if available, else the current one."""
        own = [log for log in self.logs if log.container == container.name]
        return next((log for log in own if log.previous), own[0] if own else None)


class LogRootCause(msgspec.Struct, frozen=True, kw_only=True):
    """The line of a log that names the root cause."""

    log: Log
    failure: LogFailure


def pod_histories(case: Case, ref: Ref) -> tuple[PodHistory, ...]:
    histories = [
        PodHistory(pod=pod, containers=tuple(_containers(pod)), logs=case.logs_of(pod.ref))
        for pod in _pods_below(case, ref)
    ]
    return tuple(sorted(histories, key=lambda history: (-len(history.failing), history.pod.ref)))


def log_root_cause(logs: tuple[Log, ...]) -> LogRootCause | None:
    """The root cause in the logs; logs of the previous run come first."""
    for log in sorted(logs, key=lambda log: not log.previous):
        failure = log_failure(log.lines)
        if failure is not None:
            return LogRootCause(log=log, failure=failure)
    return None


def logs_below(case: Case, ref: Ref) -> tuple[Log, ...]:
    """The logs of a workload's Pods; if the Pods are unknown, of Pods with its name as prefix."""
    pods = {pod.ref.name for pod in _pods_below(case, ref)}
    return tuple(
        log
        for log in case.index.logs_by_namespace.get(ref.namespace, ())
        if (log.pod in pods or (not pods and (log.pod == ref.name or log.pod.startswith(f"{ref.name}-"))))
    )


def _pods_below(case: Case, ref: Ref, depth: int = 0) -> Iterator[Manifest]:
    if ref.kind == "Pod":
        pod = case.live_of(ref.key)
        if pod is not None:
            yield pod
        return
    if depth < _MAX_DEPTH:
        for child in case.owned_by(ref):
            yield from _pods_below(case, child.ref, depth + 1)


def _containers(pod: Manifest) -> Iterator[ContainerHistory]:
    for group, init in (("initContainerStatuses", True), ("containerStatuses", False)):
        for index, raw in enumerate(items(pod.status.get(group))):
            status = fields(raw)
            state, last = fields(status.get("state")), fields(status.get("lastState"))
            waiting = fields(state.get("waiting"))
            ended = fields(state.get("terminated")) or fields(last.get("terminated"))
            yield ContainerHistory(
                name=text(status.get("name")),
                pointer=f"/status/{group}/{index}",
                init=init,
                restarts=integer(status.get("restartCount")),
                waiting=text(waiting.get("reason")),
                waiting_message=text(waiting.get("message")),
                exit_code=integer(ended.get("exitCode")) if ended else None,
                exit_reason=text(ended.get("reason")),
                exit_message=text(ended.get("message")),
                image=text(status.get("image")),
            )
