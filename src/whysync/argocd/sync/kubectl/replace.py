"""`kubectl create` and `kubectl replace` as Argo CD runs them. Mirrors kubectl, Kubernetes 1.36.

Neither sets a field manager or a last-applied annotation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

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

_DELETE_TIMEOUT: Final = 300
"""How many seconds `replace --force` waits for the deletion of the old object."""


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


def replace(client: Client, target: Target, mode: Mode, wait: Callable[[float], None]) -> str:
    if mode.dry_run:
        return target.printed("replaced", dry_run=True)
    if mode.force:
        return _recreated(client, target, wait)
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


def _recreated(client: Client, target: Target, wait: Callable[[float], None]) -> str:
    """`--force`: deletes the object, waits until it is gone, and creates it."""
    if target.path_problem:
        raise Refused(clean_kubectl_output(add_source_to_err("deleting", target.file, target.path_problem)))
    response = client.send("delete", target.path, delete_options("Background"))
    if not response.ok:
        raise refused(
            response, clean_kubectl_output(add_source_to_err("deleting", target.file, message_of(response)))
        )
    _wait_until_gone(client, target, wait)
    response = client.send("create", target.collection, target.obj)
    if not response.ok:
        raise refused(response, clean_kubectl_output(message_of(response)))
    return join_kubectl_output(f"{target.deleted()}\n{target.printed('replaced')}")


def _wait_until_gone(client: Client, target: Target, wait: Callable[[float], None]) -> None:
    start = client.cluster.now()
    for _ in range(_DELETE_TIMEOUT):
        current = client.send("get", target.path)
        if not current.ok:
            if reason_of(current) == "NotFound":
                return
            raise refused(current)
        wait(1)
        if client.cluster.now() == start:
            break  # no time passes
    raise Refused(TIMED_OUT)
