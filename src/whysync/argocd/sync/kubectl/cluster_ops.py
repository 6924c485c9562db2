"""`KubectlClusterOps`: implements `ClusterOps` with kubectl and a dynamic client on an API server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from whysync.argocd.health.assess import Assessment, assess
from whysync.argocd.sync.cluster_ops import ApiResource, Mode, Reason, Refused
from whysync.argocd.sync.csa_migration import upgraded_managed_fields
from whysync.argocd.sync.kubectl.apply import TIMED_OUT, Apply
from whysync.argocd.sync.kubectl.auth_reconcile import RBAC, reconcile
from whysync.argocd.sync.kubectl.client import (
    Client,
    delete_options,
    message_of,
    reason_of,
    refused,
    resource_version,
)
from whysync.argocd.sync.kubectl.output import (
    add_source_to_err,
    being_deleted,
    clean_kubectl_output,
    join_kubectl_output,
    not_applied_again,
    not_migrated,
)
from whysync.argocd.sync.kubectl.target import Target, target_of
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, ServedKind
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.kubernetes.merge.structured.fieldset import from_fields_v1

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


# `kubectl create` and `kubectl replace` as Argo CD runs them. Mirrors kubectl, Kubernetes 1.36.
#
# Neither sets a field manager or a last-applied annotation.


def create(client: Client, target: Target, mode: Mode) -> str:
    if mode.dry_run:
        return target.printed("created", dry_run=True)
    response = client.send("create", target.collection, target.obj)
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("creating", target.file, message_of(response)))
        )
    name = text(fields((response.body or {}).get("metadata")).get("name"))
    return join_kubectl_output(target.printed("created").replace("<unknown>", name, 1))


def replace(client: Client, target: Target, mode: Mode) -> str:
    if mode.dry_run:
        return target.printed("replaced", dry_run=True)
    if mode.force:
        return _recreated(client, target)
    if target.path_problem:
        raise Refused(clean_kubectl_output(add_source_to_err("replacing", target.file, target.path_problem)))
    response = client.send("update", target.path, _versioned(client, target))
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("replacing", target.file, message_of(response)))
        )
    return target.printed("replaced")


def _versioned(client: Client, target: Target) -> Object:
    """With the current resourceVersion, unless the manifest has one: the last writer wins."""
    meta = fields(target.obj.get("metadata"))
    if text(meta.get("resourceVersion")):
        return target.obj
    current = client.send("get", target.path)
    if not current.ok:
        return target.obj
    return {**target.obj, "metadata": {**meta, "resourceVersion": resource_version(current)}}


def _recreated(client: Client, target: Target) -> str:
    """`--force`: deletes the object and creates it; times out if it is not deleted at once."""
    if target.path_problem:
        raise Refused(clean_kubectl_output(add_source_to_err("deleting", target.file, target.path_problem)))
    response = client.send("delete", target.path, delete_options("Background"))
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("deleting", target.file, message_of(response)))
        )
    remaining = client.send("get", target.path)
    if remaining.ok:
        raise Refused(TIMED_OUT)
    if reason_of(remaining) != "NotFound":
        raise refused(remaining)
    response = client.send("create", target.collection, target.obj)
    if not response.ok:
        raise refused(response, clean_kubectl_output(message_of(response)))
    return join_kubectl_output(f"{target.deleted()}\n{target.printed('replaced')}")


# `kubectl apply --server-side --force-conflicts`, with the migration from client-side apply.
#
# Mirrors kubectl `apply`, Kubernetes 1.36. An object that was applied with client-side apply is migrated
# after the first server-side apply and then applied again, which removes the last-applied annotation and
# fields that are no longer in the manifest.


_ATTEMPTS: Final = 5
_ANNOTATION: Final = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
_NO_FORCE: Final = "error validating options: --force cannot be used with --server-side"
_ADVICE: Final = """
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts"""


def apply_server_side(client: Client, target: Target, mode: Mode) -> str:
    if mode.force:
        raise Refused(_NO_FORCE)
    if target.path_problem:
        raise Refused(target.path_problem)
    response = _send(client, target, mode)
    if not response.ok:
        advice = _ADVICE if reason_of(response) == "Conflict" else ""
        raise refused(response, clean_kubectl_output(message_of(response) + advice))
    obj, warnings = _migrated(client, target, mode, response.body or {})
    return join_kubectl_output(target.printed("serverside-applied"), warnings + being_deleted(obj))


def _send(client: Client, target: Target, mode: Mode) -> Answer:
    return client.send("ssa", target.path, target.obj, manager=mode.manager, force=True)


def _migrated(client: Client, target: Target, mode: Mode, obj: Object) -> tuple[Object, str]:
    """The resulting object and kubectl's warnings; a failed migration is only a warning."""
    managers = _client_side_managers(obj)
    if not managers:
        return obj, ""
    try:
        migrated = _migrate(client, target, mode, obj, managers)
    except Refused as problem:
        return obj, not_migrated(problem.message)
    if migrated is None:
        return obj, ""
    again = _send(client, target, mode)
    if not again.ok:
        return migrated, not_applied_again(message_of(again))
    return again.body or {}, ""


def _client_side_managers(obj: Object) -> list[str]:
    """The managers that wrote the last-applied annotation with an update."""
    managers: set[str] = set()
    for raw in items(dig(obj, "metadata", "managedFields")):
        row = fields(raw)
        if row.get("operation") == "Update" and _owns_annotation(row):
            managers.add(text(row.get("manager")))
    return sorted(managers)


def _owns_annotation(row: Object) -> bool:
    if not isinstance(dig(row, "fieldsV1", *_ANNOTATION), dict):
        return False
    try:
        return from_fields_v1(row.get("fieldsV1")).has(_ANNOTATION)
    except ValueError:
        return False


def _migrate(client: Client, target: Target, mode: Mode, obj: Object, managers: list[str]) -> Object | None:
    """The migrated object; `None` if nothing had to change. Raises `Refused`."""
    for attempt in range(_ATTEMPTS):
        rows = [fields(row) for row in items(dig(obj, "metadata", "managedFields"))]
        after = rows
        for manager in managers:
            try:
                after = upgraded_managed_fields(after, from_manager=manager, to_manager=mode.manager)
            except ValueError as problem:
                raise Refused(f"failed to convert fields to set: {problem}") from problem
        if after == rows:
            return None
        version = text(dig(obj, "metadata", "resourceVersion"))
        patch: list[Json] = [
            {"op": "replace", "path": "/metadata/managedFields", "value": list(after)},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        response = client.send("json-patch", target.path, patch, manager=mode.manager)
        if response.ok:
            return response.body or {}
        if reason_of(response) != "Conflict" or attempt == _ATTEMPTS - 1:
            raise refused(response)
        current = client.send("get", target.path)
        if not current.ok:
            raise refused(current)
        obj = current.body or {}
    return None
