"""Streams of Applications from Kubernetes and from Argo CD, served on a port of this machine."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.facts.argocd_api.server import QUICK, TOKEN
from tests.facts.kubernetes_api.fake_api import kubeconfig
from whysync.facts.application_watch import ApplicationChange
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.argocd_api.watch import watch_argocd
from whysync.facts.http.errors import HttpError, MalformedResponse
from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.kubernetes_api.watch import watch_kubernetes
from whysync.facts.selection import Selection


class Server:
    """`streams` has the lines of each path; other paths of `forbidden` are refused; the rest are lists."""

    def __init__(self) -> None:
        self.streams: dict[str, list[bytes]] = {}
        self.forbidden: set[str] = set()
        self.requests: list[tuple[str, dict[str, list[str]]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = parse_qs(parts.query)
                outer.requests.append((parts.path, query))
                stream = "watch" in query or "stream" in parts.path
                self.send_response(403 if parts.path in outer.forbidden else 200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                if parts.path in outer.forbidden:
                    self.wfile.write(b'{"kind": "Status", "message": "forbidden"}')
                elif stream:
                    for line in outer.streams.get(parts.path, []):
                        self.wfile.write(line + b"\n")
                        self.wfile.flush()
                else:
                    self.wfile.write(b'{"metadata": {"resourceVersion": "7"}, "items": []}')

            def log_message(self, format: str, *args: object) -> None:
                """Silent."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def _collected(stream: AsyncGenerator[ApplicationChange | None]) -> list[ApplicationChange | None]:
    async def collect() -> list[ApplicationChange | None]:
        return [change async for change in stream]

    return asyncio.run(collect())


def _event(kind: str, name: str, version: str) -> bytes:
    metadata = {"name": name, "namespace": "argocd", "resourceVersion": version}
    return json.dumps({"type": kind, "object": {"metadata": metadata}}).encode()


EVERYWHERE = "/apis/argoproj.io/v1alpha1/applications"
IN_ARGOCD = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
SHOP = ApplicationChange(namespace="argocd", name="shop", version="8")
GONE = ApplicationChange(namespace="argocd", name="cart", version="9", deleted=True)


def _kube(server: Server, home: Path) -> AsyncGenerator[ApplicationChange | None]:
    file = kubeconfig(home, server.url)
    access = KubeAccess(kubeconfig=str(file), namespace="argocd", limits=QUICK, environment={})
    return watch_kubernetes(access, Selection())


def test_a_watch_begins_at_the_version_of_the_list(server: Server, tmp_path: Path) -> None:
    server.streams[EVERYWHERE] = [
        _event("MODIFIED", "shop", "8"),
        _event("BOOKMARK", "", "8"),
        b"",
        _event("DELETED", "cart", "9"),
    ]
    assert _collected(_kube(server, tmp_path)) == [None, SHOP, GONE]
    assert server.requests[-1][1]["resourceVersion"] == ["7"]


def test_an_expired_version_ends_the_watch(server: Server, tmp_path: Path) -> None:
    expired = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410}}'
    server.streams[EVERYWHERE] = [expired, _event("MODIFIED", "shop", "8")]
    assert _collected(_kube(server, tmp_path)) == [None]


def test_an_account_of_one_namespace_watches_that(server: Server, tmp_path: Path) -> None:
    server.forbidden.add(EVERYWHERE)
    server.streams[IN_ARGOCD] = [_event("MODIFIED", "shop", "8")]
    assert _collected(_kube(server, tmp_path)) == [None, SHOP]


def test_garbage_in_a_stream_is_an_error(server: Server, tmp_path: Path) -> None:
    server.streams[EVERYWHERE] = [b"<html>"]
    with pytest.raises(MalformedResponse):
        _collected(_kube(server, tmp_path))


def _argocd(server: Server) -> AsyncGenerator[ApplicationChange | None]:
    return watch_argocd(
        ArgoServer(address=server.url, plaintext=True, token=TOKEN, limits=QUICK), Selection()
    )


def test_argocds_stream(server: Server) -> None:
    application = {"metadata": {"name": "shop", "namespace": "argocd", "resourceVersion": "8"}}
    gone = {"metadata": {"name": "cart", "namespace": "argocd", "resourceVersion": "9"}}
    server.streams["/api/v1/stream/applications"] = [
        json.dumps({"result": {"type": "MODIFIED", "application": application}}).encode(),
        json.dumps({"result": {"type": "DELETED", "application": gone}}).encode(),
        json.dumps({"error": {"message": "the server is stopping"}}).encode(),
    ]
    assert _collected(_argocd(server)) == [None, SHOP, GONE]
    assert server.requests[-1][1]["resourceVersion"] == ["7"]


def test_an_error_of_the_stream_does_not_show_the_token(server: Server) -> None:
    server.forbidden.add("/api/v1/stream/applications")
    with pytest.raises(HttpError) as error:
        _collected(_argocd(server))
    assert TOKEN not in f"{error.value.what} {error.value.why}"
