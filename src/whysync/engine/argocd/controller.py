"""The application controller: who is refreshed when, and whose operation goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from whysync.contracts.tree import Object
from whysync.engine.argocd.destination import Destination
from whysync.engine.argocd.repository import Repository
from whysync.engine.argocd.trace import Moment
from whysync.engine.operation.ground import Ground


class ArgoCD:
    """Takes part in a `Timeline`; all times are those of the clock that its clusters share.

    `applications` are the Applications as Argo CD stores them, by qualified name (`argocd/shop`): read them, but
    change them through `edit`. `trace` is what happened so far.
    """

    def __init__(
        self,
        destinations: Iterable[Destination],
        repository: Repository,
        *,
        applications: Iterable[Object] = (),
        projects: Iterable[Object] = (),
        config_maps: Iterable[Object] = (),
        namespace: str = "argocd",
        ground: Callable[[Destination, str], Ground] | None = None,
        server_params: Mapping[str, str] | None = None,
    ) -> None:
        self.applications: dict[str, Object] = {}
        self.trace: list[Moment] = []
        raise NotImplementedError

    # --- what a Timeline asks --------------------------------------------------------------------

    def act(self) -> bool:
        raise NotImplementedError

    def due(self) -> datetime | None:
        raise NotImplementedError

    # --- what people do --------------------------------------------------------------------------

    def add(self, application: Object) -> None:
        """`kubectl apply` of an Application."""
        raise NotImplementedError

    def edit(self, app: str, change: Callable[[Object], Object]) -> None:
        """`kubectl edit`: `change` gets the Application and returns it changed."""
        raise NotImplementedError

    def refresh(self, app: str, *, hard: bool = False) -> None:
        """The refresh annotation, as a webhook, the CLI and the UI set it."""
        raise NotImplementedError

    def request_sync(self, app: str, operation: Object | None = None, *, user: str = "admin") -> None:
        """`argocd app sync`: `operation` is the raw `operation`; of `{"sync": {…}}` what is left out gets the
        API server's defaults. Raises `Denied` with the text that the user sees, which is also kept."""
        raise NotImplementedError

    def rollback(self, app: str, id: int, *, user: str = "admin", prune: bool = False) -> None:
        raise NotImplementedError

    def terminate(self, app: str, *, user: str = "admin") -> None:
        raise NotImplementedError

    def delete(self, app: str) -> None:
        raise NotImplementedError

    def set_project(self, project: Object) -> None:
        raise NotImplementedError

    def set_config_map(self, config_map: Object) -> None:
        """argocd-cm, argocd-cmd-params-cm or argocd-rbac-cm, changed while Argo CD runs."""
        raise NotImplementedError
