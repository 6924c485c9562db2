"""Container logs: the lines of the current and of the previous run, as in `kubectl logs`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.clock import Clock


class Run(msgspec.Struct):
    """One run of a container. Lines may be added ahead of time; they are shown once they are printed."""

    printed_at: list[tuple[datetime, str]] = msgspec.field(default_factory=list[tuple[datetime, str]])
    end: datetime | None = None

    def print(self, when: datetime, line: str) -> None:
        self.printed_at.append((when, line))

    def lines(self, now: datetime) -> list[str]:
        until = now if self.end is None else min(now, self.end)
        printed = [entry for entry in self.printed_at if entry[0] <= until]
        return [line for _, line in sorted(printed, key=lambda entry: entry[0])]


_Key = tuple[str, str, str]
"""Namespace, pod, container."""


class ContainerLogs:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: dict[_Key, tuple[Run | None, Run]] = {}
        self._of_pod: dict[tuple[str, str], list[_Key]] = {}

    def lines(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> list[str]:
        previous_run, current_run = self._runs.get((namespace, pod, container), (None, None))
        run = previous_run if previous else current_run
        return [] if run is None else run.lines(self._clock.now)

    def all(self) -> list[Log]:
        """Every log that has lines, by namespace, pod, container; the current run before the previous."""
        logs: list[Log] = []
        for namespace, pod, container in sorted(self._runs):
            for previous in (False, True):
                lines = self.lines(namespace, pod, container, previous=previous)
                if lines:
                    logs.append(
                        Log(
                            namespace=namespace,
                            pod=pod,
                            container=container,
                            lines=tuple(lines),
                            previous=previous,
                        )
                    )
        return logs

    def begin(self, namespace: str, pod: str, container: str) -> Run:
        """Start a new run; the one before it becomes the previous run."""
        key = (namespace, pod, container)
        run = Run()
        old = self._runs.get(key)
        if old is None:
            self._of_pod.setdefault((namespace, pod), []).append(key)
        self._runs[key] = (None if old is None else old[1], run)
        return run

    def forget(self, namespace: str, pod: str) -> None:
        """Delete the logs of a deleted pod."""
        for key in self._of_pod.pop((namespace, pod), []):
            self._runs.pop(key, None)
