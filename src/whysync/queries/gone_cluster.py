"""Deleting an Application whose destination cluster no longer exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.argocd.app_controller.deletion.finalizers import CLEANUP, Finalizers
from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.hooks.recognition import DeletionHook
from whysync.diagnosis import Case, Fix
from whysync.queries.commands import app_argument, on_object
from whysync.queries.finalizers import REMOVE_FINALIZERS

OWN_NAME: Final = "in-cluster"


def is_in_deletion(case: Case) -> bool:
    """Is the Application being deleted, or did its deletion fail?"""
    failed = any(condition.type == "DeletionError" for condition in case.app.status.conditions)
    return failed or case.app.metadata.deletion_timestamp is not None


def is_own_cluster(case: Case) -> bool:
    """Is the destination the cluster that Argo CD runs in? That one exists as long as Argo CD runs."""
    destination = case.app.spec.destination
    return destination.server.rstrip("/") == IN_CLUSTER or destination.name == OWN_NAME


def delete_without_resources(case: Case, *, elsewhere: bool = False) -> Iterator[Fix]:
    """Argo CD's API removes the resources finalizer with `--cascade=false`, also during a deletion.

    Mirrors `Server.Delete` in Argo CD 3.2 (server/application/application.go). It leaves the finalizers of
    PreDelete and PostDelete hooks, which cannot run without the cluster. `elsewhere`: the address that
    does not answer is not that of Argo CD's own cluster, whatever the destination says.
    """
    if not is_in_deletion(case):
        return
    own = is_own_cluster(case) and not elsewhere
    hooks = _waits_for_hooks(case)
    yield Fix.run(
        on_object("patch", case.application.ref, "--type=merge", "-p", REMOVE_FINALIZERS)
        if hooks
        else f"argocd app delete {app_argument(case)} --cascade=false",
        title="Last resort: delete the Application without its resources"
        if own
        else "If the cluster no longer exists: delete the Application without its resources",
        risk="its resources keep running in this cluster, and no Application manages them"
        if own
        else "if the cluster returns, its resources still run there and no Application manages them",
        destroys=(
            "the Application: its finalizers are removed, its deletion hooks do not run, and its resources"
            " are not deleted"
            if hooks
            else "the Application: its finalizer is removed, and its resources are not deleted",
        ),
    )


def _waits_for_hooks(case: Case) -> bool:
    finalizers = Finalizers.of(case.application.body)
    return any(finalizers.has(hook, stage) for hook in DeletionHook for stage in ("", CLEANUP))
