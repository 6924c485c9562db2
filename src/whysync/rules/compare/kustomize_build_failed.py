"""Kustomize cannot build the overlay.

## What happens
`kustomize build` fails: a listed file or base does not exist, a patch has no target, an object appears
twice, a remote base cannot be fetched, or the kustomization uses a feature that this version does not
support. Nothing can be compared.

## How whysync knows
Kustomize's error, with the file, the patch target or the remote base.

## Fix
Build the same folder on your machine with the same version, fix the reported problem and commit.

## When it is something else
If a remote base rejects the credentials: repo-auth. If it is too slow: generation-timeout.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import KustomizeBuild
from whysync.queries.commands import argocd_namespace, comment, hard_refresh, kubectl, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.revert import revert_commit
from whysync.queries.sources import (
    commits_since_last_sync,
    failing_source,
    prune_risk,
    renamed_since_last_sync,
    source_pointer,
)


@rule(cause="kustomize-build", since="0.1")
def kustomize_build_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case,
        KustomizeBuild,
        by=lambda f: (f.missing_file, f.patch_target, f.duplicate_id, f.remote, f.detail),
    ):
        failure = group.failure
        source = failing_source(case, group.message)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Kustomize cannot build the overlay: {_what(failure)}",
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="Kustomize's error"), *_where(case, source)),
            fixes=(_fix(case, failure, source), *(() if failure.remote else revert_commit(case, source))),
        )


def _what(failure: KustomizeBuild) -> str:
    if failure.remote:
        return f"cannot fetch the remote base {failure.remote}"
    if failure.missing_file:
        return f"{failure.missing_file} does not exist"
    if failure.patch_target:
        return f"a patch has no target {failure.patch_target}"
    if failure.duplicate_id:
        return f"{failure.duplicate_id} appears twice"
    return failure.detail or "no details reported"


def _where(case: Case, source: Source | None) -> Iterator[Evidence]:
    if source is not None and source.path:
        yield cite(case.application, f"{source_pointer(case, source)}/path", says="path of the overlay")


def _fix(case: Case, failure: KustomizeBuild, source: Source | None) -> Fix:
    path = quote(source.path if source and source.path else "OVERLAY")
    file = failure.missing_file.rpartition("/")[2] if failure.missing_file.strip("./") else ""
    if failure.cannot_decrypt:
        return _decryption(case)
    if failure.refuses_options:
        return _options(case, failure)
    version = f"kubectl -n {argocd_namespace(case)} exec deploy/argocd-repo-server -- kustomize version"
    return Fix.run(
        *commits_since_last_sync(case, source),
        *renamed_since_last_sync(case, source, file),
        f"{version}   # use the same version",
        f"kustomize build {path}",
        hard_refresh(case),
        title=_title(failure),
        risk=prune_risk(case, f"if the entry is removed instead, auto-sync deletes the objects of {file}")
        if file
        else "",
    )


def _decryption(case: Case) -> Fix:
    """The key is checked where Argo CD uses it: with the identity of the repo-server."""
    namespace = argocd_namespace(case)
    return Fix.run(
        with_comment(
            kubectl("get", "serviceaccount", "argocd-repo-server", "-o", "yaml", namespace=namespace),
            "the cloud identity in its annotations, if any",
        ),
        with_comment(
            kubectl("get", "deployment", "argocd-repo-server", "-o", "yaml", namespace=namespace),
            "mounted keys (age, PGP) and environment",
        ),
        comment("let that identity decrypt with a key in the file's sops section; or add a key that it has"),
        comment("to .sops.yaml, and as someone who can decrypt the file: sops updatekeys FILE; commit"),
        hard_refresh(case),
        title="Give the repo-server access to the key that encrypts the file, then hard refresh",
    )


def _options(case: Case, failure: KustomizeBuild) -> Fix:
    """`kustomize build` in a checkout works: only Argo CD adds these options."""
    namespace = argocd_namespace(case)
    settings = kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=namespace)
    version = f"kubectl -n {namespace} exec deploy/argocd-repo-server -- kustomize version"
    return Fix.run(
        with_comment(f"{settings} | grep kustomize.buildOptions", "no double blanks or quotes in it"),
        with_comment(version, "which flags does this version have?"),
        hard_refresh(case),
        title="Add the option to kustomize.buildOptions in argocd-cm, then hard refresh"
        if failure.lacks_option
        else "Correct kustomize.buildOptions in argocd-cm for this version of Kustomize, then hard refresh",
        risk="the options apply to every app that uses Kustomize",
    )


def _title(failure: KustomizeBuild) -> str:
    if failure.remote:
        return f"Correct the URL of {failure.remote}, or copy that base into the repository"
    if failure.missing_file:
        return f"Restore {failure.missing_file}, or correct its name in kustomization.yaml, then commit"
    if failure.patch_target:
        return f"Correct the patch's target {failure.patch_target}, or remove the patch, then commit"
    if failure.duplicate_id:
        return f"Remove one of the two declarations of {failure.duplicate_id}, then commit"
    return "Build it on your machine, correct what Kustomize reports, then commit"
