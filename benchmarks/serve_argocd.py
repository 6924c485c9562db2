"""An Argo CD API of many apps for the benchmark of `serve`: `python -m benchmarks.serve_argocd APPS`.

It prints its address. `GET /change/NAME` lets the app drift, or recover if it had drifted, and streams that.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Final
from urllib.parse import parse_qs, urlsplit

from benchmarks.diagnose import application_of, objects_of
from whysync.json_tree import Object, fields, text

_HEAD: Final = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_SETTINGS: Final[dict[str, Object]] = {
    "/api/version": {"Version": "v3.2.11"},
    "/api/v1/settings": {"controllerNamespace": "argocd", "appLabelKey": "", "trackingMethod": "annotation"},
    "/api/v1/clusters": {"items": [{"server": "https://kubernetes.default.svc", "name": "in-cluster"}]},
    "/api/v1/repositories": {"items": [{"repo": "https://git.example.com/fleet.git", "type": "git"}]},
    "/api/v1/session/userinfo": {"loggedIn": True, "username": "reader"},
    "/api/v1/projects": {
        "items": [
            {
                "metadata": {"name": "default", "namespace": "argocd"},
                "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
            }
        ]
    },
}


class FleetServer:
    def __init__(self, apps: int) -> None:
        self.drifted = {number for number in range(apps) if number % 10 == 3}
        self.versions = [1] * apps
        self.version = 1
        self._viewers: set[asyncio.StreamWriter] = set()

    def application(self, number: int) -> Object:
        body = _application(number, changed=number in self.drifted)
        metadata = {**fields(body["metadata"]), "resourceVersion": str(self.versions[number])}
        status = {**fields(body["status"]), "reconciledAt": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
        return {**body, "metadata": metadata, "status": status}

    def change(self, number: int) -> None:
        self.drifted ^= {number}
        self.version += 1
        self.versions[number] = self.version
        event: Object = {"result": {"type": "MODIFIED", "application": self.application(number)}}
        for viewer in self._viewers:
            viewer.write(_chunk(json.dumps(event).encode() + b"\n"))

    def answer(self, path: str, query: dict[str, list[str]]) -> Object | None:
        if path in _SETTINGS:
            return _SETTINGS[path]
        if path.startswith("/api/v1/account/can-i/"):
            return {"value": "yes"}
        if path == "/api/v1/applications":
            return self._listed(query)
        parts = path.removeprefix("/api/v1/applications/").split("/")
        [number] = _numbers(parts[:1]) or [-1]
        if number < 0:
            return None
        calls: dict[tuple[str, ...], Callable[[], Object]] = {
            (): lambda: self.application(number),
            ("managed-resources",): lambda: {"items": list(self._managed(number))},
            ("resource-tree",): lambda: {"nodes": list(self._nodes(number))},
            ("manifests",): lambda: {"manifests": [json.dumps(body) for body in objects_of(number)[0]]},
        }
        make = calls.get(tuple(parts[1:]), lambda: {"items": []})
        return make()

    def _listed(self, query: dict[str, list[str]]) -> Object:
        names = query.get("name")
        numbers = range(len(self.versions)) if names is None else _numbers(names)
        return {
            "metadata": {"resourceVersion": str(self.version)},
            "items": [self.application(number) for number in numbers],
        }

    def _objects(self, number: int) -> Iterable[tuple[Object, Object]]:
        desired, live = objects_of(number, changed=number in self.drifted)
        return zip(desired, live, strict=True)

    def _managed(self, number: int) -> Iterable[Object]:
        for desired, live in self._objects(number):
            states = {"targetState": json.dumps(desired), "liveState": json.dumps(live)}
            yield {**_identity(live), **states, "normalizedLiveState": json.dumps(live)}

    def _nodes(self, number: int) -> Iterable[Object]:
        for _, live in self._objects(number):
            version = text(live["apiVersion"]).rpartition("/")[2]
            yield {**_identity(live), "version": version, "health": {"status": "Healthy"}}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                target = urlsplit(line.split()[1].decode())
                if target.path == "/api/v1/stream/applications":
                    await self._stream(reader, writer)
                    return
                if target.path.startswith("/change/"):
                    self.change(int(target.path.rpartition("-")[2]))
                    body = b"{}"
                else:
                    answer = self.answer(target.path, parse_qs(target.query))
                    if answer is None:
                        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                        continue
                    body = json.dumps(answer).encode()
                writer.write(f"{_HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{_HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        self._viewers.add(writer)
        try:
            await reader.read()
        finally:
            self._viewers.discard(writer)


@cache
def _application(number: int, *, changed: bool) -> Object:
    return application_of(number, changed=changed)


def _numbers(names: list[str]) -> list[int]:
    return [int(name[4:]) for name in names if name.startswith("app-") and name[4:].isdecimal()]


def _identity(body: Object) -> Object:
    meta = fields(body["metadata"])
    group = text(body["apiVersion"]).rpartition("/")[0]
    return {"group": group, "kind": body["kind"], "namespace": meta["namespace"], "name": meta["name"]}


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def main(apps: int) -> None:
    server = await asyncio.start_server(FleetServer(apps).serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
