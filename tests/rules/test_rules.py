"""Each rule on its own cases: what it says, what it must not say, and that its fix silences it.

A case is a folder below `tests/rules/<side>/<rule>/`: `case.yaml` (or a whole bundle, `case/`) and
`expected.txt`. An empty `expected.txt` is a near miss: something alike, where the rule must stay silent.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import Golden
from tests.rules.bench import (
    BUNDLES,
    case_name,
    findings_of,
    load_case,
    patches,
    rendered,
    rule_for,
    rules_dir,
)
from whysync import __version__
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.rule import AnyRule, diagnosis_rules, registry
from whysync.fixes.case_after_fix import applied

HEADINGS = ("## What happens", "## How whysync knows", "## Fix", "## When it is something else")


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_rule_says_exactly_this_and_its_fix_silences_it(folder: Path, golden: Golden) -> None:
    rule, case = rule_for(folder), load_case(folder)
    findings = findings_of(rule, case)
    golden(folder / "expected.txt", rendered(rule, findings, case))
    known = case.symptom_ids
    for finding in findings:
        assert finding.evidence, "a finding without evidence is an opinion"
        assert finding.explains or finding.severity is Severity.INFO, "only news may explain no symptom"
        assert known.issuperset(finding.explains), "it explains symptoms that are there"
        for fix in patches(finding.fixes):
            # what is already fixed has only to be synced
            after = [other for other in rule.check(applied(fix, case)) if other.already_fixed is None]
            assert not any(
                other.about == finding.about and other.field == finding.field for other in after
            ), f"{fix.title!r} does not silence the rule"


@pytest.mark.parametrize("rule", diagnosis_rules(), ids=lambda rule: rule.id)
def test_rule_has_a_page_a_case_and_a_near_miss(rule: AnyRule) -> None:
    assert rule.docs, "the module docstring is the rule's page"
    assert [heading for heading in HEADINGS if heading not in rule.docs] == []
    folders = [f for f in rules_dir(rule).iterdir() if f.is_dir()] if rules_dir(rule).is_dir() else []
    expected = [(folder / "expected.txt").read_text() for folder in folders]
    assert any(expected), f"{rule.id} has no case that fires"
    assert not all(expected), f"{rule.id} has no near miss"


def test_no_rule_is_newer_than_the_version_in_which_it_ships() -> None:
    version = [int(number) for number in __version__.split(".")[:2]]
    newer = {rule.id: rule.since for rule in registry() if [*map(int, rule.since.split("."))] > version}
    assert newer == {}
