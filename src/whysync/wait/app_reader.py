"""Reads the apps that `whysync wait` waits for, each time it checks them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from whysync import app
from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.errors import SourceError
from whysync.wait.goal import Standing
from whysync.wait.loop import Outcome


class AppReader:
    """Each look asks anew, without logs; the last one, for the diagnosis, with all there is."""

    def __init__(self, source: app.FactSource, names: Sequence[str]) -> None:
        self._source = source
        self._names = names
        self._first = True

    def __call__(self, left: float) -> tuple[Case, ...]:
        source = _within(self._source, left)
        if source.selection is not None:
            refresh = source.selection.refresh if self._first else ""
            source = replace(source, selection=replace(source.selection, logs=False, refresh=refresh))
        cases = app.cases(app.read(source), self._names)
        self._first = False
        return cases

    def closely(self, outcome: Outcome) -> tuple[Case, ...]:
        """Of the apps that are not there; what was seen last, if the source is silent now."""
        source = self._source
        if source.selection is not None:
            source = replace(_within(source, 120.0), selection=replace(source.selection, refresh=""))
        late = [
            case.app.qualified_name
            for case, apart in zip(outcome.cases, outcome.apart, strict=True)
            if apart.standing is not Standing.DONE
        ]
        try:
            return app.cases(app.read(source), late)
        except SourceError:
            return tuple(case for case in outcome.cases if case.app.qualified_name in late)


def _within(source: app.FactSource, seconds: float) -> app.FactSource:
    """A server that hangs must not make the waiting longer than was asked for."""
    server, kube, deadline = source.server, source.kube, Deadline.after(seconds)
    if server is not None:
        server = replace(server, limits=replace(server.limits, deadline=deadline))
    if kube is not None:
        kube = replace(kube, limits=replace(kube.limits, deadline=deadline))
    return replace(source, server=server, kube=kube)
