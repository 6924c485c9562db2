"""Sources that are watched: bundles on disk, Argo CD's API or a cluster. A poll returns what changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import msgspec

from whysync import app
from whysync.app import FactSource
from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import NotFound
from whysync.facts.application_watch import ApplicationChange
from whysync.facts.bundle.reader import instance_names
from whysync.history.model import AppKey
from whysync.json_tree import dig, text
from whysync.kubernetes.api.manifest import Manifest

INSTANCE: Final = "argocd"
"""The name of an Argo CD instance that has none."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_LIST_INTERVAL: Final = timedelta(minutes=1)
"""How often Applications are listed while their changes are streamed."""
_BATCH: Final = 25
"""Changed apps that are read at once."""


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """The apps that changed since the last poll, and the keys of all apps; `None` if nothing changed."""

    cases: tuple[Case, ...] = ()
    present: frozenset[AppKey] | None = None
    at: datetime


class Source(Protocol):
    """A source of one or more Argo CD instances. `interval` is the number of seconds between polls.

    `instance` is the name of the instance of an app whose facts do not name one.
    """

    name: str
    instance: str
    description: str
    interval: float

    def poll(self) -> Iterator[Poll]:
        """Parts of a poll, so that the first apps are shown before the last are read."""
        ...

    def instances(self) -> frozenset[str]:
        """The instances whose apps it lists."""
        ...

    def look_again(self, namespace: str, name: str, /) -> None:
        """Include this app in the next poll, also if it has not changed; an empty namespace is any."""
        ...


def key_of(case: Case, instance: str) -> AppKey:
    return AppKey(case.instance or instance, case.app.namespace, case.app.name)


class BundleSource:
    """Bundles: read again when a file in them changes.

    Their instance is named after the first file, so that the history of a live instance, or of other bundles
    in the same database, is not theirs.
    """

    interval = 2.0

    def __init__(self, source: FactSource, *, name: str = "") -> None:
        self._source = source
        self._seen: tuple[object, ...] | None = None
        self.name = self.instance = name or instance_names(source.bundles)[0] or INSTANCE
        self._instances = frozenset((self.instance,))
        self.description = ", ".join(source.bundles)

    def instances(self) -> frozenset[str]:
        return self._instances

    def look_again(self, _namespace: str, _name: str, /) -> None:
        """Bundles are read as a whole."""
        self._seen = None

    def poll(self) -> Iterator[Poll]:
        now = datetime.now(UTC)
        files = tuple(_files(self._source.bundles))
        if files == self._seen:
            return
        cases = _cases(app.read(self._source))
        self._seen = files
        keys = frozenset(key_of(case, self.instance) for case in cases)
        self._instances |= {key.instance for key in keys}
        yield Poll(cases=cases, present=keys, at=now)


def _files(bundles: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """The files with their times and sizes; standard input never changes."""
    for bundle in bundles:
        root = Path(bundle)
        if not root.is_dir():
            yield from _file(root)
            continue
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                yield from _file(Path(folder) / name)


def _file(path: Path) -> Iterator[tuple[str, int, int]]:
    try:
        stat = path.stat()
    except OSError:
        return
    yield str(path), stat.st_mtime_ns, stat.st_size


def _cases(worlds: SnapshotIndex | tuple[SnapshotIndex, ...]) -> tuple[Case, ...]:
    try:
        return app.cases(worlds)
    except NotFound:
        return ()


class LiveSource:
    """Argo CD's API or a cluster: lists the Applications, and reads those that changed in detail.

    All apps are read again after `full_interval`, and broken ones after `broken_interval`, because their Pods
    change without the Application.
    """

    def __init__(
        self,
        source: FactSource,
        *,
        name: str = INSTANCE,
        description: str,
        interval: float = 5.0,
        full_interval: timedelta = timedelta(minutes=10),
    ) -> None:
        self.facts = source
        self.name = self.instance = name
        self.description = description
        self.interval = interval
        self._full_interval = full_interval
        self._full_at: datetime | None = None
        self._listed_at = _NEVER
        self._streams = False
        self._noticed: dict[AppKey, None] = {}
        self._asked: dict[AppKey, None] = {}
        self._versions: dict[AppKey, str] = {}

    def instances(self) -> frozenset[str]:
        return frozenset((self.name,))

    def look_again(self, namespace: str, name: str, /) -> None:
        for key in [key for key in self._versions if key.name == name]:
            if namespace in ("", key.namespace):
                del self._versions[key]
                self._asked[key] = None

    def poll(self) -> Iterator[Poll]:
        now = datetime.now(UTC)
        noticed, self._noticed = self._noticed, {}
        if self._full_at is None or now - self._full_at >= self._full_interval:
            yield self._full_look(now)
            return
        if self._streams and now - self._listed_at < _LIST_INTERVAL:
            asked, self._asked = self._asked, {}
            yield from self._read({**noticed, **asked}, now)
            return
        self._asked = {}
        self._listed_at = now
        listed = app.applications_snapshot(self.facts)
        versions = {self._key(manifest): _version(manifest) for manifest in listed.applications}
        changed = [
            key for key, version in versions.items() if key in noticed or self._versions.get(key) != version
        ]
        yield Poll(present=frozenset(versions), at=now)
        yield from self._read(changed, now)
        self._versions = {key: version for key, version in self._versions.items() if key in versions}

    def _read(self, keys: Iterable[AppKey], now: datetime) -> Iterator[Poll]:
        """These apps in detail, a few at a time."""
        keys = list(keys)
        for start in range(0, len(keys), _BATCH):
            part = keys[start : start + _BATCH]
            names = [f"{key.namespace}/{key.name}" for key in part]
            cases = _cases(SnapshotIndex(app.changed_snapshot(self.facts, names)))
            self._versions |= {self._case_key(case): _version(case.application) for case in cases}
            yield Poll(cases=cases, at=now)

    # --- the stream of changes, in another thread ------------------------------------------------------

    def stream_began(self) -> None:
        """From now on changes are reported; what changed before is found by one more list."""
        self._listed_at = _NEVER
        self._streams = True

    def stream_ended(self) -> None:
        self._streams = False

    def notice(self, change: ApplicationChange) -> bool:
        """Remember a change for the next poll; false if it is already known."""
        key = AppKey(self.name, change.namespace, change.name)
        if change.deleted:
            self._listed_at = _NEVER
            return True
        if self._versions.get(key) == change.version:
            return False
        self._noticed[key] = None
        return True

    def _full_look(self, now: datetime) -> Poll:
        cases = _cases(app.read(self.facts))
        self._full_at = now
        self._versions = {self._case_key(case): _version(case.application) for case in cases}
        return Poll(cases=cases, present=frozenset(self._versions), at=now)

    def _key(self, manifest: Manifest) -> AppKey:
        return AppKey(self.name, manifest.ref.namespace, manifest.ref.name)

    def _case_key(self, case: Case) -> AppKey:
        return key_of(case, self.instance)


def _version(application: Manifest) -> str:
    """Changes with every write to the Application."""
    return text(dig(application.body, "metadata", "resourceVersion"))
