"""Texts of OCI registries, as the repo-server reports them."""

from __future__ import annotations

from tests.messages.upstream_texts.group import REPO_SERVER, Group
from whysync.messages.pasted import Origin

OCI_DIGEST = REPO_SERVER + ('failed to resolve revision "2.1.0": cannot get digest for revision 2.1.0: ')
OCI_TAGS = REPO_SERVER + ("error fetching tags: failed to get tags: ")

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        OCI_DIGEST,
        (
            ("revision-not-found", "registry.example.com/team/web:2.1.0: not found"),
            (
                "repo-auth",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": GET '
                '"https://registry.example.com/token?scope=x": response status code 401: '
                "unauthorized: authentication required",
            ),
            (
                "repo-auth",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": response '
                "status code 403: Forbidden",
            ),
            (
                "repo-unreachable",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": dial '
                "tcp: lookup registry.example.com: no such host",
            ),
            (
                "repo-unreachable",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": http: '
                "server gave HTTP response to HTTPS client",
            ),
            (
                "repo-unreachable",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": response '
                "status code 429: toomanyrequests: You have reached your pull rate limit",
            ),
            (
                "tls-trust",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": tls: '
                "failed to verify certificate: x509: certificate signed by unknown "
                "authority",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        OCI_TAGS,
        (
            (
                "repo-auth",
                'GET "https://registry.example.com/v2/team/web/tags/list": basic credential not found',
            ),
            (
                "repo-auth",
                'GET "https://registry.example.com/v2/team/web/tags/list": response status '
                "code 401: Unauthorized",
            ),
            (
                "repo-unreachable revision-not-found",
                'GET "https://registry.example.com/v2/team/web/tags/list": response status '
                "code 404: name unknown: repository name not known to registry",
            ),
            (
                "repo-unreachable",
                'GET "https://registry.example.com/v2/team/web/tags/list": response status '
                "code 500: Internal Server Error",
            ),
            ("repo-unreachable", 'invalid reference: invalid registry "https:"'),
        ),
    ),
)
