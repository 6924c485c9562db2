"""Kubeconfigs: merged as kubectl merges them, with every way to log in, and clear words for the rest."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.http.certificates import Certificates
from tests.facts.http.faulty import FakeRequest, FakeResponse, faulty_server, json_response
from tests.facts.kubernetes_api.fake_api import base64_of
from whysync.errors import NoSource, NotFound, Unreadable, UsageError, WhysyncError
from whysync.facts.http.limits import HttpLimits
from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.kubernetes_api.kubeconfig import Kubeconfig, load_kubeconfig
from whysync.facts.kubernetes_api.login import Connection, Identity, connection_of, in_cluster
from whysync.json_tree import Json, Object
from whysync.kubernetes.api import yaml

QUICK = HttpLimits(first_pause_seconds=0.001, longest_pause_seconds=0.002)


def write(
    path: Path,
    user: Object | None = None,
    cluster: Object | None = None,
    *,
    current: str = "here",
    **more: Json,
) -> Path:
    config: Object = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "apps"}}],
        **more,
    }
    path.write_text(yaml.dump(config))
    return path


def connected(path: Path) -> Connection:
    return connection_of(load_kubeconfig(str(path)).context())


def headers(connection: Connection) -> dict[str, object]:
    return dict(asyncio.run(_headers(connection)))


async def _headers(connection: Connection) -> dict[str, object]:
    return {**await connection.auth.headers()}


def test_several_files_are_merged_and_the_first_word_counts(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    first = write(tmp_path / "one", {"token": "first"})
    second = write(
        tmp_path / "two" / "config",
        {"token": "second"},
        users=[{"name": "u", "user": {"token": "no"}}, {"name": "v", "user": {"tokenFile": "t"}}],
        contexts=[{"name": "there", "context": {"cluster": "c", "user": "v"}}],
        current="there",
    )
    listed = os.pathsep.join(map(str, ("", first, tmp_path / "absent", second)))
    kubeconfig = load_kubeconfig(environment={"KUBECONFIG": listed})
    assert kubeconfig.current == "here"
    assert headers(connection_of(kubeconfig.context())) == {"Authorization": "Bearer first"}
    assert kubeconfig.context("there").user.path("tokenFile") == str(tmp_path / "two" / "t")
    assert kubeconfig.context().namespace == "apps"
    assert [context.name for context in kubeconfig.usable()] == ["here", "there"]


def test_what_is_not_there() -> None:
    with pytest.raises(NoSource, match="no kubeconfig"):
        load_kubeconfig(environment={"HOME": "/nowhere"})
    with pytest.raises(NotFound):
        load_kubeconfig("/nowhere/config")


def test_the_usual_place(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", {"token": "t"})
    assert load_kubeconfig(environment={"HOME": str(tmp_path)}).current == "here"


@pytest.mark.parametrize(
    "written",
    [
        "[]",
        "kind: Pod",
        ": [",
        "token-9999: \x00",
        "clusters: 7\ncurrent-context: x",
        "",
        "clusters: [7, {name: {}}]",
    ],
)
def test_files_that_are_none(tmp_path: Path, written: str) -> None:
    path = tmp_path / "config"
    path.write_text(written)
    with pytest.raises(WhysyncError) as caught:
        load_kubeconfig(str(path)).context()
    assert "token-9999" not in caught.value.what + caught.value.why


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    path = write(tmp_path / "config", contexts=[{"name": "here", "context": {"cluster": "x", "user": "u"}}])
    with pytest.raises(NotFound, match="refers to a cluster"):
        load_kubeconfig(str(path)).context()
    path = write(tmp_path / "config", contexts=[{"name": "here", "context": {"cluster": "c", "user": "x"}}])
    with pytest.raises(NotFound, match="refers to a user"):
        load_kubeconfig(str(path)).context()
    with pytest.raises(NotFound, match="no context 'other'"):
        load_kubeconfig(str(path)).context("other")
    path = write(tmp_path / "config", current="")
    with pytest.raises(UsageError, match="no current context"):
        load_kubeconfig(str(path)).context()


def test_tokens_files_and_passwords(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    path = tmp_path / "config"
    assert headers(connected(write(path, {"token": "t"}))) == {"Authorization": "Bearer t"}
    assert headers(connected(write(path, {"tokenFile": "token"}))) == {"Authorization": "Bearer from-file"}
    # The file is the newer one of the two.
    both: Object = {"tokenFile": "token", "token": "t"}
    assert headers(connected(write(path, both))) == {"Authorization": "Bearer from-file"}
    both["tokenFile"] = "absent"
    assert headers(connected(write(path, both))) == {"Authorization": "Bearer t"}
    basic: Object = {"username": "me", "password": "pw"}
    assert headers(connected(write(path, basic))) == {"Authorization": "Basic bWU6cHc="}
    assert headers(connected(write(path))) == {}


def test_impersonation(tmp_path: Path) -> None:
    user: Object = {
        "token": "t",
        "as": "jane",
        "as-groups": ["a", "b"],
        "as-uid": "7",
        "as-user-extra": {"x": ["1"]},
    }
    path = write(tmp_path / "config", user)
    assert headers(connected(path)) == {
        "Authorization": "Bearer t",
        "Impersonate-User": "jane",
        "Impersonate-Group": ("a", "b"),
        "Impersonate-Uid": "7",
        "Impersonate-Extra-x": ("1",),
    }
    other = connection_of(load_kubeconfig(str(path)).context(), identity=Identity(user="joe"))
    assert headers(other)["Impersonate-User"] == "joe"
    with pytest.raises(UsageError, match="without a user"):
        connected(write(tmp_path / "config", {"as-groups": ["a"]}))


def test_several_groups_are_several_headers(tmp_path: Path) -> None:
    async def talk() -> list[str]:
        lines: list[str] = []

        def answering(request: FakeRequest) -> FakeResponse:
            lines.append(request.headers["impersonate-group"])
            return json_response({})

        async with faulty_server(answering) as server:
            user: Object = {"as": "jane", "as-groups": ["a", "b"]}
            path = write(tmp_path / "config", user, {"server": server.url})
            async with await connected(path).client(QUICK) as client:
                await client.json("/")
        return lines

    assert asyncio.run(talk()) == ["b"]  # the last of two lines


@pytest.mark.parametrize("provider", ["gcp", "azure", "oidc", "other"])
def test_auth_providers_are_gone_and_what_came_after_is_named(tmp_path: Path, provider: str) -> None:
    path = write(tmp_path / "config", {"auth-provider": {"name": provider}})
    with pytest.raises(UsageError, match=provider) as caught:
        connected(path)
    assert "exec" in caught.value.next + caught.value.why


def test_settings_of_a_cluster(tmp_path: Path) -> None:
    cluster: Object = {
        "certificate-authority": "ca.crt",
        "tls-server-name": "api.inside",
        "proxy-url": "http://proxy:3128",
        "insecure-skip-tls-verify": True,
    }
    result = connected(write(tmp_path / "config", {}, cluster))
    assert result.tls.ca_file == str(tmp_path / "ca.crt")
    assert (result.tls.server_name, result.tls.insecure, result.proxy) == (
        "api.inside",
        True,
        "http://proxy:3128",
    )
    with pytest.raises(Unreadable, match="certificate-authority-data"):
        connected(write(tmp_path / "config", {}, {"certificate-authority-data": "***"}))


def test_certificates_inline_and_in_files(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    inline: Object = {
        "client-certificate-data": base64_of(certificates.text("client.crt")),
        "client-key-data": base64_of(certificates.text("client.key")),
    }
    files: Object = {"client-certificate": "client.crt", "client-key": "client.key"}

    async def talk(user: Object) -> Json:
        def answering(_: FakeRequest) -> FakeResponse:
            return json_response({"ok": True})

        async with faulty_server(answering, tls=certificates.serving(asks_clients=True)) as server:
            cluster: Object = {
                "server": f"https://127.0.0.1:{server.port}",
                "certificate-authority-data": base64_of(certificates.text("ca.crt")),
            }
            path = write(tmp_path / "config", user, cluster)
            async with await connected(path).client(QUICK) as client:
                return await client.json("/")

    assert asyncio.run(talk(inline)) == {"ok": True}
    assert asyncio.run(talk(files)) == {"ok": True}


def test_inside_of_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("pod-token")
    (tmp_path / "ca.crt").write_text("x")
    (tmp_path / "namespace").write_text("argocd\n")
    environment = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    result = in_cluster(environment, tmp_path)
    assert result is not None
    assert (result.url, result.namespace) == ("https://10.96.0.1:443", "argocd")
    assert headers(result) == {"Authorization": "Bearer pod-token"}
    six = in_cluster({**environment, "KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path)
    assert six is not None
    assert six.url == "https://[fd00::1]:443"
    assert in_cluster({}, tmp_path) is None
    with pytest.raises(NoSource):
        KubeAccess(environment={"HOME": str(tmp_path)}).hub()


KEYS = st.sampled_from(("name", "cluster", "user", "exec", "server", "token", "as", "as-groups", "context"))
JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["clusters", "users", "contexts", "current-context"]), JSON_LIKE))
def test_hostile_kubeconfigs_have_a_clear_answer(body: Object) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(yaml.dump(body))
        file.flush()
        try:
            kubeconfig = load_kubeconfig(file.name)
            assert isinstance(kubeconfig, Kubeconfig)
            for context in kubeconfig.usable():
                connection_of(context)
        except WhysyncError as problem:
            result = problem.what
            assert result
