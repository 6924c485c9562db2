"""Sources of an Application: the one that a failure is about, its commits, chart and credentials."""

from __future__ import annotations

import base64
import binascii
import re
from shlex import quote
from typing import TYPE_CHECKING

from whysync.argocd.api.application import Source
from whysync.json_tree import fields, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.parse import Message
from whysync.messages.wrappers import LayerKind
from whysync.queries.commands import with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_SECRET_TYPE = "argocd.argoproj.io/secret-type"
_COMMIT = re.compile("[0-9a-f]{40}")
_VERSION = re.compile(r"v?\d{1,20}(\.\d{1,20}){0,2}(-[\w.-]{1,200})?(\+[\w.-]{1,200})?")
_REF = re.compile(r"\w[\w./+-]{0,250}")
"""A branch, a tag or a commit; not a constraint such as `v1.*`, which only Argo CD resolves."""


def failing_source(case: Case, message: Message, *, url: str = "") -> Source | None:
    """The source that failed: by `source 2 of 3` in the text, by its URL, or the only one."""
    sources = case.app.sources
    layer = message.layer(LayerKind.SOURCE_N_OF_M)
    if layer is not None and layer.index is not None and 0 < layer.index <= len(sources):
        return sources[layer.index - 1]
    if url:
        for source in sources:
            if _plain(source.repo_url) == _plain(url):
                return source
    return sources[0] if len(sources) == 1 else None


def rendering_tool(case: Case, source: Source | None) -> str:
    """`Helm`, `Kustomize`, `Plugin` or `Directory`: what renders the source, as Argo CD names it.

    The spec of the source decides, else what Argo CD reported before the error. Empty if neither tells, or
    if the source is not known and the sources of the app are of several types.
    """
    sources = (source,) if source is not None else tuple(s for s in case.app.sources if s.path or s.chart)
    tools = {_declared_tool(case, source) for source in sources} or {""}
    if tools == {""}:
        status = case.app.status
        tools = set(status.source_types or (status.source_type,))
    return tools.pop() if len(tools) == 1 else ""


def _declared_tool(case: Case, source: Source) -> str:
    declared = fields(case.application.at(source_pointer(case, source)))
    if source.chart or declared.get("helm"):
        return "Helm"
    return next((name.title() for name in ("kustomize", "plugin", "directory") if declared.get(name)), "")


def source_pointer(case: Case, source: Source) -> str:
    """The pointer to the source in the Application."""
    if not case.app.spec.sources:
        return "/spec/source"
    return f"/spec/sources/{case.app.spec.sources.index(source)}"


def source_flag(case: Case, source: Source | None) -> str:
    """The `--source-position` flag of `argocd app set` for apps with several sources; counts from 1."""
    if not case.app.spec.sources:
        return ""
    is_listed = source is not None and source in case.app.spec.sources
    position = str(case.app.spec.sources.index(source) + 1) if is_listed and source is not None else "N"
    return f" --source-position {position}"


def synced_commit(case: Case, source: Source | None) -> str:
    """The last synced commit of this source; empty if unknown or not a commit."""
    history = case.app.status.history
    if source is None or source.chart or not history:
        return ""
    last = history[-1]
    several = case.app.spec.sources
    index = several.index(source) if source in several else 0
    revision = last.revisions[index] if several and index < len(last.revisions) else last.revision
    return revision if is_commit(revision) else ""


def is_commit(revision: str) -> bool:
    return _COMMIT.fullmatch(revision) is not None


def is_pinned(source: Source) -> bool:
    """Does the source stay the same until somebody edits it?

    A chart's version may be incomplete: `0.5` is the version 0.5, not a range such as `0.5.*` (`IsVersion` in
    Argo CD 3.6).
    """
    if source.chart:
        return _VERSION.fullmatch(source.target_revision) is not None
    return is_commit(source.target_revision)


def commits_since_last_sync(case: Case, source: Source | None) -> tuple[str, ...]:
    """The command that lists the commits since the last sync, if that is known."""
    revision = synced_commit(case, source)
    if source is None or not revision:
        return ()
    until = source.target_revision if _REF.fullmatch(source.target_revision) else "HEAD"
    command = f"git log --oneline {revision[:8]}..{quote(until)} -- {quote(source.path or '.')}"
    return (with_comment(command, "changes since the last sync"),)


def renamed_since_last_sync(case: Case, source: Source | None, name: str) -> tuple[str, ...]:
    """The command that shows where a file or folder was moved since the last sync, if that is known."""
    revision = synced_commit(case, source)
    if source is None or not revision or not name:
        return ()
    until = source.target_revision if _REF.fullmatch(source.target_revision) else "HEAD"
    renames = f"git diff --name-status --diff-filter=RD {revision[:8]}..{quote(until)}"
    return (with_comment(f"{renames} | grep -F {quote(name)}", "was it renamed (R) or deleted (D)?"),)


