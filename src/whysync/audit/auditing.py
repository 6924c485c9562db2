"""Run the rules of an audit, per app and once for all apps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from msgspec.structs import replace

from whysync.audit.result import Audit, AuditFinding
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import Crashed
from whysync.diagnosis.rule import MANIFESTS, PREVENTION, AnyRule, Rule, Scope, Topic, rules_in
from whysync.diagnosis.runner import RuleRun, run_rules
from whysync.facts.snapshot import Gap, GapKind
from whysync.fixes.patches import is_usable
from whysync.queries.argocd_components import PUSH_EVENT, WebhookUse, webhook_use


def audit_rules() -> dict[str, AnyRule]:
    """The rules that running apps can feed, by id."""
    return {rule.id: rule for rule in rules_in(PREVENTION, MANIFESTS) if rule.topic is not None}


def audit(cases: Sequence[Case], *, progress: Callable[[str, int], None] | None = None) -> Audit:
    rules = audit_rules()
    fleet_rules = [rule for rule in rules.values() if rule.scope is Scope.FLEET]
    app_rules = [rule for rule in rules.values() if rule.scope is not Scope.FLEET]
    runs: list[tuple[Case, RuleRun]] = []
    missing: list[Gap] = []
    for case in cases:
        runs.append((case, run_rules(cast("list[Rule[Case]]", app_rules), case)))
        missing += _missing_facts(case)
        if case.index.close() and not runs[-1][1].findings:  # of a large bundle, nothing stays decoded
            case.forget()
        if progress is not None:
            progress(case.qualified_name, len(runs))
    if cases:
        runs.append((cases[0], run_rules(cast("list[Rule[Sequence[Case]]]", fleet_rules), cases)))
    findings = [
        AuditFinding(topic=topic, case=case, finding=_usable(finding, case))
        for case, run in runs
        for finding in run.findings
        if (topic := rules[finding.rule].topic) is not None
    ]
    order = list(Topic)
    findings.sort(key=lambda finding: (order.index(finding.topic), *_rank(finding)))
    gaps = [*cases[0].gaps, *missing, *_crashed(runs)] if cases else []
    return Audit(
        apps=tuple(case.qualified_name for case in cases),
        findings=tuple(findings),
        gaps=tuple(gaps),
        notes=tuple(_notes(cases)),
    )


def _rank(audit_finding: AuditFinding) -> tuple[object, ...]:
    finding = audit_finding.finding
    return -finding.severity.weight, audit_finding.app, finding.about, finding.verdict


def _usable(finding: Finding, case: Case) -> Finding:
    """Without fixes that cannot be applied: masked values, no change, or an object without a name."""
    fixes = tuple(
        fix for fix in finding.fixes if is_usable(fix, case) and (fix.target is None or fix.target.name)
    )
    return replace(finding, fixes=fixes)


def _crashed(runs: Sequence[tuple[Case, RuleRun]]) -> Iterator[Gap]:
    for case, run in runs:
        yield from (_crash(case, crashed) for crashed in run.crashed)


def _crash(case: Case, crashed: Crashed) -> Gap:
    return Gap(
        kind=GapKind.FAILED,
        what=f"{crashed.rule} of {case.qualified_name}",
        why=f"the rule crashed: {crashed.error}",
    )


def _notes(cases: Sequence[Case]) -> Iterator[Gap]:
    if cases and webhook_use(cases[0]) is WebhookUse.UNKNOWN:
        yield Gap(
            kind=GapKind.NOT_COLLECTED,
            what="whether Git hosts call Argo CD's webhook",
            why="neither the log of argocd-server nor argocd-secret is available",
            how_to_get=f"kubectl -n argocd logs deployment/argocd-server | grep '{PUSH_EVENT}'",
        )


def _missing_facts(case: Case) -> Iterator[Gap]:
    lives = [live for row in case.app.status.resources if (live := case.live_of(row.key)) is not None]
    if not lives:
        yield Gap(
            kind=GapKind.NOT_COLLECTED,
            what=f"the live objects of {case.qualified_name}",
            why="none of them is available, so the writers of their fields are unknown",
            how_to_get="whysync collect, or kubectl get -o yaml --show-managed-fields",
        )
    elif not any(live.meta.get("managedFields") for live in lives):
        yield Gap(
            kind=GapKind.NOT_COLLECTED,
            what=f"the writers of fields of {case.qualified_name}",
            why="the live objects have no managedFields",
            how_to_get="kubectl get -o yaml --show-managed-fields",
        )
