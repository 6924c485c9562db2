"""`whysync mcp` with the reference client of the protocol: over stdio, over HTTP, and with wrong requests."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import httpx2
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.cli.running import Whysync, small_environment
from tests.situations import ROOT

EXAMPLE = ROOT / "examples/autoscaler-loop"
READS = {"list_apps", "diagnose", "get_diff", "explain", "plan", "list_incidents"}
HELLO: Final[dict[str, object]] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
T = TypeVar("T")


def over_stdio(ask: Callable[[ClientSession], Awaitable[T]], *flags: str) -> T:
    """Ask a server in a process of its own."""

    async def run() -> T:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "whysync", "mcp", "--bundle", str(EXAMPLE), *flags],
            env=small_environment(),
            cwd=ROOT,
        )
        with Path(os.devnull).open("w") as errors:
            async with (
                stdio_client(server, errlog=errors) as (reading, writing),
                ClientSession(reading, writing) as session,
            ):
                await session.initialize()
                return await ask(session)

    return asyncio.run(run())


@contextmanager
def http_server(*flags: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
    """A server on a free port of loopback; its URL is read from standard error."""
    process = subprocess.Popen(
        [sys.executable, "-m", "whysync", "mcp", "--bundle", str(EXAMPLE), "--http", "127.0.0.1:0", *flags],
        cwd=ROOT,
        env=small_environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
        assert match, line + process.stderr.read()
        yield match[0], process
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def over_http(url: str, ask: Callable[[ClientSession], Awaitable[T]], token: str = "") -> T:
    async def run() -> T:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            streamable_http_client(url, http_client=http) as (reading, writing),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return await ask(session)

    return asyncio.run(run())


async def diagnose(session: ClientSession) -> CallToolResult:
    return await session.call_tool("diagnose", {"app": "my-api-service"})


def check(result: CallToolResult) -> None:
    """The answer of one call, below 4 KB as it is sent."""
    assert not result.is_error
    assert result.structured_content["cause"] == "controller-owned"
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert "HorizontalPodAutoscaler" in content.text
    assert len(result.model_dump_json(by_alias=True, exclude_none=True).encode()) < 4_096


class TestStdio:
    def test_the_reference_client(self) -> None:
        async def ask(session: ClientSession) -> None:
            tools = (await session.list_tools()).tools
            assert {tool.name for tool in tools} == READS
            for tool in tools:
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
                assert not tool.annotations.destructive_hint
                assert tool.output_schema is not None
            check(await diagnose(session))
            unknown = await session.call_tool("diagnose", {"app": "nope"})
            assert unknown.is_error
            with pytest.raises(MCPError, match="unknown tool; the tools are list_apps"):
                await session.call_tool("delete_app", {})
            assert session.instructions is not None
            assert "never instructions" in session.instructions

        over_stdio(ask)

    def test_several_questions_at_once(self) -> None:
        async def ask(session: ClientSession) -> None:
            answers = await asyncio.gather(*(diagnose(session) for _ in range(5)))
            for answer in answers:
                check(answer)

        over_stdio(ask)

    def test_lines_that_are_no_messages_do_not_end_it(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "whysync", "mcp", "--bundle", str(EXAMPLE)],
            cwd=ROOT,
            env=small_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"no json\n{}\n[1,2]\n\xff\xfe\n" + json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        answers: list[dict[str, object]] = []
        while not any(answer.get("id") == 1 for answer in answers):
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stdout.read() == b""
        process.stdout.close()

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
    def test_a_signal_ends_it_while_it_waits_for_a_message(self, number: signal.Signals, code: int) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "whysync", "mcp", "--bundle", str(EXAMPLE)],
            cwd=ROOT,
            env=small_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert b"whysync" in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr.read().strip() == b"interrupted"
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


class TestHttp:
    def test_the_reference_client(self) -> None:
        with http_server() as (url, _):
            check(over_http(url, diagnose))

    def test_other_hosts_origins_and_large_requests_are_refused(self) -> None:
        with http_server() as (url, _):
            json_headers = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            }
            for name, value, status in (
                ("Host", "evil.example", 421),
                ("Origin", "http://evil.example", 403),
                ("Content-Type", "text/plain", 400),
            ):
                answer = httpx2.post(url, headers={**json_headers, name: value}, content=b"{}")
                assert answer.status_code == status
            large = httpx2.post(url, headers=json_headers, content=b" " * (2 << 20))
            assert large.status_code == 413

    def test_a_token_is_required_if_one_is_set(self, tmp_path: Path) -> None:
        token = "c0ffee" * 8
        file = tmp_path / "token"
        file.write_text(f"{token}\n")
        with http_server("--http-token-file", str(file)) as (url, _):
            for given in ("", "Bearer wrong", token, "Bearer", f"Basic {token}"):
                answer = httpx2.post(url, headers={"Authorization": given} if given else {}, content=b"{}")
                assert answer.status_code == 401
                assert token not in answer.text
            check(over_http(url, diagnose, token))

    def test_sigterm_ends_it(self) -> None:
        with http_server() as (url, process):
            check(over_http(url, diagnose))
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 143


class TestCommandLine:
    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (["--bundle", "-"], "the protocol uses standard input"),
            (["--bundle", "missing.tar.gz"], "missing.tar.gz does not exist"),
            ([], "no source of facts is configured"),
            (["--bundle", str(EXAMPLE), "--http", "0.0.0.0:8401"], "need a token"),
            (["--bundle", str(EXAMPLE), "--http", "argocd.example.com:80"], "need a token"),
            (["--bundle", str(EXAMPLE), "--http", "8401"], "invalid --http '8401'"),
            (["--bundle", str(EXAMPLE), "--http", "127.0.0.1:99999"], "invalid --http"),
            (["--bundle", str(EXAMPLE), "--checkout", "nowhere"], "--checkout nowhere: no such folder"),
            (["--bundle", str(EXAMPLE), "--http-token-file", "/nowhere"], "cannot be read"),
        ],
    )
    def test_mistakes_are_reported_at_the_start(
        self, whysync: Whysync, flags: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = whysync("mcp", *flags)
        assert (result.code, result.out) == (2, "")
        assert words in result.err

    def test_an_empty_token_file_is_refused(self, whysync: Whysync, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("\n")
        result = whysync(
            "mcp", "--bundle", str(EXAMPLE), "--http", "--http-token-file", str(tmp_path / "token")
        )
        assert result.code == 2
        assert "has no token" in result.err

    def test_without_the_sdk_it_says_how_to_install_it(self) -> None:
        code = (
            "import sys; sys.modules['mcp'] = None\n"
            "from whysync.cli.main import main; sys.exit(main(['mcp', '--bundle', 'x']))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=small_environment(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 2
        assert "pip install 'whysync[mcp]'" in done.stderr
