"""The Snapshot: everything that one source read at one point in time.

It never contains secret values: `facts/` masks them first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from whysync.argocd.api.git_head import Head
from whysync.json_tree import Object
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.packed_bodies import OpenPacks
from whysync.kubernetes.api.ref import Key, Ref


class GapKind(StrEnum):
    """Why a fact is missing."""

    FORBIDDEN = "forbidden"
    UNREACHABLE = "unreachable"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    TRUNCATED = "truncated"
    AMBIGUOUS = "ambiguous"
    NOT_COLLECTED = "not-collected"
    NOT_RENDERED = "not-rendered"
    MASKED = "masked"
    NO_SCHEMA = "no-schema"
    NOT_MODELED = "not-modeled"


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that could not be read: `what`, `why`, and how the user can get it.

    `about` is the object that it belongs to, if it is one; for a schema, the kind without a name.
    """

    kind: GapKind
    what: str
    why: str
    how_to_get: str = ""
    about: Ref | None = None

    @property
    def data(self) -> Object:
        """As bundles and reports write it."""
        return {"kind": self.kind.value, "what": self.what, "why": self.why, "howToGet": self.how_to_get}


class Extra(msgspec.Struct, frozen=True, kw_only=True):
    """Another fact of a source (a file of `facts/`): its name and raw content."""

    name: str
    body: Object
    origin: str = ""


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file that an object is rendered from, as in `render.options.Origin`."""

    path: str = ""
    line: int = 0
    made_by: str = ""


class SourceFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a source: a repository on this machine, or the URL of a fetched one, at a commit."""

    location: str
    commit: str
    files: Mapping[Key, SourceFile]


class Rendering(msgspec.Struct, frozen=True, kw_only=True):
    """Where whysync rendered the manifests of an Application from, which `app` names with its namespace.

    `is_desired`: they are the desired state; otherwise Argo CD's manifests are.
    """

    app: str
    words: str
    files: tuple[SourceFiles, ...] = ()
    is_desired: bool = True


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    # the name of the Argo CD instance, if several are read at once
    instance: str = ""
    collected_at: datetime | None = None
    argocd_version: str = ""
    applications: tuple[Manifest, ...] = ()
    projects: tuple[Manifest, ...] = ()
    settings: tuple[Manifest, ...] = ()
    # by the Application's `namespace/name`
    desired: Mapping[str, tuple[Manifest, ...]] = msgspec.field(
        default_factory=dict[str, tuple[Manifest, ...]]
    )
    live: tuple[Manifest, ...] = ()
    events: tuple[Manifest, ...] = ()
    logs: tuple[Log, ...] = ()
    heads: tuple[Head, ...] = ()
    facts: tuple[Extra, ...] = ()
    gaps: tuple[Gap, ...] = ()
    # by the name that was asked for: Applications that the source does not show to the account
    not_shown: Mapping[str, Gap] = msgspec.field(default_factory=dict[str, Gap])
    # files that could not be parsed: listed, not an error
    unknown: tuple[str, ...] = ()
    # of a large bundle, the bodies that are decoded at the moment
    open_packs: OpenPacks = msgspec.field(default_factory=OpenPacks)
    # of manifests that whysync rendered itself
    renderings: tuple[Rendering, ...] = ()
    # the state after the simulated sync of a commit that is not merged yet
    is_predicted: bool = False
