"""What the command line says about Kubernetes: which kubeconfig, which context, as whom."""

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
    # where Argo CD itself lives; empty: it is looked for
    namespace: str = ""
    identity: Identity = Identity()
    insecure: bool = False
    # Log in to other clusters with the credentials that Argo CD keeps in its cluster secrets?
    use_cluster_secrets: bool = False
    limits: HttpLimits = HttpLimits()
    # of this process where it is not given
    environment: Mapping[str, str] | None = None

    def hub(self) -> Connection:
        """The cluster that Argo CD runs in: the chosen context, or the Pod's own cluster without any."""
        config = self.config()
        if config is None:
            inside = in_cluster(self.environment)
            assert inside is not None  # else there was an error
            return inside
        return self.connect(config.context(self.context))

    def config(self) -> Kubeconfig | None:
        """Nothing inside of a Pod that has no kubeconfig of its own."""
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
        """All that could be logged in with, for destinations other than the hub."""
        try:
            config = self.config()
        except NoSource:
            return iter(())
        return config.usable() if config is not None else iter(())
