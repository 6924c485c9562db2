"""Follow Argo CD's stream of Applications."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from whysync.facts.application_watch import ApplicationChange, change_of, decoded
from whysync.facts.argocd_api.api import Api, client_for
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.selection import Selection
from whysync.json_tree import dig, fields, text

_PATH: Final = "/api/v1/stream/applications"
_SILENCE: Final = 600.0
"""A fleet in which nothing changes is silent; the controller writes a status every few minutes."""


async def watch_argocd(server: ArgoServer, selection: Selection) -> AsyncGenerator[ApplicationChange | None]:
    """Changes since now. The first item, `None`, says that the stream has begun."""
    async with client_for(server) as client:
        listed = await Api(client).applications(selection, name="whysync-asks-for-the-version")
        query: dict[str, str | list[str]] = {
            "resourceVersion": text(dig(listed, "metadata", "resourceVersion"))
        }
        if selection.projects:
            query["projects"] = list(selection.projects)
        if selection.selector:
            query["selector"] = selection.selector
        yield None
        async for line in client.lines(_PATH, query, silence=_SILENCE):
            event = decoded(line, _PATH)
            if event.get("error"):  # the server ends the stream
                return
            result = fields(event.get("result"))
            application = fields(result.get("application"))
            if application:
                yield change_of(application, deleted=text(result.get("type")) == "DELETED")
