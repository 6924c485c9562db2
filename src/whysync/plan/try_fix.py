"""Try a fix where the commit failed: the same sync on the same clusters, with the fixed manifest."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from whysync.argocd.repo_server.render.options import Origin
from whysync.argocd.simulation.sources import repositories_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind, Proof, ProofKind, ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.fixes.edit import edited
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.clock import Clock
from whysync.plan.find_applications import is_application
from whysync.plan.plan import PlannedCluster
from whysync.plan.projects import UsedProject
from whysync.plan.simulations import NOON, on_empty, onto
from whysync.proofs.required_facts import NotSimulated

log = logging.getLogger(__name__)
_CLUSTERS = {
    PlannedCluster.EMPTY: "an empty cluster",
    PlannedCluster.BASE: "one with the base",
    PlannedCluster.LIVE: "the cluster as it is now",
}


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to run the sync of one app again with other manifests."""

    application: Object
    head: list[Object]
    """As rendered."""
    known: list[Object]
    """What already runs."""
    unused: list[Object]
    """Objects in files that are not rendered."""
    project: UsedProject
    case: Case | None
    """The base or the live cluster, if there is one."""
    masked_head: list[Object]
    """As rendered; secrets are masked as in `case`."""
    cluster: PlannedCluster
    origins: Mapping[Key, Origin]
    """The file of each object."""

    def passes(self, fix: Fix) -> tuple[PlannedCluster, ...] | None:
        """Clusters on which the fixed commit passes; `None` if it cannot be tried or fails on any."""
        fixed = _with_fix(self.head, fix)
        if fixed is None or any(is_application(obj) for obj in fixed):
            return None
        clock = Clock(NOON)
        repositories = repositories_of(self.application, fixed, clock)
        run = on_empty(
            self.application,
            fixed,
            repositories,
            known=self.known,
            unused=self.unused,
            project=self.project,
            keep=False,
        )
        if not run.passed:
            return None
        fixed_on_cluster = _with_fix(self.masked_head, fix)
        if self.case is None or fixed_on_cluster is None:
            return (PlannedCluster.EMPTY,)
        try:
            return (
                (PlannedCluster.EMPTY, self.cluster)
                if onto(self.case, fixed_on_cluster, self.cluster, keep=False)[0].passed
                else None
            )
        except NotSimulated:
            return (PlannedCluster.EMPTY,)


def with_trials(report: AppReport, trial: Trial | None) -> AppReport:
    """The report with the first manifest edit of each finding proven if it passes on all clusters."""
    if trial is None:
        return report
    return replace(
        report,
        findings=tuple(
            replace(
                finding,
                fixes=tuple(_tried(fix, trial, first=not number) for number, fix in enumerate(finding.fixes)),
            )
            for finding in report.findings
        ),
    )


def _tried(fix: Fix, trial: Trial, *, first: bool) -> Fix:
    if not first or fix.kind is not FixKind.MANIFEST or not fix.edits:
        return fix
    try:
        passed = trial.passes(fix)
    except Exception:  # a plan without this proof is better than none
        log.debug("the trial of %s failed", fix.title, exc_info=True)
        return fix
    if passed is None:
        return fix
    clusters_text = " and ".join(f"on {_CLUSTERS[cluster]}" for cluster in passed)
    why = f"with it the sync passes {clusters_text}"
    return replace(
        fix, proof=Proof(status=ProofStatus.PROVEN, kind=ProofKind.HOLDS, rounds=len(passed), why=why)
    )


def _with_fix(objects: list[Object], fix: Fix) -> list[Object] | None:
    target = fix.target
    if target is None:
        return None
    names = [(text(obj.get("kind")), text(dig(obj, "metadata", "name"))) for obj in objects]
    if names.count((target.kind, target.name)) != 1:
        return None
    return [
        edited(obj, fix.edits) if name == (target.kind, target.name) else obj
        for obj, name in zip(objects, names, strict=True)
    ]
