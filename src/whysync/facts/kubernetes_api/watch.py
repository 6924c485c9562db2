"""Watch the Applications of a cluster."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from whysync.facts.application_watch import ApplicationChange, follow_list
from whysync.facts.http.errors import Forbidden
from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.selection import Selection

_GROUP: Final = "/apis/argoproj.io/v1alpha1"


async def watch_kubernetes(
    access: KubeAccess, selection: Selection
) -> AsyncGenerator[ApplicationChange | None]:
    """Changes in all namespaces, or in Argo CD's own if the account may not see the others."""
    hub = access.hub()
    params = {"labelSelector": selection.selector} if selection.selector else {}
    async with await hub.client(access.limits) as client:
        try:
            async for change in follow_list(client, f"{_GROUP}/applications", params):
                yield change
        except Forbidden:
            namespace = access.namespace or hub.namespace or "argocd"
            path = f"{_GROUP}/namespaces/{namespace}/applications"
            async for change in follow_list(client, path, params):
                yield change
