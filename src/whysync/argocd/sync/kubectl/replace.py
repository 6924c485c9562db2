"""`kubectl create` and `kubectl replace` as Argo CD runs them. Mirrors kubectl, Kubernetes 1.36.

Neither names a field manager nor leaves a last-applied annotation behind.
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
    version_of_answer,
)
from whysync.argocd.sync.kubectl.output import cleaned, joined_output, when
from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Object, fields, text

_PATIENCE: Final = 300
"""Seconds that `replace --force` waits for the old object to go."""


def create(client: Client, target: Target, mode: Mode) -> str:
    if mode.dry_run:
        return target.printed("created", dry_run=True)
    answer = client.send("create", target.collection, target.obj)
    if not answer.ok:
        raise refused(answer, cleaned(when("creating", target.file, message_of(answer))))
    name = text(fields((answer.body or {}).get("metadata")).get("name"))
    return joined_output(target.printed("created").replace("<unknown>", name, 1))


def replace(client: Client, target: Target, mode: Mode, wait: Callable[[float], None]) -> str:
    if mode.dry_run:
        return target.printed("replaced", dry_run=True)
    if mode.force:
        return _recreated(client, target, wait)
    if target.nowhere:
        raise Refused(cleaned(when("replacing", target.file, target.nowhere)))
    answer = client.send("update", target.path, _versioned(client, target))
    if not answer.ok:
        raise refused(answer, cleaned(when("replacing", target.file, message_of(answer))))
    return target.printed("replaced")


def _versioned(client: Client, target: Target) -> Object:
    """With the version that is there now, unless the manifest insists on one: the last writer wins."""
    meta = fields(target.obj.get("metadata"))
    if text(meta.get("resourceVersion")):
        return target.obj
    current = client.send("get", target.path)
    if not current.ok:
        return target.obj
    return {**target.obj, "metadata": {**meta, "resourceVersion": version_of_answer(current)}}


def _recreated(client: Client, target: Target, wait: Callable[[float], None]) -> str:
    """`--force`: deletes it, waits until it is gone, creates it."""
    if target.nowhere:
        raise Refused(cleaned(when("deleting", target.file, target.nowhere)))
    answer = client.send("delete", target.path, delete_options("Background"))
    if not answer.ok:
        raise refused(answer, cleaned(when("deleting", target.file, message_of(answer))))
    _until_gone(client, target, wait)
    answer = client.send("create", target.collection, target.obj)
    if not answer.ok:
        raise refused(answer, cleaned(message_of(answer)))
    return joined_output(f"{target.deleted()}\n{target.printed('replaced')}")


def _until_gone(client: Client, target: Target, wait: Callable[[float], None]) -> None:
    start = client.cluster.now()
    for _ in range(_PATIENCE):
        current = client.send("get", target.path)
        if not current.ok:
            if reason_of(current) == "NotFound":
                return
            raise refused(current)
        wait(1)
        if client.cluster.now() == start:
            break  # nobody lets time pass here: it would never go
    raise Refused(TIMED_OUT)
