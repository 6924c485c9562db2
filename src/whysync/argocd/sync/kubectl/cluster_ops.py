"""`KubectlClusterOps`: implements `ClusterOps` with kubectl and a dynamic client on an API server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from whysync.argocd.health.assess import Assessment, assess
from whysync.argocd.sync.cluster_ops import ApiResource, Mode, Reason, Refused
from whysync.argocd.sync.kubectl.apply import Apply
from whysync.argocd.sync.kubectl.auth_reconcile import RBAC, reconcile
from whysync.argocd.sync.kubectl.client import Client, delete_options, refused
from whysync.argocd.sync.kubectl.replace import create, replace
from whysync.argocd.sync.kubectl.server_side_apply import apply_server_side
from whysync.argocd.sync.kubectl.target import target_of
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, ServedKind

_TOO_DEEP: Final = "exceeded max depth"

T = TypeVar("T")


class KubectlClusterOps:
    """Mirrors the requests of gitops-engine in a sync, Argo CD 3.6.

    - `user` is the impersonated user (`system:serviceaccount:ns:name`); empty means Argo CD itself.
    - `health` assesses an object; `None` if Argo CD has no check for its kind.
    - `wave_delay` is `ARGOCD_SYNC_WAVE_DELAY`.

    No time passes while kubectl waits, so whatever is not created or deleted at once times out.
    `ensureCRDReady` is left out because the API server establishes a CRD at once. `pause` does not wait:
    `not_before` is the earliest time of the next step.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        user: str = "",
        health: Callable[[Object], Assessment | None] = assess,
        wave_delay: float = 2,
    ) -> None:
        self.cluster = cluster
        self.user = user
        self.not_before: datetime | None = None
        self._client = Client(cluster, user)
        self._health = health
        self._wave_delay = wave_delay

    # -- discovery ----------------------------------------------------------------------------------

    def discover(self, api_version: str, kind: str, verb: str) -> ApiResource:  # noqa: ARG002  (of ClusterOps)
        """Differs: every served kind supports every verb."""
        return ApiResource(namespaced=self._served(api_version, kind).namespaced)

    def kinds(self) -> Sequence[Ref]:
        return [
            Ref(group=kind.group, version=kind.version, kind=kind.kind, name="")
            for kind in self.cluster.kinds()
        ]

    def _served(self, api_version: str, kind: str) -> ServedKind:
        """Mirrors `ServerResourceForGroupVersionKind`; the core group always exists."""
        served = self._client.kind(api_version, kind)
        if served is not None:
            return served
        if api_version != "v1" and not self._client.serves(api_version):
            error = "the server could not find the requested resource"
            message = f"failed to discover server resources for group version {api_version}: {error}"
            raise Refused(message, reason=Reason.NOT_FOUND)
        group = api_version.rpartition("/")[0]
        resource = f"{kind}.{group}" if group else kind
        raise Refused(f'{resource} "" not found', reason=Reason.NOT_FOUND)

    # -- kubectl ------------------------------------------------------------------------------------

    def apply(self, obj: Object, mode: Mode) -> str:
        return _within_depth(lambda: self._apply(obj, mode))

    def _apply(self, obj: Object, mode: Mode) -> str:
        if mode.server_side:
            return apply_server_side(self._client, target_of(self._client, obj), mode)
        before = ""
        if obj.get("apiVersion") == RBAC:
            before = reconcile(self._client, obj, dry_run=mode.dry_run)
        run = Apply(client=self._client, mode=mode)
        return run.run(target_of(self._client, obj), before)

    def create(self, obj: Object, mode: Mode) -> str:
        return _within_depth(
            lambda: create(self._client, target_of(self._client, obj, namespace="default"), mode)
        )

    def replace(self, obj: Object, mode: Mode) -> str:
        return _within_depth(lambda: replace(self._client, target_of(self._client, obj), mode))

    # -- the dynamic client -------------------------------------------------------------------------

    def get(self, ref: Ref) -> Object:
        return self._body(self._send("get", ref))

    def update(self, obj: Object, *, dry_run: bool) -> None:
        ref = ref_of(obj)
        try:
            kind = self._served(ref.api_version, ref.kind)
        except Refused as problem:
            raise problem.within("error creating discovery client for config") from problem
        self._body(self._client.send("update", _path(kind, ref), obj, dry_run=dry_run))

    def patch(self, ref: Ref, patch: list[Json]) -> None:
        self._body(self._send("json-patch", ref, patch))

    def delete(self, ref: Ref, propagation: Propagation) -> None:
        self._body(self._send("delete", ref, delete_options(propagation.value)))

    def _send(self, verb: str, ref: Ref, body: Json = None) -> Answer:
        try:
            kind = self._served(ref.api_version, ref.kind)
        except Refused as problem:
            raise problem.within("failed to get api resource") from problem
        return self._client.send(verb, _path(kind, ref), body)

    @staticmethod
    def _body(response: Answer) -> Object:
        if not response.ok:
            raise refused(response)
        return response.body or {}

    # -- time ---------------------------------------------------------------------------------------

    def health(self, obj: Object) -> Assessment | None:
        return self._health(obj)

    def pause(self, phase: str, wave: int, *, final: bool) -> None:  # noqa: ARG002  (of ClusterOps)
        if not final:
            self.not_before = self.cluster.now() + timedelta(seconds=self._wave_delay)


def _path(kind: ServedKind, ref: Ref) -> str:
    """The URL path; the namespace of a cluster-scoped object is ignored."""
    return kind.path(ref.namespace if kind.namespaced else "", ref.name)


def _within_depth(act: Callable[[], T]) -> T:
    """Calls `act`; an object that is nested too deeply is refused as by the API server."""
    try:
        return act()
    except RecursionError as problem:
        raise Refused(_TOO_DEEP) from problem
