"""The destination cluster is not registered in Argo CD.

## What happens
`spec.destination` names a cluster by URL or by name, but Argo CD has no (enabled) cluster Secret for it: it
was never added, was removed, has another name, or two clusters have the same name. Nothing can be compared,
and an Application that is being deleted cannot delete its resources.

## How whysync knows
`there are no clusters with this name`, `cluster "…" not found`, `is disabled`, or several clusters
of one name.

## Fix
Register the cluster, or correct the destination. Use either its name or its URL.

## When it is something else
If the cluster is registered but does not answer: cluster-unreachable.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from shlex import quote

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.projects.cluster_secrets import known_clusters
from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Set, Severity, cite, rule
from whysync.messages.patterns.cluster import ClusterNotRegistered
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import app_argument, refresh
from whysync.queries.gone_cluster import OWN_NAME, delete_without_resources, is_in_deletion
from whysync.queries.group_failures import grouped

_SIMILARITY = 0.9


@rule(cause="cluster-not-registered", since="0.1")
def cluster_not_registered(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ClusterNotRegistered, by=lambda failure: failure.server or failure.name):
        failure = group.failure
        label = failure.server or failure.name or "the destination"
        if failure.ambiguous:
            verdict = f"several registered clusters are named {label}"
        elif failure.disabled:
            verdict = f"cluster {label} is registered but disabled"
        else:
            verdict = f"cluster {label} is not registered in Argo CD"
        yield Finding(
            about=case.application.ref,
            field="/spec/destination",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=verdict,
            evidence=(
                *group.cited(says="reported by Argo CD"),
                cite(case.application, "/spec/destination", says="destination of the Application"),
            ),
            fixes=tuple(_fixes(case, failure)),
            already_fixed=refresh_again(
                case,
                "the Application already has another destination",
                "Refresh: the destination has been corrected",
                when=_has_another_destination(case, failure),
            ),
        )


def _has_another_destination(case: Case, failure: ClusterNotRegistered) -> bool:
    destination = case.app.spec.destination
    if failure.name == OWN_NAME and destination.server.rstrip("/") == IN_CLUSTER and not destination.name:
        return True
    pairs = ((failure.name, destination.name), (failure.server, destination.server))
    return any(requested and now and requested.rstrip("/") != now.rstrip("/") for requested, now in pairs)


def _fixes(case: Case, failure: ClusterNotRegistered) -> Iterator[Fix]:
    list_clusters = "argocd cluster list   # the registered clusters"
    if failure.name == OWN_NAME and not failure.disabled:
        yield _own_cluster(case)
        return
    deleting = is_in_deletion(case)
    similar = "" if failure.ambiguous or failure.disabled else _nearest(case, failure)
    if similar and not deleting:
        yield Fix.application(
            case.application.ref,
            Set(pointer=f"/spec/destination/{'name' if failure.name else 'server'}", value=similar),
            title=f"Correct the destination: {similar} is registered",
            risk="the app is deployed to that cluster: make sure it is the intended one",
        )
    flag = "--dest-server SERVER" if failure.ambiguous or not failure.name else "--dest-name NAME"
    if not failure.ambiguous:
        name = f" --name {quote(failure.name)}" if failure.name else ""
        yield Fix.run(
            list_clusters,
            f"argocd cluster add CONTEXT{name}",
            refresh(case),
            title="If the cluster still exists: register it again" if deleting else "Register the cluster",
            risk="creates the service account argocd-manager with permissions on that cluster"
            + ("; the deletion of the app then continues there" if deleting else ""),
        )
    if not similar and not deleting:  # a deletion would delete the objects of the other cluster
        yield Fix.run(
            list_clusters,
            f"argocd app set {app_argument(case)} {flag}",
            title="Correct the destination"
            + (": use the URL, as the name is not unique" if failure.ambiguous else ""),
        )
    yield from delete_without_resources(case)


def _own_cluster(case: Case) -> Fix:
    """A cluster Secret for the address of the own cluster gives it another name.

    Mirrors `GetClusterServersByName`, Argo CD 3.6.
    """
    return Fix.application(
        case.application.ref,
        Remove(pointer="/spec/destination/name"),
        Set(pointer="/spec/destination/server", value=IN_CLUSTER),
        title="Use the address of Argo CD's own cluster: it is registered under another name, or disabled",
        risk="if cluster.inClusterEnabled is false in argocd-cm, its own cluster is disabled on purpose",
    )


def _nearest(case: Case, failure: ClusterNotRegistered) -> str:
    """The only registered cluster with a similar name: other case, other order of words, a typo."""
    requested = failure.name or failure.server
    others = {
        known_cluster.name if failure.name else known_cluster.server
        for known_cluster in known_clusters(case.index.snapshot.settings)
    }
    matching = [other for other in sorted(others - {"", requested}) if _is_alike(requested, other)]
    return matching[0] if len(matching) == 1 else ""


def _is_alike(one: str, other: str) -> bool:
    parts, others = (sorted(re.split(r"[^a-z0-9]+", name.lower())) for name in (one, other))
    return parts == others or SequenceMatcher(None, one.lower(), other.lower()).ratio() > _SIMILARITY
