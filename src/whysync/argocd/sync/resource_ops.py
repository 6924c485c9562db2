"""Reads, updates and deletes the object of a task with gitops-engine's dynamic client: discovery first.

Errors have the prefixes that upstream adds. Mirrors `getResource`, `updateResource` and `deleteResource`,
Argo CD 3.6.
"""

from __future__ import annotations

from whysync.argocd.sync.cluster_ops import ClusterOps, Refused
from whysync.argocd.sync.options import Propagation
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Object


def read(cluster_ops: ClusterOps, task: SyncTask) -> Object:
    """Raises `Refused`."""
    _discover(cluster_ops, task, "get")
    try:
        return cluster_ops.get(task.ref)
    except Refused as problem:
        raise problem.within("failed to get resource") from problem


def write(cluster_ops: ClusterOps, task: SyncTask, obj: Object) -> None:
    """Raises `Refused`."""
    _discover(cluster_ops, task, "update")
    try:
        cluster_ops.update(obj, dry_run=False)
    except Refused as problem:
        raise problem.within("failed to update resource") from problem


def delete(cluster_ops: ClusterOps, task: SyncTask, propagation: Propagation) -> None:
    """Raises `Refused`."""
    _discover(cluster_ops, task, "delete")
    try:
        cluster_ops.delete(task.ref, propagation)
    except Refused as problem:
        raise problem.within("failed to delete resource") from problem


def _discover(cluster_ops: ClusterOps, task: SyncTask, verb: str) -> None:
    try:
        cluster_ops.discover(task.ref.api_version, task.ref.kind, verb)
    except Refused as problem:
        raise problem.within("failed to get api resource") from problem
