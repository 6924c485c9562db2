"""Repositories that are unreachable, reject the credentials, or lack the revision or the path."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import partial

from whysync.messages.failure import Failure, Network, Peer
from whysync.messages.network import (
    Distrust,
    dialled,
    distrust_of,
    host_of,
    is_to_argocd,
    reason_of,
    url_in,
)
from whysync.messages.pattern import Context, Pattern, compiled, fill, group_text
from whysync.messages.wrappers import LayerKind


class AuthMethod(StrEnum):
    SSH = "ssh"
    HTTPS = "https"
    APP = "app"
    UNKNOWN = ""


class RepoAuthFailed(Failure, frozen=True, kw_only=True):
    """`helm`: Helm asked for a chart, or for the index of a chart repository.

    `anonymous`: the request was sent without a credential.
    """

    url: str = ""
    user: str = ""
    method: AuthMethod = AuthMethod.UNKNOWN
    helm: bool = False
    anonymous: bool = False
    detail: str = ""

    @property
    def is_forbidden(self) -> bool:
        """Status 403, which a host also returns to addresses that it blocks."""
        return compiled(r"\b403\b").search(self.detail) is not None

    @property
    def is_chart_index(self) -> bool:
        """Was the index of a chart repository requested?"""
        return self.helm and self.url.startswith("http")

    @property
    def may_not_exist(self) -> bool:
        """Hosts answer a request without access and a request for a wrong URL alike."""
        return "epository not found" in self.detail


class RepoUnreachable(Failure, frozen=True, kw_only=True):
    """`reason` NOT_FOUND includes a private repository: hosts report it as missing to other accounts."""

    host: str = ""
    url: str = ""
    reason: Network = Network.UNKNOWN
    detail: str = ""

    @property
    def is_chart_index(self) -> bool:
        """Was the index of a chart repository requested?"""
        return "/index.yaml" in self.text

    @property
    def http_status(self) -> str:
        """The status that the host returned: `503`; empty if there is none."""
        status = compiled(r"(?:error:|[Cc]ode:?|status:?|HTTP(?:/[\d.]{1,4})?) ?(?P<code>[45]\d\d)\b").search(
            self.detail
        )
        return status["code"] if status else ""


class TlsUntrusted(Failure, frozen=True, kw_only=True):
    """`host_is_hidden`: the text names the server, but whoever copied it replaced the name."""

    host: str = ""
    host_is_hidden: bool = False
    reason: Distrust = Distrust.OTHER
    peer: Peer = Peer.UNKNOWN


class RevisionNotFound(Failure, frozen=True, kw_only=True):
    """`revision` is the requested revision; `chart` and `constraint` are set if a chart was requested.

    `abbreviated`: it exists, but Argo CD looks up changed files only by the whole SHA of a commit.
    """

    revision: str = ""
    constraint: str = ""
    chart: str = ""
    repo: str = ""
    ambiguous: bool = False
    abbreviated: bool = False


class RepoCopyBroken(Failure, frozen=True, kw_only=True):
    """The copy of the repository that `repo-server` keeps is locked or damaged."""

    detail: str = ""


class PathNotFound(Failure, frozen=True, kw_only=True):
    path: str = ""
    detail: str = ""

    @property
    def is_symlink_outside(self) -> bool:
        """The path is a symlink that leaves the repository."""
        return "out-of-bounds symlink" in self.detail

    @property
    def is_outside_root(self) -> bool:
        """The path, with its symlinks resolved, is outside the repository."""
        return "outside repository root" in self.detail

    @property
    def has_reason(self) -> bool:
        """Does the message contain more than that the path does not exist?"""
        return self.detail not in ("", "app path does not exist", "does not exist")


class SourceIntegrity(Failure, frozen=True, kw_only=True):
    revision: str = ""
    detail: str = ""


_OF_CLUSTER = (LayerKind.LOAD_LIVE_STATE, LayerKind.CLUSTER, LayerKind.LOAD_KIND)
_TOOLS_OF_SOURCES = ("git", "helm", "kustomize", "sh", "bash")


def from_source(context: Context) -> bool:
    """Do the wrappers show that a repository or a registry was being read?"""
    if context.within(*_OF_CLUSTER):
        return False
    return context.command.partition(" ")[0] in _TOOLS_OF_SOURCES or context.within(
        LayerKind.LOAD_TARGET_STATE,
        LayerKind.SOURCE_N_OF_M,
        LayerKind.GENERATE_MANIFESTS,
        LayerKind.CACHED,
        LayerKind.REPOSITORY,
        LayerKind.FETCH,
        LayerKind.RESOLVE_REVISION,
        LayerKind.HELM_DEPENDENCIES,
        LayerKind.HYDRATOR,
    )


_NO_CREDENTIAL = (
    r"fetch anonymous token|no basic auth credentials|basic credential not found|"
    r"no credentials matched this URL"
)
"""Errors that registry clients and Argo CD report only if they have no credential for the address."""


def auth_failed(match: re.Match[str], context: Context, method: AuthMethod = AuthMethod.UNKNOWN) -> Failure:
    url = _url(match, context)
    if method is AuthMethod.UNKNOWN and url:
        method = AuthMethod.HTTPS if url.startswith("http") else AuthMethod.SSH if "@" in url else method
    return RepoAuthFailed(
        text=context.text,
        url=url,
        user=group_text(match, "user"),
        method=method,
        helm=context.command.startswith("helm") or "index.yaml" in context.text,
        anonymous=compiled(_NO_CREDENTIAL).search(context.text[:8192]) is not None,
        detail=match[0].strip(": "),
    )


def _url(match: re.Match[str], context: Context) -> str:
    return repository_url(group_text(match, "url") or _repository(context) or url_in(context.text))


def repository_url(url: str) -> str:
    """The repository of a URL that Git, Helm or a registry client asked for; empty for a token endpoint."""
    registry = compiled(r"://(?P<host>[^/]{1,300})/v2/(?P<name>.{1,300}?)/(?:tags|manifests|blobs)/").search(
        url
    )
    if registry is not None:
        return f"{registry['host']}/{registry['name']}"
    if compiled(r"://[^/]{1,300}/(?:v2/|token\b|oauth2?/|service/token)").search(url):
        return ""
    return compiled(r"/(?:info/refs|git-upload-pack|index\.yaml)(?:\?.*)?$").sub("", url.rstrip(" :"))


def _repository(context: Context) -> str:
    return next(
        (layer.subject for layer in context.layers if layer.kind is LayerKind.REPOSITORY and layer.subject),
        "",
    )


by_ssh = partial(auth_failed, method=AuthMethod.SSH)
by_https = partial(auth_failed, method=AuthMethod.HTTPS)
by_app = partial(auth_failed, method=AuthMethod.APP)


def repository_absent(match: re.Match[str], context: Context) -> Failure:
    url = _url(match, context)
    return RepoUnreachable(
        text=context.text, host=host_of(url), url=url, reason=Network.NOT_FOUND, detail=match[0].strip()
    )


def registry_refused(match: re.Match[str], context: Context) -> Failure | None:
    if is_to_argocd(context.text):
        return None
    if (
        not from_source(context)
        and "unable to get tags" not in context.text
        and not context.within(LayerKind.RPC)
    ):
        return None
    return by_https(match, context)


def host_key(match: re.Match[str], context: Context) -> Failure:
    host = group_text(match, "host") or host_of(url_in(context.text))
    reason = distrust_of(match[0])
    if reason is Distrust.OTHER:
        reason = Distrust.HOST_KEY_UNKNOWN
    hidden = "<" in host  # a placeholder of the person who copied the message
    return TlsUntrusted(
        text=context.text,
        host="" if hidden else host,
        host_is_hidden=hidden,
        reason=reason,
        peer=Peer.REPOSITORY,
    )


# The `argocd` command and its server.
_TO_ARGOCD = r"[Ff]ailed to establish connection to (?P<host>[\w.-]{1,253}(?::\d{1,5})?): "


def certificate(match: re.Match[str], context: Context) -> Failure:
    url = url_in(context.text)
    cluster = (
        context.within(*_OF_CLUSTER)
        or "/version?timeout" in context.text
        or compiled(r"/apis?(?:[/?]|$)").search(url)
    )
    to_argocd = compiled(_TO_ARGOCD).search(context.text[:8192])
    if cluster:
        peer = Peer.CLUSTER
    elif from_source(context):
        peer = Peer.REPOSITORY
    elif "/.well-known/openid-configuration" in context.text:
        peer = Peer.LOGIN_PROVIDER
    else:
        peer = Peer.ARGOCD if to_argocd else Peer.UNKNOWN
    named = group_text(to_argocd, "host") if to_argocd else ""
    host = named or host_of(url) or dialled(context.text)[0] or host_of(context.server)
    hidden = "<" in host
    return TlsUntrusted(
        text=context.text,
        host="" if hidden else host,
        host_is_hidden=hidden,
        reason=distrust_of(match[0]),
        peer=peer,
    )


def unresolved_revision(context: Context) -> str:
    """The revision of a wrapper such as `unable to resolve 'x' to a commit SHA: `."""
    return next(
        (layer.subject for layer in reversed(context.layers) if layer.kind is LayerKind.RESOLVE_REVISION), ""
    )


revision = fill(
    RevisionNotFound,
    revision=lambda match, context: group_text(match, "revision") or unresolved_revision(context),
    ambiguous=lambda match, _: "ambiguous" in match[0],
)


def unreachable(match: re.Match[str], context: Context) -> Failure:
    url = _url(match, context)
    host, _ = dialled(context.text)
    return RepoUnreachable(
        text=context.text,
        host=host or host_of(url),
        url=url,
        reason=reason_of(context.text),
        detail=match[0].strip(),
    )


def refused_by_remote(match: re.Match[str], context: Context) -> Failure | None:
    """Git prints what the server itself says behind `remote:`, so the server was reached."""
    said = group_text(match, "said").strip()
    url = _url(match, context)
    if not said:
        return None  # the server gave no reason, or the text is cut off
    return RepoUnreachable(
        text=context.text, host=host_of(url), url=url, reason=Network.REMOTE_ERROR, detail=said
    )


def status_code(match: re.Match[str], context: Context) -> Failure | None:
    """`The requested URL returned error: 403`, printed by curl inside git."""
    code = group_text(match, "code")
    if code in ("401", "403"):
        return by_https(match, context)
    url = _url(match, context)
    reason = {
        "404": Network.NOT_FOUND,
        "429": Network.RATE_LIMITED,
        "503": Network.UNAVAILABLE,
        "407": Network.PROXY,
    }
    if code[:1] not in ("3", "4", "5"):
        return None
    return RepoUnreachable(
        text=context.text,
        host=host_of(url),
        url=url,
        reason=reason.get(code, Network.SERVER_ERROR),
        detail=match[0].strip(),
    )


def fetched(match: re.Match[str], context: Context) -> Failure | None:
    """`failed to fetch URL : 404 Not Found`, of Helm's client."""
    return status_code(match, context) if from_source(context) else None


