"""Options of rendering: limits, and what it knows about the cluster and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from whysync.argocd.repo_server.git.tree import Tree
from whysync.processes.children import Bounds

TEN_MEGABYTES: Final = 10_000_000
# As long as the repo-server waits. Go programs reserve far more addresses than they use memory.
USUAL: Final = Bounds(seconds=90.0, memory=4 << 30, output=64 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefSource:
    """Another source of the same Application that values files name as `$ref/…`.

    `tree` may be missing: then only the names are known, and using it is an error in Argo CD's words.
    """

    repo: str
    target_revision: str = ""
    chart: str = ""
    tree: Tree | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    kube_version: str = ""
    """Of the destination cluster; Helm guesses its own when nobody says it."""
    api_versions: tuple[str, ...] = ()
    instance: str = ""
    """The name by which Argo CD tracks the app: `namespace_name` outside of its own namespace."""
    refs: Mapping[str, RefSource] = field(default_factory=dict[str, RefSource])
    """By `$name`."""
    network: bool = False
    """May charts, bases and remote values be fetched?"""
    disabled_tools: frozenset[str] = frozenset()
    """`Helm`, `Kustomize`, `Directory` (Jsonnet): those that `argocd-cm` switches off."""
    kustomize_build_options: str = ""
    kustomize_versions: frozenset[str] | None = None
    """The versions that `argocd-cm` names, where it is known."""
    value_schemes: tuple[str, ...] = ("https", "http")
    most_manifest_bytes: int = TEN_MEGABYTES
    bounds: Bounds = USUAL
    tools: Path | None = None
    """Where tools were installed, when not in the usual cache."""
    cache: Path | None = None
    """Where rendered sources are kept between runs; nowhere when not given."""
