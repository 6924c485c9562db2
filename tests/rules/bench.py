"""Where rules' cases lie, and how what a rule says is written down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, with_already_fixed
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import AnyRule, Rule, diagnosis_rules
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.bundle import read_bundle
from whysync.fixes.patches import patch_text
from whysync.kubernetes.field_writers import phrase

HERE = Path(__file__).parent
BUNDLES = sorted(path.parent for path in HERE.glob("*/*/*/case*") if path.name in ("case.yaml", "case"))


def case_name(folder: Path) -> str:
    return "/".join(folder.parts[-2:])


def rules_dir(rule: AnyRule) -> Path:
    return HERE / rule.side / rule.id


def rule_for(folder: Path) -> Rule[Case]:
    return next(rule for rule in diagnosis_rules() if rule.id == folder.parent.name)


def load_case(folder: Path) -> Case:
    bundle = folder / "case" if (folder / "case").is_dir() else folder / "case.yaml"
    world = SnapshotIndex(read_bundle([bundle]))
    manifest, app = world.decoded[0]
    return Case(world, manifest, app)


def findings_of(rule: Rule[Case], case: Case) -> tuple[Finding, ...]:
    return tuple(with_already_fixed(finding, case.application.ref) for finding in rule.check(case))


def patches(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """What can be tried on a Case alone.

    Commands, policies and new objects cannot; a recreation changes nothing in it; and what a server-side
    diff would say, only an API server knows.
    """
    return tuple(fix for fix in fixes if fix.edits and not fix.destroys and not _asks_the_server(fix))


def _asks_the_server(fix: Fix) -> bool:
    return any("compare-options" in edit.pointer for edit in fix.edits)


def rendered(rule: AnyRule, findings: tuple[Finding, ...], case: Case) -> str:
    return "\n".join(line for finding in findings for line in _lines(rule, finding, case))


def _lines(rule: AnyRule, finding: Finding, case: Case) -> Iterator[str]:
    yield f"{finding.cause or rule.cause}: {finding.verdict}"
    yield f"  {finding.severity} {finding.confidence} {finding.about} {finding.field or ''}".rstrip()
    if finding.root:
        yield f"  root: {finding.root}"
    if finding.writer:
        yield f"  writer: {phrase(finding.writer)}"
    for symptom in finding.explains:
        yield f"  explains {symptom}"
    for symptom in finding.because:
        yield f"  because {symptom}"
    for e in finding.evidence:
        yield f"  {e.source} {e.ref} {e.pointer} = {json.dumps(e.value, ensure_ascii=False)}: {e.says}"
    for fix in finding.fixes:
        yield f"  fix ({fix.kind}): {fix.title}"
        if fix.risk:
            yield f"    risk: {fix.risk}"
        for loss in fix.destroys:
            yield f"    destroys: {loss}"
        yield from (f"    | {line}".rstrip() for line in patch_text(fix, case).splitlines())
    yield ""
