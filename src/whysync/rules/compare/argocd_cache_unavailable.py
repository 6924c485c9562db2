"""Argo CD's cache (Redis) is unreachable, rejects the password, or has lost its data.

## What happens
Argo CD caches rendered manifests and the state of Applications in Redis. Without it the UI shows errors or
empty trees, and comparisons fail or start from scratch. Workloads in the cluster are not affected.

## How whysync knows
Errors that name Redis: a failed connection to port 6379, `WRONGPASS`, `NOAUTH`, `cache: key is
missing`.

## Fix
Get Redis running. If it rejects the password, restart Argo CD's components so that they read the same Secret.
Lost data does no harm: a refresh fills the cache again. If its name cannot be resolved, check the Pods of the
cluster DNS and the Service of Redis.

## When it is something else
If only manifests are missing, the repo-server is down (repo-server-down).
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.failure import Network
from whysync.messages.patterns.argocd import ArgocdCacheDown, CacheProblem
from whysync.queries.argocd_components import pods_named, resolve_again, time_out_together, unresolved
from whysync.queries.commands import (
    API_SERVER,
    CONTROLLER,
    REPO_SERVER,
    argocd_namespace,
    hard_refresh,
    restart,
    with_comment,
)
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped


@rule(cause="argocd-cache-down", since="0.1")
def argocd_cache_unavailable(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ArgocdCacheDown, by=lambda f: (f.problem, f.reason, f.detail)):
        failure = group.failure
        if failure.reason is Network.TIMEOUT and time_out_together(case):
            continue  # the repo-server times out too: repo_server_unavailable reports the network
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(case, failure),
            evidence=(*group.cited(says=_error_of(failure)), *pods_named(case, "redis")),
            fixes=tuple(_fixes(case, failure)),
        )


def _error_of(failure: ArgocdCacheDown) -> str:
    """For a missing key Redis has answered: it reports no error."""
    missing = failure.problem is CacheProblem.KEY_MISSING
    return "error when Argo CD read its cache" if missing else "the error of Redis"


def _verdict(case: Case, failure: ArgocdCacheDown) -> str:
    if failure.lookup is not None:
        return unresolved(case, failure.lookup)
    if failure.problem is CacheProblem.KEY_MISSING:
        return "the app is not in Argo CD's cache (Redis), which lost it or has not been filled yet"
    if failure.problem is CacheProblem.PASSWORD:
        return f"Redis, the cache of Argo CD, rejects Argo CD's password: {failure.detail}"
    if failure.problem is CacheProblem.ERROR:
        return f"Redis, the cache of Argo CD, answers with an error: {failure.detail}"
    reason = why_unreachable(failure.reason) if failure.reason is not Network.UNKNOWN else failure.detail
    return f"Argo CD's cache (Redis) is not available{f': {reason}' if reason else ''}"


def _fixes(case: Case, failure: ArgocdCacheDown) -> Iterator[Fix]:
    namespace, refreshed = argocd_namespace(case), hard_refresh(case)
    pods = f"kubectl -n {namespace} get pods,endpointslices | grep -i redis"
    if failure.lookup is not None:
        yield resolve_again(case, failure.lookup, refreshed, component="redis")
    elif failure.problem is CacheProblem.KEY_MISSING:
        yield Fix.run(
            refreshed,
            with_comment(pods, "has it been restarted?"),
            title="Refresh the app, which fills the cache again; if the key is lost again, check Redis",
        )
    elif failure.problem is CacheProblem.PASSWORD:
        yield Fix.run(
            restart(case, CONTROLLER, REPO_SERVER, API_SERVER),
            refreshed,
            title="Restart Argo CD, which reads the password from Secret argocd-redis at startup",
            risk="Applications are not reconciled for a minute or two",
        )
        yield Fix.run(
            with_comment(pods, "was Redis started with another password?"),
            refreshed,
            title="If it is rejected again: restart Redis, which reads the same Secret",
        )
    else:
        yield Fix.run(
            pods,
            f"kubectl -n {namespace} logs -l app.kubernetes.io/component=redis --tail=50",
            refreshed,
            title="Get Redis running, then hard refresh, which fills the cache again",
        )
