"""argocd's config file (`~/.config/argocd/config`): contexts, servers, and tokens.

Mirrors `util/localconfig` of Argo CD 3.6. Difference: a token is only sent to the server of its context, even
if `--server` names another one.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from whysync.errors import NotFound, Unreadable
from whysync.facts.argocd_api.server import ArgoServer
from whysync.facts.http.tls import Tls
from whysync.files import read_file
from whysync.json_tree import Json, Object, fields, items, text

PORT_FORWARD: Final = "port-forward"
"""The server and the name of the context that `argocd login --port-forward` writes."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """One context. `core`: there is no API server, the cluster is read directly."""

    name: str
    server: ArgoServer
    core: bool = False


class Config(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    current: str = ""
    contexts: tuple[Context, ...] = ()

    def context(self, name: str = "") -> Context | None:
        """The context of that name, or the current one. Raises `NotFound`."""
        selected = name or self.current
        if not selected:
            return None
        for context in self.contexts:
            if context.name == selected:
                return context
        names = ", ".join(context.name for context in self.contexts) or "none"
        raise NotFound(
            what=f"there is no context {selected!r} in {self.path}",
            why=f"it has {names}",
            next="argocd context lists them; argocd login makes one",
        )

    def for_server(self, address: str) -> Context | None:
        """The context of this server: the current one if it matches, otherwise any."""
        ordered = sorted(self.contexts, key=lambda context: context.name != self.current)
        return next(
            (context for context in ordered if _plain(context.server.address) == _plain(address)), None
        )


def default_path(environ: Mapping[str, str]) -> Path:
    """Mirrors `DefaultConfigDir`: ARGOCD_CONFIG_DIR, the old ~/.argocd, XDG_CONFIG_HOME, ~/.config."""
    if config_dir := environ.get("ARGOCD_CONFIG_DIR"):
        return Path(config_dir) / "config"
    home = Path(environ.get("HOME") or "~").expanduser()
    if (home / ".argocd").exists():
        return home / ".argocd" / "config"
    base = environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else home / ".config") / "argocd" / "config"


def read_config(path: Path) -> Config | None:
    """The parsed file; `None` if it does not exist."""
    from whysync.kubernetes.api import yaml

    try:
        data = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise Unreadable(
            what=f"argocd's config {path} cannot be read", why=problem.strerror or str(problem)
        ) from problem
    try:
        body = yaml.load(data.decode("utf-8", "replace"))
    except yaml.Invalid as problem:
        # Without the parser's message: it quotes the line, which may contain a token.
        raise Unreadable(
            what=f"argocd's config {path} is no YAML", next="log in again: argocd login SERVER"
        ) from problem
    return _config(body, str(path))


def _config(body: Json, path: str) -> Config:
    root = fields(body)
    servers = {text(server.get("server")): server for server in map(fields, items(root.get("servers")))}
    users = {text(user.get("name")): user for user in map(fields, items(root.get("users")))}
    contexts = tuple(
        _context(
            context, servers.get(text(context.get("server")), {}), users.get(text(context.get("user")), {})
        )
        for context in map(fields, items(root.get("contexts")))
    )
    return Config(path=path, current=text(root.get("current-context")), contexts=contexts)


def _context(raw: Object, server: Object, user: Object) -> Context:
    name = text(raw.get("name"))
    return Context(
        name=name,
        core=server.get("core") is True,
        server=ArgoServer(
            address=text(raw.get("server")),
            token=text(user.get("auth-token")),
            tls=Tls(
                ca_pem=_from_base64(server.get("certificate-authority-data")),
                certificate_pem=_from_base64(server.get("client-certificate-data")),
                key_pem=_from_base64(server.get("client-certificate-key-data")),
                insecure=server.get("insecure") is True,
            ),
            plaintext=server.get("plain-text") is True,
            root_path=text(server.get("grpc-web-root-path")),
            context=name,
        ),
    )


def _from_base64(encoded: Json) -> str:
    try:
        return base64.b64decode(text(encoded)).decode("ascii", "replace")
    except (binascii.Error, ValueError):
        return ""


def _plain(address: str) -> str:
    """`https://Argo.example.com/` and `argo.example.com:443` are the same server."""
    return address.rpartition("://")[2].strip("/").removesuffix(":443").lower()
