"""Argo CD cannot compute the diff: an object does not match its schema.

## What happens
With server-side apply Argo CD compares by schema: its own for built-in kinds, the cluster's for custom
resources. Ignore rules with `managedFieldsManagers` need the schema before any comparison. A field that the
schema does not declare, a list with two elements of one key, or a value of the wrong type stops the
comparison of the whole Application. Typical causes: the manifests are newer than the installed CRD (Helm
does not upgrade a chart's `crds/`); a CRD was updated and live objects still have old fields; a field is
misspelled in Git; Argo CD is older than the cluster, so that its own schemas lack new fields; two ports or
variables have the same name; an element of a list lacks a field that is part of its key.

## How whysync knows
`error calculating structured merge diff`, with the side (Git or live) and the field; whysync finds the object
that has the field. If the API server rejected a server-side diff, its own error is the cause.

## Fix
Correct the field in Git. If Git has a field of a custom resource that the installed CRD lacks, update the
CRD: the API server rejects the field too, so neither a restart nor server-side diff helps. An outdated schema
of a built-in kind: upgrade Argo CD. If the live object has the field, use server-side diff: for built-in
kinds `ServerSideDiff=true` is enough, because it uses the cluster's schema; for custom resources it needs no
schema only with `IncludeMutationWebhook=true` in addition. If an ignore rule with `managedFieldsManagers`
fails, name the fields instead (`jsonPointers`).

## When it is something else
If the API server rejects the object during a sync: schema-invalid.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd import hooks
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.drift.schemas import builtin_has_field
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join, split
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.schema import kinds, type_of
from whysync.messages.patterns.diffs import DiffProblem, DiffSchemaError, DiffSide
from whysync.queries.commands import (
    CONTROLLER,
    app_argument,
    comment,
    hard_refresh,
    kubectl,
    on_object,
    restart,
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import is_unnamed, named_ref

COMPARE = "/metadata/annotations/argocd.argoproj.io~1compare-options"
SERVER_SIDE = "ServerSideDiff=true"
INCLUDE_WEBHOOKS = "IncludeMutationWebhook=true"
PROBLEMS = {
    DiffProblem.UNDECLARED: "the schema does not declare it",
    DiffProblem.DUPLICATE_KEY: "two elements of the list have the same key",
    DiffProblem.TYPE: "its value has the wrong type",
    DiffProblem.OMITS_KEY: "an element of the list lacks its key",
    DiffProblem.NO_SCHEMA: "there is no schema for the kind",
    DiffProblem.REJECTED: "the API server rejected the dry run",
    DiffProblem.OTHER: "it does not match the schema",
}


@rule(cause="diff-schema-error", since="0.1")
def diff_schema_error(case: Case) -> Iterator[Finding]:
    for group in grouped(case, DiffSchemaError, by=lambda f: (f.side, f.problem, f.fields, f.resource)):
        failure = group.failure
        manifest = _manifest_with_field(case, failure)
        ref = _ref_of(case, manifest) if manifest else named_ref(case, failure.resource, group.ref)
        server_side = hooks.has_option(case.application.body, hooks.COMPARE_OPTIONS, SERVER_SIDE)
        pointer = failure.pointers[0] if failure.pointers else None
        is_removed = failure.side is DiffSide.CONFIG and manifest is None and bool(case.desired)
        yield Finding(
            about=case.application.ref if server_side or is_removed else ref,
            field=None if server_side or is_removed or is_unnamed(case, ref) else pointer,
            explains=group.explains,
            because=group.explains if failure.inner is not None else (),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if failure.inner is None else Confidence.MEDIUM,
            verdict=_verdict(failure, manifest),
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="error of the comparison"), *_cited(manifest, pointer)),
            fixes=tuple(_fixes(case, failure, manifest, pointer)),
        )


def _verdict(failure: DiffSchemaError, manifest: Manifest | None) -> str:
    side = {DiffSide.LIVE: "live ", DiffSide.CONFIG: "Git's ", DiffSide.UNKNOWN: ""}[failure.side]
    unnamed = {
        DiffSide.LIVE: "a live object that the message does not name",
        DiffSide.CONFIG: "an object in Git that the message does not name",
        DiffSide.UNKNOWN: "an object that the message does not name",
    }[failure.side]
    named = f"{failure.resource.kind} {failure.resource.name}" if failure.resource.name else ""
    where = f"{side}{manifest.ref if manifest else named}" if manifest or named else unnamed
    if failure.problem is DiffProblem.REJECTED:
        resource = f" of {failure.resource.kind} {failure.resource.name}" if failure.resource.name else ""
        detail = one_line(failure.detail)
        return f"the API server rejects the dry run{resource} that server-side diff needs: {detail}"
    names = ", ".join(failure.fields[:3]) or "a field"
    return f"{names} of {where} stops the comparison: {PROBLEMS[failure.problem]}"


def _manifest_with_field(case: Case, failure: DiffSchemaError) -> Manifest | None:
    """The only object of that side that has the field; the message usually does not name it."""
    if not failure.pointers:
        return None
    side = _live_of_rows(case) if failure.side is DiffSide.LIVE else case.desired
    name = failure.resource.name
    having = [
        manifest
        for manifest in side
        if (not name or manifest.ref.name == name)
        and not isinstance(manifest.at(failure.pointers[0]), Missing)
    ]
    return having[0] if len(having) == 1 else None


def _live_of_rows(case: Case) -> tuple[Manifest, ...]:
    return tuple(manifest for key in case.rows for manifest in case.index.live_by_key.get(key, ()))


def _ref_of(case: Case, manifest: Manifest) -> Ref:
    """The ref with its namespace, which Git may leave out."""
    live = case.live_of(manifest.key) or case.live_of(
        manifest.key._replace(namespace=case.destination_namespace)
    )
    return live.ref if live is not None else manifest.ref


def _cited(manifest: Manifest | None, pointer: str | None) -> Iterator[Evidence]:
    if manifest is not None and pointer:
        yield cite(manifest, pointer, says="the field")


def _fixes(
    case: Case, failure: DiffSchemaError, manifest: Manifest | None, pointer: str | None
) -> Iterator[Fix]:
    again = hard_refresh(case)
    if failure.problem is DiffProblem.REJECTED:
        yield _without_dry_run(case, failure)
        return
    if failure.side is DiffSide.CONFIG and failure.problem is DiffProblem.UNDECLARED and manifest and pointer:
        yield Fix.remove(
            manifest.ref, pointer, title="Remove the field from Git: it is not in the cluster's schema"
        )
        if builtin_has_field(manifest.ref, pointer) is False:
            return  # no Kubernetes release has the field, so no schema is out of date
    elif _is_list_in_git(failure):
        yield _list_in_git(case, failure, manifest)
    is_builtin = _is_builtin(failure, manifest)
    if _is_undeclared_in_git(failure) and not is_builtin:
        yield from _older_crd(case, failure, manifest)
    elif not is_builtin and not _is_list_in_git(failure):
        yield _restarted(case, failure, manifest, is_builtin=is_builtin)
    yield from _server_side_diff(case, failure, is_builtin=is_builtin)
    if failure.before_diff:
        yield Fix.run(
            comment("in the Application's ignoreDifferences, or in resource.customizations of argocd-cm"),
            again,
            title="Replace managedFieldsManagers in the ignore rules by jsonPointers or jqPathExpressions,"
            " which need no schema",
        )
    if is_builtin is not False:
        yield Fix.run(
            with_comment("argocd version", "the server; compare its supported Kubernetes versions"),
            title="Upgrade Argo CD: its own schemas of built-in kinds are older than the cluster"
            if is_builtin
            else "If it is a built-in kind: upgrade Argo CD, whose own schemas are older than the cluster",
        )


def _list_in_git(case: Case, failure: DiffSchemaError, manifest: Manifest | None) -> Fix:
    key = failure.omitted_key
    change = (
        f"add {key} to each element that lacks it" if key else "give each element of the list a unique key"
    )
    return Fix.run(
        *_find(case, failure, manifest),
        comment(f"{', '.join(failure.fields)}: {change}, and commit; in a chart: a value or a newer version"),
        hard_refresh(case),
        title=f"Add {key} to each element of the list in Git" if key else "Correct the list in Git",
    )


def _restarted(
    case: Case, failure: DiffSchemaError, manifest: Manifest | None, *, is_builtin: bool | None
) -> Fix:
    return Fix.run(
        *_find(case, failure, manifest),
        restart(case, CONTROLLER),
        hard_refresh(case),
        title="Restart the controller, which reads the schema of the CRD again"
        if is_builtin is False
        else "If it is a custom resource: restart the controller, which reads the schema of its CRD again",
        risk="Applications are not reconciled for a minute or two",
    )


def _without_dry_run(case: Case, failure: DiffSchemaError) -> Fix:
    """Only server-side diff needs the dry run: without it, Argo CD compares by itself."""
    annotation = "argocd.argoproj.io/compare-options=ServerSideDiff=false"
    named = failure.resource
    kind = f"{named.kind.lower()}.{named.group}" if named.group else named.kind.lower()
    show = kubectl("get", kind, named.name, "-o", "yaml", namespace=case.destination_namespace)
    return Fix.run(
        *((with_comment(show, "does it exist? is it being deleted?"),) if named.name and named.kind else ()),
        with_comment(hard_refresh(case), "if it comes back:"),
        on_object("annotate", case.application.ref, "--overwrite", annotation),
        hard_refresh(case),
        title="Hard refresh; if the error comes back, switch server-side diff off for this app until it is"
        " solved",
        risk="without it, defaults and webhooks of the cluster can show up as differences",
    )


def _is_undeclared_in_git(failure: DiffSchemaError) -> bool:
    return failure.side is DiffSide.CONFIG and failure.problem is DiffProblem.UNDECLARED


def _older_crd(case: Case, failure: DiffSchemaError, manifest: Manifest | None) -> Iterator[Fix]:
    """The installed CRD lacks a field that Git has: the API server rejects it too, in a dry run as well.

    The controller reads the schemas again at each change of a CRD. Mirrors gitops-engine `watchEvents`,
    Argo CD 3.6.
    """
    kind = manifest.ref.kind if manifest else failure.resource.kind
    path = split(failure.pointers[0]) if failure.pointers else ()
    field = ".".join(part for part in path if not part.isdecimal()) or "FIELD"
    version = (f"--api-version={manifest.ref.api_version}",) if manifest else ()
    yield Fix.run(
        *_find(case, failure, manifest),
        with_comment(
            kubectl("explain", ".".join((kind.lower() or "KIND", field)), *version),
            "destination cluster: an error means that the installed CRD lacks the field",
        ),
        comment("then apply the CRDs of the version in Git (Helm does not upgrade a chart's crds/)"),
        hard_refresh(case),
        title="Or update its CRD, if the manifests are newer than the installed one"
        if manifest
        else "If it is a custom resource: update its CRD if it lacks the field (the manifests may be newer),"
        " or remove the field from Git",
        risk="a newer CRD can remove fields or versions that existing objects use: read its release notes",
    )
    yield Fix.run(
        restart(case, CONTROLLER),
        hard_refresh(case),
        title="Only if kubectl explain shows the field: restart the controller, whose schema is out of date",
        risk="Applications are not reconciled for a minute or two",
    )


def _is_list_in_git(failure: DiffSchemaError) -> bool:
    """A list that the API server rejects too, in a dry run as well."""
    return failure.side is DiffSide.CONFIG and failure.problem in (
        DiffProblem.DUPLICATE_KEY,
        DiffProblem.OMITS_KEY,
    )


def _server_side_diff(case: Case, failure: DiffSchemaError, *, is_builtin: bool | None) -> Iterator[Fix]:
    """The API server compares by its own schema; Argo CD still needs one to remove webhooks' changes.

    That schema is the cluster's, also for built-in kinds, as the controller read it. With
    `IncludeMutationWebhook=true` it is not used. Mirrors gitops-engine `removeWebhookMutation`, Argo CD 3.6.
    """
    if failure.before_diff or failure.inner is not None or failure.problem is DiffProblem.REJECTED:
        return
    known = hooks.options(case.application.body, hooks.COMPARE_OPTIONS)
    cluster_schema_is_enough = bool(is_builtin) and failure.problem is DiffProblem.UNDECLARED
    wanted = (SERVER_SIDE,) if cluster_schema_is_enough else (SERVER_SIDE, INCLUDE_WEBHOOKS)
    options = tuple(dict.fromkeys((*known, *wanted)))
    is_rejected_too = _is_list_in_git(failure) or (_is_undeclared_in_git(failure) and not is_builtin)
    if is_rejected_too or options == tuple(known):
        return
    yield Fix.application(
        case.application.ref,
        Set(pointer=COMPARE, value=",".join(options)),
        title="Use server-side diff, which compares built-in kinds by the cluster's schema"
        if cluster_schema_is_enough
        else "Use server-side diff with mutation webhooks: only then Argo CD needs no schema",
        risk="each comparison sends a dry-run request per object to the API server"
        + (
            "" if cluster_schema_is_enough else "; a webhook that writes another value each time then differs"
        ),
    )


def _find(case: Case, failure: DiffSchemaError, manifest: Manifest | None) -> Iterator[str]:
    """The command that finds the object, if the message does not name it: only its field is known."""
    if manifest is not None or failure.resource.name or not failure.pointers:
        return
    source = "live" if failure.side is DiffSide.LIVE else "git"
    names = [part for part in split(failure.pointers[0]) if not part.isdecimal()]
    yield with_comment(
        f"argocd app manifests {app_argument(case)} --source {source}"
        f" | grep -nE {quote(f'^kind:|^  name:|^ *(- )?{names[-1]}:')}",
        "the object is the kind and name above the field",
    )


def _is_builtin(failure: DiffSchemaError, manifest: Manifest | None) -> bool | None:
    """Is it a built-in kind? `None` if the object is not known."""
    if manifest is not None:
        return type_of(manifest.ref.api_version, manifest.ref.kind) is not None
    kind = failure.resource.kind
    if kind:
        return any(kind in names for names in kinds().values())
    return None if not failure.pointers or _is_in_builtin(failure) else False


def _is_in_builtin(failure: DiffSchemaError) -> bool:
    """Does a built-in kind have this field? Of an undeclared one, its schema has only the parent."""
    parts = split(failure.pointers[0])
    pointer = join(parts[:-1] if failure.problem is DiffProblem.UNDECLARED else parts)
    return any(
        builtin_has_field(ref_of({"apiVersion": api_version, "kind": kind}), pointer) is True
        for api_version, names in kinds().items()
        for kind in names
    )
