"""A user, a token or a CI job cannot log in to Argo CD or does not reach it: the request is not processed.

## What happens
Argo CD accepts a request only with a session of a local account, a token of an account or a project role, or
a token of the login provider (OIDC, or Dex with a connector). If that is expired, revoked, issued for another
client or not verifiable, Argo CD answers `Unauthenticated` before it looks at its RBAC. The
state of the Application does not change: auto-sync needs no login.

## How whysync knows
A line of argocd-server or argocd-dex-server, or the output of the `argocd` command: `invalid session`,
`Failed to verify token`, `Failed to query provider`, `Failed to authenticate`, `no session information`. Or
the command reports that its connection to the server failed.

## Fix
Log in again if a session has expired. If all users of a provider fail, correct the provider's settings in
`argocd-cm` (`url`, `oidc.config`, `dex.config`) and its secret in `argocd-secret`.

## When it is something else
`permission denied: applications, sync, …` is argocd-rbac: the login works, the account may not do this. So is
a user whom the connector of Dex does not let in because of its groups. An address of the provider in
`argocd-cm` that is no URL, or not the provider's own, is settings-malformed. A certificate of the provider
that is not trusted is tls-trust.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.failure import Network
from whysync.messages.patterns.logins import LoginFailed, LoginProblem
from whysync.queries.commands import argocd_namespace, kubectl, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped

# The login works as configured, but not as it should: the cause is the setting.
_CAUSES = {LoginProblem.ADDRESS: "settings-malformed", LoginProblem.GROUPS: "argocd-rbac"}
_DEX_PODS = "app.kubernetes.io/name=argocd-dex-server"


@rule(cause="argocd-login", since="0.1")
def login_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, LoginFailed, by=lambda f: (f.problem, f.provider, f.account, f.got)):
        failure = group.failure
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            cause=_CAUSES.get(failure.problem, ""),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM if failure.problem is LoginProblem.TOKEN else Confidence.HIGH,
            verdict=_verdict(failure),
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="the login error"),
            fixes=(_fix(case, failure),),
        )


_SENTENCES = {
    LoginProblem.EXPIRED: "Argo CD rejects a request: the user's session or token has expired",
    LoginProblem.SIGNATURE: "Argo CD rejects a token: its signature does not match the keys of Argo CD or the"
    " provider",
    LoginProblem.NO_SESSION: "Argo CD rejects a request without a session: nobody is logged in",
}
# The error follows.
_BEGINNINGS = {
    LoginProblem.ADDRESS: "Argo CD's address of its login provider is wrong, so SSO fails",
    LoginProblem.ACCOUNT: "Argo CD rejects a login",
    LoginProblem.REDIRECT: "the login returns to an address that Argo CD does not accept",
    LoginProblem.EXCHANGE: "the login provider gives Argo CD no token",
    LoginProblem.GROUPS: "Dex does not let a user in",
    LoginProblem.CONNECTOR: "Dex cannot log a user in",
    LoginProblem.TOKEN: "Argo CD does not accept a session or token",
}


def _verdict(failure: LoginFailed) -> str:
    provider, error = failure.provider or "the login provider", one_line(failure.detail)
    if failure.problem in _SENTENCES:
        return _SENTENCES[failure.problem]
    if failure.problem in _BEGINNINGS:
        return f"{_BEGINNINGS[failure.problem]}: {error}"
    match failure.problem:
        case LoginProblem.PROVIDER:
            why = why_unreachable(failure.reason) if failure.reason is not Network.UNKNOWN else error
            return f"Argo CD cannot ask {provider} for its login settings, so SSO fails: {why}"
        case LoginProblem.AUDIENCE if failure.got:
            return f"Argo CD rejects a token that was issued for {failure.got}: it accepts {failure.expected}"
        case LoginProblem.AUDIENCE:
            return "Argo CD rejects a token because of its audience: no audience is allowed"
        case LoginProblem.REVOKED:
            return f"Argo CD rejects a request: its token{_of(failure.account)} is no longer valid"
        case LoginProblem.SERVER:
            to = f" at {failure.provider}" if failure.provider else ""
            why = why_unreachable(failure.reason) if failure.reason is not Network.UNKNOWN else error
            return f"the argocd command does not reach Argo CD's API server{to}: {why}"
        case LoginProblem.ANSWER:
            return (
                f"{provider} answers the argocd command with HTTP {failure.got}:"
                " it is not Argo CD, or a proxy in front of it rejects the request"
            )
        case _:
            return f"Argo CD rejects the user name or password{_of(failure.account)}"


def _of(account: str) -> str:
    return f" of account {account}" if account else ""


def _fix(case: Case, failure: LoginFailed) -> Fix:
    namespace = argocd_namespace(case)
    settings = kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=namespace)
    server_log = kubectl(
        "logs", "-l", "app.kubernetes.io/name=argocd-server", "--tail=200", namespace=namespace
    )
    dex_log = kubectl("logs", "-l", _DEX_PODS, "--tail=100", namespace=namespace)
    who_am_i = with_comment("argocd account get-user-info", "is the session valid now?")
    match failure.problem:
        case LoginProblem.PROVIDER | LoginProblem.ADDRESS if failure.is_through_dex:
            return Fix.run(
                kubectl("get", "pods", "-l", _DEX_PODS, namespace=namespace),
                dex_log,
                with_comment(settings, "url and dex.config; argocd-server reaches Dex by --dex-server"),
                title="Get Dex running, and correct the address by which argocd-server reaches it",
            )
        case LoginProblem.PROVIDER:
            return Fix.run(
                with_comment(settings, "the issuer in oidc.config"),
                server_log,
                title="Let argocd-server reach the provider (DNS, proxy, firewall), or correct its issuer",
            )
        case LoginProblem.ADDRESS:
            return Fix.run(
                with_comment(settings, "the issuer in oidc.config"),
                title="Correct the issuer in oidc.config: it must be a URL, and exactly the one that"
                " URL/.well-known/openid-configuration names",
            )
        case LoginProblem.AUDIENCE:
            return Fix.run(
                with_comment(settings, "clientID, cliClientID and allowedAudiences in oidc.config"),
                title="Add the client of the token to allowedAudiences in oidc.config; with Dex, upgrade the"
                " argocd command to the version of the server",
            )
        case LoginProblem.SIGNATURE:
            return Fix.run(
                who_am_i,
                server_log,
                title="Log in again, which issues a new token; if that fails too, the signing key differs:"
                " server.secretkey in argocd-secret for accounts, the keys of the provider for SSO",
            )
        case LoginProblem.EXPIRED | LoginProblem.NO_SESSION:
            return Fix.run(
                with_comment("argocd relogin", "or argocd login SERVER --sso; in CI set ARGOCD_AUTH_TOKEN"),
                who_am_i,
                title="Log in again",
            )
        case LoginProblem.REVOKED | LoginProblem.PASSWORD | LoginProblem.ACCOUNT:
            return Fix.run(
                with_comment(settings, "accounts.NAME: login, apiKey; accounts.NAME.enabled; admin.enabled"),
                with_comment("argocd account list", "as an administrator"),
                title="Log in with a valid account, or generate a new token for it",
            )
        case LoginProblem.REDIRECT:
            return Fix.run(
                with_comment(settings, "url, additionalUrls"),
                title="Set url in argocd-cm to the address in the browser, and register URL/auth/callback"
                " (with Dex: URL/api/dex/callback) at the provider",
            )
        case LoginProblem.EXCHANGE:
            return Fix.run(
                with_comment(settings, "clientID and clientSecret of oidc.config"),
                server_log,
                title="Compare the client's ID, secret and redirect URL with those at the login provider",
            )
        case LoginProblem.GROUPS:
            return Fix.run(
                with_comment(settings, "groups, orgs or teams of the connector in dex.config"),
                title="Add the user to one of these groups, or a group of the user to the connector",
            )
        case LoginProblem.CONNECTOR:
            return Fix.run(
                dex_log,
                with_comment(settings, "the connector in dex.config"),
                title="Correct the connector in dex.config, or what the identity provider sends to it",
            )
        case LoginProblem.SERVER:
            return Fix.run(
                with_comment("argocd context", "the server of each context; --server overrides it"),
                kubectl("get", "pods,services,ingress", namespace=namespace),
                with_comment(
                    "argocd account get-user-info --grpc-web", "a proxy may not pass gRPC, which needs HTTP/2"
                ),
                title="Correct the address of the server, or let the proxy in front of it pass the command's"
                " requests (--grpc-web, longer timeouts)",
            )
        case LoginProblem.ANSWER:
            return Fix.run(
                with_comment("argocd context", "the server of each context; --server overrides it"),
                who_am_i,
                title="Give the command the address of Argo CD as --server, not that of a cluster; if it is"
                " right, let the proxy pass the requests",
            )
        case LoginProblem.TOKEN:
            return Fix.run(
                who_am_i,
                server_log,
                title="Log in again; if all users fail, correct the login provider in argocd-cm",
            )
