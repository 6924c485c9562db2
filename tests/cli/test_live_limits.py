"""Hostile and misconfigured live sources on the command line: a clear error, in time, without a token."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Ran, Whysync
from tests.facts.argocd_api.scenes import of_lab, shop
from tests.facts.argocd_api.server import ArgoCD
from tests.facts.http.faulty import FakeRequest, FakeResponse, json_response
from tests.facts.kubernetes_api.fake_api import FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.kubernetes_api.world import world
from tests.facts.test_three_sources import Cluster
from whysync import app
from whysync.deadline import Deadline
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import Json, Object

CANARIES = {
    "token": "canary-words-of-a-token",
    "header": "canary-words-of-a-header",
    "cookie": "canary-words-of-a-cookie",
    "proxy": "canary-words-of-a-proxy",
    "password": "canary-words-of-a-password",
    "env": "canary-words-of-a-variable",
    "given": "canary-words-of-a-login",
}
VERBS = (
    "diagnose", "list", "get shop", "diff", "fix shop", "health --app shop", "audit", "alerts --for-app shop",
    "wait shop --timeout 1s", "collect -o {}",
)  # fmt: skip


def leaked(*ran: Ran) -> list[str]:
    return [name for name, canary in CANARIES.items() for run in ran if canary in run.out + run.err]


def is_clear(ran: Ran, *expected: str) -> None:
    assert ran.code == 2, ran
    assert "itself failed" not in ran.err
    assert "Traceback" not in ran.err
    for phrase in expected:
        assert phrase in ran.err, ran.err


# --- no token in any output -----------------------------------------------------------------------------


@pytest.fixture
def argocd() -> Iterator[ArgoCD]:
    with ArgoCD(shop(), token=CANARIES["token"]) as server:
        server.cookie = CANARIES["cookie"]
        yield server


@pytest.mark.parametrize("verb", VERBS)
def test_no_credential_is_shown_with_an_argocd_server(
    whysync: Whysync, argocd: ArgoCD, tmp_path: Path, verb: str
) -> None:
    parts = verb.format(tmp_path / "out").split()
    result = whysync(
        *parts, "-vv", "--server", argocd.url, "--plaintext", "--auth-token", CANARIES["token"],
        "-H", f"X-Pass: {CANARIES['header']}", NO_PROXY=f"u:{CANARIES['proxy']}@x,127.0.0.1",
    )  # fmt: skip
    assert "/api/v1/" in result.err, "the log contains the requested paths"
    assert "itself failed" not in result.err
    assert leaked(result) == []
    collected = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(canary in content for content in collected for canary in CANARIES.values())


def config_of(home: Path, url: str, user: Object, **cluster: Json) -> str:
    path = kubeconfig(home, url)
    body = json.loads(path.read_text())
    body["users"] = [{"name": "me", "user": user}]
    body["clusters"][0]["cluster"] |= cluster
    path.write_text(json.dumps(body))
    return str(path)


def login_program(script: str, *arguments: str) -> Object:
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", script, *arguments],
            "env": [{"name": "PASSPHRASE", "value": CANARIES["env"]}],
            "interactiveMode": "Never",
        },
        "password": CANARIES["password"],
    }


GIVING = "import json; print(json.dumps({{'kind': 'ExecCredential', 'apiVersion':\
 'client.authentication.k8s.io/v1', 'status': {{'token': '{}'}}}}))"
USERS: dict[str, Object] = {
    "token": {"token": CANARIES["token"]},
    "password": {"username": "me", "password": CANARIES["password"]},
    "exec plugin": login_program(GIVING.format(CANARIES["given"])),
    "exec plugin that fails": login_program(
        "import os, sys; sys.exit('denied: ' + os.environ['PASSPHRASE'] + ' ' + sys.argv[1])",
        CANARIES["token"],
    ),
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS.keys())
@pytest.mark.parametrize("how", ["works", "echoes", "wrong"])
def test_no_credential_is_shown_with_a_cluster(
    whysync: Whysync, tmp_path: Path, user: Object, how: str
) -> None:
    cluster = Cluster(of_lab("crash-loop"))

    def answering(request: FakeRequest) -> FakeResponse:
        sent = f"who is {request.headers.get('authorization')}?"
        if how == "works":
            answer = cluster(request)
            cookie = {"Set-Cookie": f"session={CANARIES['cookie']}"}
            return FakeResponse(answer.status, answer.body, {**answer.headers, **cookie}, answer.how)
        return json_response({"message": sent}, 401 if how == "wrong" else 400)

    with serving(answering) as server:
        result = whysync("diagnose", "-vv", "--kubeconfig", config_of(tmp_path, server.url, user))
    assert "itself failed" not in result.err
    assert leaked(result) == []


# --- addresses and proxies -------------------------------------------------------------------------------


SERVERS = {
    "unbalanced brackets": "http://[::1",
    "a port that is too large": "https://127.0.0.1:99999",
    "a port that is no number": "https://127.0.0.1:http",
    "no host": "https://",
    "another scheme": "ftp://127.0.0.1",
    "a blank": "https://a b",
}


@pytest.mark.parametrize("address", SERVERS.values(), ids=SERVERS.keys())
@pytest.mark.parametrize("setting", ["--server", "ARGOCD_SERVER", "ARGOCD_OPTS", "kubeconfig", "proxy-url"])
def test_an_address_that_cannot_be_used(
    whysync: Whysync, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, setting: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = address if "//" in address else ""
    match setting:
        case "--server":
            result = whysync("list", "--server", address, "--plaintext")
        case "ARGOCD_SERVER":
            result = whysync("list", "--plaintext", ARGOCD_SERVER=address)
        case "ARGOCD_OPTS":
            result = whysync("list", "--plaintext", ARGOCD_OPTS=f"--server '{address}'")
        case "kubeconfig":
            result = whysync("list", "--kubeconfig", config_of(tmp_path, address, {}))
        case _:
            url = "http://127.0.0.1:1"
            result = whysync("list", "--kubeconfig", config_of(tmp_path, url, {}, **{"proxy-url": address}))
    is_clear(result, shown.rstrip("/"), setting)


PROXIES = {
    "a port that is too large": "http://u:{}@127.0.0.1:99999",
    "unbalanced brackets": "http://u:{}@[::1",
    "another scheme": "gopher://u:{}@127.0.0.1",
    "nobody there": "http://u:{}@127.0.0.1:9",
}


@pytest.mark.parametrize("proxy", PROXIES.values(), ids=PROXIES.keys())
@pytest.mark.parametrize("setting", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_that_cannot_be_used(
    whysync: Whysync, argocd: ArgoCD, monkeypatch: pytest.MonkeyPatch, proxy: str, setting: str
) -> None:
    address = proxy.format(CANARIES["proxy"])
    flags = ("--server", argocd.url, "--plaintext", "--auth-token", CANARIES["token"])
    monkeypatch.setenv(setting, address)
    result = whysync("list", *flags)
    is_clear(result, setting, "127.0.0.1" if "127" in proxy else "[::1")
    assert leaked(result) == []


@pytest.mark.parametrize("listed", ["[::1", "http://[", "10.0.0.0/99", ":::", "\u2603", ",,;", "*.[x]:0"])
def test_nonsense_in_no_proxy_is_ignored(whysync: Whysync, argocd: ArgoCD, listed: str) -> None:
    flags = ("--server", argocd.url, "--plaintext", "--auth-token", CANARIES["token"])
    assert whysync("list", *flags, NO_PROXY=listed).err == ""
    is_clear(whysync("list", *flags, NO_PROXY=listed, HTTP_PROXY="http://127.0.0.1:9"), "HTTP_PROXY")


def test_files_that_cannot_be_read(whysync: Whysync, tmp_path: Path) -> None:
    missing = str(tmp_path / "none.pem")
    for flag in ("--ca-file", "--client-crt"):
        is_clear(whysync("list", "--server", "https://127.0.0.1:9", flag, missing), missing)
    for key in ("certificate-authority",):
        config = config_of(tmp_path, "https://127.0.0.1:9", {}, **{key: missing})
        is_clear(whysync("list", "--kubeconfig", config), missing)
    for key in ("client-certificate", "client-key"):
        user: Object = {"client-certificate": missing, key: missing}
        is_clear(whysync("list", "--kubeconfig", config_of(tmp_path, "https://127.0.0.1:9", user)), missing)
    is_clear(whysync("list", "--server", "https://127.0.0.1:9", "--ca-file", str(tmp_path)), str(tmp_path))


def test_nobody_listens(whysync: Whysync) -> None:
    is_clear(whysync("list", "--server", "https://127.0.0.1:9"), "127.0.0.1:9", "connection refused")


# --- time --------------------------------------------------------------------------------------------------


LOGINS = {
    "it sleeps": ("import time; time.sleep(600)", "--timeout"),
    "it ignores SIGTERM": (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
        "--timeout",
    ),
    "it writes without end": ("while True: print('x' * 65536)", "more than 1 MiB"),
    "it complains without end": ("import sys\nwhile True: sys.stderr.write('x' * 65536)", "more than 1 MiB"),
    "its child keeps the pipes": (
        "import os, time; print('{}') if os.fork() else time.sleep(600)",
        "--timeout",
    ),
}


@pytest.mark.parametrize(("script", "expected"), LOGINS.values(), ids=LOGINS.keys())
def test_login_programs_end_with_the_timeout(
    whysync: Whysync, tmp_path: Path, script: str, expected: str
) -> None:
    seconds = "50s" if "MiB" in expected else "1s"
    config = config_of(tmp_path, "http://127.0.0.1:9", login_program(script))
    result = whysync("list", "--core", "--kubeconfig", config, "--timeout", seconds)
    is_clear(result, "exec plugin", expected)


def test_a_list_without_an_end(whysync: Whysync, tmp_path: Path) -> None:
    api = FakeApi(world())

    def answering(request: FakeRequest) -> FakeResponse:
        if "/applications" in request.target:
            return json_response({"kind": "List", "metadata": {"continue": "again"}, "items": []})
        return api(request)

    with serving(answering) as server:
        result = whysync("list", "--core", "--kubeconfig", str(kubeconfig(tmp_path, server.url)))
    is_clear(result, "does not end", "same continue token")


@pytest.mark.parametrize("how", ["hang", "drip", "drip-head", "informational"])
def test_a_server_that_takes_its_time(whysync: Whysync, tmp_path: Path, how: str) -> None:
    with serving(lambda _: FakeResponse(body=b" " * 100_000, how=how)) as server:
        config = str(kubeconfig(tmp_path, server.url))
        result = whysync("list", "--core", "--kubeconfig", config, "--timeout", "0.5s")
    is_clear(result, "time", "--timeout")


def test_nothing_is_tried_after_the_deadline() -> None:
    cases = app.cases(SnapshotIndex(of_lab("crash-loop")))
    reason = "--timeout was exceeded"
    assert reason not in repr(app.diagnose(cases).apps[0].safety)
    over = Deadline(seconds=1, ends=0)
    (report,) = app.diagnose(cases, deadline=over).apps
    assert reason in repr(report.safety)
    fixes = [fix for finding in report.findings for fix in finding.fixes]
    assert fixes
    assert all(fix.proof is not None and reason in fix.proof.why for fix in fixes)
