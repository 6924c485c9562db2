"""A whole world in memory: clusters with their controllers, Argo CD, whoever else acts, and one clock.

simulation = Simulation(applications=[app], projects=[project], repositories=[git])
simulation.run(timedelta(minutes=10))
snapshot = simulation.snapshot()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from whysync.cluster.model import Clock, Model
from whysync.cluster.timeline import Participant
from whysync.contracts.snapshot import Snapshot
from whysync.contracts.tree import Object
from whysync.engine.argocd import ArgoCD, Destination, Repository


class Simulation:
    """`destinations` default to one empty cluster; all share `clock`. `life` are the controllers of each."""

    clock: Clock
    model: Model
    """Of the first destination, where there is but one mostly."""
    argocd: ArgoCD
    participants: list[Participant]

    def __init__(
        self,
        repository: Repository,
        *,
        applications: Iterable[Object],
        projects: Iterable[Object] = (),
        config_maps: Iterable[Object] = (),
        destinations: Sequence[Destination] = (),
        clock: Clock | None = None,
        life: Callable[[Model], Participant] | None = None,
        others: Iterable[Participant] = (),
    ) -> None:
        raise NotImplementedError

    @classmethod
    def of(
        cls,
        *,
        application: Object,
        desired: Iterable[Object],
        live: Iterable[Object],
        now: datetime,
        projects: Iterable[Object] = (),
        config_maps: Iterable[Object] = (),
    ) -> Simulation:
        """A world as it was found: the Application with its present status, its live objects as they are, and
        `desired` as what its present commit renders to."""
        raise NotImplementedError

    def run(self, duration: timedelta) -> None:
        raise NotImplementedError

    def until(self, holds: Callable[[], bool], limit: timedelta) -> bool:
        """Let time pass until something holds; false where `limit` is over first."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        """What a bundle collected now would hold."""
        raise NotImplementedError
