"""The result of a plan in a few statements: a cause that several apps share is stated once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import msgspec

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Finding, KeyKind
from whysync.diagnosis.sentences import both_ends
from whysync.facts.snapshot import Gap
from whysync.plan.plan import (
    AppPlan,
    Assumption,
    AssumptionKind,
    Cause,
    Plan,
    PlannedCluster,
    PlannedFix,
    Verdict,
)
from whysync.reports.diagnose_text import headline_of
from whysync.reports.terminal import one_line

CLUSTER_LABELS: dict[PlannedCluster, str] = {
    PlannedCluster.LIVE: "on the cluster as it is now",
    PlannedCluster.BASE: "on a cluster with the base",
    PlannedCluster.EMPTY: "on an empty cluster",
}
_MOST_REASONS = 3
_MOST_NAMES = 8
_MOST_PARTS = 3
_ASSUMED = {
    AssumptionKind.SERVED: "the definitions of {}, whose values are not checked",
    AssumptionKind.OPERATOR: "working operators of {}",
    AssumptionKind.PERMISSIONS: "the permissions of the account that syncs",
    AssumptionKind.PROJECT: "an AppProject {} that permits what is deployed",
}


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for the verdict of one or several apps."""

    verdict: Verdict
    apps: tuple[AppPlan, ...]
    """Empty if it is about something else, such as an ApplicationSet that is not expanded."""
    text: str
    location: FileLocation | None = None
    fix: PlannedFix | None = None

    def sentence(self, *, most: int = _MOST_NAMES) -> str:
        return f"{some([app.title for app in self.apps], most)}: {self.text}" if self.apps else self.text

    def place(self) -> str:
        """`apps/shop/job.yaml:6; fix: Run the hook after the sync (apps/shop/job.yaml:8)`."""
        is_known = self.location is not None and self.verdict is not Verdict.UNKNOWN
        parts = [one_line(str(self.location))] if is_known else []
        if self.fix is not None:
            where = self.fix.location
            is_elsewhere = where is not None and where != self.location
            other = f" ({one_line(str(where))})" if is_elsewhere else ""
            parts.append(f"fix: {one_line(self.fix.fix.title)}{other}")
        return "; ".join(parts)


def statements(plan: Plan) -> list[Statement]:
    """All reasons why the plan does not pass, the worst first."""
    found = [
        *_grouped(_failures(plan)),
        *_grouped(_deletions(plan)),
        *_unknowns(plan),
    ]
    return found + [Statement(verdict=Verdict.UNKNOWN, apps=(), text=text) for text in plan.not_planned]


def verdict_text(app: AppPlan) -> str:
    """The reason of the verdict of one app, in one sentence."""
    if app.verdict is Verdict.PASS:
        return f"{app.title}: it syncs and becomes healthy"
    own = Plan(base="", head="", apps=(app,))
    return "; ".join(statement.sentence() for statement in statements(own)[:_MOST_REASONS])


