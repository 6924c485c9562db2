"""Which tests a module has to answer to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.rules.bench import BUNDLES
from tests.rules.test_rules import test_rule_says_exactly_this_and_its_fix_silences_it as says_exactly_this
from whysync.diagnosis.rule import rules_in

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

# What a proof is tested by, quick ones first; without the tests of speed and the long properties.
JUDGING = ("test_early_answers.py", "test_verdict.py", "test_lab_proofs.py")
SAFETY = (
    "test_effects.py",
    "test_lasting_syncs.py",
    "test_early_answers.py",
    "test_safety_of_cases.py",
    "test_safety.py",
)
GROUND = ("test_details.py", "test_other_writers.py", "test_simulated_case.py", "test_pod_behavior.py")
HIDDEN = ("test_hidden_symptoms.py",)
QUICK = ("test_small_verdicts.py", *HIDDEN)
TESTS: dict[str, tuple[str, ...]] = {
    "hidden_symptoms": HIDDEN,
    **dict.fromkeys(("operators", "admission"), ("test_made_and_refused.py",)),
    **dict.fromkeys(("safety", "sync_effects", "sync_reasons"), SAFETY),
    **dict.fromkeys(
        ("verdict", "runs", "proof_gaps", "proof_results", "rbac_proof", "refresh_proof"), (*QUICK, *JUDGING)
    ),
    **dict.fromkeys(("prove", "try_sync", "apply_fix"), JUDGING),
    "observations": ("test_observations.py", *JUDGING),
    "scope": ("test_needed_resources.py", "test_scope.py", *GROUND, *JUDGING),
    "pod_behavior": ("test_pod_behavior.py",),
    "other_writers": ("test_other_writers.py", *JUDGING),
}
# Of queries, what several rules propose fixes by: the goldens of one rule do not say all that these do.
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
    "test_verdict.py::test_commands_that_only_look_are_never_proven",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    module: str
    path: Path
    forget: tuple[str, ...]
    passes: Callable[[], bool]
    seconds: int


def plans() -> list[Plan]:
    modules = [*SOURCE.glob("whysync/rules/*/*.py"), *SOURCE.glob("whysync/proofs/*.py")]
    modules += [SOURCE / f"whysync/queries/{name}.py" for name in QUERIES]
    return [_plan(path) for path in sorted(modules) if path.name != "__init__.py"]


def _plan(path: Path) -> Plan:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    if path.parent.name in ("proofs", "queries"):
        knows = (
            UPPER if path.parent.name == "proofs" else (module, "whysync.queries.previous_revision", "tests")
        )
        return Plan(module=module, path=path, forget=knows, passes=_tests(path), seconds=60)
    return Plan(module=module, path=path, forget=(module,), passes=_cases(path), seconds=10)


def _cases(path: Path) -> Callable[[], bool]:
    """A rule answers to its own goldens alone: they are to say all that it does."""
    folders = [one for one in BUNDLES if one.parts[-3:-1] == (path.parent.name, path.stem)]

    def passes() -> bool:
        rules_in.cache_clear()
        for folder in folders:
            says_exactly_this(folder, Golden(accept=False))
        return bool(folders)

    return passes


def _tests(path: Path) -> Callable[[], bool]:
    home = ROOT / "tests" / path.parent.name
    known = QUERIES if path.parent.name == "queries" else TESTS
    files = [str(home / name) for name in known.get(path.stem, (*GROUND, *JUDGING))]
    without = [f"--deselect=tests/proofs/{name}" for name in SLOW]

    def passes() -> bool:
        os.environ["CI"] = "1"  # the same examples each time
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}"]
        return pytest.main([*quiet, *without, *files]) == pytest.ExitCode.OK

    return passes
