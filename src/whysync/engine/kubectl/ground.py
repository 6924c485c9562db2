"""`ClusterGround`: where a sync acts, on anything that answers as an API server does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from whysync.cluster.protocol import Cluster
from whysync.contracts.ref import Ref
from whysync.contracts.tree import Json, Object
from whysync.engine.operation.ground import ApiResource, Mode
from whysync.semantics.health.assess import Assessment, assess
from whysync.semantics.sync import Propagation


def _no_time(seconds: float) -> None: ...


class ClusterGround:
    """Mirrors what gitops-engine asks of a cluster in a sync, Argo CD 3.6.

    - `user` is whom Argo CD impersonates (`system:serviceaccount:ns:name`); empty: itself.
    - `health` judges objects; `None` where Argo CD has no opinion.
    - `wait(seconds)` lets time pass while kubectl waits; on a model it may do nothing.
    - `wave_delay` is `ARGOCD_SYNC_WAVE_DELAY`.

    `pause` does not wait: `not_before` tells when the next step may come at the earliest.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        user: str = "",
        health: Callable[[Object], Assessment | None] = assess,
        wait: Callable[[float], None] = _no_time,
        wave_delay: float = 2,
    ) -> None:
        self.cluster = cluster
        self.user = user
        self.not_before: datetime | None = None
        self._health = health
        self._wait = wait
        self._wave_delay = wave_delay

    def discover(self, api_version: str, kind: str, verb: str) -> ApiResource:
        raise NotImplementedError

    def kinds(self) -> Sequence[Ref]:
        raise NotImplementedError

    def get(self, ref: Ref) -> Object:
        raise NotImplementedError

    def apply(self, obj: Object, mode: Mode) -> str:
        raise NotImplementedError

    def create(self, obj: Object, mode: Mode) -> str:
        raise NotImplementedError

    def replace(self, obj: Object, mode: Mode) -> str:
        raise NotImplementedError

    def update(self, obj: Object, *, dry_run: bool) -> None:
        raise NotImplementedError

    def patch(self, ref: Ref, patch: list[Json]) -> None:
        raise NotImplementedError

    def delete(self, ref: Ref, propagation: Propagation) -> None:
        raise NotImplementedError

    def health(self, obj: Object) -> Assessment | None:
        return self._health(obj)

    def established(self, definition: str) -> None:
        raise NotImplementedError

    def pause(self, phase: str, wave: int, *, final: bool) -> None:  # noqa: ARG002
        if not final:
            self.not_before = self.cluster.now() + timedelta(seconds=self._wave_delay)
