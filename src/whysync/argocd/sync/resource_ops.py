"""Single objects read, written and deleted as gitops-engine's dynamic client does it: discovery first.

Each error is told with the words that it is wrapped into on its way up. Mirrors `getResource`,
`updateResource` and `deleteResource`, Argo CD 3.6.
"""

from __future__ import annotations

from whysync.argocd.sync.cluster_ops import ClusterOps, Refused
from whysync.argocd.sync.options import Propagation
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Object


def read(cluster_ops: ClusterOps, work: SyncTask) -> Object:
    """Raises `Refused`."""
    _discover(cluster_ops, work, "get")
    try:
        return cluster_ops.get(work.ref)
    except Refused as problem:
        raise problem.within("failed to get resource") from problem


def write(cluster_ops: ClusterOps, work: SyncTask, obj: Object) -> None:
    """Raises `Refused`."""
    _discover(cluster_ops, work, "update")
    try:
        cluster_ops.update(obj, dry_run=False)
    except Refused as problem:
        raise problem.within("failed to update resource") from problem


def delete(cluster_ops: ClusterOps, work: SyncTask, propagation: Propagation) -> None:
    """Raises `Refused`."""
    _discover(cluster_ops, work, "delete")
    try:
        cluster_ops.delete(work.ref, propagation)
    except Refused as problem:
        raise problem.within("failed to delete resource") from problem


def _discover(cluster_ops: ClusterOps, work: SyncTask, verb: str) -> None:
    try:
        cluster_ops.discover(work.ref.api_version, work.ref.kind, verb)
    except Refused as problem:
        raise problem.within("failed to get api resource") from problem
