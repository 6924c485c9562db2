"""A fake HTTP server on loopback that fails in every way, chosen per request."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from whysync.json_tree import Json


@dataclass(slots=True)
class FakeRequest:
    """One received request."""

    method: str
    target: str
    headers: dict[str, str]
    number: int


@dataclass(slots=True)
class FakeResponse:
    """A response, or a way of failing to respond (`how`)."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    # whole, hang, reset, cut, drip, drip-head, silent-body, noise, late, endless, informational
    how: str = "whole"


def json_response(value: Json, status: int = 200, **headers: str) -> FakeResponse:
    extra_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    return FakeResponse(
        status, json.dumps(value).encode(), {"Content-Type": "application/json", **extra_headers}
    )


def gzipped(answer: FakeResponse) -> FakeResponse:
    headers = {**answer.headers, "Content-Encoding": "gzip"}
    return FakeResponse(answer.status, gzip.compress(answer.body), headers, answer.how)


RequestHandler = Callable[[FakeRequest], FakeResponse]


class FaultyServer:
    """`requests` has every received request; `answering` chooses the response."""

    def __init__(self, answering: RequestHandler) -> None:
        self.answering = answering
        self.requests: list[FakeRequest] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while await self._one(reader, writer):
                    pass
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), 0.2)
            writer.transport.abort()
            self._tasks.discard(task)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        if length := int(headers.get("content-length", "0")):
            await reader.readexactly(length)
        request = FakeRequest(method, target, headers, len(self.requests) + 1)
        self.requests.append(request)
        return await self._play(self.answering(request), writer)

    async def _play(self, answer: FakeResponse, writer: asyncio.StreamWriter) -> bool:
        if answer.how == "hang":
            await asyncio.Event().wait()
        if answer.how == "reset":
            with suppress(AttributeError):
                writer.transport.abort()
            return False
        if answer.how == "noise":
            writer.write(b"\x00\x01 this is no HTTP \r\n\r\n")
            await writer.drain()
            return False
        if answer.how == "informational":
            await self._flood(b"HTTP/1.1 103 X\r\n\r\n", writer)
        if answer.how == "endless":
            encoding = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
            writer.write(f"HTTP/1.1 200 X\r\n{encoding}Transfer-Encoding: chunked\r\n\r\n".encode())
            await self._flood(b"%x\r\n%s\r\n" % (len(answer.body), answer.body), writer)
        lines = [f"HTTP/1.1 {answer.status} X", f"Content-Length: {len(answer.body)}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        if answer.how == "drip-head":
            await self._drip(head, writer)
        writer.write(head)
        if answer.how == "cut":
            writer.write(answer.body[: len(answer.body) // 2])
            await writer.drain()
            return False
        if answer.how == "silent-body":
            await writer.drain()
            await asyncio.Event().wait()
        if answer.how == "late":
            await asyncio.sleep(0.1)
        if answer.how == "drip":
            await self._drip(answer.body, writer)
        writer.write(answer.body)
        await writer.drain()
        return True

    async def _drip(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """One byte at a time with pauses: each byte resets an idle timeout."""
        for at in range(len(data) - 1):
            writer.write(data[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0.02)
        await asyncio.Event().wait()

    async def _flood(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """Repeat the data until the client closes the connection."""
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def faulty_server(
    answering: RequestHandler, *, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[FaultyServer]:
    fake = FaultyServer(answering)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0, ssl=tls)
    fake.port = int(server.sockets[0].getsockname()[1])
    try:
        yield fake
    finally:
        server.close()
        await fake.stop()
