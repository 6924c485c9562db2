"""The progress line: only on a terminal, after a second, with the time left if it can be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.diagnose import write
from tests.cli.running import Whysync
from whysync import app
from whysync.audit.auditing import audit
from whysync.cli import progress
from whysync.deadline import stage, time_left
from whysync.diagnosis import fleet
from whysync.facts.bundle import reader
from whysync.lint.lint import lint


@pytest.mark.parametrize(
    ("done", "total", "seconds", "words"),
    [
        (25, 100, 10.0, ", about 30 s left"),
        (1, 100, 10.0, ", about 16 min left"),
        (99, 100, 1.0, ", about 1 s left"),
        (0, 100, 10.0, ""),
        (50, 0, 10.0, ""),
        (120, 100, 10.0, ""),
    ],
)
def test_the_time_left(done: int, total: int, seconds: float, words: str) -> None:
    assert time_left(done, total, seconds) == words


def test_the_size_of_folders_and_files_is_known_but_not_of_archives(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.json").write_text("x" * 10)
    (tmp_path / "c.yaml").write_text("x" * 5)
    (tmp_path / "d.tar.gz").write_text("x")
    assert progress.size_of([str(tmp_path / "a"), str(tmp_path / "c.yaml")]) == 15
    assert progress.size_of([str(tmp_path / "d.tar.gz")]) == 0
    assert progress.size_of(["-"]) == 0


def test_a_line_is_written_after_a_second_and_cleared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    line = progress.ProgressLine(lambda name, done, left: f"{name} {done}{left}", lambda: 100)
    line("early", 1)
    now[0] = 2.0
    line("shop", 50)
    line.wipe()
    assert capsys.readouterr().err == "\rshop 50, about 2 s left\x1b[K\r\x1b[K"


def test_nothing_is_written_to_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.with_progress(lambda line: line, progress.reading) is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verb", ["list", "diagnose"])
def test_ctrl_c_prints_what_is_known(
    verb: str, whysync: Whysync, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 12)
    monkeypatch.setattr(fleet, "_tell", _interrupt_at(8))
    result = whysync(verb, "--bundle", str(tmp_path))
    assert result.code == 130
    assert "app-00003" in result.out  # changed by hand
    assert "interrupted: 4 apps were not diagnosed" in result.err


def _interrupt_at(number: int) -> object:
    def tell(_: app.Progress | None, done: int) -> None:
        if done == number:
            raise KeyboardInterrupt

    return tell


def test_an_audit_tells_each_app_and_keeps_nothing_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 6)
    monkeypatch.setattr(reader, "PACKED_FROM", 0)
    cases = app.cases(app.read(app.FactSource(bundles=(str(tmp_path),))))
    told: list[tuple[str, int]] = []
    audit(cases, progress=lambda name, done: told.append((name, done)))
    assert told == [(case.qualified_name, number) for number, case in enumerate(cases, start=1)]
    own = [live.packed for case in cases for live in case.index.live_by_namespace[case.app.name]]
    assert own
    assert not any(packed is None or packed.is_open for packed in own)


def test_a_stage_tells_what_is_done_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int]] = []
    now = iter((100.0, 110.0, 130.0))
    monkeypatch.setattr("whysync.deadline.time.monotonic", lambda: next(now))
    done = stage("rendering apps", 40, lambda words, number: told.append((words, number)))
    done(10)
    done(40)
    assert told == [("rendering apps: 10 of 40, about 30 s left", 10), ("rendering apps: 40 of 40", 40)]


def test_lint_tells_its_stages(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {A: x}\n")
    told: list[str] = []
    lint([str(tmp_path)], render=True, progress=lambda words, _: told.append(words.partition(":")[0]))
    assert list(dict.fromkeys(told)) == [
        "reading files",
        "running checks",
        "rendering charts and kustomizations",
    ]
