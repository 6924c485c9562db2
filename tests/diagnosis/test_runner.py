"""The runner: one rule's crash, unmet needs, what follows from what, and which finding comes first."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.situations import application, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.rule import Fact, Rule, Scope, diagnosis_rules, rule
from whysync.diagnosis.runner import diagnose, explained_by, groups_of, in_order, linked
from whysync.diagnosis.symptom import Side, Symptom, SymptomId, SymptomKind
from whysync.json_tree import Json
from whysync.kubernetes.api.ref import Ref

REF = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")


def sick() -> Case:
    return case_of(
        application(
            health="Degraded", status={"resources": [row("Deployment", "web", health={"status": "Degraded"})]}
        )
    )


def named(name: str) -> SymptomId:
    return SymptomId(SymptomKind.RESULT, name=name)


def finding(verdict: str = "so", *, explains: Iterable[str] = (), because: Iterable[str] = ()) -> Finding:
    return Finding(
        about=REF,
        verdict=verdict,
        confidence=Confidence.HIGH,
        explains=tuple(map(named, explains)),
        because=tuple(map(named, because)),
    )


def a_rule(id: str, *findings: Finding, side: Side = Side.HEALTH, needs: Iterable[Fact] = ()) -> Rule[Case]:
    return Rule(
        id=id,
        cause=id,
        group=side,
        scope=Scope.APP,
        needs=frozenset(needs),
        since="0.1",
        check=lambda _: findings,
        docs="Title.",
    )


def crashing(problem: Exception) -> Rule[Case]:
    def check(_: Case) -> Iterator[Finding]:
        yield finding("said before the crash")
        raise problem

    return Rule(
        id="crashing",
        cause="c",
        group=Side.DRIFT,
        scope=Scope.APP,
        needs=frozenset(),
        since="0.1",
        check=check,
        docs="",
    )


@pytest.mark.parametrize("problem", [KeyError("x"), RecursionError("deep"), AssertionError()])
def test_a_rule_that_crashes_is_named_and_the_others_run(problem: Exception) -> None:
    case = sick()
    good = a_rule("good", finding(explains=[case.symptoms[0].id]))
    report = diagnose(case, [crashing(problem), good])
    assert [finding.rule for finding in report.findings] == ["good"]
    (crashed,) = report.crashed
    assert crashed.rule == "crashing"
    assert type(problem).__name__ in crashed.error


def test_a_rule_without_its_facts_is_skipped_and_says_what_it_needs() -> None:
    report = diagnose(sick(), [a_rule("needy", finding(), needs=[Fact.LOGS, Fact.DESIRED])])
    assert report.findings == ()
    assert [(skipped.rule, skipped.needs) for skipped in report.skipped] == [
        ("needy", ("desired objects", "pod logs"))
    ]


def test_what_no_rule_explains_is_never_dropped() -> None:
    case = sick()
    report = diagnose(case, [a_rule("elsewhere", finding(explains=["something:else"]))])
    assert report.unexplained == case.symptoms
    assert diagnose(case, []).side is Side.HEALTH


def test_findings_are_signed_by_their_rule() -> None:
    (first, second) = diagnose(sick(), [a_rule("r", finding("a"), finding("b"))]).findings
    assert (first.rule, first.cause, first.side) == ("r", "r", Side.HEALTH)
    assert first.id == "r:/ConfigMap/shop/settings"
    assert first.id != second.id


def test_because_becomes_caused_by() -> None:
    case = sick()
    symptom = case.symptoms[0].id
    root = a_rule("root", finding(explains=[symptom]))
    stalled = a_rule("stalled", finding(explains=["operation"], because=[symptom]), side=Side.COMPARE)
    first, second = diagnose(case, [stalled, root]).findings
    assert (first.rule, first.caused_by) == ("root", ())
    assert (second.rule, second.caused_by) == ("stalled", (first.id,))


def test_nothing_causes_itself() -> None:
    (only,) = diagnose(sick(), [a_rule("r", finding(explains=["s"], because=["s"]))]).findings
    assert only.caused_by == ()


def test_an_echo_is_explained_with_what_it_echoes() -> None:
    def symptom(id: str, *because: str) -> Symptom:
        return Symptom(id=named(id), text=id, because=tuple(map(named, because)))

    chain = [symptom("c", "b"), symptom("b", "a"), symptom("a"), symptom("alone", "nowhere")]
    assert explained_by([finding(explains=["a"])], chain) == {"a", "b", "c"}
    circle = [symptom("x", "y"), symptom("y", "x")]
    assert explained_by([finding(explains=["a"])], circle) == {"a"}
    assert explained_by([], chain) == frozenset()


def test_the_order_of_findings() -> None:
    """Root causes before consequences, critical before informational, compare errors before drift."""

    def made(name: str, side: Side, severity: Severity, confidence: Confidence, *causes: str) -> Finding:
        return Finding(
            about=REF,
            verdict=name,
            severity=severity,
            confidence=confidence,
            id=name,
            cause=name,
            side=side,
            caused_by=causes,
        )

    expected = [
        made("failed, less sure", Side.APPLY, Severity.CRITICAL, Confidence.MEDIUM),
        made("down", Side.HEALTH, Severity.CRITICAL, Confidence.LOW),
        made("cannot compare", Side.COMPARE, Severity.WARNING, Confidence.LOW),
        made("failed", Side.APPLY, Severity.WARNING, Confidence.HIGH),
        made("differs", Side.DRIFT, Severity.WARNING, Confidence.HIGH),
        made("unhealthy", Side.HEALTH, Severity.WARNING, Confidence.HIGH),
        made("follows", Side.COMPARE, Severity.CRITICAL, Confidence.HIGH, "failed"),
    ]
    for some in itertools.permutations(expected):
        assert in_order(list(some)) == tuple(expected)


def test_news_do_not_hide_trouble() -> None:
    news = Finding(
        about=REF, verdict="syncing", severity=Severity.INFO, confidence=Confidence.HIGH, side=Side.COMPARE
    )
    trouble = Finding(about=REF, verdict="broken", confidence=Confidence.LOW, side=Side.HEALTH)
    assert in_order([news, trouble]) == (trouble, news)


@given(st.permutations(range(4)))
def test_the_order_of_rules_changes_nothing(order: list[int]) -> None:
    case = sick()
    rules = [a_rule(f"r{n}", finding(explains=[case.symptoms[0].id])) for n in range(4)]
    expected = diagnose(case, rules)
    assert diagnose(case, [rules[n] for n in order]) == expected


def test_linked_keeps_every_finding() -> None:
    findings = [finding("a", explains=["x"]), finding("b", because=["x"])]
    assert [linked_finding.verdict for linked_finding in linked(findings)] == ["a", "b"]


def test_groups_are_by_first_cause_the_largest_first() -> None:
    cases = [case_of(application(name)) for name in ("one", "two", "three")]
    reports = [
        diagnose(cases[0], [a_rule("rare", finding())]),
        diagnose(cases[1], [a_rule("usual", finding())]),
        diagnose(cases[2], [a_rule("usual", finding())]),
    ]
    assert [(group.cause, group.apps) for group in groups_of(reports)] == [
        ("usual", ("argocd/two", "argocd/three")),
        ("rare", ("argocd/one",)),
    ]
    assert groups_of([diagnose(cases[0], [])]) == ()


def test_rules_are_found_by_walking_and_know_their_side() -> None:
    rules = diagnosis_rules()
    assert [rule.id for rule in rules] == sorted({rule.id for rule in rules})
    assert {rule.side for rule in rules} <= {Side.COMPARE, Side.DRIFT, Side.APPLY, Side.HEALTH, Side.FRESH}
    assert all(rule.title and not rule.title.endswith(".") for rule in rules)


def test_a_rule_outside_a_side_is_refused() -> None:
    def nowhere(_: Case) -> Iterator[Finding]:
        yield from ()

    with pytest.raises(ValueError, match="rules are in a folder"):
        rule(cause="x", since="0.1")(nowhere)


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ('namespace "shop" for ConfigMap "settings" is not managed', Confidence.HIGH),
        ("namespace shop for ConfigMap settings is not managed", Confidence.MEDIUM),
        ("failed to get server version: the moon is in the wrong phase", Confidence.LOW),
    ],
)
def test_a_finding_is_no_more_certain_than_the_text_it_cites(text: str, confidence: Confidence) -> None:
    conditions: list[Json] = [{"type": "ComparisonError", "message": f"Failed to load live state: {text}"}]
    report = diagnose(
        case_of(application(sync="Unknown", status={"conditions": conditions})), diagnosis_rules()
    )
    assert [finding.confidence for finding in report.findings] == [confidence]
