"""Read the details of one Application: the comparison, child objects, events and logs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from whysync.facts.argocd_api.api import Api, is_cached
from whysync.facts.argocd_api.gaps import Gaps
from whysync.facts.argocd_api.responses import (
    AppId,
    Managed,
    Node,
    failing_containers,
    id_of,
    inner_object,
    listed,
    managed_of,
    manifests_of,
    nodes_of,
    with_row_health,
)
from whysync.facts.argocd_api.selection import Chosen
from whysync.facts.bundle.objects import without_states
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Extra, GapKind
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, ref_of

MOST_LOGS: Final = 12
MOST_LOG_CHARACTERS: Final = 256 << 10
_NO_CACHE = "Argo CD has not compared it lately: asking would make it refresh the Application"
_HOW_CACHE = "whysync --refresh, or look at it in Argo CD first"


class Detail(msgspec.Struct, kw_only=True):
    """Details of one Application. `application` includes the health of its resources, if only the tree has
    it.
    """

    application: Object
    desired: tuple[Manifest, ...] = ()
    live: tuple[Manifest, ...] = ()
    events: tuple[Manifest, ...] = ()
    logs: tuple[Log, ...] = ()
    facts: tuple[Extra, ...] = ()


class Reader:
    """Reads details with one Api. `closely`: the user named the app, so more is read."""

    def __init__(
        self,
        api: Api,
        selection: Selection,
        gaps: Gaps,
        *,
        closely: bool,
        home: str = "",
        cluster_of: Callable[[Object], str],
    ) -> None:
        self._api = api
        self._selection = selection
        self._gaps = gaps
        self._closely = closely
        self._home = home
        # with several clusters an object is identified by its cluster too
        self._cluster_of = cluster_of

    async def read(self, app: Object) -> Detail:
        app_id = id_of(app)
        cached = is_cached(app, self._api.client.now())
        if not cached:
            for name in ("the live objects and the resource tree", "events and logs"):
                self._gaps.add(GapKind.NOT_COLLECTED, name, app_id.place, _NO_CACHE, _HOW_CACHE)
        tree, managed, rendered, events, facts = await asyncio.gather(
            self._tree(app_id) if cached else _nothing(),
            self._managed(app_id) if cached else _nothing(),
            self._rendered(app_id, app),
            self._events(app_id),
            self._facts(app_id),
        )
        states = managed_of(managed)
        for broken in states.broken:
            self._gaps.add(
                GapKind.UNREADABLE,
                f"the object {broken}",
                app_id.place,
                "the copy that Argo CD has of it is not JSON",
            )
        chosen = Chosen(nodes_of(tree), _keys(states.live), closely=self._closely)
        if chosen.left_out:
            self._gaps.add(
                GapKind.TRUNCATED,
                f"{chosen.left_out} live objects below the resources",
                app_id.place,
                "the app has too many to ask for each of them",
                "use the kubeconfig (--core), which lists them at once"
                if self._closely
                else "ask for the app by its name: it is read closely then",
            )
        below, about = await asyncio.gather(self._objects(app_id, chosen), self._events_about(app_id, chosen))
        live = [*states.live, *below]
        cluster = self._cluster_of(app)
        responses = {"resource-tree": tree, "managed-resources": without_states(managed), **facts}
        return Detail(
            application=with_row_health(app, tree),
            desired=self._desired(app_id, app, states, manifests_of(rendered)),
            live=tuple(
                Manifest(body, role=Role.LIVE, origin=f"Argo CD: {app_id.place}", cluster=cluster)
                for body in live
            ),
            events=tuple(
                Manifest(body, role=Role.EVENT, origin=f"Argo CD: {app_id.place}")
                for body in (*events, *about)
            ),
            logs=await self._logs(app_id, live, cluster) if cached and self._selection.logs else (),
            facts=tuple(
                Extra(
                    name=f"{name}_{app_id.namespace}_{app_id.name}",
                    body=body,
                    origin=f"Argo CD: {app_id.place}",
                )
                for name, body in responses.items()
                if body
            ),
        )

    # --- single requests -----------------------------------------------------------------------------

    async def _tree(self, app: AppId) -> Object:
        request = partial(self._api.tree, app)
        how = f"argocd app get {app.place} --output tree"
        return await self._gaps.unless(request, "the resource tree", app.place, how) or {}

    async def _managed(self, app: AppId) -> Object:
        request = partial(self._api.managed, app)
        how = "use the kubeconfig (--core), or kubectl get … -o yaml --show-managed-fields in a bundle"
        return await self._gaps.unless(request, "live objects and their diff", app.place, how) or {}

    async def _rendered(self, app: AppId, body: Object) -> Object:
        """Manifests at the compared commits, even if a branch has newer ones."""
        sync = dig(body, "status", "sync")
        revisions = tuple(text(revision) for revision in items(dig(sync, "revisions")))
        several = bool(revisions)
        if not revisions and text(dig(sync, "revision")):
            revisions = (text(dig(sync, "revision")),)
        if fields(dig(body, "spec", "sourceHydrator")):
            return {}  # for a hydrator the API renders the dry source, which is not what is compared
        request = partial(self._api.manifests, app, revisions, several=several)
        how = f"argocd app manifests {app.place} --source git"
        return await self._gaps.unless(request, "rendered manifests", app.place, how) or {}

    async def _events(self, app: AppId) -> list[Object]:
        how = f"kubectl -n {app.namespace or 'argocd'} get events"
        response = await self._gaps.unless(
            partial(self._api.events, app), "events about the Application itself", app.place, how
        )
        return listed(response or {}, "Event", "v1")

    async def _facts(self, app: AppId) -> dict[str, Object]:
        """Additional facts; no gap if they cannot be read."""
        if not self._closely:
            return {}
        spare, can_i = Gaps(), self._api.can_i
        windows, sync, logs = await asyncio.gather(
            spare.unless(partial(self._api.windows, app), "", "", ""),
            spare.unless(partial(can_i, "applications", "sync", app, home=self._home), "", "", ""),
            spare.unless(partial(can_i, "logs", "get", app, home=self._home), "", "", ""),
        )
        can: Object = {"applications/sync": sync, "logs/get": logs}
        return {"sync-windows": windows or {}, "can-i": can if sync or logs else {}}

    async def _objects(self, app: AppId, chosen: Chosen) -> list[Object]:
        bodies = await asyncio.gather(*(self._object(app, node) for node in chosen.objects))
        return [body for body in bodies if body is not None]

    async def _object(self, app: AppId, node: Node) -> Object | None:
        how = f"kubectl -n {node.namespace} get {node.kind.lower()} {node.name} -o yaml"
        response = await self._gaps.unless(
            partial(self._api.resource, app, node), f"live objects of kind {node.kind}", app.place, how
        )
        return inner_object(text((response or {}).get("manifest")))

    async def _events_about(self, app: AppId, chosen: Chosen) -> list[Object]:
        how = "kubectl get events in the destination's namespace"
        responses = await asyncio.gather(
            *(
                self._gaps.unless(
                    partial(self._api.events_about, app, node), "events about its resources", app.place, how
                )
                for node in chosen.about
            )
        )
        return [event for response in responses if response for event in listed(response, "Event", "v1")]

    async def _logs(self, app: AppId, live: Iterable[Object], cluster: str) -> tuple[Log, ...]:
        requests: list[tuple[str, str, str, bool]] = []
        for pod in live:
            if pod.get("kind") != "Pod":
                continue
            pod_ref = ref_of(pod)
            for container in failing_containers(pod):
                if container.restarted:
                    requests.append((pod_ref.namespace, pod_ref.name, container.name, True))
                if container.started or not container.restarted:
                    requests.append((pod_ref.namespace, pod_ref.name, container.name, False))
        logs = await asyncio.gather(
            *(self._log(app, *arguments, cluster) for arguments in requests[:MOST_LOGS])
        )
        return tuple(log for log in logs if log is not None)

    async def _log(
        self, app: AppId, namespace: str, pod: str, container: str, previous: bool, cluster: str
    ) -> Log | None:
        how = f"kubectl -n {namespace} logs {pod} -c {container}{' --previous' if previous else ''}"
        reply = await self._gaps.unless(
            partial(
                self._api.logs,
                app,
                namespace,
                pod,
                container,
                lines=self._selection.log_lines,
                previous=previous,
            ),
            "logs of failing containers",
            app.place,
            how,
        )
        # A container that waits for its image has no log; the error for that is not reported.
        if reply is None or not reply.lines:
            return None
        return Log(
            namespace=namespace,
            pod=pod,
            container=container,
            lines=_end_of(reply.lines[-self._selection.log_lines :]),
            previous=previous,
            origin=f"Argo CD: log of {namespace}/{pod}",
            cluster=cluster,
        )

    # --- assemble the result -----------------------------------------------------------------------

    def _desired(
        self, app: AppId, body: Object, states: Managed, rendered: tuple[Object, ...]
    ) -> tuple[Manifest, ...]:
        """Desired objects as in Git: with hooks, and without namespaces that Git does not set.

        For Secrets the compared states are used, because Argo CD masks both sides together: equal values have
        equal masks. They are also used if the manifests could not be read.
        """
        home = text(dig(body, "spec", "destination", "namespace"))
        compared = {ref_of(target).key: target for target in states.targets}
        desired: list[Object] = []
        for obj in rendered:
            key = ref_of(obj).key
            aliases = {key, key._replace(namespace=key.namespace or home), key._replace(namespace="")}
            twins = [twin for alias in aliases if (twin := compared.pop(alias, None)) is not None]
            desired.append(twins[0] if twins and obj.get("kind") == "Secret" else obj)
        desired += compared.values()
        return tuple(Manifest(obj, role=Role.DESIRED, origin=f"Argo CD: {app.place}") for obj in desired)


def _end_of(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The end of a log, up to the size that a bundle keeps; at least the end of the last line."""
    remaining = MOST_LOG_CHARACTERS
    tail: list[str] = []
    for line in reversed(lines):
        if remaining <= 0:
            break
        tail.append(line[-remaining:])
        remaining -= len(line) + 1
    return tuple(reversed(tail))


async def _nothing() -> Object:
    return {}


def _keys(bodies: Iterable[Object]) -> set[Key]:
    return {ref_of(body).key for body in bodies}
