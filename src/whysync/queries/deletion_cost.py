"""What is lost when an object is deleted: volumes and their data, instances of a CRD, Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whysync.diagnosis.sentences import counted, listed
from whysync.json_tree import Object, dig, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_SHOWN: Final = 3
_CASCADE: Final = "resources-finalizer.argocd.argoproj.io"
_WORKLOADS: Final = {
    "Deployment": "all its Pods at once: the workload is down until the new ones are ready",
    "StatefulSet": "all its Pods at once",
    "DaemonSet": "all its Pods on every node at once",
    "ReplicaSet": "all its Pods at once",
}
_OTHERS: Final = {
    "Service": "its ClusterIP and any external load balancer address",
    "Job": "the finished run with its Pods and logs; it will run again",
    "Secret": "the values in it",
    "RoleBinding": "the permissions that it grants, until the sync creates it again",
    "ClusterRoleBinding": "the permissions that it grants, until the sync creates it again",
}


def deletion_cost(case: Case, ref: Ref) -> str:
    """What is lost with the object, as a phrase; empty if only the object itself."""
    live = case.live_of(ref.key)
    match ref.kind:
        case "CustomResourceDefinition":
            return _instances(case, live)
        case "Namespace":
            count = len(case.index.live_by_namespace.get(ref.name, ()))
            detail = f" (at least {counted(count, 'object')})" if count else ""
            return f"everything in the namespace{detail}"
        case "Application" if ref.group in ("", "argoproj.io"):
            return _deployed(live)
        case "PersistentVolumeClaim":
            return _by_policy(reclaim_policy(case, ref))
        case "PersistentVolume":
            return _of_volume(reclaim_policy(case, ref))
        case "StatefulSet":
            return f"{_WORKLOADS[ref.kind]}; {_claims(case, ref, live)}"
        case _:
            return _WORKLOADS.get(ref.kind) or _OTHERS.get(ref.kind, "")


def _instances(case: Case, definition: Manifest | None) -> str:
    """`all 14 Tenant objects in 3 namespaces`."""
    if definition is None:
        return "every object of its kind, in all namespaces"
    kind, group = text(dig(definition.spec, "names", "kind")), text(definition.spec.get("group"))
    instances = [live.ref for live in case.live_of_kind(kind) if live.ref.group == group]
    if not instances:
        return f"every {kind} object in the cluster"
    namespaces = {ref.namespace for ref in instances if ref.namespace}
    scope = f" in {counted(len(namespaces), 'namespace')}" if namespaces else ""
    return f"every {kind} object in the cluster, at least {len(instances)}{scope}"


def _deployed(application: Manifest | None) -> str:
    """Argo CD's finalizer deletes what an Application deployed."""
    if application is None:
        return "all that it deployed, if it has Argo CD's resources-finalizer"
    cascades = any(text(name).startswith(_CASCADE) for name in items(application.at("/metadata/finalizers")))
    return "all that it deployed: it has Argo CD's resources-finalizer" if cascades else ""


def reclaim_policy(case: Case, ref: Ref) -> str:
    """The reclaim policy of a PersistentVolume, or of the volume of a claim; empty if it is not known."""
    live = case.live_of(ref.key)
    if live is not None and ref.kind == "PersistentVolumeClaim":
        live = case.live_named("PersistentVolume", "", text(live.spec.get("volumeName")))
    return text(live.spec.get("persistentVolumeReclaimPolicy")) if live is not None else ""


def _by_policy(policy: str) -> str:
    if policy == "Retain":
        return "the claim; the volume and its data stay (reclaim policy Retain)"
    condition = (
        "reclaim policy Delete" if policy == "Delete" else "unless its volume has reclaim policy Retain"
    )
    return f"its data ({condition})"


def _of_volume(policy: str) -> str:
    """A deleted PersistentVolume is the way to its storage, which stays with reclaim policy Retain."""
    if policy == "Retain":
        return "the reference to its storage, which stays (reclaim policy Retain)"
    return _by_policy(policy).replace("its volume has ", "it has ")


def _claims(case: Case, ref: Ref, live: Manifest | None) -> str:
    """The claims of a StatefulSet stay unless its retention policy deletes them with it."""
    spec = live.spec if live is not None else {}
    if text(dig(spec, "persistentVolumeClaimRetentionPolicy", "whenDeleted")) != "Delete":
        return "its claims and their data stay" if live else "its claims stay, unless whenDeleted is Delete"
    lost, kept = deleted_claims(case, ref, spec)
    stays = f"the volumes of {listed(kept, _SHOWN)} stay (reclaim policy Retain)" if kept else ""
    if kept and not lost:
        return f"its claims are deleted too (whenDeleted: Delete), but {stays}"
    shown = f": {listed(lost, _SHOWN)}" if lost else ""
    return (
        f"DATA LOSS: its claims are deleted too (whenDeleted: Delete){shown}{f'; {stays}' if stays else ''}"
    )


def deleted_claims(case: Case, ref: Ref, spec: Object) -> tuple[list[str], list[str]]:
    """The claims that a StatefulSet creates: those that lose their data, and those whose volume stays."""
    names = [text(dig(template, "metadata", "name")) for template in items(spec.get("volumeClaimTemplates"))]
    claims = [
        claim.ref
        for claim in case.live_of_kind("PersistentVolumeClaim")
        if claim.ref.namespace == ref.namespace
        and any(claim.ref.name.startswith(f"{name}-{ref.name}-") for name in names)
    ]
    kept = [claim.name for claim in claims if reclaim_policy(case, claim) == "Retain"]
    return [claim.name for claim in claims if claim.name not in kept], kept
