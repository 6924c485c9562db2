"""Scenarios of the lab on a real Argo CD: same state, same answers from all sources, fixes that hold.

A representative subset; with `--all-scenarios` every scenario that real components can play.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pytest

from suites.argocd.answers import SOURCES, Answer, Answers, NoAnswer
from suites.argocd.cleaning import Cleaner
from suites.argocd.figures import PROPERTY
from suites.argocd.fixing import SOURCE, why_fix_fails
from suites.argocd.known import known, unexplained
from suites.argocd.planning import Prediction, ends_with_push, prediction, why_wrong
from suites.argocd.playable import playable
from suites.argocd.real_play import Difference, RealPlay
from suites.argocd.shortened import shortened
from tools.real_argocd.running import RealArgoCD
from whysync.diagnosis.fix import ProofStatus
from whysync.lab import library

SUBSET: Final = (
    "admission-denied",
    "deleted-by-hand",
    "duplicate-resource",
    "hook-leftover",
    "ignore-rule-misses",
    "image-missing",
    "immutable-selector",
    "last-applied-only",
    "misspelt-field",
    "namespace-missing",
    "pending-prune",
    "project-denied",
    "quota",
    "scaled-by-hand",
    "wrong-type",
)

_TRIES: Final = 4
_MOMENT_SECONDS: Final = 20.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "played" in metafunc.fixturenames:
        everything = bool(metafunc.config.getoption("--all-scenarios"))
        names = playable() if everything else SUBSET
        if metafunc.function is test_plan_predicts_what_the_last_push_does:
            names = [name for name in names if ends_with_push(library.built_in(name))]
        metafunc.parametrize("played", names, indirect=True, scope="module")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scenario that has been played and is still running, and what is wrong with it."""

    name: str
    app: str
    play: RealPlay
    differences: list[Difference]
    answers: Answers
    seconds: float
    predicted: Prediction | None
    """For a scenario that ends with a push."""

    @property
    def version(self) -> str:
        return self.play.argocd.version


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest,
    argocd: RealArgoCD,
    cleaner: Cleaner,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Played]:
    name = str(request.param)
    cleaner.wait_until_deleted(library.built_in(name).text)
    start = time.monotonic()
    play = RealPlay(
        argocd,
        shortened(library.built_in(name), argocd.version),
        is_known=lambda difference: known(name, str(difference), argocd.version) is not None,
    )
    answers = Answers(play, tmp_path_factory.mktemp("answers"))
    predicted: list[Prediction | None] = []
    if ends_with_push(play.scenario):
        play.before_last_push = lambda checkout: predicted.append(prediction(answers, play.app, checkout))
    try:
        with play.played() as differences:
            yield Played(
                name=name,
                app=play.app,
                play=play,
                differences=differences,
                answers=answers,
                seconds=time.monotonic() - start,
                predicted=next(iter(predicted), None),
            )
    finally:
        argocd.start_controller()
        cleaner.clean()


Record = Callable[..., None]


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """A function that adds to the row of the scenario in the table."""

    def add(scenario: str, **part: str | int | float) -> None:
        request.node.user_properties.append((PROPERTY, {"scenario": scenario, **part}))

    return add


def test_argocd_reports_what_the_model_reports(played: Played, record: Record) -> None:
    differences = [str(found) for found in played.differences]
    entries = [known(played.name, found, played.version) for found in differences]
    record(
        played.name,
        seconds=played.seconds,
        compared=played.play.compared,
        different=len(differences),
        known=sum(entry is not None for entry in entries),
        version=sum(entry is not None and bool(entry.before) for entry in entries),
    )
    problems = unexplained(played.name, differences, played.version)
    assert not problems, "\n".join(problems)


def test_plan_predicts_what_the_last_push_does(played: Played, record: Record) -> None:
    problem = "there is no plan for it"
    if played.predicted is not None:
        problem = why_wrong(played.predicted, played.play, played.app)
    record(played.name, plan="wrong" if problem else "right")
    problems = unexplained(f"{played.name}/plan", [problem] if problem else [], played.version)
    assert not problems, "\n".join(problems)


def test_every_source_gives_the_answer_of_the_lab(played: Played, record: Record) -> None:
    expected = played.answers.of_lab(played.app)
    found = _differences(played, SOURCES, expected)
    for _ in range(_TRIES if played.play.scenario.cluster.writers else 0):
        # Argo CD and a writer undo each other: only some moments are like the end of the scenario.
        played.play.wait_until(played.play.is_equal, _MOMENT_SECONDS)
        again = [source for source, difference in found.items() if difference]
        found |= _differences(played, again, expected)
    record(played.name, sources=len(SOURCES), sources_equal=sum(not problem for problem in found.values()))
    problems = [
        problem
        for source, difference in found.items()
        for problem in unexplained(
            f"{played.name}/{source}", [difference] if difference else [], played.version
        )
    ]
    assert not problems, "\n".join(problems)


def _differences(played: Played, sources: Sequence[str], expected: Answer) -> dict[str, str]:
    def difference(source: str) -> str:
        try:
            answer = played.answers.of(source, played.app)
        except NoAnswer as problem:
            return f"{source}: {problem}"
        return "" if str(answer) == str(expected) else f"{source}: {answer}; the lab: {expected}"

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(sources, pool.map(difference, sources), strict=True))


def test_first_proven_fix_holds_as_printed(played: Played, record: Record) -> None:
    expected = played.play.expected_proof or played.answers.of_lab(played.app).proof
    answer = played.answers.of(SOURCE, played.app)
    if answer.proof == ProofStatus.PROVEN:
        problem = why_fix_fails(played.play, played.answers, played.app, answer)
        record(played.name, fix="fails" if problem else "holds")
    else:
        status = f"{answer.proof or 'missing'} ({answer.why}), not proven"
        problem = f"it is {status}" if expected == ProofStatus.PROVEN else ""
        record(played.name, fix="not proven" if problem else "")
    problems = unexplained(
        f"{played.name}/fix", [f"{answer.fix_title}: {problem}"] if problem else [], played.version
    )
    assert not problems, "\n".join(problems)
