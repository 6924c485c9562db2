"""`kubectl apply` as Argo CD runs it, on the client's side. Mirrors kubectl `apply`, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.argocd.sync.kubectl.client import Client, delete_options, message_of, reason_of, refused
from whysync.argocd.sync.kubectl.output import (
    add_source_to_err,
    being_deleted,
    clean_kubectl_output,
    join_kubectl_output,
    no_last_applied,
)
from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.apiserver.protocol import Answer
from whysync.kubernetes.kubectl.client_side_apply import patch_for, patch_verb, with_annotation
from whysync.kubernetes.merge.last_applied import last_applied_text
from whysync.kubernetes.merge.merge_patch import without_nulls
from whysync.kubernetes.merge.strategic import BadPatch

_RETRIES: Final = 5
TIMED_OUT: Final = "context deadline exceeded"


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """One run of `kubectl apply`."""

    client: Client
    mode: Mode

    def run(self, target: Target, before: str = "") -> str:
        """The output, which is appended to `before`, the output of `kubectl auth reconcile`."""
        if not target.ref.name:
            prefix = text(dig(target.obj, "metadata", "generateName"))
            if prefix:
                raise Refused(f"from {prefix}: cannot use generate name with apply")
        modified = with_annotation(target.obj)
        live = self._live(target)
        if live is None:
            self._create(target, modified)
            return join_kubectl_output(before + target.printed("created", dry_run=self.mode.dry_run))
        warnings = no_last_applied(target, live)
        changed, after = self._patched(target, modified, live)
        operation = "configured" if changed else "unchanged"
        warnings += being_deleted(after)
        return join_kubectl_output(before + target.printed(operation, dry_run=self.mode.dry_run), warnings)

    def _live(self, target: Target) -> Object | None:
        response = None if target.path_problem else self.client.send("get", target.path)
        if response is not None and response.ok:
            return response.body or {}
        if response is not None and reason_of(response) == "NotFound":
            return None
        action = f"retrieving current configuration of:\n{target.described}\nfrom server for:"
        error = target.path_problem if response is None else message_of(response)
        raise Refused(clean_kubectl_output(add_source_to_err(action, target.file, error)))

    def _create(self, target: Target, modified: Object) -> None:
        if self.mode.dry_run:
            return
        response = self._post(target, fields(without_nulls(modified)))
        if not response.ok:
            raise refused(
                response,
                clean_kubectl_output(add_source_to_err("creating", target.file, message_of(response))),
            )

    def _post(self, target: Target, obj: Object) -> Answer:
        return self.client.send("create", target.collection, obj, manager=self.mode.manager)

    def _patched(self, target: Target, modified: Object, live: Object) -> tuple[bool, Object]:
        """Whether the patch is not empty, and the object afterwards."""
        patch = self._patch(target, modified, live)
        if not patch or self.mode.dry_run:
            return bool(patch), live
        response = self._send(target, patch)
        for _ in range(_RETRIES):
            if response.ok or reason_of(response) != "Conflict":
                break
            current = self.client.send("get", target.path)
            if not current.ok:
                raise refused(current)
            live = current.body or {}
            patch = self._patch(target, modified, live)
            if not patch:
                return False, live
            response = self._send(target, patch)
        if response.ok:
            return True, response.body or {}
        if self.mode.force and reason_of(response) in ("Conflict", "Invalid"):
            return True, self._recreated(target, modified, live)
        raise refused(
            response, clean_kubectl_output(add_source_to_err("patching", target.file, message_of(response)))
        )

    def _send(self, target: Target, patch: Object) -> Answer:
        return self.client.send(patch_verb(target.obj), target.path, patch, manager=self.mode.manager)

    def _patch(self, target: Target, modified: Object, live: Object) -> Object:
        try:
            return patch_for(modified, live)
        except BadPatch as problem:
            detail = (
                f"creating patch with:\noriginal:\n{last_applied_text(live) or ''}\n"
                f"modified:\n{_json(modified)}\ncurrent:\n{_json(live)}\nfor: {problem}"
            )
            # Only outside a dry run kubectl adds the prefix "error when patching".
            raise Refused(
                clean_kubectl_output(
                    detail if self.mode.dry_run else add_source_to_err("patching", target.file, detail)
                )
            ) from problem

    def _recreated(self, target: Target, modified: Object, live: Object) -> Object:
        """`--force`: deletes and recreates the object, and restores the old one if that fails.

        kubectl checks only once whether the object is gone, and does not wait.
        """
        response = self.client.send("delete", target.path, delete_options("Background"))
        if not response.ok:
            raise refused(response)
        remaining = self.client.send("get", target.path)
        if remaining.ok:
            raise Refused(TIMED_OUT)
        if reason_of(remaining) != "NotFound":
            raise refused(remaining)
        created = self._post(target, modified)
        if created.ok:
            return created.body or {}
        restored = self._post(target, _without_version(live))
        if restored.ok:
            raise refused(created, clean_kubectl_output(message_of(created)))
        raise Refused(
            clean_kubectl_output(
                "An error occurred force-replacing the existing object with the newly provided one:\n\n"
                f"{message_of(created)}.\n\nAdditionally, an error occurred attempting to restore "
                f"the original object:\n\n{message_of(restored)}"
            )
        )


def _json(obj: Object) -> str:
    return msgspec.json.encode(obj, order="sorted").decode() + "\n"


def _without_version(live: Object) -> Object:
    """Without resourceVersion, which a create request must not have."""
    meta: Object = {
        key: value for key, value in fields(live.get("metadata")).items() if key != "resourceVersion"
    }
    return {**live, "metadata": meta}
