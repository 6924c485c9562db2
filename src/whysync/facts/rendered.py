"""Manifests that whysync rendered itself, and why those of other Applications are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from whysync.argocd.api.git_head import Head
from whysync.facts.kubernetes_api.discovery import Kinds
from whysync.facts.snapshot import Gap, Rendering
from whysync.kubernetes.api.manifest import Manifest

HOW_TO_RENDER: Final = (
    "run whysync in a checkout of the repository, or pass --local DIR with one, or --git to fetch it;"
    " or use Argo CD with --server"
)


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """What Helm and the comparison need to know about a destination."""

    kinds: Kinds
    kube_version: str = ""


class NotRendered(Exception):
    """Why an Application is not rendered. `is_gap`: also if it is Synced, because the user asked for it."""

    def __init__(self, why: str, how_to_get: str = "", *, is_gap: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.how_to_get = how_to_get
        self.is_gap = is_gap


class FromGit(msgspec.Struct, frozen=True, kw_only=True):
    """By the `namespace/name` of the Applications that could be rendered."""

    desired: Mapping[str, tuple[Manifest, ...]] = msgspec.field(
        default_factory=dict[str, tuple[Manifest, ...]]
    )
    renderings: tuple[Rendering, ...] = ()
    heads: tuple[Head, ...] = ()
    gaps: tuple[Gap, ...] = ()
    unrendered: Mapping[str, NotRendered] = msgspec.field(default_factory=dict[str, NotRendered])
    """Why the others were not, by `namespace/name`."""
