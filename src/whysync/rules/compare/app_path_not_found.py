"""The path of the Application does not exist in the repository at the target revision.

## What happens
Argo CD can read the repository, but the folder does not exist: it was moved or renamed, the branch does not
contain it yet, or its name is spelled differently (names are case-sensitive, and `\\` is no separator).
Nothing can be compared.

## How whysync knows
`app path does not exist`, `app path is not a directory`, `app path outside root`; `out-of-bounds
symlinks` if a symlink points outside the repository.

## Fix
Correct the path or the target revision of the Application.

## When it is something else
If the folder exists but has no manifests, the app is Synced with no resources, or auto-sync refuses to prune
everything.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite_if, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.git import PathNotFound
from whysync.queries.already_fixed import render_again
from whysync.queries.commands import app_argument, hard_refresh
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.revert import revert_commit
from whysync.queries.sources import (
    changed_since_comparison,
    commits_since_last_sync,
    failing_source,
    prune_risk,
    renamed_since_last_sync,
    source_flag,
    source_pointer,
)


@rule(cause="path-not-found", since="0.1")
def app_path_not_found(case: Case) -> Iterator[Finding]:
    for group in grouped(case, PathNotFound, by=lambda failure: failure.path):
        failure = group.failure
        source = failing_source(case, group.message)
        if failure.is_symlink_outside and failure.path:
            yield _outside_repository(case, group, failure.path)
            continue
        path = failure.path or (source.path if source else "")
        differs = source is not None and bool(failure.path) and source.path != failure.path
        corrected = differs and changed_since_comparison(case, source)
        pointer = f"{source_pointer(case, source)}/path" if source and (corrected or not differs) else None
        where = f" at {source.target_revision or 'HEAD'} of {source.repo_url}" if source else ""
        yield Finding(
            about=case.application.ref,
            field=pointer,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the path {path or 'of the source'} {_what(failure)}{where}"
            + (f": {one_line(failure.detail)}" if failure.has_reason else ""),
            evidence=(
                *group.cited(says="Argo CD cannot find the folder"),
                *cite_if(case.application, pointer, says="path in the Application"),
            ),
            fixes=tuple(_in_git(case, path, source) if differs else _fixes(case, path, source)),
            already_fixed=render_again(
                case,
                "the Application already has another path",
                "Hard refresh: the path has been corrected",
                when=corrected,
            ),
        )


def _what(failure: PathNotFound) -> str:
    return "or a symlink in it leads out of the repository" if failure.is_outside_root else "does not exist"


def _outside_repository(case: Case, group: FailureGroup[PathNotFound], path: str) -> Finding:
    """Because of one such symlink Argo CD renders nothing of the whole repository."""
    return Finding(
        about=case.application.ref,
        explains=group.explains,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"{path} is a symlink that points outside the repository, so Argo CD renders nothing from it",
        evidence=tuple(group.cited(says="Argo CD rejects the repository")),
        fixes=(
            Fix.run(
                f"git rm {quote(path)}   # or replace it with the file itself",
                hard_refresh(case),
                title="Remove the symlink from the repository and commit",
            ),
        ),
    )


def _in_git(case: Case, path: str, source: Source | None) -> Iterator[Fix]:
    """Not the path of the Application: a file or folder that others in the repository name."""
    name = path.rstrip("/").rpartition("/")[2]
    revision = quote(source.target_revision if source and source.target_revision else "HEAD")
    if "\\" in path:
        slashes = path.replace("\\", "/")
        yield Fix.run(
            f"git grep -n -F {quote(path)} {revision}   # write {slashes} there, commit and push",
            hard_refresh(case),
            title=f"Write the path with slashes: {slashes}",
        )
        return
    yield Fix.run(
        *commits_since_last_sync(case, source),
        *renamed_since_last_sync(case, source, name),
        f"git grep -n -F {quote(name)} {revision}   # what names it",
        hard_refresh(case),
        title="Restore it in Git, or correct what names it, then hard refresh",
    )
    yield from revert_commit(case, source)


def _fixes(case: Case, path: str, source: Source | None) -> Iterator[Fix]:
    if source is not None and "\\" in path:
        yield Fix.application(
            case.application.ref,
            Set(pointer=f"{source_pointer(case, source)}/path", value=path.replace("\\", "/")),
            title="Use slashes in the path",
        )
    last = quote(path.replace("\\", "/").rstrip("/").rpartition("/")[2] or ".")
    revision = quote(source.target_revision if source and source.target_revision else "HEAD")
    yield Fix.run(
        *commits_since_last_sync(case, source),
        *renamed_since_last_sync(case, source, path),
        f"git ls-tree -r -d --name-only {revision} | grep -i {last}   # where it is now",
        f"argocd app set {app_argument(case)}{source_flag(case, source)} --path NEW_PATH",
        title="Set the path to the manifests' new location",
        risk=prune_risk(case, "auto-sync deletes the objects that are not in NEW_PATH"),
    )
    yield from revert_commit(case, source)
