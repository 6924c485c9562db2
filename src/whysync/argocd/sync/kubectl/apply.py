"""`kubectl apply` as Argo CD runs it, on the client's side. Mirrors kubectl `apply`, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.argocd.sync.kubectl.client import Client, delete_options, message_of, reason_of, refused
from whysync.argocd.sync.kubectl.output import being_deleted, cleaned, joined_output, no_last_applied, when
from whysync.argocd.sync.kubectl.target import Target
from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.apiserver.protocol import Answer
from whysync.kubernetes.kubectl.client_side_apply import patch_for, patch_verb, with_annotation, without_nulls
from whysync.kubernetes.merge.last_applied import last_applied_text
from whysync.kubernetes.merge.strategic import BadPatch

_RETRIES: Final = 5
_BACK_OFF: Final = 1.0
TIMED_OUT: Final = "context deadline exceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """One run; `wait` lets the time pass that kubectl waits between two tries."""

    client: Client
    mode: Mode
    wait: Callable[[float], None]

    def run(self, target: Target, before: str = "") -> str:
        """`before` is what `kubectl auth reconcile` has printed; the answer goes right behind it."""
        if not target.ref.name:
            prefix = text(dig(target.obj, "metadata", "generateName"))
            if prefix:
                raise Refused(f"from {prefix}: cannot use generate name with apply")
        wanted = with_annotation(target.obj)
        live = self._live(target)
        if live is None:
            self._create(target, wanted)
            return joined_output(before + target.printed("created", dry_run=self.mode.dry_run))
        warned = no_last_applied(target, live)
        changed, after = self._patched(target, wanted, live)
        done = "configured" if changed else "unchanged"
        warned += being_deleted(after)
        return joined_output(before + target.printed(done, dry_run=self.mode.dry_run), warned)

    def _live(self, target: Target) -> Object | None:
        answer = None if target.nowhere else self.client.send("get", target.path)
        if answer is not None and answer.ok:
            return answer.body or {}
        if answer is not None and reason_of(answer) == "NotFound":
            return None
        doing = f"retrieving current configuration of:\n{target.described}\nfrom server for:"
        why = target.nowhere if answer is None else message_of(answer)
        raise Refused(cleaned(when(doing, target.file, why)))

    def _create(self, target: Target, wanted: Object) -> None:
        if self.mode.dry_run:
            return
        answer = self._post(target, without_nulls(wanted))
        if not answer.ok:
            raise refused(answer, cleaned(when("creating", target.file, message_of(answer))))

    def _post(self, target: Target, obj: Object) -> Answer:
        return self.client.send("create", target.collection, obj, manager=self.mode.manager)

    def _patched(self, target: Target, wanted: Object, live: Object) -> tuple[bool, Object]:
        """Was anything to be changed, and the object afterwards."""
        patch = self._patch(target, wanted, live)
        if not patch or self.mode.dry_run:
            return bool(patch), live
        answer = self._send(target, patch)
        for attempt in range(_RETRIES):
            if answer.ok or reason_of(answer) != "Conflict":
                break
            if attempt:
                self.wait(_BACK_OFF)
            current = self.client.send("get", target.path)
            if not current.ok:
                raise refused(current)
            live = current.body or {}
            patch = self._patch(target, wanted, live)
            if not patch:
                return False, live
            answer = self._send(target, patch)
        if answer.ok:
            return True, answer.body or {}
        if self.mode.force and reason_of(answer) in ("Conflict", "Invalid"):
            return True, self._recreated(target, wanted, live)
        raise refused(answer, cleaned(when("patching", target.file, message_of(answer))))

    def _send(self, target: Target, patch: Object) -> Answer:
        return self.client.send(patch_verb(target.obj), target.path, patch, manager=self.mode.manager)

    def _patch(self, target: Target, wanted: Object, live: Object) -> Object:
        try:
            return patch_for(wanted, live)
        except BadPatch as problem:
            detail = (
                f"creating patch with:\noriginal:\n{last_applied_text(live) or ''}\n"
                f"modified:\n{_json(wanted)}\ncurrent:\n{_json(live)}\nfor: {problem}"
            )
            # The dry run tells it as it is, the real one as a patch that could not be sent.
            raise Refused(
                cleaned(detail if self.mode.dry_run else when("patching", target.file, detail))
            ) from problem

    def _recreated(self, target: Target, wanted: Object, live: Object) -> Object:
        """`--force`: delete it, create it anew, and bring the old one back where that fails.

        What surprises: kubectl looks once whether it is gone, and does not wait for it.
        """
        answer = self.client.send("delete", target.path, delete_options("Background"))
        if not answer.ok:
            raise refused(answer)
        rest = self.client.send("get", target.path)
        if rest.ok:
            raise Refused(TIMED_OUT)
        if reason_of(rest) != "NotFound":
            raise refused(rest)
        created = self._post(target, wanted)
        if created.ok:
            return created.body or {}
        restored = self._post(target, _without_version(live))
        if restored.ok:
            raise refused(created, cleaned(message_of(created)))
        raise Refused(
            cleaned(
                "An error occurred force-replacing the existing object with the newly provided one:\n\n"
                f"{message_of(created)}.\n\nAdditionally, an error occurred attempting to restore "
                f"the original object:\n\n{message_of(restored)}"
            )
        )


def _json(obj: Object) -> str:
    return msgspec.json.encode(obj, order="sorted").decode() + "\n"


def _without_version(live: Object) -> Object:
    """kubectl creates nothing under a version: what it read is new again."""
    meta: Object = {
        key: value for key, value in fields(live.get("metadata")).items() if key != "resourceVersion"
    }
    return {**live, "metadata": meta}