def prune_risk(case: Case, loss: str) -> str:
    """The risk of a change after which objects are no longer rendered; empty without automated pruning."""
    automated = case.app.spec.sync_policy.automated
    if not case.is_automated or automated is None or not automated.prune:
        return ""
    return f"{loss}: automated.prune is on"


def repository_address(url: str, source: Source | None) -> str:
    """The repository of the source if `url` is empty, equal or below it; else `url` itself."""
    return source.repo_url if source is not None and is_of_source(url, source) else url


_WEB_PAGE = re.compile(
    r"(https?://(?:github\.com/[^/]+/[^/]+(?=/(?:tree|blob)/)|bitbucket\.org/[^/]+/[^/]+(?=/src(?:/|$))"
    r"|[^/]+/.+?(?=/-/(?:tree|blob)/)|[^/]+/[^/]+/[^/]+(?=/src/(?:branch|tag|commit)/)))"
)


def repository_of_web_page(url: str) -> str:
    """The repository, if `url` is a folder or file in the web interface of a Git host; else empty."""
    page = _WEB_PAGE.match(url)
    return f"{page[1].removesuffix('.git')}.git" if page else ""


def is_of_source(url: str, source: Source) -> bool:
    """Is `url` the repository of the source, or below it? An error without a URL counts as one.

    A source also reads other repositories: dependencies of a chart, remote bases of a kustomization.
    """
    repository = _plain(source.repo_url)
    return not url or _plain(url) == repository or _plain(url).startswith(f"{repository}/")


def references_in_git(source: Source | None, url: str) -> tuple[str, ...]:
    """The command that finds where the files of the source name another repository."""
    if source is None or source.chart or not url:
        return ()
    address = url.rpartition("://")[2].rstrip("/").removesuffix(".git")
    address = address.rpartition(":")[2] if "@" in address else address
    checkout = f"in a checkout of {source.repo_url}: which file names it?"
    return (with_comment(f"git grep -n -F {quote(address)}", checkout),)


def changed_since_comparison(case: Case, source: Source | None) -> bool:
    """Was the source changed since Argo CD last compared? False if unknown.

    Mirrors `CompareAppState` of Argo CD 3.6: it writes `status.sync.comparedTo` also if the comparison fails,
    so the error is about that source.
    """
    compared = case.app.status.sync.compared_to
    if compared is None or source is None or source not in case.app.sources:
        return False
    then = compared.sources or ((compared.source,) if compared.source else ())
    index = case.app.sources.index(source)
    return index < len(then) and then[index] != source


def is_oci(url: str) -> bool:
    """Is it an OCI registry? Argo CD writes the URL of OCI charts without a scheme."""
    return url.startswith("oci://") or (bool(url) and "://" not in url and not url.startswith("git@"))


def oci_chart(url: str, chart: str) -> str:
    """The URL of a chart in a registry; in errors, the chart name already contains the registry."""
    registry = url.removeprefix("oci://").rstrip("/")
    chart = chart.removeprefix("oci://")
    return f"oci://{chart}" if chart.startswith(f"{registry}/") else f"oci://{registry}/{chart}"


def repository_secret(case: Case, url: str) -> Manifest | None:
    """The Secret of this repository, else the credential template with the longest matching prefix.

    Mirrors `util/db` of Argo CD 3.6: an exact `repository` Secret takes precedence over every `repo-creds`. A
    Secret whose URL is masked is not found.
    """
    best: tuple[int, Manifest | None] = (0, None)
    for secret in case.index.snapshot.settings:
        kind = text(secret.labels.get(_SECRET_TYPE))
        secret_url = _plain(_secret_url(secret))
        if not secret_url or secret.ref.kind != "Secret":
            continue
        if kind == "repository" and secret_url == _plain(url):
            return secret
        if kind == "repo-creds" and _plain(url).startswith(secret_url) and len(secret_url) > best[0]:
            best = (len(secret_url), secret)
    return best[1]


def _secret_url(secret: Manifest) -> str:
    plain = text(fields(secret.body.get("stringData")).get("url"))
    if plain:
        return plain
    encoded = text(fields(secret.body.get("data")).get("url"))
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return encoded


def _plain(url: str) -> str:
    """One spelling for the several that Git hosts accept: `git@host:org/repo` and `ssh://git@host/org/repo`."""
    bare = url.strip().lower().rstrip("/").removesuffix(".git")
    for scheme in ("https://", "http://", "ssh://", "oci://"):
        bare = bare.removeprefix(scheme)
    return bare.rpartition("@")[2].replace(":", "/", 1)
