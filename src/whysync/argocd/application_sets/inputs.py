"""What generators read: folders of repositories, registered clusters, and recorded answers of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.json_tree import Object


class RegisteredCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that is registered in Argo CD: what its Secret says without credentials."""

    name: str
    server: str
    project: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    annotations: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class GeneratorInputs(Protocol):
    """Each method raises `NotExpanded` if it does not know, with the flag that helps."""

    def folder_of(self, options: Object) -> Path:
        """The files of the repository of a git generator."""
        ...

    def clusters(self) -> list[RegisteredCluster]:
        """The registered clusters; the local one may be missing."""
        ...

    def recorded(self, application_set: str, kind: str, number: int) -> list[Object]:
        """The answer to the generator of this kind, the first with number 0."""
        ...


class OneRepository:
    """Only the files of one checkout. Clusters and servers are not known."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder_of(self, options: Object) -> Path:  # noqa: ARG002 (one repository)
        return self._root

    def clusters(self) -> list[RegisteredCluster]:
        raise NotExpanded("it has a cluster generator")

    def recorded(self, application_set: str, kind: str, number: int) -> list[Object]:  # noqa: ARG002
        raise NotExpanded(f"its {kind} generator asks a server")
