"""The facts that a simulation needs. They are checked before the simulation is imported."""

from __future__ import annotations

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.symptom import SymptomKind
from whysync.facts.snapshot import Gap, GapKind
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.queries.commands import app_argument, with_comment


class NotSimulated(Exception):
    """The facts are not sufficient for a simulation; `gap` is what is missing."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(f"{gap.what}: {gap.why}")
        self.gap = gap


def require_facts(case: Case) -> None:
    """Raises `NotSimulated` if the facts are not sufficient."""
    if not case.desired and not case.source_is_empty:
        raise NotSimulated(
            Gap(
                kind=GapKind.NOT_RENDERED,
                what="the rendered manifests",
                why="the facts have no manifests of this app",
                how_to_get=with_comment(
                    f"argocd app manifests {app_argument(case)} --source git",
                    f"save it below desired/{case.app.name}/",
                ),
            )
        )
    has_live = any(
        row.status == "Synced" or (row.health or case.app.status.health).status != "Missing"
        for row in case.app.status.resources
    )
    if has_live and not case.index.snapshot.live:
        raise NotSimulated(
            Gap(
                kind=GapKind.NOT_COLLECTED,
                what="the live objects",
                why="the facts have no live objects of its cluster",
                how_to_get="whysync collect reads them from the cluster; or save the output of kubectl get"
                " with -o yaml --show-managed-fields below live/",
            )
        )


def needs_simulation(case: Case, finding: Finding) -> bool:
    """Can a fix of the finding be verified only on a simulation?

    Not needed for a denied request, an app that is being deleted, a commit that Argo CD has not seen yet, and
    a notice.
    """
    return not (
        finding.severity is Severity.INFO
        or case.app.metadata.deletion_timestamp is not None
        or explains_only_lag(case, finding)
        or denied_request(case, finding) is not None
    )


def explains_only_lag(case: Case, finding: Finding) -> bool:
    """Does the finding explain only that Argo CD has not seen the newest commit?"""
    kinds = {symptom.id: symptom.kind for symptom in case.symptoms}
    return bool(finding.explains) and all(
        kinds.get(symptom_id) is SymptomKind.BEHIND for symptom_id in finding.explains
    )


def denied_request(case: Case, finding: Finding) -> ArgocdDenied | None:
    """The denied request that the finding explains."""
    explained = set(finding.explains)
    return next(
        (
            failure.failure
            for failure in case.failures(ArgocdDenied)
            if not explained.isdisjoint(failure.symptoms)
        ),
        None,
    )
