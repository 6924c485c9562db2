"""Kubernetes connection flags: which kubeconfig, which context, which user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from whysync.errors import NoSource
from whysync.facts.http.limits import HttpLimits
from whysync.facts.kubernetes_api.kubeconfig import Context, Kubeconfig, load_kubeconfig
from whysync.facts.kubernetes_api.login import Connection, Identity, connection_of, in_cluster


class KubeAccess(msgspec.Struct, frozen=True, kw_only=True):
    kubeconfig: str = ""
    context: str = ""
    # Argo CD's namespace; empty: it is detected
    namespace: str = ""
    identity: Identity = Identity()
    insecure: bool = False
    # Use the credentials of Argo CD's cluster secrets for other clusters?
    use_cluster_secrets: bool = False
    limits: HttpLimits = HttpLimits()
    # of this process by default
    environment: Mapping[str, str] | None = None

    def hub(self) -> Connection:
        """The cluster that Argo CD runs in: the selected context, or the Pod's own cluster."""
        config = self.config()
        if config is None:
            connection = in_cluster(self.environment)
            assert connection is not None  # otherwise an error was raised
            return connection
        return self.connect(config.context(self.context))

    def config(self) -> Kubeconfig | None:
        """`None` inside a Pod without a kubeconfig."""
        try:
            return load_kubeconfig(self.kubeconfig, self.environment)
        except NoSource:
            if in_cluster(self.environment) is None:
                raise
            return None

    def connect(self, context: Context) -> Connection:
        return connection_of(
            context, identity=self.identity, insecure=self.insecure, environment=self.environment
        )

    def contexts(self) -> Iterator[Context]:
        """All contexts that can be used for destinations other than the hub."""
        try:
            config = self.config()
        except NoSource:
            return iter(())
        return config.usable() if config is not None else iter(())