def path_missing(match: re.Match[str], context: Context) -> Failure:
    path = compiled(r"([^\s:]{1,300}): $").search(context.text[: match.start()][-310:])
    return PathNotFound(text=context.text, path=path[1] if path else "", detail=match[0].strip())


TABLE: tuple[Pattern, ...] = (
    Pattern(
        "app path",
        r"app path (?:does not exist|is not a directory|is absolute|outside root)(?: - .*)?",
        path_missing,
    ),
    Pattern(
        "GIT/GPG",
        r"GIT/GPG: .{0,200}?(?:revision (?P<revision>[\w./-]{1,100}) .*|$)",
        fill(SourceIntegrity, detail=lambda _, context: context.text),
    ),
    Pattern(
        "source integrity verification",
        r"source integrity verification (?:failed|required).{0,300}revision \"(?P<revision>[^\"]{1,100})\".*",
        fill(SourceIntegrity, whole="detail"),
    ),
    Pattern(
        "is not signed",
        r"(?:[Tt]arget revision|[Rr]evision|commit) (?P<revision>[\w./-]{1,100}) (?:in Git )?is not signed.*",
        fill(SourceIntegrity, whole="detail"),
    ),
    Pattern(
        "signature",
        r"(?:[Ff]ound (?:good|bad|unknown|invalid)?\s?signature|[Cc]ould not verify|"
        r"signature is required|key that is not allowed|but signed with|"
        r"GnuPG).{0,200}(?:revision|commit|signature|key).*",
        fill(SourceIntegrity, whole="detail"),
    ),
    # Trust before credentials: an unknown host key also ends the handshake.
    Pattern("knownhosts: ", r"knownhosts: key (?:is unknown|mismatch)", host_key),
    Pattern(
        "ost key",
        r"(?:No \w{1,20} host key is known for \[?"
        r"(?P<host>[^\]\s]{1,253})\]?.{0,300}|"
        r"(?:.{0,300}REMOTE HOST IDENTIFICATION HAS CHANGED.{0,600})?)[Hh]ost key "
        r"verification failed",
        host_key,
    ),
    # Go's SSH client, for a host with a certificate: known_hosts must have its authority.
    Pattern(
        "ssh: ",
        r"ssh: (?:no authorities for hostname: (?P<host>[\w.-]{1,253})|host key mismatch|"
        r"certificate signed by unrecognized authority|cert has expired|cert is not yet valid).*",
        host_key,
    ),
    Pattern("could not set up SSH known hosts", r"could not set up SSH known hosts callback for.*", host_key),
    Pattern("x509", r"x509(?:: .*|:?$)", certificate),
    Pattern(
        "certificate",
        r"(?:server certificate verification failed|SSL certificate problem: .{0,200}|"
        r"certificate verify failed|no alternative certificate subject name matches|"
        r"certificate has expired)",
        certificate,
    ),
    # Credentials.
    Pattern("unable to authenticate", r"ssh: (?:handshake failed: ssh: )?unable to authenticate.*", by_ssh),
    Pattern(
        "Permission denied (",
        r"(?:(?P<user>[\w.-]{1,60})@[\w.-]{1,253}: )?Permission denied \([a-z,-]{1,80}\)",
        by_ssh,
    ),
    # A host that no longer accepts signatures with SHA-1: the key, or the client, has to change.
    Pattern(
        "ssh-rsa",
        r"ssh-rsa is about to be deprecated.*|.{0,200}\bssh-rsa\b.{0,200}"
        r"(?:deprecated|no longer (?:allowed|supported)|not supported|throttled).*",
        by_ssh,
    ),
    Pattern("RSA key with SHA-1", r"You're using an RSA key with SHA-1.*", by_ssh),
    Pattern("SSH agent", r"error creating SSH agent.*", by_ssh),
    Pattern("ssh: no key found", r"ssh: no key found", by_ssh),
    Pattern(
        "Load key ", r"Load key .{1,300}(?:invalid format|error in libcrypto|[Pp]ermission denied)", by_ssh
    ),
    # The host closed the connection before it asked for a key: too many connections, or no SSH server.
    Pattern(
        "handshake failed",
        r"ssh: handshake failed: (?:EOF|(?:read|write) tcp .*|ssh: (?:disconnect|overflow).*)",
        unreachable,
    ),
    Pattern("handshake failed", r"ssh: handshake failed: ssh: .*", by_ssh),
    Pattern(
        "ssh: ",
        r"ssh: (?:cannot decode|this private key is passphrase protected|parse error|short read|key).*",
        by_ssh,
    ),
    Pattern(
        "no credentials matched this URL",
        r"failed to authenticate to git repository \""
        r"(?P<url>[^\"]{1,300})\": no credentials matched this URL",
        auth_failed,
    ),
    Pattern(
        "uthentication failed for",
        r"(?<!password )Authentication failed for '(?P<url>[^']{1,300})'",
        by_https,
    ),
    Pattern("could not read ", r"could not read (?:Username|Password) for '(?P<url>[^']{1,300})'", by_https),
    Pattern("nvalid username or ", r"[Ii]nvalid username or (?:password|token)", by_https),
    Pattern("Access denied", r"HTTP Basic: Access denied", by_https),
    Pattern(
        "password authentication was removed", r"Support for password authentication was removed", by_https
    ),
    Pattern("Write access to repository not granted", r"Write access to repository not granted", by_https),
    Pattern(
        "installation",
        r"could not refresh installation id .*|"
        r"failed to discover GitHub App installation ID.*|installation not found for org.*",
        by_app,
    ),
    Pattern(
        "GitHub",
        r"failed to create GitHub app transport.*|[Ff]ailed to (?:get|create) (?:GitHub|"
        r"github) .{0,60}token.*",
        by_app,
    ),
    Pattern(
        "access token",
        r"failed to get (?:Azure|Google|AWS|ECR|workload identity)[^:]{0,60}access token.*",
        by_app,
    ),
    Pattern(
        "hallenge",
        r"registry '[^']{1,253}' did not issue a challenge|parameter not found in challenge",
        by_app,
    ),
    Pattern(
        "could not extract organization",
        r"could not extract organization from repository URL \"?(?P<url>[^\s\":]{1,8}://[^\s\"]{1,300}?)\"?:.*",
        by_app,
    ),
    Pattern(
        "doesn't have the proper",
        r"secret \"[^\"]{1,253}\" doesn't have the proper \"[^\"]{1,253}\" label.*",
        auth_failed,
    ),
    Pattern("Google Cloud Source", r"credentials for Google Cloud Source repositories are invalid", by_app),
    Pattern(
        "uthentication required", r"[Aa]uthentication required(?:: Repository not found\.?)?", auth_failed
    ),
    Pattern("authorization failed", r"authorization failed", auth_failed),
    Pattern("authorization token has expired", r"authorization token has expired.*", by_https),
    Pattern(
        "no basic auth credentials", r"no basic auth credentials|basic credential not found", registry_refused
    ),
    Pattern("basic credential not found", r"basic credential not found", registry_refused),
    Pattern(
        "401",
        r"(?:status code:? |response status \"?|: |\b)401:?(?: [Uu]nauthorized|: unauthorized.*|$)",
        registry_refused,
    ),
    Pattern("unauthorized: ", r"unauthorized: .*", registry_refused),
    Pattern("error logging into OCI registry", r"error logging into OCI registry.*", by_https),
    Pattern("failed to login to registry", r"failed to login to registry.*", by_https),
    Pattern("403", r"(?:status code:? |: |\b)403:?(?: [Ff]orbidden|: denied.*)", registry_refused),
    Pattern(
        "failed to fetch",
        r"failed to fetch (?P<url>https?://[^\s]{1,500}/index\.yaml) ?: (?P<code>[45]\d\d)\b.*",
        fetched,
    ),
    Pattern(
        "insufficient_scope",
        r"insufficient_scope: authorization failed|pull access denied.*",
        registry_refused,
    ),
    Pattern(
        "returned error: ",
        r"(?:unable to access '?(?P<url>[^\s']{1,300}?)'?: )?"
        r"The requested URL returned error: (?P<code>\d{3})",
        status_code,
    ),
    Pattern(
        "status code: ",
        r"unexpected requesting \"(?P<url>[^\"]{1,300})\" status code: (?P<code>\d{3})",
        status_code,
    ),
    # Revisions.
    # Argo CD's own git client, if annotation manifest-generate-paths is set: `ChangedFiles`.
    Pattern(
        "must be SHA",
        r"get changed files for repo (?P<repo>\S{1,300}) with revision (?P<revision>[0-9a-f]{4,39}): "
        r"invalid revision provided, must be SHA",
        fill(RevisionNotFound, abbreviated=True),
    ),
    Pattern(
        "OCI revision",
        r"resolve OCI revision:? \"?(?P<repo>[\w.-]{1,253}(?::\d{1,5})?/[\w./-]{1,253})"
        r"[:@](?P<revision>[\w.:+-]{1,128}): not found",
        revision,
    ),
    Pattern("to a commit SHA", r"nable to resolve '(?P<revision>[^']{0,253})' to a commit SHA", revision),
    Pattern("to a commit SHA", r"nable to resolve (?P<revision>\S{1,253}) to a commit SHA", revision),
    Pattern("couldn't find remote ref", r"couldn't find remote ref (?P<revision>[^\s'\"]{1,253})", revision),
    Pattern(
        "did not match any file", r"pathspec '(?P<revision>[^']{1,253})' did not match any file", revision
    ),
    Pattern("reference is not a tree", r"reference is not a tree: (?P<revision>[0-9a-f]{4,64})", revision),
    Pattern("not our ref", r"not our ref (?P<revision>[0-9a-f]{4,64})", revision),
    # The server only sends commits that a branch or a tag points to, or can reach.
    Pattern("unadvertised object", r"request for unadvertised object(?: (?P<revision>\S{4,64}))?", revision),
    Pattern("must be resolved", r"revision (?P<revision>\S{1,253}) must be resolved", revision),
    Pattern("reference not found", r"reference not found", revision),
    Pattern("revision not found", r"revision not found$", revision),
    Pattern("object not found", r"^object not found", revision),
    Pattern("bad revision", r"bad revision '(?P<revision>[^']{1,253})'", revision),
    Pattern("ambiguous argument", r"ambiguous argument '(?P<revision>[^']{1,253})'", revision),
    Pattern("is ambiguous", r"(?:refname |revision )'?(?P<revision>[^'\s]{1,253})'? is ambiguous", revision),
    Pattern("invalid object name", r"invalid object name '(?P<revision>[^']{1,253})'", revision),
    Pattern(
        "requires targetRevision to be",
        r"tagPrefix \"[^\"]{0,200}\" requires targetRevision to be a semver constraint",
        revision,
    ),
    Pattern("failed to determine semver constraint", r"failed to determine semver constraint.*", revision),
    # The repository itself.
    Pattern(
        "epository",
        r"(?:fatal: )?[Rr]epository '(?P<url>[^'\s]{1,300})' (?:not found|does not exist)",
        repository_absent,
    ),
    Pattern("epository not found", r"(?:ERROR: |remote: )?[Rr]epository not found\.?", repository_absent),
    Pattern(
        "project you were looking for",
        r"The project you were looking for could not be found.*",
        repository_absent,
    ),
    Pattern(
        "does not appear to be a git repository",
        r"'(?P<url>[^']{1,300})' does not appear to be a git repository",
        repository_absent,
    ),
    Pattern(
        " is invalid",
        r"repo(?:sitory)? URL (?:\"(?P<url>[^\"]{1,300})\" )?is invalid",
        repository_absent,
    ),
    Pattern(
        "You may not have access to this repository",
        r"You may not have access to this repository.*",
        repository_absent,
    ),
    Pattern("API rate limit exceeded", r"API rate limit exceeded.*", unreachable),
    # go-git: the server refused over SSH, in its own words.
    Pattern(
        "unknown error: remote",
        r"unknown error: remote: .{0,1000}(?i:\bkey\b|access|permission|denied|authenti|account)",
        by_ssh,
    ),
    Pattern("unknown error: remote", r"unknown error: remote: (?P<said>.*)", refused_by_remote),
    Pattern(
        ".lock",
        r"(?:cannot lock ref .{1,300}|Unable to create '[^']{1,300}\.lock'.*)",
        fill(RepoCopyBroken, whole="detail"),
    ),
    Pattern(
        "overwritten by checkout",
        r"Your local changes to the following files would be overwritten by checkout",
        fill(RepoCopyBroken, whole="detail"),
    ),
    Pattern(
        "another git process",
        r"[Aa]nother git process seems to be running.*",
        fill(RepoCopyBroken, whole="detail"),
    ),
    Pattern(
        "unable to access ", r"unable to access '?(?P<url>[^\s']{1,300}?)'?: (?P<detail>.*)", unreachable
    ),
    Pattern("Could not resolve host", r"Could not resolve host(?:name)?.*", unreachable),
    Pattern("ssh: connect to host", r"ssh: connect to host .*", unreachable),
    Pattern("ssh: Could not resolve", r"ssh: Could not resolve.*", unreachable),
    # The server responds with the reason for the refusal.
    Pattern(
        "Could not read from remote repository",
        r"(?:ERROR|remote|fatal): [^\n]{0,300}"
        r"(?i:\bkey\b|access|permission|denied|authenti|login|account|\bsso\b)[^\n]{0,300}\n"
        r".{0,2000}Could not read from remote repository",
        by_ssh,
    ),
    Pattern("Could not read from remote repository", r"Could not read from remote repository", unreachable),
    Pattern(
        "remote end hung up", r"[Tt]he remote end hung up unexpectedly|early EOF|RPC failed; .*", unreachable
    ),
    Pattern(
        "Client.Timeout exceeded",
        r"(?:Get|Post|Head) \"(?P<url>[^\"]{1,300})\": .{0,200}\(Client\.Timeout exceeded.*",
        lambda m, c: unreachable(m, c) if from_source(c) else None,
    ),
    # go-git: the response is not that of a Git server, but a page of a proxy or a login form.
    Pattern("pkt-len", r"invalid pkt-len(?: found)?", unreachable),
    Pattern("pkt-line", r"(?:pkt-line \d{1,9}: |invalid pkt-line).*", unreachable),
    Pattern("unexpected EOF", r"unexpected EOF$", lambda m, c: unreachable(m, c) if from_source(c) else None),
)
