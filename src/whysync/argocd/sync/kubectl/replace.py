"""`kubectl create` and `kubectl replace` as Argo CD runs them. Mirrors kubectl, Kubernetes 1.36.

Neither sets a field manager or a last-applied annotation.
"""

from __future__ import annotations

from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.argocd.sync.kubectl.apply import TIMED_OUT
from whysync.argocd.sync.kubectl.client import (
    Client,
    delete_options,
    message_of,
    reason_of,
    refused,
    resource_version,
)
from whysync.argocd.sync.kubectl.output import add_source_to_err, clean_kubectl_output, join_kubectl_output
from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Object, fields, text


def create(client: Client, target: Target, mode: Mode) -> str:
    if mode.dry_run:
        return target.printed("created", dry_run=True)
    response = client.send("create", target.collection, target.obj)
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("creating", target.file, message_of(response)))
        )
    name = text(fields((response.body or {}).get("metadata")).get("name"))
    return join_kubectl_output(target.printed("created").replace("<unknown>", name, 1))


def replace(client: Client, target: Target, mode: Mode) -> str:
    if mode.dry_run:
        return target.printed("replaced", dry_run=True)
    if mode.force:
        return _recreated(client, target)
    if target.path_problem:
        raise Refused(clean_kubectl_output(add_source_to_err("replacing", target.file, target.path_problem)))
    response = client.send("update", target.path, _versioned(client, target))
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("replacing", target.file, message_of(response)))
        )
    return target.printed("replaced")


def _versioned(client: Client, target: Target) -> Object:
    """With the current resourceVersion, unless the manifest has one: the last writer wins."""
    meta = fields(target.obj.get("metadata"))
    if text(meta.get("resourceVersion")):
        return target.obj
    current = client.send("get", target.path)
    if not current.ok:
        return target.obj
    return {**target.obj, "metadata": {**meta, "resourceVersion": resource_version(current)}}


def _recreated(client: Client, target: Target) -> str:
    """`--force`: deletes the object and creates it; times out if it is not deleted at once."""
    if target.path_problem:
        raise Refused(clean_kubectl_output(add_source_to_err("deleting", target.file, target.path_problem)))
    response = client.send("delete", target.path, delete_options("Background"))
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("deleting", target.file, message_of(response)))
        )
    remaining = client.send("get", target.path)
    if remaining.ok:
        raise Refused(TIMED_OUT)
    if reason_of(remaining) != "NotFound":
        raise refused(remaining)
    response = client.send("create", target.collection, target.obj)
    if not response.ok:
        raise refused(response, clean_kubectl_output(message_of(response)))
    return join_kubectl_output(f"{target.deleted()}\n{target.printed('replaced')}")
