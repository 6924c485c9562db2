"""Read the kubeconfig: one file or several merged, as kubectl does.

Of several files the first that has an entry is used. A path inside a file is relative to that file. Nothing
of this is logged or reported, because it contains credentials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from whysync.errors import NoSource, NotFound, Unreadable, UsageError
from whysync.files import read_file
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml

_HOW = "check kubectl config view, or use another file with --kubeconfig"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, a user or a context as written, and the folder of its relative paths."""

    body: Object
    folder: Path

    def text(self, key: str) -> str:
        return text(self.body.get(key))

    def path(self, key: str) -> str:
        """The path of a file, or nothing."""
        value = self.text(key)
        return str(self.folder / value) if value else ""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    cluster_name: str
    cluster: Entry
    user: Entry
    namespace: str = ""

    @property
    def server(self) -> str:
        value = self.cluster.text("server")
        return value if value.endswith("://") else value.rstrip("/")


class Kubeconfig(msgspec.Struct, frozen=True, kw_only=True):
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]
    contexts: Mapping[str, Entry]
    current: str = ""
    # the files it was read from
    paths: tuple[Path, ...] = ()

    def context(self, name: str = "") -> Context:
        """The named context, or the current one."""
        selected = name or self.current
        if not selected:
            raise UsageError(
                what="the kubeconfig has no current context",
                why=f"contexts: {', '.join(sorted(self.contexts)) or 'none'}",
                next="set one with --context, or with kubectl config use-context NAME",
            )
        context_entry = self.contexts.get(selected)
        if context_entry is None:
            raise NotFound(
                what=f"the kubeconfig has no context {selected!r}",
                why=f"contexts: {', '.join(sorted(self.contexts)) or 'none'}",
                next="kubectl config get-contexts lists them",
            )
        return self._resolved(selected, context_entry)

    def usable(self) -> Iterator[Context]:
        """All complete contexts by name, the current one first."""
        for name in sorted(self.contexts, key=lambda context: (context != self.current, context)):
            try:
                yield self._resolved(name, self.contexts[name])
            except (NotFound, UsageError):
                continue

    def _resolved(self, name: str, entry: Entry) -> Context:
        cluster_name, user_name = entry.text("cluster"), entry.text("user")
        cluster = self.clusters.get(cluster_name)
        if cluster is None or not cluster.text("server"):
            raise NotFound(
                what=f"context {name!r} refers to a cluster that is not in the kubeconfig",
                why=f"there is no cluster {cluster_name!r} with a server",
                next=_HOW,
            )
        user = self.users.get(user_name)
        if user is None and user_name:
            raise NotFound(
                what=f"context {name!r} refers to a user that is not in the kubeconfig",
                why=f"there is no user {user_name!r}",
                next=_HOW,
            )
        return Context(
            name=name,
            cluster_name=cluster_name,
            cluster=cluster,
            user=user or Entry(body={}, folder=entry.folder),
            namespace=entry.text("namespace"),
        )


def load_kubeconfig(explicit: str = "", environment: Mapping[str, str] | None = None) -> Kubeconfig:
    """What kubectl would use: `--kubeconfig`, or all files of `KUBECONFIG`, or `~/.kube/config`.

    An explicit file must exist; others may be missing.
    """
    environment = os.environ if environment is None else environment
    if explicit:
        return _merged([_read(Path(explicit).expanduser(), must_exist=True)])
    kubeconfig_paths = environment.get("KUBECONFIG", "")
    paths = [Path(path) for path in kubeconfig_paths.split(os.pathsep) if path]
    if not paths:
        home = environment.get("HOME", "")
        paths = [Path(home) / ".kube" / "config"] if home else []
    files = [loaded for loaded in (_read(path, must_exist=False) for path in dict.fromkeys(paths)) if loaded]
    if not files:
        raise NoSource(
            what="there is no kubeconfig",
            why=f"none of {', '.join(map(str, paths)) or '~/.kube/config'} exists",
            next="set one with --kubeconfig, or read a bundle with --bundle PATH",
        )
    return _merged(files)


def _read(path: Path, *, must_exist: bool) -> tuple[Path, Object] | None:
    try:
        data = read_file(path)
    except FileNotFoundError:
        if not must_exist:
            return None
        raise NotFound(what=f"there is no kubeconfig {path}", next="check --kubeconfig") from None
    except OSError as problem:
        raise Unreadable(what=f"{path} cannot be read", why=problem.strerror or "", next=_HOW) from problem
    try:
        body = yaml.load(data.decode())
    except (yaml.Invalid, UnicodeDecodeError) as problem:
        # Without the parser's message: it quotes the file, which contains tokens.
        raise Unreadable(what=f"{path} is not a kubeconfig", why="it is not YAML", next=_HOW) from problem
    if body is None:
        body = {}
    if not isinstance(body, dict) or body.get("kind", "Config") != "Config":
        raise Unreadable(what=f"{path} is not a kubeconfig", why="it is not of kind Config", next=_HOW)
    return path, body


def _merged(files: Sequence[tuple[Path, Object] | None]) -> Kubeconfig:
    loaded = [file for file in files if file is not None]
    return Kubeconfig(
        clusters=_entries(loaded, "clusters", "cluster"),
        users=_entries(loaded, "users", "user"),
        contexts=_entries(loaded, "contexts", "context"),
        current=next((name for _, body in loaded if (name := text(body.get("current-context")))), ""),
        paths=tuple(path for path, _ in loaded),
    )


def _entries(loaded: list[tuple[Path, Object]], plural: str, singular: str) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for path, body in loaded:
        for raw in items(body.get(plural)):
            name = text(_name(fields(raw).get("name")))
            if name:
                entry = Entry(body=fields(fields(raw).get(singular)), folder=path.absolute().parent)
                entries.setdefault(name, entry)
    return entries


def _name(value: Json) -> Json:
    """`name: 1234`, which YAML parses as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
