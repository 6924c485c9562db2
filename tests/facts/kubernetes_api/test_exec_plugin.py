"""Login programs: what they are told, what is kept of what they give, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.facts.http.certificates import Certificates
from tests.facts.http.faulty import FakeRequest, FakeResponse, faulty_server, json_response
from whysync.deadline import Deadline
from whysync.errors import SourceError, UsageError
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.tls import Tls
from whysync.facts.kubernetes_api.exec_plugin import ExecPlugin
from whysync.facts.kubernetes_api.kubeconfig import Entry
from whysync.facts.kubernetes_api.login import Connection
from whysync.json_tree import Json, Object

V1 = "client.authentication.k8s.io/v1"


def plugin(tmp_path: Path, script: str, **spec: Json) -> ExecPlugin:
    """A program in Python; each run leaves a line in `runs`."""
    file = tmp_path / "login.py"
    counted = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')"
    file.write_text(f"import json, os, sys\n{counted}\n{script}")
    result: Object = {
        "apiVersion": V1,
        "command": sys.executable,
        "args": [str(file)],
        "interactiveMode": "Never",
        **spec,
    }
    cluster = Entry(
        body={
            "server": "https://127.0.0.1:1",
            "certificate-authority-data": "Q0E=",
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
        },
        folder=tmp_path,
    )
    return ExecPlugin(Entry(body={"exec": result}, folder=tmp_path), cluster, {"PATH": "/usr/bin:/bin"})


def giving(status: Object, version: str = V1) -> str:
    answer = {"kind": "ExecCredential", "apiVersion": version, "status": status}
    return f"print({json.dumps(json.dumps(answer))})"


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text())


def test_a_token_is_kept_until_it_expires(tmp_path: Path) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    login = plugin(tmp_path, giving({"token": "t", "expirationTimestamp": later}))

    async def twice(exec_plugin: ExecPlugin) -> list[object]:
        return [await exec_plugin.headers(), await exec_plugin.headers()]

    assert asyncio.run(twice(login)) == [{"Authorization": "Bearer t"}] * 2
    assert runs(tmp_path) == 1
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    asyncio.run(twice(plugin(tmp_path, giving({"token": "t", "expirationTimestamp": soon}))))
    assert runs(tmp_path) == 3


def test_after_a_401_it_is_run_again(tmp_path: Path) -> None:
    counting = f"n = len(open({str(tmp_path / 'runs')!r}).read())"
    answer = giving({"token": "tN"})[:-1] + ".replace('tN', f't{n}'))"

    async def talk() -> object:
        def answering(request: FakeRequest) -> FakeResponse:
            return (
                json_response({"ok": True})
                if request.headers["authorization"] == "Bearer t2"
                else json_response({}, 401)
            )

        async with faulty_server(answering) as server:
            login = plugin(tmp_path, f"{counting}\n{answer}")
            connection = Connection(name="x", url=server.url, auth=login, tls=Tls())
            async with await connection.client(HttpLimits(first_pause_seconds=0.001)) as client:
                return await client.json("/")

    assert asyncio.run(talk()) == {"ok": True}


def test_what_the_program_is_told(tmp_path: Path) -> None:
    out = tmp_path / "told"
    message = "json.dumps([os.environ['KUBERNETES_EXEC_INFO'], os.environ.get('MINE')])"
    script = f"open({str(out)!r}, 'w').write({message})"
    login = plugin(
        tmp_path,
        f"{script}\n{giving({'token': 't'})}",
        env=[{"name": "MINE", "value": "yes"}, {"value": "nameless"}],
        provideClusterInfo=True,
    )
    asyncio.run(_credential(login))
    info, mine = json.loads(out.read_text())
    assert mine == "yes"
    assert json.loads(info) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://127.0.0.1:1",
                "certificate-authority-data": "Q0E=",
                "config": {"audience": "x"},
            },
        },
    }


async def _credential(login: ExecPlugin) -> object:
    return await login.credential()


BAD = {
    "it fails": (
        "sys.stderr.write('no session, token=abcdefgh12345678'); sys.exit(3)",
        "it exited with 3: no session",
    ),
    "no output": ("", "did not write an ExecCredential"),
    "no JSON": ("print('hello')", "did not write an ExecCredential"),
    "another version": (giving({"token": "t"}, f"{V1}beta1"), f"ExecCredential of {V1}"),
    "empty": (giving({}), "neither a token nor a certificate"),
    "half a certificate": (giving({"clientCertificateData": "x"}), "neither a token nor a certificate"),
}


@pytest.mark.parametrize(("script", "expected"), BAD.values(), ids=BAD.keys())
def test_programs_without_a_credential_are_an_error(tmp_path: Path, script: str, expected: str) -> None:
    with pytest.raises(SourceError) as caught:
        asyncio.run(_credential(plugin(tmp_path, script)))
    assert expected in caught.value.why
    assert "abcdefgh12345678" not in caught.value.why


FORK = "import subprocess; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
HOSTILE = {
    "it sleeps": ("import time; time.sleep(60)", "the time given with --timeout"),
    "it ignores SIGTERM": (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "the time given with --timeout",
    ),
    "it writes to stdout without end": ("while True: sys.stdout.write('x' * 65536)", "more than 1 MiB"),
    "it writes to stderr without end": ("while True: sys.stderr.write('x' * 65536)", "more than 1 MiB"),
    "its child keeps the pipes open": (
        f"{FORK}\n{giving({'token': 't'})}\nsys.stdout.flush()",
        "the time given with --timeout",
    ),
}


@pytest.mark.parametrize(("script", "expected"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_programs_are_killed_with_all_that_they_started(
    tmp_path: Path, script: str, expected: str
) -> None:
    group = tmp_path / "group"
    login = plugin(tmp_path, f"open({str(group)!r}, 'w').write(str(os.getpgrp()))\n{script}")
    for seconds in (1, 4, 20):  # a busy machine may need longer than the first to start the program
        # Those that write without end are killed for that, however much time they have.
        login.deadline = Deadline.after(60 if "MiB" in expected else seconds)
        with pytest.raises(SourceError) as caught:
            asyncio.run(_credential(login))
        assert "it was killed" in caught.value.why
        assert expected in caught.value.why
        if group.exists():
            break
    while _is_alive(int(group.read_text())):
        os.sched_yield()  # the signal was sent; the test has a time limit of its own


def _is_alive(group: int) -> bool:
    """Zombies that nobody has waited for yet do not count."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp, *_ = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(pgrp) == group and state != "Z":
            return True
    return False


