"""The project has no service account to impersonate for this destination.

## What happens
With impersonation enabled, each sync runs as a service account that the AppProject lists for the destination
(`destinationServiceAccounts`). If no entry matches the cluster and namespace, the sync does not start.

## How whysync knows
`no matching service account found for destination server … and namespace …`.

## Fix
Add an entry for this destination to the AppProject, and grant that service account the permissions that the
sync needs.

## When it is something else
The account is found but lacks a permission: k8s-rbac.
"""

import json
from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, cite_if, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Object
from whysync.messages.patterns.operations import ImpersonationFailed
from whysync.queries.commands import argocd_namespace, kubectl, sync
from whysync.queries.group_failures import grouped

ACCOUNT = "SERVICE_ACCOUNT"
ACCOUNTS = "/spec/destinationServiceAccounts"


@rule(cause="project-denied", since="0.1")
def impersonation_account_missing(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ImpersonationFailed, by=lambda f: (f.server, f.namespace)):
        failure = group.failure
        destination = case.app.spec.destination
        server = failure.server or destination.server
        namespace = failure.namespace or destination.namespace
        entry: Object = {
            "server": server,
            "namespace": namespace,
            "defaultServiceAccount": ACCOUNT,
        }
        project = case.project_manifest
        listed = project is not None and any(
            account.server == server and account.namespace == namespace
            for account in (
                case.effective_project.spec.destination_service_accounts if case.effective_project else ()
            )
        )
        yield Finding(
            about=project.ref if project is not None and not listed else case.application.ref,
            field=ACCOUNTS if project is not None and not listed else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"project {case.app.project} has no service account to impersonate for {server},"
            f" namespace {namespace}",
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="the sync cannot start"),
                *cite_if(project, ACCOUNTS, says="the accounts that the project lists"),
            ),
            fixes=(
                *(
                    (
                        Fix.project(
                            project.ref,
                            Add(pointer=ACCOUNTS, value=entry),
                            title="Add a service account for this destination (choose its name)",
                            risk="the account must exist there, with the permissions that the sync needs",
                        ),
                    )
                    if project is not None and not listed
                    else ()
                ),
                *(
                    (
                        Fix.run(
                            kubectl("edit", "appproject", case.app.project, namespace=argocd_namespace(case))
                            + f"   # spec.destinationServiceAccounts: {json.dumps([entry])}",
                            sync(case),
                            title="Add a service account for this destination to the project, then sync",
                            risk="the account must exist there, with the permissions that the sync needs",
                        ),
                    )
                    if project is None
                    else (Fix.run(sync(case), title="Then sync again"),)
                ),
                _without_impersonation(case),
            ),
        )


def _without_impersonation(case: Case) -> Fix:
    off = json.dumps({"data": {"application.sync.impersonation.enabled": "false"}})
    return Fix.run(
        kubectl(
            "patch", "configmap", "argocd-cm", "--type", "merge", "-p", off, namespace=argocd_namespace(case)
        ),
        sync(case),
        title="Or, if impersonation was switched on by mistake: switch it off",
        risk="the syncs of all apps then run as Argo CD's own account",
    )
