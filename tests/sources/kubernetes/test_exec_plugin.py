"""Login programs: what they are told, what is kept of what they give, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.sources.net.certificates import Certificates
from tests.sources.net.faulty import Asked, Says, faulty, says
from whysync.contracts.tree import Json, Object
from whysync.errors import SourceError, UsageError
from whysync.sources.kubernetes.exec_plugin import ExecPlugin
from whysync.sources.kubernetes.kubeconfig import Entry
from whysync.sources.kubernetes.login import Connection
from whysync.sources.net.limits import Limits
from whysync.sources.net.tls import Tls

V1 = "client.authentication.k8s.io/v1"


def plugin(tmp_path: Path, script: str, **spec: Json) -> ExecPlugin:
    """A program in Python; each run leaves a line in `runs`."""
    file = tmp_path / "login.py"
    counted = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')"
    file.write_text(f"import json, os, sys\n{counted}\n{script}")
    told: Object = {
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
    return ExecPlugin(Entry(body={"exec": told}, folder=tmp_path), cluster, {"PATH": "/usr/bin:/bin"})


def giving(status: Object, version: str = V1) -> str:
    answer = {"kind": "ExecCredential", "apiVersion": version, "status": status}
    return f"print({json.dumps(json.dumps(answer))})"


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text())


def test_a_token_is_kept_until_it_expires(tmp_path: Path) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    kept = plugin(tmp_path, giving({"token": "t", "expirationTimestamp": later}))

    async def twice(one: ExecPlugin) -> list[object]:
        return [await one.headers(), await one.headers()]

    assert asyncio.run(twice(kept)) == [{"Authorization": "Bearer t"}] * 2
    assert runs(tmp_path) == 1
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    asyncio.run(twice(plugin(tmp_path, giving({"token": "t", "expirationTimestamp": soon}))))
    assert runs(tmp_path) == 3


def test_after_a_401_it_is_run_again(tmp_path: Path) -> None:
    counting = f"n = len(open({str(tmp_path / 'runs')!r}).read())"
    answer = giving({"token": "tN"})[:-1] + ".replace('tN', f't{n}'))"

    async def talk() -> object:
        def answering(asked: Asked) -> Says:
            return says({"ok": True}) if asked.headers["authorization"] == "Bearer t2" else says({}, 401)

        async with faulty(answering) as server:
            login = plugin(tmp_path, f"{counting}\n{answer}")
            connection = Connection(name="x", url=server.url, auth=login, tls=Tls())
            async with await connection.client(Limits(first_pause_seconds=0.001)) as client:
                return await client.json("/")

    assert asyncio.run(talk()) == {"ok": True}


def test_what_the_program_is_told(tmp_path: Path) -> None:
    out = tmp_path / "told"
    told = "json.dumps([os.environ['KUBERNETES_EXEC_INFO'], os.environ.get('MINE')])"
    script = f"open({str(out)!r}, 'w').write({told})"
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
        "it ended with 3: no session",
    ),
    "it says nothing": ("", "did not write an ExecCredential"),
    "no JSON": ("print('hello')", "did not write an ExecCredential"),
    "another version": (giving({"token": "t"}, f"{V1}beta1"), f"ExecCredential of {V1}"),
    "empty": (giving({}), "neither a token nor a certificate"),
    "half a certificate": (giving({"clientCertificateData": "x"}), "neither a token nor a certificate"),
}


@pytest.mark.parametrize(("script", "words"), BAD.values(), ids=BAD.keys())
def test_programs_that_give_nothing(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        asyncio.run(_credential(plugin(tmp_path, script)))
    assert words in caught.value.why
    assert "abcdefgh12345678" not in caught.value.why


def test_programs_that_cannot_be_run(tmp_path: Path) -> None:
    missing = plugin(tmp_path, "", command="no-such-login", installHint="get it at example.com")
    with pytest.raises(UsageError, match="not installed") as caught:
        asyncio.run(_credential(missing))
    assert caught.value.next == "get it at example.com"
    with pytest.raises(SourceError, match="gave no credentials"):
        asyncio.run(_credential(plugin(tmp_path, "", command="./no-such-login")))
    with pytest.raises(SourceError) as interactive:
        asyncio.run(_credential(plugin(tmp_path, giving({"token": "t"}), interactiveMode="Always")))
    assert "not a terminal" in interactive.value.why
    with pytest.raises(UsageError, match="v1alpha1"):
        plugin(tmp_path, "", apiVersion="client.authentication.k8s.io/v1alpha1")
    with pytest.raises(UsageError, match="without a command"):
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
    made = Certificates(tmp_path)
    status: Object = {
        "clientCertificateData": made.text("client.crt"),
        "clientKeyData": made.text("client.key"),
    }

    async def talk() -> Json:
        def answering(_: Asked) -> Says:
            return says({"ok": True})

        async with faulty(answering, tls=made.serving(asks_clients=True)) as server:
            connection = Connection(
                name="x",
                url=f"https://127.0.0.1:{server.port}",
                auth=plugin(tmp_path, giving(status)),
                tls=Tls(ca_pem=made.text("ca.crt")),
            )
            async with await connection.client(Limits()) as client:
                return await client.json("/")

    assert asyncio.run(talk()) == {"ok": True}
