"""Which Argo CD, and how to get in: everything that a client of its API has to know beforehand."""

from __future__ import annotations

import msgspec

from whysync.errors import UsageError
from whysync.facts.argocd_api.port_forward import PortForward
from whysync.facts.http.address import parsed
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.tls import Tls

# A diagnosis is no reason to make Argo CD sweat. It says 500 for all that it has no better word for, and
# would say it again.
POLITE = HttpLimits(connections=8, per_second=50, burst=100, retries_internal_errors=False)


class ArgoServer(msgspec.Struct, frozen=True, kw_only=True):
    """`address` is what `argocd --server` takes: `host`, `host:port`, or a whole URL."""

    address: str
    token: str = ""
    # read again when the server says that the token is no longer good: others renew it there
    token_file: str = ""
    tls: Tls = Tls()
    plaintext: bool = False
    root_path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    limits: HttpLimits = POLITE
    forward: PortForward | None = None
    # the name of the context in argocd's config file that it came from
    context: str = ""
    # where the address was given
    setting: str = "--server"

    def __repr__(self) -> str:
        """Without the token: this may end up in a log."""
        return f"ArgoServer({self.base_url})"

    @property
    def base_url(self) -> str:
        """`https://argocd.example.com/argo`: where `/api` is to be found."""
        if self.forward is not None and not self.address:
            return f"https://{self.forward.namespace or 'argocd'}.port-forward"
        scheme, _, rest = self.address.rpartition("://")
        if not scheme:
            scheme = "http" if self.plaintext else "https"
        return "/".join(part for part in (f"{scheme}://{rest.strip('/')}", self.root_path.strip("/")) if part)

    def checked(self) -> ArgoServer:
        """The same, or an error that says what is wrong with it."""
        parts = parsed(self.base_url, setting=self.setting)
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