def test_ctrl_c_does_not_wait_for_the_program(tmp_path: Path) -> None:
    started = tmp_path / "started"
    login = plugin(tmp_path, f"open({str(started)!r}, 'w').close()\nimport time; time.sleep(600)")

    async def cancelled() -> None:
        task = asyncio.create_task(login.credential())
        while not started.exists():
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())  # it waits for the thread that waits for the program


def test_nothing_that_the_kubeconfig_says_is_in_a_complaint(tmp_path: Path) -> None:
    """Not by its shape: these are values that look like words."""
    canaries = {
        "user": "plain-user-token",
        "env": "correct horse battery",
        "arg": "letmein",
        "late": "x" * 500,
    }
    script = f"sys.stderr.write('cannot use ' + {' '.join(canaries.values())!r}); sys.exit(1)"
    login = plugin(
        tmp_path,
        script,
        env=[{"name": "PASSPHRASE", "value": canaries["env"]}, {"name": "LATE", "value": canaries["late"]}],
        extra={"token": canaries["user"], "args": [canaries["arg"]]},
    )
    with pytest.raises(SourceError) as caught:
        asyncio.run(_credential(login))
    assert "cannot use <masked>" in caught.value.why
    assert [value for value in canaries.values() if value[-40:] in caught.value.why] == []


def test_a_program_may_ask_on_the_terminal(tmp_path: Path) -> None:
    """It reads what is typed, its children are killed with it, and the terminal is ours again."""
    script = "sys.stderr.write('code: '); sys.stderr.flush(); code = input()\n" + giving(
        {"token": "T"}
    ).replace(")", ".replace('T', code))", 1)
    login = plugin(tmp_path, f"{script}\nsys.stdout.flush()")
    file = tmp_path / "ask.py"
    file.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom whysync.processes.children import Bounds, run\n"
        f"done = run([sys.executable, {str(tmp_path / 'login.py')!r}], folder=Path(), env=os.environ,"
        " bounds=Bounds(seconds=30), terminal=True)\n"
        "print('GOT', done.out.decode().strip(), os.tcgetpgrp(0) == os.getpgrp(), input())\n"
    )
    assert login.command
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, str(file)])
    result = b""
    try:
        os.write(terminal, b"4711\nafter\n")
        while b"GOT" not in result or b"after\r\n" not in result.partition(b"GOT")[2]:
            result += os.read(terminal, 1024)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    assert b'"token": "4711"' in result
    assert b" True after" in result


def test_programs_that_cannot_be_run(tmp_path: Path) -> None:
    missing = plugin(tmp_path, "", command="no-such-login", installHint="get it at example.com")
    with pytest.raises(UsageError, match="not installed") as caught:
        asyncio.run(_credential(missing))
    assert caught.value.next == "get it at example.com"
    with pytest.raises(SourceError, match="returned no credentials"):
        asyncio.run(_credential(plugin(tmp_path, "", command="./no-such-login")))
    with pytest.raises(SourceError) as interactive:
        asyncio.run(_credential(plugin(tmp_path, giving({"token": "t"}), interactiveMode="Always")))
    assert "not a terminal" in interactive.value.why
    with pytest.raises(UsageError, match="v1alpha1"):
        plugin(tmp_path, "", apiVersion="client.authentication.k8s.io/v1alpha1")
    with pytest.raises(UsageError, match="has no command"):
        plugin(tmp_path, "", command="")
    with pytest.raises(UsageError, match="interactiveMode"):
        plugin(tmp_path, "", interactiveMode="x")


def test_a_relative_command_starts_from_the_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "login"
    file.write_text(f"#!{sys.executable}\n{giving({'token': 'relative'})}\n")
    file.chmod(0o755)
    login = plugin(tmp_path, "", command="./login", args=[])
    assert asyncio.run(login.headers()) == {"Authorization": "Bearer relative"}


def test_a_certificate_from_a_program(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    status: Object = {
        "clientCertificateData": certificates.text("client.crt"),
        "clientKeyData": certificates.text("client.key"),
    }

    async def talk() -> Json:
        def answering(_: FakeRequest) -> FakeResponse:
            return json_response({"ok": True})

        async with faulty_server(answering, tls=certificates.serving(asks_clients=True)) as server:
            connection = Connection(
                name="x",
                url=f"https://127.0.0.1:{server.port}",
                auth=plugin(tmp_path, giving(status)),
                tls=Tls(ca_pem=certificates.text("ca.crt")),
            )
            async with await connection.client(HttpLimits()) as client:
                return await client.json("/")

    assert asyncio.run(talk()) == {"ok": True}
