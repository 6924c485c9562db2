"""Scenarios of the lab on a real Argo CD: same state, same answers from all sources, fixes that hold.

A representative subset; with `--all-scenarios` every scenario that real components can play.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from suites.argocd.answers import SOURCES, Answer, Answers, NoAnswer
from suites.argocd.cleaning import Cleaner
from suites.argocd.figures import Figures, Row
from suites.argocd.fixing import SOURCE, why_fix_fails
from suites.argocd.known import known
from suites.argocd.playable import why_not
from suites.argocd.real_play import Difference, RealPlay
from suites.argocd.shortened import shortened
from tools.real_argocd.running import RealArgoCD
from whysync.lab import library

SUBSET: Final = (
    "admission-denied",
    "deleted-by-hand",
    "ignore-rule-misses",
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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "played" in metafunc.fixturenames:
        everything = bool(metafunc.config.getoption("--all-scenarios"))
        names = library.names() if everything else SUBSET
        metafunc.parametrize("played", names, indirect=True, scope="module")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scenario that has been played and is still running, and what is wrong with it."""

    name: str
    app: str
    play: RealPlay
    differences: list[Difference]
    answers: Answers
    row: Row


@pytest.fixture
def played(
    request: pytest.FixtureRequest,
    argocd: RealArgoCD,
    cleaner: Cleaner,
    figures: Figures,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Played]:
    name = str(request.param)
    scenario = library.built_in(name)
    if reason := why_not(scenario):
        figures.unplayed[name] = reason
        pytest.skip(f"cannot be played: {reason}")
    cleaner.wait_until_deleted(scenario.text)
    start = time.monotonic()
    play = RealPlay(
        argocd,
        shortened(scenario, argocd.version),
        is_known=lambda difference: known(name, str(difference)) is not None,
    )
    folder: Path = tmp_path_factory.mktemp("answers")
    try:
        with play.played() as differences:
            row = figures.row(name)
            row.seconds, row.compared = time.monotonic() - start, play.compared
            yield Played(
                name=name,
                app=play.app,
                play=play,
                differences=differences,
                answers=Answers(play, folder),
                row=row,
            )
    finally:
        argocd.start_controller()
        cleaner.clean()


def test_argocd_reports_what_the_model_reports(played: Played) -> None:
    unknown = [found for found in played.differences if known(played.name, str(found)) is None]
    played.row.different = len(played.differences)
    played.row.known = len(played.differences) - len(unknown)
    assert not unknown, "\n".join(map(str, unknown))


def test_every_source_gives_the_answer_of_the_lab(played: Played) -> None:
    expected = played.answers.of_lab(played.app)

    def difference(source: str) -> str:
        return _difference(played, source, expected)

    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(SOURCES, pool.map(difference, SOURCES), strict=True))
    played.row.sources = len(SOURCES)
    played.row.sources_equal = sum(not problem for problem in found.values())
    problems = [
        problem
        for source, problem in found.items()
        if problem and not known(f"{played.name}/{source}", problem)
    ]
    assert not problems, "\n".join(problems)


def _difference(played: Played, source: str, expected: Answer) -> str:
    try:
        answer = played.answers.of(source, played.app)
    except NoAnswer as problem:
        return f"{source}: {problem}"
    return "" if str(answer) == str(expected) else f"{source}: {answer}; the lab: {expected}"


def test_first_proven_fix_holds_as_printed(played: Played) -> None:
    answer = played.answers.of(SOURCE, played.app)
    if answer.proof != "proven":
        pytest.skip("the first fix is not proven")
    problem = why_fix_fails(played.play, played.answers, played.app, answer)
    played.row.fix = "fails" if problem else "holds"
    assert not problem or known(f"{played.name}/fix", problem), f"{answer.fix_title}: {problem}"
