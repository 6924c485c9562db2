"""The MCP server: the tools over standard input and output, or over HTTP. Uses the official SDK.

The SDK is an optional dependency (`pip install 'whysync[mcp]'`), so only functions import it.
"""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, cast

import msgspec

from whysync import __version__
from whysync.errors import UsageError
from whysync.mcp.stdin import Lines
from whysync.mcp.tools import INSTRUCTIONS, TOOLS, Tool, Toolbox

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
    from mcp_types import Tool as ToolDescription
    from starlette.types import ASGIApp, Receive, Scope, Send

_MOST_REQUEST_BYTES: Final = 1 << 20
_MOST_THREADS: Final = 4
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


class Address(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/mcp"


def check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise UsageError(
            what="whysync mcp needs the MCP SDK, which is not installed",
            why="it is an optional dependency",
            next="pip install 'whysync[mcp]'",
        )


def build_server(toolbox: Toolbox) -> Server[object]:
    from anyio import CapacityLimiter, to_thread
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import INVALID_PARAMS, CallToolResult, ListToolsResult, TextContent

    limiter: list[CapacityLimiter] = []

    async def list_tools(
        _context: ServerRequestContext[object], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(
        _context: ServerRequestContext[object], params: CallToolRequestParams
    ) -> CallToolResult:
        tool = toolbox.get(params.name)
        if tool is None:
            known = ", ".join(each.name for each in TOOLS)
            raise MCPError(code=INVALID_PARAMS, message=f"unknown tool; the tools are {known}")
        if not limiter:
            limiter.append(CapacityLimiter(_MOST_THREADS))
        work = partial(toolbox.call, tool, params.arguments)
        called = await to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter[0])
        return CallToolResult(
            content=[TextContent(type="text", text=called.text)],
            structured_content=called.structured,
            is_error=called.is_error,
        )

    return Server(
        "whysync",
        version=__version__,
        title="whysync",
        description="Why is this Argo CD app OutOfSync, Degraded or failed?",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool) -> ToolDescription:
    from mcp_types import Tool as ToolDescription
    from mcp_types import ToolAnnotations

    return ToolDescription(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve one client on standard input and output, until it closes standard input or a signal arrives."""
    import anyio
    from mcp.server.stdio import stdio_server

    server = build_server(toolbox)
    _warm_up(toolbox)

    async def run() -> None:
        # the SDK only iterates over its lines
        lines = cast("anyio.AsyncFile[str]", Lines())
        async with stdio_server(stdin=lines) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def serve_http(toolbox: Toolbox, address: Address, *, token: str, started: Callable[[Address], None]) -> None:
    """Serve clients over streamable HTTP until the process is told to stop."""
    import uvicorn

    listener = _listen(address)
    port: int = listener.getsockname()[1]
    bound = Address(host=address.host, port=port)
    config = uvicorn.Config(
        http_app(toolbox, bound, token=token),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    _warm_up(toolbox)
    started(bound)
    uvicorn.Server(config).run(sockets=[listener])


def http_app(toolbox: Toolbox, address: Address, *, token: str) -> ASGIApp:
    """The ASGI application. On loopback, requests that name another host are refused (DNS rebinding)."""
    from mcp.server.transport_security import TransportSecuritySettings

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    if address.is_loopback:
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[f"{host}:*" for host in _LOCAL_NAMES],
            allowed_origins=[f"http://{host}:*" for host in _LOCAL_NAMES],
        )
    app = build_server(toolbox).streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=_MOST_REQUEST_BYTES,
        transport_security=security,
        host=address.host,
    )
    return _with_token(app, token) if token else app


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    """Refuse requests without the token; it is compared in constant time."""
    from starlette.responses import PlainTextResponse

    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict[bytes, bytes](scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                refused = PlainTextResponse(
                    "a valid bearer token is required\n", 401, {"WWW-Authenticate": "Bearer"}
                )
                await refused(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(128)
    except OSError as problem:
        listener.close()
        raise UsageError(
            what=f"cannot listen on {address.host}:{address.port}",
            why=str(problem.strerror or problem),
            next="pass another address: --http HOST:PORT",
        ) from problem
    return listener


def _warm_up(toolbox: Toolbox) -> None:
    threading.Thread(target=toolbox.warm_up, name="warm-up", daemon=True).start()
