"""Texts of logins to Argo CD: of its API server, of Dex, and of the `argocd` command."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        tuple(
            ("argocd-login", text)
            for text in (
                "FATA[0000] rpc error: code = Unauthenticated desc = invalid session: token is expired",
                "FATA[0012] rpc error: code = Unauthenticated desc = invalid session: failed to verify the"
                " token",
                "FATA[0000] rpc error: code = Unauthenticated desc = no session information",
                "FATA[0001] rpc error: code = Unauthenticated desc = Invalid username or password",
                "FATA[0001] rpc error: code = Unauthenticated desc = Account ci is disabled",
                "FATA[0001] rpc error: code = Unauthenticated desc = Account ci does not have login"
                " capability",
                "rpc error: code = Unauthenticated desc = invalid session: account ci does not have token"
                " with id 5f1b",
                "rpc error: code = Unauthenticated desc = invalid session: signature is invalid",
                "rpc error: code = Unauthenticated desc = invalid session: token is revoked, please re-login",
                "invalid session: account password has changed since token issued",
                'level=warning msg="Failed to verify token: failed to verify token: oidc: token is expired'
                ' (Token Expiry: 2026-01-01 10:40:08 +0000 UTC)"',
                'level=warning msg="Failed to verify token: oidc: id token issued by a different provider,'
                ' expected \\"https://a\\" got \\"https://b\\""',
                'level=error msg="failed to query provider \\"https://id.example.com\\": 404 Not Found"',
                'level=error msg="failed to get token: oauth2: \\"invalid_client\\" \\"Invalid'
                ' client secret\\""',
                'level=error msg="Failed to login user: failed to connect: LDAP Result Code 200 \\"Network'
                ' Error\\": dial tcp 192.0.2.4:636: i/o timeout"',
                'level=error msg="received error from dex: Unregistered redirect_uri"',
                "failed to initialize server: server: Failed to open connector github: failed to open"
                " connector: failed to create connector github: no orgs",
                "Invalid redirect URL: the protocol and host (including port) must match and the path must be"
                " within allowed URLs if provided",
            )
        ),
    ),
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            (
                "settings-malformed",
                'level=error msg="failed to query provider \\"https://id.example.com\\": oidc: issuer did not'
                ' match the issuer returned by provider"',
            ),
            (
                "settings-malformed",
                "level=warning msg=\"config referenced '$dex.secret', but key does not exist in secret\"",
            ),
            ("settings-malformed", 'level=error msg="invalid oidc config: yaml: line 2: mapping"'),
            (
                "argocd-rbac",
                'level=error msg="Failed to authenticate: github: user \\"mia\\" not in required orgs"',
            ),
            ("argocd-login", "FATA[0000] Argo CD server address unspecified"),
            ("argocd-login", "FATA[0030] context deadline exceeded"),
            ("argocd-login", "FATA[0000] rpc error: code = Unavailable desc = transport is closing"),
            (
                "argocd-login",
                'FATA[0000] rpc error: code = Unavailable desc = connection error: desc = "transport: Error'
                ' while dialing dial tcp 127.0.0.1:8080: connect: connection refused"',
            ),
            (
                "argocd-login",
                "FATA[0001] rpc error: code = Unknown desc = POST https://argocd.example.com:443/application."
                "ApplicationService/Get failed with status code 504",
            ),
            (
                "repo-server-down",
                'FATA[0001] rpc error: code = Unavailable desc = connection error: desc = "transport: Error'
                ' while dialing dial tcp 10.96.4.2:8081: i/o timeout"',
            ),
            ("argocd-login", "FATA[0000] No context found. Login using `argocd login`"),
        ),
    ),
)
