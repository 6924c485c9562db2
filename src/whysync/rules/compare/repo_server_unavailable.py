"""Argo CD's repo-server does not answer.

## What happens
The controller asks the repo-server for manifests. It is restarting, overloaded, killed for lack of
memory, or not reachable inside the cluster; every Application that must be rendered anew shows the
same error. Nothing is wrong with this Application.

## How whysync knows
gRPC code `Unavailable` or a failed connection to port 8081 of the repo-server; or it does not know the call,
as in the middle of an upgrade, when it is of another version than the controller that asks; or a command
that it ran ended with `signal: killed`.

## Fix
Look at the repo-server's Pods and get them running; then refresh. If it was killed for lack of
memory, give it more, or render less at once.

## When it is something else
It answers, but too late: generation-timeout. It cannot reach the Git host: repo-unreachable.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.failure import Network
from whysync.messages.patterns.argocd import RepoServerDown
from whysync.queries.argocd_pods import pods_named
from whysync.queries.commands import REPO_SERVER, argocd_namespace, refresh, restart
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped


@rule(cause="repo-server-down", since="0.1")
def repo_server_unavailable(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RepoServerDown):
        namespace = argocd_namespace(case)
        pods = f"kubectl -n {namespace} get pods -l app.kubernetes.io/name=argocd-repo-server"
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(group.failure),
            evidence=(
                *group.cited(says="what the controller was answered"),
                *pods_named(case, "repo-server"),
            ),
            fixes=(_one_release(case, namespace),)
            if group.failure.reason is Network.OTHER_VERSION
            else (_more_memory(case, pods),)
            if group.failure.killed
            else (
                Fix.run(
                    f"{pods} -o wide",
                    f"kubectl -n {namespace} describe pods -l app.kubernetes.io/name=argocd-repo-server",
                    refresh(case),
                    title="Get its Pods running (look for OOMKilled and restarts), then refresh",
                ),
                Fix.run(
                    restart(case, REPO_SERVER),
                    title="Restart it, if its Pods run and still do not answer",
                    risk="what is being rendered now is rendered again",
                ),
            ),
        )


def _verdict(failure: RepoServerDown) -> str:
    if failure.killed:
        return f"`{failure.killed}` was killed in the repo-server: most likely it ran out of memory"
    return f"Argo CD's repo-server does not answer: {why_unreachable(failure.reason)}"


def _more_memory(case: Case, pods: str) -> Fix:
    return Fix.run(
        f"{pods} -o yaml | grep -A3 -E 'limits|lastState'",
        f"kubectl -n {argocd_namespace(case)} set resources {REPO_SERVER} --limits=memory=SIZE",
        refresh(case),
        title="Give the repo-server more memory, or render less at once (--parallelismlimit), then refresh",
        risk="its Pods restart: what is being rendered now is rendered again",
    )


def _one_release(case: Case, namespace: str) -> Fix:
    return Fix.run(
        f"kubectl -n {namespace} get pods"
        " -o 'custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image'",
        refresh(case),
        title="Bring all parts of Argo CD to one version: finish the upgrade, or go back, then refresh",
    )
