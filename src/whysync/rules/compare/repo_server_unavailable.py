"""Argo CD's repo-server does not answer.

## What happens
The controller requests manifests from the repo-server, which is restarting, overloaded, OOM-killed or not
reachable inside the cluster. Every Application that must be rendered again shows the same error. Nothing is
wrong with this Application.

## How whysync knows
gRPC code `Unavailable`, or a failed connection to port 8081 of the repo-server; or it does not implement
the call, because its version differs from the controller's during an upgrade; or one of its commands ended
with `signal: killed`.

## Fix
Get the repo-server's Pods running, then refresh. If it was OOM-killed, increase its memory limit or reduce
the number of parallel renderings. If its name cannot be resolved, check the Pods of the cluster DNS and the
Service of the repo-server.

## When it is something else
If it answers too late: generation-timeout. If it cannot reach the Git host: repo-unreachable.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.messages.failure import Network
from whysync.messages.patterns.argocd import ArgocdCacheDown, RepoServerDown
from whysync.queries.argocd_components import (
    check_network,
    pods_named,
    resolve_again,
    time_out_together,
    unresolved,
)
from whysync.queries.commands import REPO_SERVER, argocd_namespace, hard_refresh, refresh, restart
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped

_CONTAINER = "*repo-server"  # `argocd-repo-server` in Argo CD's manifests, `repo-server` in its Helm chart
"""Without it, `kubectl set resources` also changes the sidecars of plugins."""


@rule(cause="repo-server-down", since="0.1")
def repo_server_unavailable(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RepoServerDown):
        namespace = argocd_namespace(case)
        pods = f"kubectl -n {namespace} get pods -l app.kubernetes.io/name=argocd-repo-server"
        yield Finding(
            about=case.application.ref,
            explains=(*group.explains, *_of_redis(case, group.failure)),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(case, group.failure),
            evidence=(
                *group.cited(says=f"error of the {'repo-server' if group.failure.killed else 'controller'}"),
                *_error_of_redis(case, group.failure),
                *pods_named(case, "repo-server"),
            ),
            fixes=(resolve_again(case, group.failure.lookup, refresh(case), component="repo"),)
            if group.failure.lookup is not None
            else (_same_version(case, namespace),)
            if group.failure.reason is Network.OTHER_VERSION
            else (_more_memory(case, pods),)
            if group.failure.killed
            else (
                *((check_network(case),) if group.failure.reason is Network.TIMEOUT else ()),
                Fix.run(
                    f"{pods} -o wide",
                    f"kubectl -n {namespace} describe pods -l app.kubernetes.io/name=argocd-repo-server",
                    refresh(case),
                    title="Get the repo-server's Pods running (see restarts and OOMKilled), then refresh",
                ),
                Fix.run(
                    restart(case, REPO_SERVER),
                    title="If its Pods are running but do not answer: restart it",
                    risk="interrupts renderings in progress, which start again",
                ),
            ),
        )


def _error_of_redis(case: Case, failure: RepoServerDown) -> tuple[Evidence, ...]:
    if failure.reason is not Network.TIMEOUT or not time_out_together(case):
        return ()
    return tuple(report.cite(says="the connection to Redis") for report in case.failures(ArgocdCacheDown))[:1]


def _of_redis(case: Case, failure: RepoServerDown) -> Iterator[SymptomId]:
    if failure.reason is Network.TIMEOUT and time_out_together(case):
        for report in case.failures(ArgocdCacheDown):
            yield from report.symptoms


def _verdict(case: Case, failure: RepoServerDown) -> str:
    if failure.killed:
        return f"`{failure.killed}` was killed in the repo-server: most likely it ran out of memory"
    if failure.lookup is not None:
        return unresolved(case, failure.lookup)
    if failure.reason is Network.TIMEOUT and time_out_together(case):
        return (
            "Argo CD's controller reaches neither the repo-server nor Redis: both connections time out,"
            " so most likely the network between the Pods is at fault"
        )
    return f"Argo CD's repo-server does not answer: {why_unreachable(failure.reason)}"


def _more_memory(case: Case, pods: str) -> Fix:
    return Fix.run(
        f"{pods} -o yaml | grep -A3 -E 'limits|lastState'",
        f"kubectl -n {argocd_namespace(case)} set resources {REPO_SERVER}"
        f" -c {quote(_CONTAINER)} --limits=memory=SIZE",
        hard_refresh(case),  # after three failures the error itself is cached
        title="Increase the repo-server's memory limit, or set --parallelismlimit, then hard refresh",
        risk="its Pods restart, which interrupts renderings in progress; if Helm or an Application installs"
        " Argo CD, set the limit there too, or its next run reverts it",
    )


def _same_version(case: Case, namespace: str) -> Fix:
    return Fix.run(
        f"kubectl -n {namespace} get pods"
        " -o 'custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image'",
        refresh(case),
        title="Run one version of all Argo CD components: finish or roll back the upgrade, then refresh",
    )
