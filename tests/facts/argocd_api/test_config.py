"""argocd's config file, and what an address means."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from whysync.errors import NotFound, Unreadable, UsageError
from whysync.facts.argocd_api.config import default_path, read_config
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.http.tls import Tls

CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CONFIG = f"""\
contexts:
- name: prod
  server: argocd.example.com
  user: prod
- name: here
  server: kubernetes
  user: kubernetes
- name: plain
  server: localhost:8080
  user: nobody
current-context: prod
servers:
- server: argocd.example.com
  grpc-web-root-path: /argo
  certificate-authority-data: {base64.b64encode(CA.encode()).decode()}
- server: kubernetes
  core: true
- server: localhost:8080
  plain-text: true
  insecure: true
users:
- name: prod
  auth-token: secret-token-of-prod
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config").write_text(CONFIG)
    return tmp_path / "config"


def test_contexts(path: Path) -> None:
    config = read_config(path)
    assert config is not None
    prod = config.context()
    assert prod is not None
    assert (prod.server.address, prod.server.token, prod.server.root_path) == (
        "argocd.example.com",
        "secret-token-of-prod",
        "/argo",
    )
    assert prod.server.base_url == "https://argocd.example.com/argo"
    assert prod.server.tls == Tls(ca_pem=CA)
    core, plain = config.context("here"), config.context("plain")
    assert core is not None
    assert core.core
    assert plain is not None
    assert plain.server.base_url == "http://localhost:8080"
    assert plain.server.token == ""


def test_a_context_that_is_not_there(path: Path) -> None:
    config = read_config(path)
    assert config is not None
    with pytest.raises(NotFound) as problem:
        config.context("stage")
    assert "prod, here, plain" in problem.value.why


@pytest.mark.parametrize(
    "address", ["argocd.example.com", "https://argocd.example.com/", "ARGOCD.example.com:443"]
)
def test_the_context_of_a_server_by_any_spelling(path: Path, address: str) -> None:
    config = read_config(path)
    assert config is not None
    result = config.for_server(address)
    assert result is not None
    assert result.name == "prod"
    assert config.for_server("argocd.example.com.evil.example") is None


def test_no_file_is_no_config(tmp_path: Path) -> None:
    assert read_config(tmp_path / "config") is None
    (tmp_path / "file").touch()
    assert read_config(tmp_path / "file" / "config") is None


@pytest.mark.parametrize(
    "content", ["users:\n- name: [", "a: b: c", "- auth-token: secret-1\n  x", "\x00\x01"]
)
def test_a_broken_file_does_not_show_its_content(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").write_text(content)
    with pytest.raises(Unreadable) as problem:
        read_config(tmp_path / "config")
    assert "secret" not in f"{problem.value.what}{problem.value.why}{problem.value.next}"


@pytest.mark.parametrize("content", ["", "null", "[]", "7", "contexts: 7", "contexts: [7, {name: [x]}]"])
def test_an_odd_file_is_an_empty_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").write_text(content)
    config = read_config(tmp_path / "config")
    assert config is not None
    assert config.context() is None


def test_where_argocd_keeps_it(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert default_path(home) == tmp_path / ".config/argocd/config"
    assert default_path({**home, "XDG_CONFIG_HOME": "/x"}) == Path("/x/argocd/config")
    assert default_path({**home, "ARGOCD_CONFIG_DIR": "/y"}) == Path("/y/config")
    (tmp_path / ".argocd").mkdir()
    assert default_path(home) == tmp_path / ".argocd/config"


@pytest.mark.parametrize(
    ("server", "url"),
    [
        (ArgoServer(address="argocd.example.com"), "https://argocd.example.com"),
        (
            ArgoServer(address="argocd.example.com:8443", root_path="/a/b/"),
            "https://argocd.example.com:8443/a/b",
        ),
        (ArgoServer(address="localhost:8080", plaintext=True), "http://localhost:8080"),
        (ArgoServer(address="https://argocd.example.com/"), "https://argocd.example.com"),
        (ArgoServer(address="[::1]:8080"), "https://[::1]:8080"),
    ],
)
def test_addresses(server: ArgoServer, url: str) -> None:
    assert server.checked().base_url == url


@pytest.mark.parametrize(
    "address",
    ["", "http://argocd.example.com", "ftp://argocd.example.com", "https://user:pass@argocd.example.com",
     "argocd.example.com:port", "https://", "argocd.example.com?x=1"],
)  # fmt: skip
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError) as problem:
        ArgoServer(address=address).checked()
    assert "pass@" not in problem.value.what
