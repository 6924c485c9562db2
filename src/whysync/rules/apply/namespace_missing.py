"""The namespace of the objects does not exist.

## What happens
Argo CD does not create namespaces by default. The API server rejects objects in a namespace that does not
exist, and the sync fails.

## How whysync knows
`namespaces "…" not found` from the API server.

## Fix
`CreateNamespace=true` makes Argo CD create the destination namespace before it applies anything. Declare any
other namespace in Git: Argo CD applies it before the objects in it.

## When it is something else
The namespace exists and is being deleted: namespace-terminating.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Add, Case, Confidence, Fact, Finding, Fix, Severity, cite, cite_if, rule
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.validation.names import dns_label
from whysync.messages.patterns.apply import NamespaceMissing
from whysync.queries.already_fixed import fixed_since_autosync_gave_up, proof_of_fix, sync_again
from whysync.queries.commands import comment, kubectl, sync
from whysync.queries.group_failures import grouped

CREATE = "CreateNamespace=true"
OPTIONS = "/spec/syncPolicy/syncOptions"


@rule(cause="namespace-missing", since="0.1")
def namespace_missing(case: Case) -> Iterator[Finding]:
    for group in grouped(case, NamespaceMissing, by=lambda failure: failure.namespace):
        if proof_of_fix(case, group.failure) is not None and fixed_since_autosync_gave_up(case):
            continue  # it exists now: autosync_gave_up reports why nothing happens
        namespace = group.failure.namespace or case.destination_namespace
        is_destination = namespace == case.destination_namespace
        created = is_destination and case.has_sync_option(CREATE)
        declared = _declared(case, namespace)
        invalid = "the name is not valid" if any(dns_label(namespace)) else ""
        create_command = kubectl("create", "namespace", namespace)
        create_manually = Fix.run(create_command, sync(case), title="Create it once manually, then sync")
        yield Finding(
            about=case.application.ref,
            field=OPTIONS if is_destination and not created else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"namespace {namespace} cannot exist: {invalid}"
            if invalid
            else f"namespace {namespace} does not exist"
            + _why(case, declared, is_destination=is_destination, created=created),
            evidence=(
                *group.cited(says="the API server does not find the namespace"),
                cite(case.application, "/spec/destination/namespace", says="the destination namespace"),
                *cite_if(
                    case.application,
                    OPTIONS,
                    says="its sync options"
                    if case.app.spec.sync_policy.sync_options
                    else "it has no sync options",
                    when=is_destination,
                ),
                *cite_if(declared, "/metadata/name", says="Git declares it"),
            ),
            fixes=(_corrected(case, namespace, is_destination=is_destination),)
            if invalid
            else (_created_by_sync(case, namespace, is_destination=is_destination), create_manually),
            already_fixed=sync_again(
                case,
                "",
                "Sync again: the namespace is created before the objects in it",
                create_manually,
                when=created or declared is not None,
            ),
        )


def _declared(case: Case, namespace: str) -> Manifest | None:
    candidates = (manifest for manifest in case.desired if manifest.ref.name == namespace)
    return next((manifest for manifest in candidates if manifest.ref.kind == "Namespace"), None)


def _why(case: Case, declared: Manifest | None, *, is_destination: bool, created: bool) -> str:
    if declared is not None:
        return ", although Git declares it: it is applied too late, or could not be created"
    if is_destination:
        return f", although {CREATE} is set now" if created else f", and {CREATE} is not set"
    return ", and Git does not declare it" if case.has(Fact.DESIRED) else ""


def _corrected(case: Case, namespace: str, *, is_destination: bool) -> Fix:
    """No namespace of that name can be created: names are lower-case letters, digits and dashes."""
    place = (
        f"spec.destination.namespace of Application {case.app.name}"
        if is_destination
        else "metadata.namespace of the objects in Git"
    )
    find = () if is_destination else (f"git grep -n {quote(f'namespace: {namespace}')}",)
    return Fix.run(
        *find,
        comment(f"correct {place}: lower-case letters, digits and dashes; then"),
        sync(case),
        title=f"Correct the name {namespace} in Git, then sync",
    )


def _created_by_sync(case: Case, namespace: str, *, is_destination: bool) -> Fix:
    if is_destination:
        return Fix.application(
            case.application.ref,
            Add(pointer=OPTIONS, value=CREATE),
            title="Let Argo CD create the destination namespace",
            risk="such a namespace is not tracked: it stays after the Application is deleted",
        )
    return Fix.new(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        title=f"Declare namespace {namespace} in Git",
        risk="the Application then manages it: pruning it deletes everything in it",
    )
