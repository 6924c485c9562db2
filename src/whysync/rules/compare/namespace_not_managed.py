"""Argo CD manages only some namespaces of the cluster, and the object is not in them.

## What happens
A cluster can be registered with a list of namespaces. Argo CD then watches and applies only in these
namespaces; objects in other namespaces and cluster-scoped objects cannot be compared.

## How whysync knows
`is not managed`, or `can not be managed when in namespaced mode`; the cluster's Secret lists the namespaces.

## Fix
Add the namespace to the cluster's list, or allow cluster-scoped kinds for it; or move the object. Check
the permissions of Argo CD's account first: if it cannot list one kind there, the cache of the whole cluster
fails, and every app of the cluster becomes Unknown (unless `resource.respectRBAC` is set).

## When it is something else
If the project does not permit the namespace: project-denied. If the account lacks permissions: k8s-rbac.
"""

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.argocd.projects.cluster_secrets import cluster_for, known_clusters, namespaced_registration
from whysync.argocd.projects.permissions import Cluster
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.cluster import NamespaceNotManaged
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import CLUSTERS, argocd_namespace, comment, kubectl, refresh, sync, with_comment
from whysync.queries.group_failures import grouped

PLAIN = "/stringData/namespaces"
ALL_KINDS = '{"stringData":{"clusterResources":"true"}}'
NO_CLUSTER_KINDS = '{"stringData":{"clusterResources":"false"}}'
IN_CLUSTER = "https://kubernetes.default.svc"


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
            fixes=(
                _with_namespace(case, failure, cluster, namespaces),
                *_other_destination(case, failure, cluster, namespaces),
            )
            if failure.namespace
            else (_not_from_here(case, ref), _with_cluster_scoped(case, cluster, secret)),
            already_fixed=refresh_again(
                case, "", "Refresh: the namespace is already managed", when=failure.namespace in namespaces
            ),
        )


def _not_from_here(case: Case, ref: Ref) -> Fix:
    """Whoever registered the cluster with a list of namespaces did it on purpose."""
    return Fix.run(
        comment(f"remove {ref} from the source of this app, and have it created by who runs the cluster;"),
        comment("commit and push, then"),
        refresh(case),
        title=f"Remove {ref} from this app: its cluster is registered for some namespaces only",
        risk="if it exists and this app manages it, add argocd.argoproj.io/sync-options: Prune=false first",
    )


def _ref(case: Case, failure: NamespaceNotManaged) -> Ref:
    """As Git declares it: the message names no API group."""
    for manifest in case.desired:
        if (manifest.ref.kind, manifest.ref.name) == (failure.kind, failure.name):
            return msgspec.structs.replace(manifest.ref, namespace=failure.namespace)
    return Ref(kind=failure.kind or "object", namespace=failure.namespace, name=failure.name)


def _with_cluster_scoped(case: Case, cluster: Cluster, secret: Manifest | None) -> Fix:
    place = argocd_namespace(case)
    if secret is not None:
        change = (
            with_comment(
                kubectl("patch", "secret", secret.ref.name, "-p", ALL_KINDS, namespace=place),
                f"to undo it: -p '{NO_CLUSTER_KINDS}'",
            ),
        )
    else:
        change = (
            kubectl("get", "secrets", "-l", CLUSTERS, namespace=place),
            comment(f"kubectl -n {place} patch secret, with its name, -p '{ALL_KINDS}'"),
            comment(f"to undo it: the same with '{NO_CLUSTER_KINDS}'"),
        )
    return Fix.run(
        _permissions_first(case, cluster, ""),
        *change,
        *_again(case),
        title="Or check the permissions of Argo CD's account, then let it manage cluster-scoped resources of"
        " this cluster",
        risk=_risk(cluster, _kinds("")),
    )


def _with_namespace(
    case: Case, failure: NamespaceNotManaged, cluster: Cluster, namespaces: tuple[str, ...]
) -> Fix:
    label = cluster.name or cluster.server
    if namespaces:
        change = (
            with_comment(
                _set_namespaces(label, (*namespaces, failure.namespace)),
                f"to undo it: {_set_namespaces(label, namespaces)}",
            ),
        )
    else:
        change = (
            with_comment(f"argocd cluster get {quote(label or 'SERVER')} -o yaml", "its name and namespaces"),
            comment(
                "argocd cluster set, with its name, and --namespace for each of them and"
                f" {failure.namespace}; to undo it: the same without this namespace"
            ),
        )
    return Fix.run(
        _permissions_first(case, cluster, failure.namespace),
        *change,
        *_again(case),
        title="Check the permissions of Argo CD's account, then add the namespace to the cluster (the command"
        " replaces the list)",
        risk=_risk(cluster, _kinds(failure.namespace)),
    )


def _again(case: Case) -> Iterator[str]:
    """A sync that failed does not run again by itself."""
    yield refresh(case)
    if case.operation is not None and case.operation.phase in ("Failed", "Error"):
        yield sync(case)


def _other_destination(
    case: Case, failure: NamespaceNotManaged, cluster: Cluster, namespaces: tuple[str, ...]
) -> Iterator[Fix]:
    """The message can name a listed namespace where that of the destination is not listed."""
    destination = case.app.spec.destination.namespace
    if namespaces or not destination or destination == failure.namespace:
        return
    label = cluster.name or cluster.server
    yield Fix.run(
        with_comment(f"argocd cluster get {quote(label or 'SERVER')} -o yaml", "are both namespaces listed?"),
        comment(f"add {destination} to the list as above, or set spec.destination.namespace to a listed one"),
        *_again(case),
        title=f"If {failure.namespace} is already listed: check the app's destination namespace,"
        f" {destination}",
    )


def _set_namespaces(cluster: str, namespaces: tuple[str, ...]) -> str:
    flags = (f"--namespace={namespace}" for namespace in namespaces)
    return " ".join(quote(word) for word in ("argocd", "cluster", "set", cluster, *flags))


def _permissions_first(case: Case, cluster: Cluster, namespace: str) -> str:
    """The cache lists every kind of every managed namespace, so that one refused list fails all of it."""
    own = f"{argocd_namespace(case)}:argocd-application-controller"
    account = f"system:serviceaccount:{own if cluster.server == IN_CLUSTER else 'kube-system:argocd-manager'}"
    return with_comment(
        kubectl(
            "auth",
            "can-i",
            "--list",
            f"--as={account}",
            namespace=namespace,
        ),
        "in the destination cluster, with the account that Argo CD uses there: needs the row *.* with [*] or"
        f" [get list watch]; if not, first grant it list and watch of {_kinds(namespace)}",
    )


def _kinds(namespace: str) -> str:
    return f"every kind in namespace {namespace}" if namespace else "every cluster-scoped kind"


def _risk(cluster: Cluster, kinds: str) -> str:
    label = cluster.name or cluster.server
    whole = f"cluster {label}" if label else "the cluster"
    return (
        f"affects all apps of {whole}: if the account cannot list {kinds}, Argo CD cannot build its cache,"
        " and they all become Unknown and cannot be synced until it is undone (unless resource.respectRBAC is"
        " set)"
    )