def some(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    names = list(dict.fromkeys(names))
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def assumption_texts(plan: Plan, *, most: int = _MOST_NAMES) -> list[str]:
    """What the plan takes for granted about the cluster, each once for all apps."""
    assumed = sorted({one for app in plan.apps for run in app.runs for one in run.assumptions})
    objects: dict[str, list[str]] = {}
    for one in assumed:
        if one.kind is AssumptionKind.EXISTS:
            objects.setdefault(one.of, []).append(one.name)
    texts = [f"{kind} {some(names, most)}" for kind, names in objects.items()]
    for kind, template in _ASSUMED.items():
        if named := [one.of for one in assumed if one.kind is kind]:
            texts.append(template.format(some(named, most)))
    return texts


def assumptions_of(app: AppPlan) -> list[Assumption]:
    return sorted({one for run in app.runs for one in run.assumptions})


def _grouped(single: Iterator[tuple[Hashable, Statement]]) -> Iterator[Statement]:
    groups: dict[Hashable, list[Statement]] = {}
    for key, statement in single:
        groups.setdefault(key, []).append(statement)
    for group in groups.values():
        apps = tuple(app for statement in group for app in statement.apps)
        yield msgspec.structs.replace(group[0], apps=apps)


def _failures(plan: Plan) -> Iterator[tuple[Hashable, Statement]]:
    for app in plan.apps:
        if app.verdict is not Verdict.FAIL:
            continue
        run = app.decisive
        assert run is not None  # an app without a run does not fail
        alone = len(app.runs) == 1 and run.cluster is PlannedCluster.EMPTY
        cluster = "" if alone else f" ({CLUSTER_LABELS[run.cluster]})"
        if not app.causes:
            text = f"{one_line(run.message)}{cluster}"
            yield text, Statement(verdict=Verdict.FAIL, apps=(app,), text=text, location=app.location)
            continue
        cause = app.causes[0]
        yield (
            (run.cluster, _shared_key(cause.finding)),
            Statement(
                verdict=Verdict.FAIL,
                apps=(app,),
                text=f"{headline_of(cause.finding)}{cluster}",
                location=cause.finding.location,
                fix=_first_fix(cause),
            ),
        )


def _first_fix(cause: Cause) -> PlannedFix | None:
    return next(iter(cause.fixes), None)


def _shared_key(finding: Finding) -> Hashable:
    """Findings with the same key have one cause: a line that several apps use, or a common object."""
    location = finding.location
    if location is not None and location.line:
        return finding.rule, location.path, location.line, finding.field
    if finding.key is not None and finding.key.kind is not KeyKind.OBJECT:
        return finding.rule, finding.key
    return finding.rule, finding.verdict


def _deletions(plan: Plan) -> Iterator[tuple[Hashable, Statement]]:
    """The reasons of each app; that an Application leaves Git, and what is lost with it, are two."""
    for app in plan.apps:
        if app.verdict is not Verdict.DELETE or app.safety is None:
            continue
        first, *rest = app.safety.reasons
        for reasons in filter(None, ((first,), rest) if app.is_removed else (app.safety.reasons,)):
            text = "; ".join(one_line(reason.text) for reason in reasons[:_MOST_REASONS])
            if len(reasons) > _MOST_REASONS:
                text += f"; and {len(reasons) - _MOST_REASONS} more"
            yield text, Statement(verdict=Verdict.DELETE, apps=(app,), text=text, location=app.location)


def _unknowns(plan: Plan) -> Iterator[Statement]:
    """A statement for each reason why facts are missing, with all that is missing for it."""
    gaps: dict[tuple[str, str, str], dict[str, list[AppPlan]]] = {}
    for app in plan.apps:
        if app.verdict is not Verdict.UNKNOWN:
            continue
        for gap in app.unseen:
            gaps.setdefault((gap.kind, gap.why, gap.how_to_get), {}).setdefault(gap.what, []).append(app)
        if not app.unseen:
            yield Statement(verdict=Verdict.UNKNOWN, apps=(app,), text=_unknown_safety(app))
    for (_, why, how_to_get), missing in gaps.items():
        apps = {app.key: app for users in missing.values() for app in users}
        help = f" ({how_to_get})" if how_to_get else ""
        text = f"{some(missing, _MOST_PARTS)}: {both_ends(why)}{help}"
        location = next(iter(apps.values())).location
        yield Statement(verdict=Verdict.UNKNOWN, apps=tuple(apps.values()), text=text, location=location)


def _unknown_safety(app: AppPlan) -> str:
    reasons = app.safety.reasons if app.safety is not None else ()
    return "; ".join(one_line(reason.text) for reason in reasons[:_MOST_REASONS]) or "not planned"


def gap_text(gap: Gap) -> str:
    help = f" ({gap.how_to_get})" if gap.how_to_get else ""
    return f"{one_line(gap.what)}: {both_ends(gap.why)}{help}"
