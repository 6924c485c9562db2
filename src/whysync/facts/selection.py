"""Which Applications to read from a live source, and how much of their surroundings."""

from __future__ import annotations

from typing import Literal

import msgspec

Refresh = Literal["", "normal", "hard"]


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Empty means everything that the account may read. Sources filter on the server where possible."""

    # `name` or `namespace/name`
    names: tuple[str, ...] = ()
    # ApplicationSets, `name` or `namespace/name`, with their Applications
    sets: tuple[str, ...] = ()
    # Applications that share objects with the named ones: `namespace/name`, read if they exist
    also: tuple[str, ...] = ()
    # where Applications are searched for; empty: Argo CD's namespace and all others that it may read
    app_namespaces: tuple[str, ...] = ()
    all_namespaces: bool = False
    projects: tuple[str, ...] = ()
    # a label selector in kubectl's syntax
    selector: str = ""
    # refreshing writes an annotation, so it is only done on request
    refresh: Refresh = ""
    # logs of failing containers
    logs: bool = True
    log_lines: int = 500
    # only the Applications, without details
    listing: bool = False
    # of named Applications, only those with a problem in detail
    problems_only: bool = False
    # also report gaps of apps that are Synced and Healthy, as a plan needs everything
    every_gap: bool = False
    # a checkout of the source, or a folder of plain YAML with the desired state
    local: str = ""
    # the folder of the user: if it is in a checkout of a source, manifests are rendered from there
    checkout: str = ""
    # fetch sources and the current commits of their branches with the user's Git credentials
    git: bool = False

    @property
    def wants_git(self) -> bool:
        """Are manifests rendered, if they are available in Git?"""
        return bool(self.git or self.checkout or self.local)

    @property
    def is_narrow(self) -> bool:
        """Are single Applications named?"""
        return bool(self.names)

    @property
    def all_in_detail(self) -> bool:
        return self.is_narrow and not self.problems_only

    def matches(self, *, namespace: str, name: str, project: str = "") -> bool:
        """Filters that the server does not support."""
        if f"{namespace}/{name}" in self.also:
            return True
        if self.names and name not in self.names and f"{namespace}/{name}" not in self.names:
            return False
        if self.projects and project not in self.projects:
            return False
        return not self.app_namespaces or self.all_namespaces or namespace in self.app_namespaces
