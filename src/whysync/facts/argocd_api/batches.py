"""Read many Applications in batches, so that not all of them have to be in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from typing import Final

from msgspec.structs import replace

from whysync.facts.argocd_api.api import Api, client_for
from whysync.facts.argocd_api.reader import applications, connection, read_argocd
from whysync.facts.argocd_api.responses import id_of
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.masking import Masker
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Gap, GapKind, Snapshot

AT_ONCE: Final = 20

Progress = Callable[[str, int], None]


def read_argocd_in_pieces(
    server: ArgoServer,
    selection: Selection,
    progress: Progress | None = None,
    *,
    done: Collection[str] = (),
    masker: Masker,
    at_once: int = AT_ONCE,
) -> Iterator[Snapshot]:
    """All selected Applications except `done`, with all details; a gap for those after the deadline."""
    with connection(server) as connected:
        selected, gaps = _names(connected, replace(selection, refresh=""))
        if gaps:
            yield Snapshot(gaps=gaps)
        names = sorted(set(selected) - set(done))
        for start in range(0, len(names), at_once):
            batch = names[start : start + at_once]
            if connected.limits.deadline.is_over:
                yield Snapshot(gaps=(_no_time(names[start:]),))
                return
            yield read_argocd(
                connected,
                replace(selection, names=tuple(batch), app_namespaces=(), projects=(), selector=""),
                progress,
                everything=True,
                masker=masker,
            )


def _names(server: ArgoServer, selection: Selection) -> tuple[list[str], tuple[Gap, ...]]:
    """The Applications to read; and gaps for those that Argo CD does not show."""

    async def read() -> tuple[list[str], tuple[Gap, ...]]:
        async with client_for(server) as client:
            apps, not_shown = await applications(Api(client), selection)
        return [id_of(app).place for app in apps], tuple(not_shown.values())

    return asyncio.run(read())


def _no_time(names: list[str]) -> Gap:
    names_text = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Gap(
        kind=GapKind.TRUNCATED,
        what=f"the Applications {names_text}",
        why="the time that was given was used up",
        how_to_get="run the same command again, with a longer --timeout: it continues where it stopped",
    )
