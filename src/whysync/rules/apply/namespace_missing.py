"""The namespace that the objects go to does not exist.

## What happens
Argo CD does not create namespaces by itself. Objects of a namespace that is not there are refused
by the API server, and the sync fails.

## How whysync knows
`namespaces "…" not found` from the API server.

## Fix
`CreateNamespace=true` lets Argo CD create the destination's namespace before it applies anything.
For another namespace, declare it in Git: Argo CD applies it before what lies in it.

## When it is something else
The namespace is there and being deleted: namespace-terminating.
"""

from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.apply import NamespaceMissing
from whysync.queries.already_fixed import fixed_since_autosync_gave_up, proof_of_fix, sync_again
from whysync.queries.commands import kubectl, sync
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
        create_command = kubectl("create", "namespace", namespace)
        create_manually = Fix.run(create_command, sync(case), title="Create it by hand once, then sync")
        yield Finding(
            about=case.application.ref,
            field=OPTIONS if is_destination and not created else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"namespace {namespace} does not exist, "
            + _why(is_destination=is_destination, created=created, declared=declared is not None),
            evidence=(
                *group.cited(says="the API server does not know the namespace"),
                cite(case.application, "/spec/destination/namespace", says="where the Application goes"),
                *((cite(case.application, OPTIONS, says="its sync options"),) if is_destination else ()),
                *((cite(declared, "/metadata/name", says="Git declares it"),) if declared else ()),
            ),
            fixes=(_created_by_sync(case, namespace, is_destination=is_destination), create_manually),
            already_fixed=sync_again(
                case,
                created or declared is not None,
                "",
                "Sync again: the namespace is created before what is in it",
                create_manually,
            ),
        )


def _declared(case: Case, namespace: str) -> Manifest | None:
    candidates = (manifest for manifest in case.desired if manifest.ref.name == namespace)
    return next((manifest for manifest in candidates if manifest.ref.kind == "Namespace"), None)


def _why(*, is_destination: bool, created: bool, declared: bool) -> str:
    if declared:
        return "although Git declares it: it is applied too late, or could not be created"
    if is_destination:
        return f"although {CREATE} is set now" if created else f"and {CREATE} is not set"
    return "and Git does not declare it"


def _created_by_sync(case: Case, namespace: str, *, is_destination: bool) -> Fix:
    if is_destination:
        return Fix.application(
            case.application.ref,
            Add(pointer=OPTIONS, value=CREATE),
            title="Let Argo CD create the destination's namespace",
            risk="such a namespace is not tracked: it stays when the Application is deleted",
        )
    return Fix.new(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        title=f"Declare namespace {namespace} in Git",
        risk="the Application then owns it: pruning it deletes all that is in it",
    )
