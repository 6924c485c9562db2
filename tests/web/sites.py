"""A site with apps of the examples, for tests of the pages."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.situations import ROOT
from whysync.app import FactSource
from whysync.history.history import History
from whysync.watch.fleet import Fleet
from whysync.watch.sources import BundleSource
from whysync.watch.watcher import Recorder, Watcher
from whysync.web.access import Access
from whysync.web.http import Request, Response
from whysync.web.site import Site

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
EXAMPLES = tuple(
    str(ROOT / "examples" / name)
    for name in ("autoscaler-loop", "migration-cannot-reach-database", "push-not-seen")
)


def site_of(*bundles: str, access: Access | None = None, proves: bool = True) -> Site:
    fleet, history = Fleet(lambda: NOW, proves=proves), History.open(":memory:")
    for bundle in bundles or EXAMPLES:
        source = BundleSource(FactSource(bundles=(bundle,)))
        Watcher(source, fleet, Recorder(history, fleet, source=source.name), prove=False).step()
    return Site(fleet, history, access or Access())


def get(site: Site, path: str, **headers: str) -> Response:
    path, _, query = path.partition("?")
    from urllib.parse import parse_qsl

    names = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return site.respond(
        Request(path=path, query=dict(parse_qsl(query)), headers={"host": "localhost:8400", **names})
    )


def text_of(site: Site, path: str, **headers: str) -> str:
    response = get(site, path, **headers)
    assert response.status == 200, response.body
    return response.body.decode()
