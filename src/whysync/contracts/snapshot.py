"""All that one source found at one instant: what `sources/` hands up, whatever it read from.

Secret values never enter it: `sources/` masks them first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from whysync.contracts.manifest import Manifest
from whysync.contracts.tree import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A fact that could not be had: `what` is missing, `why`, and how a person can get it."""

    what: str
    why: str
    how_to_get: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The log of one container; `previous` is the run before the present one."""

    namespace: str
    pod: str
    container: str
    lines: tuple[str, ...]
    previous: bool = False
    origin: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a revision of a repository resolves to now."""

    repo: str
    revision: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Something else that a source knew (a file of `facts/`): its name and its raw content."""

    name: str
    body: Object
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    collected_at: datetime | None = None
    argocd_version: str = ""
    applications: tuple[Manifest, ...] = ()
    projects: tuple[Manifest, ...] = ()
    settings: tuple[Manifest, ...] = ()
    # by the Application's `namespace/name`
    desired: Mapping[str, tuple[Manifest, ...]] = field(default_factory=dict[str, tuple[Manifest, ...]])
    live: tuple[Manifest, ...] = ()
    events: tuple[Manifest, ...] = ()
    logs: tuple[Log, ...] = ()
    heads: tuple[Head, ...] = ()
    facts: tuple[Extra, ...] = ()
    gaps: tuple[Gap, ...] = ()
    # files that were seen and not understood: listed, never fatal
    unknown: tuple[str, ...] = ()
