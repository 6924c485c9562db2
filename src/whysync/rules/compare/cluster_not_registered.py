"""The Application's destination is not a cluster that Argo CD knows.

## What happens
`spec.destination` names a cluster by URL or by name, and Argo CD has no (enabled) cluster secret
for it: it was never added, was removed, has another name, or two clusters bear the same name.
Nothing can be compared, and an Application that is being deleted cannot clean up after itself.

## How whysync knows
`there are no clusters with this name`, `cluster "…" not found`, `is disabled`, or several clusters
of one name.

## Fix
Register the cluster, or correct the destination. By name and by URL are two ways; use one.

## When it is something else
The cluster is registered and does not answer: cluster-unreachable.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.destination_clusters import known_clusters
from whysync.messages.patterns.cluster import ClusterNotRegistered
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import app_argument, refresh
from whysync.queries.group_failures import grouped

_ALIKE = 0.9


@rule(cause="cluster-not-registered", since="0.1")
def cluster_not_registered(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ClusterNotRegistered, by=lambda failure: failure.server or failure.name):
        failure = group.failure
        called = failure.server or failure.name or "the destination"
        if failure.ambiguous:
            verdict = f"several registered clusters are called {called}"
        elif failure.disabled:
            verdict = f"cluster {called} is registered and switched off"
        else:
            verdict = f"{called} is not a cluster that Argo CD knows"
        yield Finding(
            about=case.application.ref,
            field="/spec/destination",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=verdict,
            evidence=(
                *group.cited(says="Argo CD has no such cluster"),
                cite(case.application, "/spec/destination", says="the destination that is asked for"),
            ),
            fixes=tuple(_fixes(case, failure)),
            already_fixed=refresh_again(
                case,
                _has_another_destination(case, failure),
                "the Application has another destination by now",
                "Refresh: the destination has been corrected",
            ),
        )


def _has_another_destination(case: Case, failure: ClusterNotRegistered) -> bool:
    destination = case.app.spec.destination
    pairs = ((failure.name, destination.name), (failure.server, destination.server))
    return any(asked and now and asked.rstrip("/") != now.rstrip("/") for asked, now in pairs)


def _fixes(case: Case, failure: ClusterNotRegistered) -> Iterator[Fix]:
    known = "argocd cluster list   # the clusters that Argo CD knows"
    near = "" if failure.ambiguous or failure.disabled else _nearest(case, failure)
    if near:
        yield Fix.application(
            case.application.ref,
            Set(pointer=f"/spec/destination/{'name' if failure.name else 'server'}", value=near),
            title=f"Correct the destination: {near} is registered",
            risk="the app is deployed there: be sure that it is the one that is meant",
        )
    flag = "--dest-server SERVER" if failure.ambiguous or not failure.name else "--dest-name NAME"
    if not failure.ambiguous:
        name = f" --name {quote(failure.name)}" if failure.name else ""
        yield Fix.run(
            known,
            f"argocd cluster add CONTEXT{name}",
            refresh(case),
            title="Register the cluster",
            risk="it creates the service account argocd-manager with rights on that cluster",
        )
    if not near:
        yield Fix.run(
            known,
            f"argocd app set {app_argument(case)} {flag}",
            title="Correct the destination"
            + (": use the URL, as the name is not unique" if failure.ambiguous else ""),
        )
    if case.app.metadata.deletion_timestamp is not None or any(
        c.type == "DeletionError" for c in case.app.status.conditions
    ):
        yield Fix.run(
            f"argocd app delete {app_argument(case)} --cascade=false",
            title="If the cluster is gone for good: delete the Application without its resources",
            destroys=("the Application; what it deployed is left where it is, without an owner",),
        )


def _nearest(case: Case, failure: ClusterNotRegistered) -> str:
    """The one registered cluster that is called nearly so: other case, other order, one letter."""
    asked = failure.name or failure.server
    others = {
        known_cluster.name if failure.name else known_cluster.server
        for known_cluster in known_clusters(case.index.snapshot.settings)
    }
    alike = [other for other in sorted(others - {"", asked}) if _is_alike(asked, other)]
    return alike[0] if len(alike) == 1 else ""


def _is_alike(one: str, other: str) -> bool:
    parts, others = (sorted(re.split(r"[^a-z0-9]+", name.lower())) for name in (one, other))
    return parts == others or SequenceMatcher(None, one.lower(), other.lower()).ratio() > _ALIKE
