"""The rule runner: runs rules on a Case and orders the findings, root causes first."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import without_repeats
from whysync.diagnosis.evidence_key import evidence_key
from whysync.diagnosis.finding import Confidence, EvidenceKey, Finding, KeyKind, Severity, with_already_fixed
from whysync.diagnosis.report import (
    AppReport,
    Crashed,
    Group,
    ReasonKind,
    Safety,
    Skipped,
    unread_symptoms,
)
from whysync.diagnosis.rule import Fact, Rule, diagnosis_rules
from whysync.diagnosis.symptom import Side, Symptom, SymptomId, SymptomKind
from whysync.messages.benign import reports_progress

log = logging.getLogger(__name__)

Input = TypeVar("Input")

# A failed comparison comes before its possible results.
_ORDER_OF_SIDES = (Side.COMPARE, Side.APPLY, Side.DRIFT, Side.HEALTH, Side.FRESH, Side.NONE)


class RuleRun(NamedTuple):
    findings: list[Finding]
    crashed: list[Crashed]


def run_rules(rules: Iterable[Rule[Input]], facts: Input) -> RuleRun:
    """The findings of the rules. A rule that crashes is reported and does not stop the others."""
    run = RuleRun([], [])
    for rule in rules:
        ids: set[str] = set()
        try:
            run.findings.extend([_completed(rule, finding, ids, facts) for finding in rule.check(facts)])
        except Exception as problem:
            log.debug("rule %s crashed", rule.id, exc_info=True)
            run.crashed.append(Crashed(rule=rule.id, error=f"{type(problem).__name__}: {problem}"))
    return run


def _completed(rule: Rule[Input], finding: Finding, ids: set[str], facts: object) -> Finding:
    if isinstance(facts, Case):
        finding = _with_bounded_confidence(with_already_fixed(finding, facts.application.ref), facts)
    id = f"{rule.id}:{finding.about.key}:{finding.field or ''}".rstrip(":")
    if id in ids:
        id = f"{id}#{len(ids)}"
    ids.add(id)
    signed = msgspec.structs.replace(
        finding,
        id=id,
        rule=rule.id,
        cause=finding.cause or rule.cause,
        side=rule.side,
        evidence=without_repeats(finding.evidence) if finding.evidence else (),
    )
    if isinstance(facts, Case):
        return msgspec.structs.replace(signed, key=evidence_key(signed, facts))
    return signed


def _with_bounded_confidence(finding: Finding, case: Case) -> Finding:
    """Limit the confidence to that of the most certain text that the finding cites."""
    known = case.confidence_of_texts
    cited = [known[place] for one in finding.evidence if (place := (one.ref, one.pointer)) in known]
    most = max((confidence.weight for confidence in cited), default=finding.confidence.weight)
    if finding.confidence.weight <= most:
        return finding
    bound = next(confidence for confidence in Confidence if confidence.weight == most)
    return msgspec.structs.replace(finding, confidence=bound)


def diagnose(case: Case, rules: Iterable[Rule[Case]]) -> AppReport:
    runnable: list[Rule[Case]] = []
    skipped: list[Skipped] = []
    missing = frozenset(fact for fact in Fact if not case.has(fact))
    for rule in sorted(rules, key=lambda rule: (rule.on_absence, rule.last_resort)):
        unmet = rule.needs & missing
        if unmet:
            skipped.append(Skipped(rule=rule.id, needs=tuple(sorted(fact.value for fact in unmet))))
        else:
            runnable.append(rule)
    found, crashed = run_rules(
        (rule for rule in runnable if not rule.last_resort and not rule.on_absence), case
    )
    for rule in runnable:
        if rule.last_resort or rule.on_absence:
            more = run_rules((rule,), case)
            crashed += more.crashed
            if not more.findings:
                continue
            explained = explained_by(map(_without_consequences, found), case.symptoms)
            open_symptoms = _open_symptoms(found, case.symptoms, explained) if rule.on_absence else []
            found += [
                finding
                for finding in more.findings
                if not (rule.last_resort and explained.issuperset(finding.explains))
                and not any(_is_about_the_same(symptom, finding, case) for symptom in open_symptoms)
            ]
    findings = in_order(linked([_weighed(finding, case) for finding in found]))
    explained = explained_by(findings, case.symptoms)
    return AppReport(
        case=case,
        side=_side(findings, case.symptoms),
        findings=findings,
        unexplained=tuple(symptom for symptom in case.symptoms if symptom.id not in explained),
        safety=Safety.unknown(ReasonKind.NOT_TRIED, "it was not simulated"),
        gaps=tuple(dict.fromkeys((*case.gaps, *(gap for finding in findings for gap in finding.gaps)))),
        skipped=tuple(skipped),
        crashed=tuple(crashed),
        unread=unread_symptoms(case.symptoms),
    )


def _weighed(finding: Finding, case: Case) -> Finding:
    """Lowers the weight of an error that only a container's log reports while the app is Healthy.

    The line may be old, and a controller may do without what it was refused.
    """
    if case.app.status.health.status != "Healthy":
        return finding
    symptoms = [case.symptoms_by_id[id] for id in finding.explains if id in case.symptoms_by_id]
    only_logged = bool(symptoms) and all(
        symptom.kind is SymptomKind.LOG and symptom.ref is not None for symptom in symptoms
    )
    if not only_logged:
        return finding
    return msgspec.structs.replace(
        finding,
        severity=min(finding.severity, Severity.WARNING, key=lambda severity: severity.weight),
        confidence=Confidence.MEDIUM if finding.confidence is Confidence.HIGH else finding.confidence,
    )


def _without_consequences(finding: Finding) -> Finding:
    """Without the errors whose cause another finding has to name: a cached error repeats another one.

    A difference stays explained: whoever writes a field back in a loop, nobody else is to be guessed.
    """
    own = tuple(id for id in finding.explains if id not in finding.because or id.kind is SymptomKind.DIFFERS)
    return finding if own == finding.explains else msgspec.structs.replace(finding, explains=own)


def _open_symptoms(
    findings: list[Finding], symptoms: tuple[Symptom, ...], explained: frozenset[SymptomId]
) -> list[Symptom]:
    """Symptoms that may have the true cause, while a rule infers from missing information.

    These are unrecognized texts that no finding explains directly, and differing fields without a known
    cause.
    """
    directly = {id for finding in findings for id in finding.explains}
    return [
        symptom
        for symptom in symptoms
        if (symptom.unread and symptom.id not in directly)
        or (_is_field(symptom.id) and symptom.id not in explained)
    ]


def _is_about_the_same(symptom: Symptom, finding: Finding, case: Case) -> bool:
    """Is the symptom about the finding's object, an object whose symptoms it explains, or one owned by these?

    A finding about single fields does not cover other fields. A resource that is starting may report its
    progress in any words.
    """
    if symptom.kind is SymptomKind.DIFFERS and any(_is_field(id) for id in finding.explains):
        return False
    if symptom.kind is SymptomKind.UNHEALTHY and (not symptom.raw or reports_progress(symptom.raw)):
        return False
    if symptom.ref is None:
        return finding.about == case.application.ref or symptom.id in finding.explains
    objects = {finding.about.key, *(id.key for id in finding.explains if id.key is not None)}
    return symptom.ref.key in objects or any(id.key in objects for id in symptom.because)


def _is_field(id: SymptomId) -> bool:
    return id.kind is SymptomKind.DIFFERS and bool(id.detail)


def linked(findings: list[Finding]) -> list[Finding]:
    """Set `caused_by` to the findings that explain the symptoms in `because`; INFO findings cause no
    others."""
    by_symptom: dict[str, list[Finding]] = {}
    for finding in findings:
        for symptom in finding.explains:
            by_symptom.setdefault(symptom, []).append(finding)
    out: list[Finding] = []
    for finding in findings:
        is_problem = finding.severity is not Severity.INFO
        explaining = (cause for symptom in finding.because for cause in by_symptom.get(symptom, ()))
        causes = sorted(
            {cause.id for cause in explaining if not (is_problem and cause.severity is Severity.INFO)}
            - {finding.id}
        )
        out.append(msgspec.structs.replace(finding, caused_by=tuple(causes)))
    return out


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """The most likely root cause comes first."""

    def rank(finding: Finding) -> tuple[object, ...]:
        return (
            bool(finding.caused_by),
            finding.severity is Severity.INFO,  # never before a problem
            -finding.severity.weight,
            _ORDER_OF_SIDES.index(finding.side),
            -finding.confidence.weight,
            -len(finding.explains),
            finding.cause,
            finding.id,
        )

    return tuple(sorted(findings, key=rank))


def explained_by(findings: Iterable[Finding], symptoms: Iterable[Symptom]) -> frozenset[SymptomId]:
    """The symptoms that the findings explain, and those that only repeat explained ones."""
    explained = {id for finding in findings for id in finding.explains}
    waiting = [symptom for symptom in symptoms if symptom.id not in explained]
    while True:
        repeating = [s for s in waiting if s.id not in explained and not explained.isdisjoint(s.because)]
        if not repeating:
            return frozenset(explained)
        explained.update(symptom.id for symptom in repeating)


def _side(findings: tuple[Finding, ...], symptoms: tuple[Symptom, ...]) -> Side:
    if findings:
        # One cause can affect the comparison or the sync: the explained symptoms decide.
        explained = {symptom.side for symptom in symptoms if symptom.id in findings[0].explains}
        return next((side for side in _ORDER_OF_SIDES[:-1] if side in explained), findings[0].side)
    sides = {symptom.side for symptom in symptoms}
    return next((side for side in _ORDER_OF_SIDES if side in sides), Side.NONE)


class GroupKey(NamedTuple):
    cause: str
    rule: str
    key: EvidenceKey | None


def groups_of(reports: Iterable[AppReport]) -> tuple[Group, ...]:
    """The most likely causes, each with all Applications that it affects; the largest group first."""
    found: dict[GroupKey, list[AppReport]] = {}
    for report in reports:
        if report.first is not None:
            found.setdefault(group_key(report.first), []).append(report)
    groups = [
        Group(
            cause=key.cause,
            rule=key.rule,
            key=key.key,
            apps=tuple(report.case.qualified_name for report in reports_of_group),
            what=_common_verdict([report.first for report in reports_of_group if report.first is not None]),
        )
        for key, reports_of_group in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.apps), group.cause, group.rule, group.what)))


def group_key(finding: Finding) -> GroupKey:
    """Findings with equal keys have one cause."""
    return GroupKey(finding.cause, finding.rule, finding.key)


def _common_verdict(findings: list[Finding]) -> str:
    """The verdict without object names if it is the same for all, else the title of the rule."""
    if len(findings) == 1:
        return findings[0].verdict
    kinds = {finding.about.kind for finding in findings}
    objects = f"each {kinds.pop()}" if len(kinds) == 1 else "objects of several kinds"
    words = {finding.verdict.replace(str(finding.about), objects) for finding in findings}
    if len(words) == 1:
        return words.pop()
    first = findings[0]
    title = next((rule.title for rule in diagnosis_rules() if rule.id == first.rule), first.rule)
    return f"{title}: {first.key.name}" if first.key and first.key.kind is not KeyKind.OBJECT else title
