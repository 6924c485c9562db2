"""HTTPS client for a real API server: sends requests of `whysync.kubernetes.apiserver.protocol`."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlencode

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request, ServedKind

_METHODS = {"create": "POST", "update": "PUT", "delete": "DELETE", "deletecollection": "DELETE"}
_PATCHES = {
    "ssa": "application/apply-patch+yaml",
    "merge-patch": "application/merge-patch+json",
    "strategic-patch": "application/strategic-merge-patch+json",
    "json-patch": "application/json-patch+json",
}
BAD_TOKEN, ANONYMOUS = "(bad token)", "(anonymous)"


class ApiServerClient:
    """A `Cluster` that is a real API server."""

    def __init__(self, *, port: int, token: str, trust: ssl.SSLContext, timeout: float = 30) -> None:
        self._port, self._token, self._trust, self._timeout = port, token, trust, timeout
        self._connection: http.client.HTTPSConnection | None = None

    def now(self) -> datetime:
        return datetime.now(UTC)

    def send(self, request: Request) -> Answer:
        method = "PATCH" if request.verb in _PATCHES else _METHODS.get(request.verb, "GET")
        body, kind = _body(request)
        headers = {"Accept": "application/json", "User-Agent": request.agent, **self._identity(request)}
        if body is not None:
            headers["Content-Type"] = kind
        return self._exchange(method, _target(request), body, headers)

    def kinds(self) -> Sequence[ServedKind]:
        kinds: list[ServedKind] = []
        groups = items(fields(self._read("/apis")).get("groups"))
        versions = [
            text(fields(v).get("groupVersion")) for g in groups for v in items(fields(g).get("versions"))
        ]
        for path in ("/api/v1", *(f"/apis/{version}" for version in versions)):
            group, _, version = (
                path.removeprefix("/apis/").rpartition("/") if path != "/api/v1" else ("", "", "v1")
            )
            for raw in items(fields(self._read(path)).get("resources")):
                resource = fields(raw)
                plural = text(resource.get("name"))
                if "/" not in plural:
                    kinds.append(
                        ServedKind(
                            group=group,
                            version=version,
                            kind=text(resource.get("kind")),
                            plural=plural,
                            namespaced=bool(resource.get("namespaced")),
                        )
                    )
        return kinds

    def ready(self) -> bool:
        try:
            return self._exchange("GET", "/readyz", None, self._identity(Request(verb="get", path=""))).ok
        except (OSError, http.client.HTTPException):
            return False

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, path: str) -> Object:
        return self.send(Request(verb="get", path=path)).body or {}

    def _identity(self, request: Request) -> dict[str, str]:
        if request.user == ANONYMOUS:
            return {}
        if request.user == BAD_TOKEN:
            return {"Authorization": "Bearer nobody-has-this"}
        headers = {"Authorization": f"Bearer {self._token}"}
        if request.user:
            headers["Impersonate-User"] = request.user
        if request.groups:
            headers["Impersonate-Group"] = ",".join(request.groups)
        return headers

    def _exchange(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        for attempt in (1, 2):
            if self._connection is None:
                self._connection = http.client.HTTPSConnection(
                    "127.0.0.1", self._port, context=self._trust, timeout=self._timeout
                )
            try:
                self._connection.request(method, target, body=body, headers=headers)
                response = self._connection.getresponse()
                return _answer(response, response.read())
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                # The server has closed an idle connection.
                self.close()
                if attempt == 2:
                    raise
            except BaseException:
                self.close()
                raise
        raise AssertionError("one of two attempts answers or raises")


def _target(request: Request) -> str:
    query: dict[str, str] = {}
    if request.manager is not None:
        query["fieldManager"] = request.manager
    if request.force is not None:
        query["force"] = str(request.force).lower()
    if request.dry_run:
        query["dryRun"] = "All"
    if request.validation:
        query["fieldValidation"] = request.validation
    if request.grace is not None:
        query["gracePeriodSeconds"] = str(request.grace)
    if not query:
        return request.path
    return request.path + ("&" if "?" in request.path else "?") + urlencode(query)


def _body(request: Request) -> tuple[bytes | None, str]:
    kind = _PATCHES.get(request.verb, "application/json")
    if request.body is None:
        return None, kind
    return json.dumps(request.body).encode(), kind


def _answer(response: http.client.HTTPResponse, raw: bytes) -> Answer:
    body: Json = None
    if (response.headers.get("Content-Type") or "").startswith("application/json"):
        body = cast(Json, json.loads(raw))
    if isinstance(body, dict):
        return Answer(code=response.status, body=body)
    return Answer(code=response.status, text=raw.decode(errors="replace"))
