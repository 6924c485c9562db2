"""Checks on the objects of an app: hooks without policy or deadline, prunable data, expiring certificates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from whysync.argocd import hooks
from whysync.argocd.hooks.annotations import HELM_HOOK_DELETE_POLICY, HOOK_DELETE_POLICY
from whysync.audit.remark import Remark, Topic
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Fix, Set
from whysync.json_tree import Missing, dig, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.queries.sync_options import with_options

_DEADLINE = "/spec/activeDeadlineSeconds"
_HOLDS = {
    "PersistentVolumeClaim": "the data of its volume",
    "PersistentVolume": "what keeps its volume known",
    "Namespace": "everything in it",
    "CustomResourceDefinition": "all objects of its kind",
}
_KEPT = {"Prune=false", "Prune=confirm", "Delete=false"}
SOON = timedelta(days=21)


def hooks_without_policies(case: Case) -> Iterator[Remark]:
    for manifest in case.desired:
        if not hooks.is_hook(manifest.body) or hooks.is_skipped(manifest.body):
            continue
        if (
            HOOK_DELETE_POLICY not in manifest.annotations
            and HELM_HOOK_DELETE_POLICY not in manifest.annotations
        ):
            yield _without_delete_policy(case, manifest)
        if manifest.ref.kind == "Job" and not _has_deadline(manifest):
            yield Remark(
                topic=Topic.HOOKS,
                severity=Severity.INFO,
                case=case,
                about=manifest.ref,
                text="the hook has no deadline: if it hangs, the sync waits for ever",
                fix=Fix.change(
                    manifest.ref,
                    Set(pointer=_DEADLINE, value=600),
                    title="Give it 10 minutes",
                    risk="a run that needs longer is ended",
                ),
            )


def _without_delete_policy(case: Case, manifest: Manifest) -> Remark:
    piles_up = not manifest.ref.name and bool(manifest.meta.get("generateName"))
    policy = "HookSucceeded" if piles_up else "BeforeHookCreation"
    edit = Set(pointer=join(("metadata", "annotations", HOOK_DELETE_POLICY)), value=policy)
    return Remark(
        topic=Topic.HOOKS,
        severity=Severity.WARNING if piles_up else Severity.INFO,
        case=case,
        about=manifest.ref,
        text="each sync leaves one more run of this hook behind"
        if piles_up
        else "the hook has no delete policy: its last run stays until the next sync",
        fix=Fix.change(manifest.ref, edit, title=f"Say {policy}") if manifest.ref.name else None,
    )


def _has_deadline(manifest: Manifest) -> bool:
    inside = dig(manifest.body, "spec", "template", "spec", "activeDeadlineSeconds")
    return not isinstance(manifest.at(_DEADLINE), Missing) or not isinstance(inside, Missing)


def prunable_data(case: Case) -> Iterator[Remark]:
    if not case.prunes or case.has_sync_option("Prune=false") or case.has_sync_option("Prune=confirm"):
        return
    for row in case.app.status.resources:
        held = _HOLDS.get(row.kind)
        known = case.desired_of(row.key) or case.live_of(row.key)
        if held is None or known is None or _KEPT & set(hooks.options(known.body, hooks.SYNC_OPTIONS)):
            continue
        yield Remark(
            topic=Topic.DATA,
            severity=Severity.WARNING if row.kind.startswith("Persistent") else Severity.INFO,
            case=case,
            about=row.ref,
            text=f"the app prunes it when it leaves Git, and {held} goes too",
            fix=Fix.change(
                known.ref,
                with_options(known, "Prune=false"),
                title=f"Annotate it in Git with {hooks.SYNC_OPTIONS}: Prune=false",
            ),
        )


def ending_soon(case: Case) -> Iterator[Remark]:
    """Certificates of cert-manager that expire soon. Dates inside Secrets are masked and not checked."""
    for row in case.app.status.resources:
        live = case.live_of(row.key) if row.kind == "Certificate" else None
        ends = _instant(text(live.status.get("notAfter"))) if live is not None else None
        if ends is None or ends - case.now > SOON:
            continue
        left = ends - case.now
        over = left <= timedelta()
        yield Remark(
            topic=Topic.EXPIRY,
            severity=Severity.CRITICAL if over else Severity.WARNING,
            case=case,
            about=row.ref,
            text=f"the certificate {'ended' if over else 'ends'} on {ends:%Y-%m-%d}"
            + _renewal(live, case.now),
        )


def _renewal(live: Manifest | None, now: datetime) -> str:
    due = _instant(text(live.status.get("renewalTime"))) if live is not None else None
    return ", and was to be renewed before now" if due is not None and due < now else ""


def repositories_that_fail(case: Case) -> Iterator[Remark]:
    """Repositories of this app to which Argo CD's last connection failed."""
    used = {source.repo_url.rstrip("/").removesuffix(".git") for source in case.app.sources}
    for fact in case.world.snapshot.facts:
        for repo in items(fact.body.get("items")) if fact.name == "repositories" else ():
            url = text(dig(repo, "repo"))
            said = text(dig(repo, "connectionState", "status"))
            if said != "Failed" or url.rstrip("/").removesuffix(".git") not in used:
                continue
            why = text(dig(repo, "connectionState", "message"))
            yield Remark(
                topic=Topic.EXPIRY,
                severity=Severity.WARNING,
                case=case,
                about=case.application.ref,
                text=f"Argo CD's last connection to {url} failed" + (f": {why}" if why else ""),
            )


def _instant(written: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
