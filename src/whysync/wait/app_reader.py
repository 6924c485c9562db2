"""Reads the apps that `whysync wait` waits for, each time it checks them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from whysync import app
from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.errors import SourceError
from whysync.wait.goal import WaitState
from whysync.wait.loop import Outcome


class AppReader:
    """Reads the apps at each poll without logs, and at the end, for the diagnosis, with logs."""

    def __init__(self, source: app.FactSource, names: Sequence[str]) -> None:
        self._source = source
        self._names = names
        self._first = True

    def __call__(self, remaining: float) -> tuple[Case, ...]:
        source = _with_deadline(self._source, remaining)
        if source.selection is not None:
            refresh = source.selection.refresh if self._first else ""
            source = replace(source, selection=replace(source.selection, logs=False, refresh=refresh))
        cases = app.cases(app.read(source), self._names)
        self._first = False
        return cases

    def final_cases(self, outcome: Outcome) -> tuple[Case, ...]:
        """The apps that did not reach the goal, read completely; the last poll if the source fails now."""
        source = self._source
        if source.selection is not None:
            source = replace(_with_deadline(source, 120.0), selection=replace(source.selection, refresh=""))
        unfinished = [
            case.qualified_name
            for case, distance in zip(outcome.cases, outcome.distances, strict=True)
            if distance.state is not WaitState.DONE
        ]
        try:
            return app.cases(app.read(source), unfinished)
        except SourceError:
            return tuple(case for case in outcome.cases if case.qualified_name in unfinished)


def _with_deadline(source: app.FactSource, seconds: float) -> app.FactSource:
    """Limit the time of requests, so that a hanging server does not extend the wait."""
    server, kube, deadline = source.server, source.kube, Deadline.after(seconds)
    if server is not None:
        server = replace(server, limits=replace(server.limits, deadline=deadline))
    if kube is not None:
        kube = replace(kube, limits=replace(kube.limits, deadline=deadline))
    return replace(source, server=server, kube=kube)
