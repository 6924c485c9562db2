"""Which Applications a live source is asked for, and how much of what is around them."""

from __future__ import annotations

from typing import Literal

import msgspec

Refresh = Literal["", "normal", "hard"]


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Empty means all that the account may see. Sources narrow on the server where it can be done there."""

    # `name` or `namespace/name`
    names: tuple[str, ...] = ()
    # where Applications are looked for; empty: where Argo CD itself lives, and wherever else it may look
    app_namespaces: tuple[str, ...] = ()
    all_namespaces: bool = False
    projects: tuple[str, ...] = ()
    # a label selector, as kubectl takes it
    selector: str = ""
    # asking Argo CD to look again writes an annotation: only when a person says so
    refresh: Refresh = ""
    # logs of failing containers
    logs: bool = True
    log_lines: int = 500
    # the Applications alone, and nothing of what is around each
    listing: bool = False
    # what could not be read is told of apps that are fine, too: a plan goes on from all of it
    every_gap: bool = False
    # a folder of plain YAML that says what Git wants, instead of what Argo CD rendered
    local: str = ""

    @property
    def is_narrow(self) -> bool:
        """Are single Applications named?"""
        return bool(self.names)

    def bare_names(self) -> frozenset[str]:
        return frozenset(name.rpartition("/")[2] for name in self.names)

    def wants(self, *, namespace: str, name: str, project: str = "") -> bool:
        """What the server could not narrow down for us."""
        if self.names and name not in self.names and f"{namespace}/{name}" not in self.names:
            return False
        if self.projects and project not in self.projects:
            return False
        return not self.app_namespaces or self.all_namespaces or namespace in self.app_namespaces
