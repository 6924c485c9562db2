"""Commits of all sorts: what a plan says of each resource is what then happens to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from suites.cluster.planning.commit_runner import Commit, CommitRunner
from suites.cluster.planning.commits import ABSENT, SERVED, chunks, commits
from suites.cluster.planning.judging import Score, words
from suites.cluster.planning.pieces import PIECES, Piece
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, dig, fields, items, text
from whysync.plan.plan import PlannedCluster

_EXAMPLES = {PlannedCluster.EMPTY: 40, PlannedCluster.BASE: 35, PlannedCluster.LIVE: 35}
_SEED = 1
_PATCH = 'error when patching "<file>": '
"""What kubectl adds to the message of the server; a plan leaves it out."""
"""Fixed, because `derandomize` derives it from the source of the test: a rename would draw other commits."""
_CHUNKS = [*chunks(SERVED, 5), *chunks(ABSENT, 1)]


@pytest.mark.parametrize("pieces", _CHUNKS, ids=[",".join(item.id for item in some) for some in _CHUNKS])
def test_every_mistake(
    pieces: tuple[Piece, ...], runner: CommitRunner, names: Iterator[str], score: Score
) -> None:
    namespace = next(names)
    result = [(piece, *piece.objects(number, namespace)) for number, piece in enumerate(pieces)]
    base: list[Object] = [before for _, before, _ in result if before is not None]
    commit = Commit(namespace=namespace, head=[after for _, _, after in result], base=base or None)
    unknown = judge(commit, runner, score, f"pieces/{pieces[0].id}")
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("cluster", _EXAMPLES)
def test_mixed_commits(
    cluster: PlannedCluster, runner: CommitRunner, names: Iterator[str], score: Score
) -> None:
    @seed(_SEED)
    @settings(
        max_examples=_EXAMPLES[cluster],
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        commit = data.draw(commits(cluster, next(names)))
        unknown = judge(
            commit, runner, score, f"generated/{cluster.value}", live=cluster is PlannedCluster.LIVE
        )
        assert not unknown, "\n".join(unknown)

    run()


def test_the_command_line_says_the_same(runner: CommitRunner, names: Iterator[str]) -> None:
    namespace = next(names)
    expected = ("selector-changed", "ports-duplicate", "config")
    result = [piece.objects(number, namespace) for number, piece in enumerate(PIECES) if piece.id in expected]
    base: list[Object] = [before for before, _ in result if before is not None]
    commit = Commit(namespace=namespace, head=[after for _, after in result], base=base)
    real = runner.done(commit)
    code, document = runner.revision(commit)
    assert code == 1
    (app,) = items(dig(document, "plan", "apps"))
    run = next(fields(run) for run in items(dig(app, "runs")) if dig(run, "cluster") == "base")
    failed = {
        (text(dig(item, "ref", "kind")), text(dig(item, "ref", "name"))): text(dig(item, "note"))
        for step in items(run.get("steps"))
        for item in items(dig(step, "items"))
        if dig(item, "state") == "failed"
    }
    refused = {(ref.kind, ref.name): words(why).removeprefix(_PATCH) for ref, why in real.refused.items()}
    assert refused == {key: words(note) for key, note in failed.items()}
    assert len(failed) == 2


def judge(commit: Commit, runner: CommitRunner, score: Score, at: str, *, live: bool = False) -> list[str]:
    if live:
        facts: list[Snapshot] = []
        runner.granted = []
        real = runner.done(commit, facts=facts)
        return score.add(at, real, runner.planned(commit, live=facts[0]))
    planned = runner.planned(commit)
    return score.add(at, runner.done(commit), planned)
