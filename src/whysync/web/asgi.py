"""The ASGI application: translates between the HTTP server and `Site`, and streams server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from whysync.watch.fleet import ChangeKind, FleetChange
from whysync.web.access import Viewer
from whysync.web.http import Request, Response
from whysync.web.site import Site

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
EVENTS: Final = "/api/v1/events"
_LARGEST_BODY: Final = 64 * 1024
_HEARTBEAT: Final = 15.0
_MOST_STREAMS: Final = 500
_MOST_WAITING: Final = 1_000
_TOGETHER: Final = 0.2
"""Seconds for which changes are collected, to write all of them at once."""


class Application:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._closing = asyncio.Event()
        self._queues: set[asyncio.Queue[FleetChange]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        request = await _request(scope, receive)
        if request is None:
            await _answer(Response(status=413, body=b"too large\n"), send, head=False)
            return
        if request.path == EVENTS and request.method == "GET":
            viewer = self._site.access.viewer(request)
            if viewer is not None and len(self._queues) < _MOST_STREAMS:
                await self._stream(request, viewer, receive, send)
                return
        response = await asyncio.to_thread(self._site.respond, request)
        await _answer(response, send, head=request.method == "HEAD")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await send({"type": "lifespan.shutdown.complete"})
                return

    def close_streams(self) -> None:
        """End the streams of events, so that the server can stop."""
        self._closing.set()

    async def _stream(self, request: Request, viewer: Viewer, receive: Receive, send: Send) -> None:
        """Send changes until the viewer leaves; `Last-Event-ID` continues after a reconnection."""
        queue: asyncio.Queue[FleetChange] = asyncio.Queue(_MOST_WAITING)
        stop = self._add(queue)
        left = asyncio.ensure_future(_disconnected(receive))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await send(_start(Response(content_type="text/event-stream")))
            last = request.headers.get("last-event-id") or request.query.get("after", "")
            first = int(last) if last.isdecimal() and len(last) < 16 else self._site.fleet.last_change
            await _send_text(send, f"retry: 2000\nid: {first}\nevent: hello\ndata: {{}}\n\n")
            await _send_changes(self._site.fleet.changes_after(first), viewer, send)
            while not left.done() and not closing.done():
                following = asyncio.ensure_future(queue.get())
                await asyncio.wait(
                    {following, left, closing}, timeout=_HEARTBEAT, return_when="FIRST_COMPLETED"
                )
                if following.done():
                    await asyncio.sleep(_TOGETHER)
                    changes = [following.result()]
                    while not queue.empty():
                        changes.append(queue.get_nowait())
                    await _send_changes(changes, viewer, send)
                else:
                    following.cancel()
                    await _send_text(send, ": still here\n\n")
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            stop()
            left.cancel()
            closing.cancel()

    def _add(self, queue: asyncio.Queue[FleetChange]) -> Callable[[], None]:
        """Put changes into the queue from now on; returns how to stop. One listener serves all streams."""
        if not self._queues:
            loop = asyncio.get_running_loop()

            def on_change(change: FleetChange) -> None:
                loop.call_soon_threadsafe(self._spread, change)

            self._stop = self._site.fleet.listen(on_change)
        self._queues.add(queue)

        def stop() -> None:
            self._queues.remove(queue)
            if not self._queues:
                self._stop()

        return stop

    def _spread(self, change: FleetChange) -> None:
        for queue in self._queues:
            if queue.full():  # a viewer that does not read; it gets the latest
                queue.get_nowait()
            queue.put_nowait(change)


async def _send_changes(changes: Iterable[FleetChange], viewer: Viewer, send: Send) -> None:
    text = "".join(_event(change) for change in changes if _sees(viewer, change))
    if text:
        await _send_text(send, text)


def _sees(viewer: Viewer, change: FleetChange) -> bool:
    return change.kind is ChangeKind.SOURCE or any(map(viewer.sees_project, change.projects))


def _event(change: FleetChange) -> str:
    data: dict[str, object] = {"incident": change.incident} if change.incident else {}
    if change.app is not None:
        data |= change.app._asdict()
    text = msgspec.json.encode(data).decode()
    return f"id: {change.id}\nevent: {change.kind.value}\ndata: {text}\n\n"


async def _request(scope: Scope, receive: Receive) -> Request | None:
    body = b""
    more = scope["method"] not in ("GET", "HEAD")
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False) and message["type"] == "http.request"
        if len(body) > _LARGEST_BODY:
            return None
    client = scope.get("client")
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    return Request(
        method=scope["method"],
        path=raw_path.decode("latin-1").partition("?")[0],
        query=dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), max_num_fields=100)),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        peer=client[0] if client else "",
        body=body,
    )


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(response: Response) -> MutableMapping[str, Any]:
    headers = [
        (name.lower().encode(), value.encode("latin-1", "replace")) for name, value in response.all_headers
    ]
    return {"type": "http.response.start", "status": response.status, "headers": headers}


async def _answer(response: Response, send: Send, *, head: bool) -> None:
    start = _start(response)
    start["headers"].append((b"content-length", str(len(response.body)).encode()))
    await send(start)
    await send({"type": "http.response.body", "body": b"" if head else response.body})


async def _send_text(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
