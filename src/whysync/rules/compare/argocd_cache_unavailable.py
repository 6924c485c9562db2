"""Argo CD's cache (Redis) is unreachable, rejects the password, or has lost its data.

## What happens
Argo CD caches rendered manifests and the state of Applications in Redis. Without it the UI shows errors or
empty trees, and comparisons fail or start from scratch. Workloads in the cluster are not affected.

## How whysync knows
Errors that name Redis: a failed connection to port 6379, `WRONGPASS`, `NOAUTH`, `cache: key is
missing`.

## Fix
Get Redis running. If the password differs, restart all Argo CD components so that they read the same Secret.
Lost data does no harm: a refresh fills the cache again. If its name cannot be resolved, check the Pods of the
cluster DNS and the Service of Redis.

## When it is something else
If only manifests are missing, the repo-server is down (repo-server-down).
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.failure import Network
from whysync.messages.patterns.argocd import ArgocdCacheDown
from whysync.queries.argocd_components import pods_named, resolve_again, unresolved
from whysync.queries.commands import (
    API_SERVER,
    CONTROLLER,
    REPO_SERVER,
    argocd_namespace,
    hard_refresh,
    restart,
)
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped


@rule(cause="argocd-cache-down", since="0.1")
def argocd_cache_unavailable(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ArgocdCacheDown, by=lambda failure: (failure.reason, failure.detail)):
        failure = group.failure
        namespace = argocd_namespace(case)
        reason = why_unreachable(failure.reason) if failure.reason is not Network.UNKNOWN else failure.detail
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD's cache (Redis) is not available{f': {reason}' if reason else ''}"
            if failure.lookup is None
            else unresolved(case, failure.lookup),
            evidence=(*group.cited(says="the error of Redis"), *pods_named(case, "redis")),
            fixes=(resolve_again(case, failure.lookup, hard_refresh(case)),)
            if failure.lookup is not None
            else (
                Fix.run(
                    f"kubectl -n {namespace} get pods,endpointslices | grep -i redis",
                    f"kubectl -n {namespace} get secret argocd-redis   # its password",
                    hard_refresh(case),
                    title="Get Redis running, then hard refresh, which fills the cache again",
                ),
                Fix.run(
                    restart(case, CONTROLLER, REPO_SERVER, API_SERVER),
                    title="If Redis is running: restart Argo CD, which reads the password at startup",
                    risk="Applications are not reconciled for a minute or two",
                ),
            ),
        )
