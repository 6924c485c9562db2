"""Connection settings of an Argo CD API server."""

from __future__ import annotations

import msgspec

from whysync.errors import UsageError
from whysync.facts.argocd_api.port_forward import PortForward
from whysync.facts.http.address import parse_address
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.tls import Tls

# Argo CD should not be put under load. It returns 500 for errors without a better status, so a retry would
# fail again.
POLITE = HttpLimits(connections=8, per_second=50, burst=100, retries_internal_errors=False)


class ArgoServer(msgspec.Struct, frozen=True, kw_only=True):
    """`address` is the value of `argocd --server`: `host`, `host:port`, or a URL."""

    address: str
    token: str = ""
    # read again when the server rejects the token, because it may have been renewed
    token_file: str = ""
    tls: Tls = Tls()
    plaintext: bool = False
    root_path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    limits: HttpLimits = POLITE
    # `address` is that of the forwarded port, while it is open
    forward: PortForward | None = None
    # the name of its context in argocd's config file
    context: str = ""
    # where the address was configured
    setting: str = "--server"

    def __repr__(self) -> str:
        """Without the token, because this may be logged."""
        return f"ArgoServer({self.base_url})"

    @property
    def base_url(self) -> str:
        """The URL below which `/api` is found: `https://argocd.example.com/argo`."""
        if self.forward is not None and not self.address:
            return f"https://{self.forward.namespace or 'argocd'}.port-forward"
        scheme, _, rest = self.address.rpartition("://")
        if not scheme:
            scheme = "http" if self.plaintext else "https"
        return "/".join(part for part in (f"{scheme}://{rest.strip('/')}", self.root_path.strip("/")) if part)

    def checked(self) -> ArgoServer:
        """The same settings, or an error if they are invalid."""
        parts = parse_address(self.base_url, setting=self.setting)
        if parts.username or parts.query:
            raise UsageError(
                what=f"{parts.hostname!r} is not a valid address of an Argo CD server (from {self.setting})",
                why="it is written as host, host:port or https://host:port, without a user and a password",
                next=f"correct {self.setting}, such as --server argocd.example.com",
            )
        if parts.scheme == "http" and not self.plaintext:
            raise UsageError(
                what=f"{parts.hostname} would be asked without TLS",
                why="the token would travel where anybody can read it",
                next="use https://, or say --plaintext if you mean it",
            )
        return self
