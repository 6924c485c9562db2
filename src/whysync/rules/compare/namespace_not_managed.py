"""Argo CD manages only some namespaces of the cluster, and the object is not in them.

## What happens
A cluster can be registered with a list of namespaces. Argo CD then watches and applies only in these
namespaces; objects in other namespaces and cluster-scoped objects cannot be compared.

## How whysync knows
`is not managed`, or `can not be managed when in namespaced mode`; the cluster's Secret lists the namespaces.

## Fix
Add the namespace to the cluster's list, or allow cluster-scoped kinds for it; or move the object.

## When it is something else
If the project does not permit the namespace: project-denied. If the account lacks permissions: k8s-rbac.
"""

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.argocd.projects.cluster_secrets import cluster_for, known_clusters, namespaced_registration
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.cluster import NamespaceNotManaged
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import CLUSTERS, argocd_namespace, comment, kubectl, refresh
from whysync.queries.group_failures import grouped

PLAIN = "/stringData/namespaces"
ALL_KINDS = '{"stringData":{"clusterResources":"true"}}'


@rule(cause="namespace-not-managed", since="0.1")
def namespace_not_managed(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, NamespaceNotManaged, by=lambda f: (f.namespace, "" if f.namespace else f.kind)
    ):
        failure = group.failure
        known = case.live_named(failure.kind, failure.namespace, failure.name)
        ref = _ref(case, failure) if known is None else known.ref
        cluster = cluster_for(case.app.spec.destination, known_clusters(case.index.snapshot.settings))
        managed = namespaced_registration(case.index.snapshot.settings, cluster)
        secret, namespaces = managed if managed is not None else (None, ())
        label = cluster.name or cluster.server
        only = (
            f", only {', '.join(namespaces[:5])}{', …' if len(namespaces) > 5 else ''}" if namespaces else ""
        )
        if failure.namespace:
            outside = f"namespace {failure.namespace} of cluster {label}{only}"
            verdict = f"Argo CD does not manage {outside} ({ref})"
        else:
            verdict = f"Argo CD manages only some namespaces of cluster {label}, and {ref} is cluster-scoped"
        yield Finding(
            about=ref if failure.name else case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=verdict,
            evidence=(
                *group.cited(says="reported by Argo CD"),
                *(
                    (cite(secret, PLAIN, says="namespaces in the cluster's Secret"),)
                    if secret is not None and not isinstance(secret.at(PLAIN), Missing)
                    else ()
                ),
            ),
            fixes=_permit(case, failure, label, namespaces, secret),
            already_fixed=refresh_again(
                case, "", "Refresh: the namespace is already managed", when=failure.namespace in namespaces
            ),
        )


def _ref(case: Case, failure: NamespaceNotManaged) -> Ref:
    """As Git declares it: the message names no API group."""
    for manifest in case.desired:
        if (manifest.ref.kind, manifest.ref.name) == (failure.kind, failure.name):
            return msgspec.structs.replace(manifest.ref, namespace=failure.namespace)
    return Ref(kind=failure.kind or "object", namespace=failure.namespace, name=failure.name)


def _permit(
    case: Case,
    failure: NamespaceNotManaged,
    cluster: str,
    namespaces: tuple[str, ...],
    secret: Manifest | None,
) -> tuple[Fix, ...]:
    if not failure.namespace:
        place = argocd_namespace(case)
        return (
            Fix.run(
                *(
                    (kubectl("patch", "secret", secret.ref.name, "-p", ALL_KINDS, namespace=place),)
                    if secret is not None
                    else (
                        kubectl("get", "secrets", "-l", CLUSTERS, namespace=place),
                        comment(f"kubectl -n {place} patch secret, with its name, -p '{ALL_KINDS}'"),
                    )
                ),
                refresh(case),
                title="Let Argo CD manage cluster-scoped resources of this cluster",
                risk="the account also needs the permissions",
            ),
        )
    if namespaces:
        flags = (f"--namespace={namespace}" for namespace in (*namespaces, failure.namespace))
        change = (" ".join(quote(word) for word in ("argocd", "cluster", "set", cluster, *flags)),)
    else:
        change = (
            f"argocd cluster get {quote(cluster or 'SERVER')} -o yaml   # its name and namespaces",
            comment(
                f"argocd cluster set, with its name, and --namespace for each of them and {failure.namespace}"
            ),
        )
    return (
        Fix.run(
            *change,
            refresh(case),
            title="Add the namespace to the cluster (the command replaces the list)",
            risk="the account also needs the permissions",
        ),
    )
