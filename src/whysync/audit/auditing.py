"""Run all checks of an audit, per app and once for Argo CD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from whysync.audit import health, objects, writers
from whysync.audit.remark import Audit, Remark, Topic
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Severity
from whysync.facts.snapshot import Gap, GapKind
from whysync.fixes.patches import is_usable
from whysync.json_tree import fields

PUSHED = "Received push event"
"""What argocd-server logs for each webhook of a Git host. Argo CD 3.6, `util/webhook`."""
_PER_APP = (
    writers.written_by_others,
    health.without_a_check,
    objects.hooks_without_policies,
    objects.prunable_data,
    objects.ending_soon,
    objects.repositories_that_fail,
)


def audit(cases: Sequence[Case]) -> Audit:
    remarks = [_usable(remark) for case in cases for ask in _PER_APP for remark in ask(case)]
    gaps: list[Gap] = list(cases[0].gaps) if cases else []
    notes: list[Gap] = []
    if cases:
        remarks += _webhooks(cases[0], notes)
        gaps += _unseen(cases)
    order = list(Topic)
    remarks.sort(key=lambda one: (order.index(one.topic), -one.severity.weight, one.app, one.about, one.text))
    return Audit(
        apps=tuple(case.app.qualified_name for case in cases),
        remarks=tuple(remarks),
        gaps=tuple(gaps),
        notes=tuple(notes),
    )


def _usable(remark: Remark) -> Remark:
    if remark.fix is None or is_usable(remark.fix, remark.case):
        return remark
    return replace(remark, fix=None)


def _webhooks(case: Case, notes: list[Gap]) -> Iterator[Remark]:
    """One remark for all apps: whether a Git host sends webhooks."""
    snapshot = case.world.snapshot
    logs = [log for log in snapshot.logs if "argocd-server" in log.pod]
    secret = case.settings("argocd-secret")
    if any(PUSHED in line for log in logs for line in log.lines):
        return
    shared = secret is not None and any(key.startswith("webhook.") for key in fields(secret.body.get("data")))
    if logs:
        said = "the log of argocd-server knows of no push event"
    elif secret is not None and not shared:
        said = "argocd-secret holds no secret of a webhook"
    else:
        if not shared:
            notes.append(
                Gap(
                    kind=GapKind.NOT_COLLECTED,
                    what="whether Git hosts call Argo CD's webhook",
                    why="neither the log of argocd-server nor argocd-secret is among the facts",
                    how_to_get=f"kubectl -n argocd logs deployment/argocd-server | grep '{PUSHED}'",
                )
            )
        return
    yield Remark(
        topic=Topic.WEBHOOK,
        severity=Severity.INFO,
        case=case,
        about=case.application.ref,
        text=f"{said}: a commit is seen only when Argo CD looks by itself, every 2 to 3 minutes",
    )


def _unseen(cases: Sequence[Case]) -> Iterator[Gap]:
    for case in cases:
        lives = [live for row in case.app.status.resources if (live := case.live_of(row.key)) is not None]
        if not lives:
            yield Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"the live objects of {case.app.qualified_name}",
                why="none of them is among the facts: who writes their fields cannot be told",
                how_to_get="whysync collect, or kubectl get -o yaml --show-managed-fields",
            )
        elif not any(live.meta.get("managedFields") for live in lives):
            yield Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"who writes the fields of {case.app.qualified_name}",
                why="the live objects came without managedFields",
                how_to_get="kubectl get -o yaml --show-managed-fields",
            )
