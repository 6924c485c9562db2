"""The Git host or chart registry rejects Argo CD's credentials.

## What happens
Argo CD cannot read the source, so nothing can be compared: the sync status is Unknown, and new commits are
not seen. Workloads in the cluster are not affected. Usual reasons: a deploy key was rotated, a token
expired, the account lost its access, or no credential Secret matches the address.

## How whysync knows
The error: a failed SSH handshake, status 401 or 403, `authentication required`, `Permission denied
(publickey)`, an expired registry token. `failed to fetch anonymous token` and `no basic auth credentials`
mean that Argo CD sent no credential: none is registered, or the URL of its Secret does not match.

## Fix
Put a valid credential into the repository's Secret in Argo CD's namespace, then hard refresh: errors are
cached for up to an hour.

## When it is something else
`repository not found` can also mean a renamed repository (repo-unreachable); many hosts also return it for
a private repository with wrong credentials. An unknown host key or certificate: tls-trust.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.git import AuthMethod, RepoAuthFailed
from whysync.queries.commands import (
    app_argument,
    argocd_namespace,
    comment,
    hard_refresh,
    kubectl,
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.sources import (
    failing_source,
    is_oci,
    is_of_source,
    references_in_git,
    repository_address,
    repository_of_web_page,
    repository_secret,
    source_flag,
    source_pointer,
)

CREDENTIALS = {
    AuthMethod.SSH: ("SSH key", "--ssh-private-key-path KEYFILE"),
    AuthMethod.HTTPS: ("user name or token", "--username USER --password TOKEN"),
    AuthMethod.APP: (
        "GitHub App key or installation",
        "--github-app-id ID --github-app-installation-id ID --github-app-private-key-path KEYFILE",
    ),
}


@rule(cause="repo-auth", since="0.1")
def repo_credentials_rejected(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RepoAuthFailed, by=lambda failure: failure.url):
        failure = group.failure
        # a GitHub App logs in at the API of the host, which is no repository
        reported_url = "" if failure.method is AuthMethod.APP else failure.url
        source = failing_source(case, group.message, url=reported_url)
        own = source if source is not None and is_of_source(reported_url, source) else None
        url = repository_address(reported_url, source)
        page = repository_of_web_page(own.repo_url) if own is not None else ""
        method = failure.method or _method_of(url)
        secret = repository_secret(case, url)
        references = () if own or failure.is_chart_index else references_in_git(source, url)
        yield Finding(
            about=case.application.ref,
            field=source_pointer(case, own) + "/repoURL" if own else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{url} is the address of a web page; the repository is {page}"
            if page
            else _verdict(failure, url, method, secret),
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says=f"{'repository' if failure.is_forbidden else 'login'} error"),
                *_where(case, own, secret),
            ),
            fixes=(
                *_of_web_page(case, own, page),
                *_unblock(case, url, secret, source, failure),
                _fix(case, page or url, method, secret, _type_flags(failure, own), failure, references),
                *_correct_url(case, url, own, failure),
            ),
        )


def _verdict(failure: RepoAuthFailed, url: str, method: AuthMethod, secret: Manifest | None) -> str:
    repository = url or "the repository"
    if not failure.anonymous:
        credential, _ = CREDENTIALS.get(method, ("credentials", ""))
        if failure.may_not_exist:
            return (
                f"{repository} is not found: Argo CD has no credential for it, its account has no access, or"
                " the URL is wrong"
            )
        if secret is None and failure.is_forbidden:
            other = "it blocks Argo CD, has moved, or needs a credential"
            reason = (
                other if failure.is_chart_index else "Argo CD has no valid credential for it, or is blocked"
            )
            return f"{repository} refuses access (403): {reason}"
        if secret is None and method is AuthMethod.HTTPS:
            return f"{repository} rejects Argo CD's {credential}, or Argo CD has none for it"
        return f"{repository} rejects Argo CD's {credential}"
    why = (
        "none is registered, or its URL does not match"
        if secret is None
        else f"the URL of Secret {secret.ref.name} matches, but nothing of it was used"
    )
    return f"{repository} refuses anonymous access: Argo CD used no credential for it ({why})"


def _method_of(url: str) -> AuthMethod:
    if url.startswith(("git@", "ssh://")):
        return AuthMethod.SSH
    return AuthMethod.HTTPS if url.startswith(("https://", "http://")) else AuthMethod.UNKNOWN


def _where(case: Case, source: Source | None, secret: Manifest | None) -> Iterator[Evidence]:
    if source is not None:
        yield cite(
            case.application, source_pointer(case, source) + "/repoURL", says="repository of the source"
        )
    if secret is not None:
        yield cite(secret, "/metadata/name", says="the Secret with its credentials")


def _type_flags(failure: RepoAuthFailed, source: Source | None) -> str:
    """Argo CD assumes a Git repository if no type is given."""
    if source is not None and source.chart and is_oci(source.repo_url):
        name = source.repo_url.rstrip("/").rpartition("/")[2] or "charts"
        return f"--type helm --enable-oci --name {quote(name)} "
    helm = failure.helm or (source is not None and bool(source.chart))
    return "--type helm --name NAME " if helm else ""


def _fix(
    case: Case,
    url: str,
    method: AuthMethod,
    secret: Manifest | None,
    type_flags: str,
    failure: RepoAuthFailed,
    references: tuple[str, ...],
) -> Fix:
    anonymous = failure.anonymous
    namespace = argocd_namespace(case)
    _, flags = CREDENTIALS.get(method, ("", "--username USER --password TOKEN"))
    flags = type_flags + flags
    if secret is not None:
        look = kubectl("describe", "secret", secret.ref.name, namespace=secret.ref.namespace or namespace)
        title = f"Put a valid credential into Secret {secret.ref.name}, then hard refresh"
    else:
        look = "argocd repo list"
        renew = "Add a credential for" if anonymous else "Add or renew the credential of"
        title = f"{renew} this repository, then hard refresh"
    unsure = anonymous or failure.may_not_exist
    look_for = (
        "is there an entry, and does its URL match?" if unsure else "the entry of this URL, and its status"
    )
    if secret is not None:
        look_for = "which keys it has; no value is shown"
    if secret is None and failure.is_forbidden and failure.is_chart_index:
        title = "Or, if it is private: add or renew its credential, then hard refresh"
    return Fix.run(
        *references,
        with_comment(look, look_for),
        *(() if secret is not None else _if_absent(is_git=not type_flags)),
        _add(url, flags, is_git=not type_flags),
        hard_refresh(case),
        title=title,
    )


def _add(url: str, flags: str, *, is_git: bool) -> str:
    """For an address without a path, a template: Git reports only the host for which it has no login."""
    if is_git and url.startswith(("https://", "http://")) and "/" not in url.partition("://")[2].rstrip("/"):
        return f"argocd repocreds add {quote(url.rstrip('/'))}/OWNER {flags} --upsert"
    return f"argocd repo add {quote(url) if url else 'URL'} {flags} --upsert"


def _if_absent(*, is_git: bool) -> tuple[str, str]:
    ending = " (GitLab: with .git)" if is_git else ""
    return (
        with_comment("argocd repocreds list", "templates: an entry whose URL it begins with"),
        comment(f"no entry? correct the URL{ending}, or add it:"),
    )


def _unblock(
    case: Case, url: str, secret: Manifest | None, source: Source | None, failure: RepoAuthFailed
) -> Iterator[Fix]:
    """A public index has no login: it answers 403 to addresses that it blocks, and where it has moved.

    A server that wants a login answers 401 to a request without one.
    """
    if secret is not None or not failure.is_forbidden or not failure.is_chart_index:
        return
    inside = f"kubectl -n {argocd_namespace(case)} exec deploy/argocd-repo-server"
    yield Fix.run(
        with_comment(
            f"curl -sI {quote(url)}/index.yaml", "from your machine; also 403: it has moved, or is private"
        ),
        with_comment(
            f"{inside} -- helm show chart CHART --repo {quote(url)}",
            "403 only here: a firewall, proxy or rate limit; works: the stored credential is refused",
        ),
        *references_in_git(None if source is None or is_of_source(url, source) else source, url),
        hard_refresh(case),
        title="If it is public: let the repo-server through, or use the new address or a mirror",
    )


def _of_web_page(case: Case, source: Source | None, repository: str) -> Iterator[Fix]:
    """The address of a folder in the host's web interface: the repository is the part before it."""
    if source is not None and repository:
        yield Fix.run(
            f"argocd app set {app_argument(case)}{source_flag(case, source)} --repo {quote(repository)}",
            hard_refresh(case),
            title=f"Set the URL of the repository: {repository}",
            risk="its folder and branch belong in path and targetRevision; a private repository also needs"
            " a credential for this URL",
        )


def _correct_url(case: Case, url: str, source: Source | None, failure: RepoAuthFailed) -> Iterator[Fix]:
    """Hosts report a private repository as missing, and a missing one as private."""
    if not failure.may_not_exist or source is None or source.chart:
        return
    yield Fix.run(
        with_comment(f"git ls-remote {quote(url)} HEAD", "with an account that has access: does it exist?"),
        f"argocd app set {app_argument(case)}{source_flag(case, source)} --repo URL",
        hard_refresh(case),
        title="Or correct the URL, if the repository was renamed or moved",
    )
