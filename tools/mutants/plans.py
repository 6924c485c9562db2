"""The tests that each module is mutation-tested with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.rules.bench import BUNDLES
from tests.rules.test_rules import test_rule_says_exactly_this_and_its_fix_silences_it as check_golden
from whysync.diagnosis.rule import rules_in

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

# Tests of modules of proofs/, fast ones first, without growth tests and long property tests.
VERDICT = ("test_early_answers.py", "test_verdict.py", "test_lab_proofs.py")
SAFETY = (
    "test_bounded_verdicts.py",
    "test_limits_of_verdicts.py",
    "test_sync_reasons.py",
    "test_sync_outcomes.py",
    "test_effects.py",
    "test_lasting_syncs.py",
    "test_held_commits.py",
    "test_hidden.py",
    "test_early_answers.py",
    "test_safety_of_cases.py",
    "test_next_release.py",
    "test_predicted_failure.py",
    "test_safety.py",
)
SIMULATION = ("test_details.py", "test_other_writers.py", "test_simulated_case.py", "test_pod_behavior.py")
HIDDEN = ("test_hidden_symptoms.py",)
QUICK = ("test_small_verdicts.py", *HIDDEN)
TESTS: dict[str, tuple[str, ...]] = {
    "hidden_symptoms": HIDDEN,
    **dict.fromkeys(("operators", "admission"), ("test_made_and_refused.py",)),
    **dict.fromkeys(("sync_safety", "simulated_safety", "sync_effects", "sync_reasons"), SAFETY),
    "restarts": ("test_restarts.py",),
    **dict.fromkeys(
        ("fix_verifier", "runs", "proof_gaps", "proof_results", "rbac_proof", "refresh_proof"),
        (*QUICK, *VERDICT),
    ),
    **dict.fromkeys(("prove", "apply_fix"), VERDICT),
    "observations": ("test_observations.py", *VERDICT),
    "scope": (
        "test_simulated_objects.py",
        "test_needed_resources.py",
        "test_scope.py",
        "test_hidden.py",
        *SIMULATION,
    ),
    "pod_behavior": ("test_pod_behavior.py",),
    "other_writers": ("test_other_writers.py", *VERDICT),
}
# Modules of queries/ that build fixes for several rules; the goldens of one rule do not cover them.
QUERIES: dict[str, tuple[str, ...]] = {
    "previous_revision": ("test_previous_revision.py", "test_introducing_commit.py"),
    "introducing_commit": ("test_introducing_commit.py",),
    "revert": ("test_revert.py",),
    "misspelt_fields": ("test_misspelt_fields.py",),
    "schema_errors": ("test_schema_errors.py",),
    "last_applied": ("test_schema_errors.py",),
}
UPPER = ("whysync.proofs", "whysync.app", "whysync.lab", "whysync.reports", "whysync.cli", "tests")
SLOW = (
    "test_safety.py::test_the_order_of_the_facts_changes_nothing",
    "test_safety.py::test_nonsense_in_the_facts_never_breaks_a_diagnosis",
    "test_scope.py::test_proofs_grow_with_what_is_tried_not_with_the_app",
    "test_verdict.py::test_readonly_commands_are_never_proven",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    module: str
    path: Path
    reload: tuple[str, ...]
    passes: Callable[[], bool]
    seconds: int


def plans() -> list[Plan]:
    modules = [*SOURCE.glob("whysync/rules/*/*.py"), *SOURCE.glob("whysync/proofs/*.py")]
    modules += [SOURCE / f"whysync/queries/{name}.py" for name in QUERIES]
    return [_plan(path) for path in sorted(modules) if path.name != "__init__.py"]


def _plan(path: Path) -> Plan:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    if path.parent.name in ("proofs", "queries"):
        reload = (
            UPPER if path.parent.name == "proofs" else (module, "whysync.queries.previous_revision", "tests")
        )
        return Plan(module=module, path=path, reload=reload, passes=_tests(path), seconds=60)
    return Plan(module=module, path=path, reload=(module,), passes=_cases(path), seconds=10)


def _cases(path: Path) -> Callable[[], bool]:
    """A rule is tested with its own goldens only: they should cover all of its behavior."""
    folders = [bundle for bundle in BUNDLES if bundle.parts[-3:-1] == (path.parent.name, path.stem)]

    def passes() -> bool:
        rules_in.cache_clear()
        for folder in folders:
            check_golden(folder, Golden(accept=False))
        return bool(folders)

    return passes


def _tests(path: Path) -> Callable[[], bool]:
    folder = ROOT / "tests" / path.parent.name
    tests = QUERIES if path.parent.name == "queries" else TESTS
    files = [str(folder / name) for name in tests.get(path.stem, (*SIMULATION, *VERDICT))]
    without = [f"--deselect=tests/proofs/{name}" for name in SLOW]

    def passes() -> bool:
        os.environ["CI"] = "1"  # the same examples each time
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}"]
        return pytest.main([*quiet, *without, *files]) == pytest.ExitCode.OK

    return passes
