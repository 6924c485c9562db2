"""Logins to Argo CD that fail: sessions, tokens and accounts, the OIDC provider, and Dex with its connectors.

They are in the logs of argocd-server and argocd-dex-server, and in the output of the `argocd` command.
"""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import Failure, Network
from whysync.messages.network import dialled, reason_of
from whysync.messages.pattern import Builder, Context, Pattern, group_text
from whysync.messages.patterns.git import from_source
from whysync.messages.scope import Scope
from whysync.messages.wrappers import Layer, LayerKind


class LoginProblem(StrEnum):
    PROVIDER = "provider"
    """The provider of the login cannot be asked for its configuration."""
    ADDRESS = "address"
    """The address of the provider in Argo CD's settings is not a usable one, or not its own."""
    AUDIENCE = "audience"
    EXPIRED = "expired"
    REVOKED = "revoked"
    SIGNATURE = "signature"
    PASSWORD = "password"
    ACCOUNT = "account"
    NO_SESSION = "no-session"
    REDIRECT = "redirect"
    EXCHANGE = "exchange"
    """The provider gives no token for the code of a login, or does not accept Argo CD as a client."""
    CONNECTOR = "connector"
    """Dex fails at the identity provider that is behind it."""
    SERVER = "server"
    """The `argocd` command does not reach Argo CD's API server, or loses the connection."""
    ANSWER = "answer"
    """What answers the `argocd` command is not Argo CD, or a proxy in front of it."""
    GROUPS = "groups"
    """The connector of Dex does not let the user in."""
    TOKEN = "token"
    """Any other token that Argo CD does not accept."""


class LoginFailed(Failure, frozen=True, kw_only=True):
    """`provider` is the issuer's URL, `account` a local account, `expected` and `got` are audiences."""

    problem: LoginProblem
    provider: str = ""
    account: str = ""
    expected: str = ""
    got: str = ""
    reason: Network = Network.UNKNOWN
    detail: str = ""

    @property
    def is_through_dex(self) -> bool:
        """Dex is served by argocd-server itself, below `url` of argocd-cm."""
        return self.provider.rstrip("/").endswith("/api/dex")


def _failed(problem: LoginProblem) -> Builder:
    def build(match: re.Match[str], context: Context) -> Failure | None:
        if not _is_to_argocd(context):
            return None
        if "x509: " in context.text:
            return None  # the certificate of the provider is not trusted
        return LoginFailed(
            text=context.text,
            problem=problem,
            provider=group_text(match, "provider"),
            account=group_text(match, "account"),
            expected=group_text(match, "expected"),
            got=group_text(match, "got"),
            reason=reason_of(context.text),
            detail=group_text(match, "detail") or match[0].strip(),
        )

    return build


def _server_unreachable(match: re.Match[str], context: Context) -> Failure | None:
    """A connection of the `argocd` command itself: errors of Argo CD's own connections have more wrappers."""
    host, port = dialled(context.text)
    to_component = "repo-server" in context.text or "redis" in context.text or port not in _SERVER_PORTS
    kinds = [layer.kind for layer in context.layers if not _is_command(layer)]
    of_command = any(map(_is_command, context.layers)) and set(kinds) <= {LayerKind.RPC}
    if not of_command or to_component or "x509: " in context.text:
        return None
    server = group_text(match, "provider") or (host if port is None else f"{host}:{port}")
    return LoginFailed(
        text=context.text,
        problem=LoginProblem.SERVER,
        provider=server,
        reason=reason_of(context.text),
        detail=match[0].strip(),
    )


# HTTPS, HTTP, and those of argocd-server and of a port-forward; others are Git, the repo-server or Redis.
_SERVER_PORTS = (None, 443, 80, 8080, 8083, 8443)


def _is_command(layer: Layer) -> bool:
    """`FATA[0000] …` is a wrapper of the text, or was parsed as a line of a log."""
    return layer.kind is LayerKind.LOG and (layer.subject == "argocd" or layer.text.startswith("FATA["))


