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

    def __init__(self, place: app.FactSource, names: Sequence[str]) -> None:
        self._place = place
        self._names = names
        self._first = True

    def __call__(self, left: float) -> tuple[Case, ...]:
        place = _within(self._place, left)
        if place.wanted is not None:
            refresh = place.wanted.refresh if self._first else ""
            place = replace(place, wanted=replace(place.wanted, logs=False, refresh=refresh))
        cases = app.cases(app.read(place), self._names)
        self._first = False
        return cases

    def closely(self, outcome: Outcome) -> tuple[Case, ...]:
        """Of the apps that are not there; what was seen last, if the source is silent now."""
        place = self._place
        if place.wanted is not None:
            place = replace(_within(place, 120.0), wanted=replace(place.wanted, refresh=""))
        late = [
            case.app.qualified_name
            for case, apart in zip(outcome.cases, outcome.apart, strict=True)
            if apart.standing is not Standing.DONE
        ]
        try:
            return app.cases(app.read(place), late)
        except SourceError:
            return tuple(case for case in outcome.cases if case.app.qualified_name in late)


def _within(place: app.FactSource, seconds: float) -> app.FactSource:
    """A server that hangs must not make the waiting longer than was asked for."""
    server, kube, deadline = place.server, place.kube, Deadline.after(seconds)
    if server is not None:
        server = replace(server, limits=replace(server.limits, deadline=deadline))
    if kube is not None:
        kube = replace(kube, limits=replace(kube.limits, deadline=deadline))
    return replace(place, server=server, kube=kube)