_QUERY = r"[Ff]ailed to query provider \"?(?P<provider>[^\s\"]{0,300})\"?: "

TABLE: tuple[Pattern, ...] = (
    Pattern(
        "ailed to establish connection to",
        r"[Ff]ailed to establish connection to (?P<provider>[\w.-]{1,253}(?::\d{1,5})?): .*",
        _server_unreachable,
    ),
    Pattern("gRPC connection not ready", r"gRPC connection not ready.*", _server_unreachable),
    Pattern("transport", r"^(?:connection error: .{0,40})?(?:closing )?transport\b.*", _server_unreachable),
    Pattern("received prior goaway", r".{0,200}received prior goaway.*", _server_unreachable),
    Pattern("dial tcp", r"^dial tcp\b.*", _server_unreachable),
    Pattern("context deadline exceeded", r"^context deadline exceeded$", _server_unreachable),
    Pattern(
        "failed with status code ",
        r"POST (?P<provider>https?://[^\s/]{1,253})/(?:\S{1,100}/)?[a-z]{3,30}\.\w{2,60}Service/\w{2,60} "
        r"failed with status code (?:404|5\d\d)",
        _server_unreachable,
    ),
    Pattern(
        "failed with status code 40",
        r"POST (?P<provider>https?://[^\s/]{1,253})/(?:\S{1,100}/)?[a-z]{3,30}\.\w{2,60}Service/\w{2,60} "
        r"failed with status code (?P<got>40[13])",
        _failed(LoginProblem.ANSWER),
    ),
    Pattern(
        "ailed to query provider",
        _QUERY + r"(?P<detail>.{0,300}(?:unsupported protocol scheme|first path segment|missing protocol|"
        r"invalid (?:URL|port|character)|issuer did not match|no Host in request|"
        r"server gave HTTP response to HTTPS client).*)",
        _failed(LoginProblem.ADDRESS),
    ),
    Pattern("ailed to query provider", _QUERY + r"(?P<detail>.+)", _failed(LoginProblem.PROVIDER)),
    Pattern("ailed to query provider", r"[Ff]ailed to query provider.*", _failed(LoginProblem.PROVIDER)),
    Pattern(
        "expected audience",
        r"expected audience \"?(?P<expected>[^\s\"]{1,200})\"? got \[?\"?(?P<got>[^\]\"]{0,200})\"?\]?",
        _failed(LoginProblem.AUDIENCE),
    ),
    Pattern(
        "no allowed audiences",
        r"token has an audience claim, but no allowed audiences are configured",
        _failed(LoginProblem.AUDIENCE),
    ),
    Pattern(
        "expired",
        r"(?:oidc: )?token (?:is|has) (?:invalid claims: token is )?expired.*",
        _failed(LoginProblem.EXPIRED),
    ),
    Pattern("token is too old", r"SSO token is too old.*", _failed(LoginProblem.EXPIRED)),
    Pattern("token is revoked", r"token is revoked.*", _failed(LoginProblem.REVOKED)),
    Pattern("since token issued", r"password has changed since token issued", _failed(LoginProblem.REVOKED)),
    Pattern(
        "does not have token with id",
        r"account (?P<account>\S{1,100}) does not have token with id .*",
        _failed(LoginProblem.REVOKED),
    ),
    Pattern(
        "signature",
        r"(?:failed to verify (?:id token )?signature|signature is invalid|"
        r"(?:token|id token) signature (?:is invalid|verification)|unexpected signing method|"
        r"crypto/rsa: verification error|could not verify message using any of the signatures).*",
        lambda m, c: _failed(LoginProblem.SIGNATURE)(m, c) if _is_of_token(c) else None,
    ),
    Pattern(
        "nvalid username or password", r"[Ii]nvalid username or password", _failed(LoginProblem.PASSWORD)
    ),
    Pattern("Blank passwords", r"Blank passwords are not allowed", _failed(LoginProblem.PASSWORD)),
    Pattern(
        "too many failed logins",
        r"User (?P<account>\S{1,100}) had too many failed logins.*",
        _failed(LoginProblem.PASSWORD),
    ),
    Pattern(
        "ccount ",
        r"[Aa]ccount '?(?P<account>[^\s']{1,100})'? (?:is disabled|does not have '?\w{1,20}'? capability)",
        _failed(LoginProblem.ACCOUNT),
    ),
    Pattern("SSO is not configured", r"SSO is not configured", _failed(LoginProblem.ACCOUNT)),
    Pattern("no session information", r"no session information", _failed(LoginProblem.NO_SESSION)),
    Pattern(
        "server address unspecified", r"Argo CD server address unspecified", _failed(LoginProblem.NO_SESSION)
    ),
    Pattern(
        "argocd login", r"No context found\. Login using `argocd login`", _failed(LoginProblem.NO_SESSION)
    ),
    Pattern("no credentials supplied", r"no credentials supplied", _failed(LoginProblem.NO_SESSION)),
    Pattern(
        "edirect",
        r"Invalid redirect URL\b.*|failed to verify app state.*|Unregistered redirect_uri.*|"
        r"got invalid redirectURL.*|redirect_uri did not match.*",
        _failed(LoginProblem.REDIRECT),
    ),
    Pattern("app state", r"failed to (?:verify|decrypt) app state.*", _failed(LoginProblem.REDIRECT)),
    Pattern("invalid state in ", r"invalid state in '[^']{1,60}' cookie", _failed(LoginProblem.REDIRECT)),
    Pattern("oauth2: ", r"(?:failed to get token: )?(?P<detail>oauth2: .*)", _failed(LoginProblem.EXCHANGE)),
    Pattern("no id_token in", r"no id_token in (?:the )?token response", _failed(LoginProblem.EXCHANGE)),
    Pattern(
        "userinfo",
        r"(?:failed to query|error while quering|error fetching) user ?info endpoint.*",
        _failed(LoginProblem.EXCHANGE),
    ),
    Pattern(
        " required ",
        r"(?P<detail>user \"?(?P<account>[^\s\"]{1,200})\"? (?:is )?not in (?:any of the )?required "
        r"\w{1,20}.*)",
        _failed(LoginProblem.GROUPS),
    ),
    Pattern(
        "ailed to authenticate: ",
        r"^[Ff]ailed to authenticate: (?P<detail>.+)",
        _failed(LoginProblem.CONNECTOR),
    ),
    Pattern(
        "ailed to login user", r"^[Ff]ailed to login user: (?P<detail>.+)", _failed(LoginProblem.CONNECTOR)
    ),
    Pattern(
        "received error from dex",
        r"received error from dex: (?P<detail>.+)",
        _failed(LoginProblem.CONNECTOR),
    ),
    Pattern(
        "initialize server: server: ",
        r"failed to initialize server: server: (?P<detail>[Ff]ailed to open connector .+)",
        _failed(LoginProblem.CONNECTOR),
    ),
    Pattern(
        "ailed to verify token", r"[Ff]ailed to verify token: (?P<detail>.+)", _failed(LoginProblem.TOKEN)
    ),
    Pattern("nvalid session", r"[Ii]nvalid session(?: token)?:? (?P<detail>.+)", _failed(LoginProblem.TOKEN)),
)


def _is_to_argocd(context: Context) -> bool:
    """Registries, repositories and plugins have logins of their own."""
    if from_source(context) or context.scope in (Scope.PLUGIN, Scope.REPO_SERVER):
        return False
    is_refused = any(layer.code == "Unauthenticated" for layer in context.layers)
    return is_refused or context.within(LayerKind.LOG)


def _is_of_token(context: Context) -> bool:
    """Git and image policies verify signatures too."""
    text = context.text.lower()
    return "token" in text or "session" in text
