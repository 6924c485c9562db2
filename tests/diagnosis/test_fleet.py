"""A fleet is diagnosed by several processes with the result of one, and Ctrl-C keeps what is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.diagnose import write
from whysync import app
from whysync.cli.exits import Exit, exit_of
from whysync.diagnosis import fleet
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Report
from whysync.facts.bundle import reader
from whysync.facts.snapshot import Gap, GapKind
from whysync.processes.forked import forked
from whysync.reports import diagnose_json, list_view
from whysync.reports.json_yaml import as_json
from whysync.reports.terminal import Terminal

APPS = 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, APPS)
    monkeypatch.setattr(fleet, "MANY", 10)
    monkeypatch.setattr(fleet, "_FIRST", 3)
    return tmp_path


def cases(folder: Path) -> tuple[Case, ...]:
    return app.cases(app.read(app.FactSource(bundles=(str(folder),))))


def texts(report: Report) -> tuple[str, str]:
    return as_json(diagnose_json.report_v1(report)), as_json(list_view.as_object(report))


@pytest.mark.parametrize("packed_from", [0, reader.PACKED_FROM])
@pytest.mark.parametrize("prove", [False, True])
def test_several_processes_give_the_bytes_of_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, packed_from: int, prove: bool
) -> None:
    monkeypatch.setattr(reader, "PACKED_FROM", packed_from)
    monkeypatch.setattr(fleet, "_cores", lambda: 1)
    one = texts(app.diagnose(cases(folder), prove=prove))
    monkeypatch.setattr(fleet, "_cores", lambda: 3)
    assert texts(app.diagnose(cases(folder), prove=prove)) == one


def test_gaps_of_findings_come_from_other_processes(folder: Path) -> None:
    own = Gap(kind=GapKind.NOT_COLLECTED, what="ResourceQuota", why="something was rejected before")

    def with_gap(case: Case) -> AppReport:
        report = app.diagnose((case,), prove=False).apps[0]
        return replace(report, gaps=(*report.gaps, own))

    reports, _ = fleet.diagnosed(cases(folder), with_gap, processes=2)
    assert all(report.gaps == (*report.case.gaps, own) for report in reports)


def test_the_table_and_the_exit_code_need_no_body(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10,000 apps, one process would decode all objects again and keep them."""
    monkeypatch.setattr(reader, "PACKED_FROM", 0)
    monkeypatch.setattr(fleet, "_cores", lambda: 3)
    chosen = cases(folder)
    report = app.diagnose(chosen, prove=False)
    open_packs = chosen[0].index.snapshot.open_packs
    open_packs.close()
    assert exit_of(report, fail_on="critical") is Exit.FOUND
    assert list_view.render(report, Terminal())
    assert len(open_packs) == 0


def test_the_caller_does_what_a_failed_process_left_out(folder: Path) -> None:
    parent = os.getpid()

    def failing_in_a_child(case: Case) -> AppReport:
        if os.getpid() != parent and case.app.name.endswith("7"):
            raise ValueError("out of memory")
        return app.diagnose((case,), prove=False).apps[0]

    chosen = cases(folder)
    reports, interrupted = fleet.diagnosed(chosen, failing_in_a_child, processes=2)
    assert [report.case for report in reports] == list(chosen)
    assert not interrupted


def test_results_arrive_whatever_their_size() -> None:
    sizes = (0, 1, 70_000, 3_000_000)
    found = dict(forked(lambda at: "x" * sizes[at], range(len(sizes)), 2))
    assert {at: len(text) for at, text in found.items()} == dict(enumerate(sizes))


def interrupted_after(number: int) -> fleet.Diagnose:
    done: list[Case] = []

    def diagnose(case: Case) -> AppReport:
        if len(done) == number:
            raise KeyboardInterrupt
        done.append(case)
        return app.diagnose((case,), prove=False).apps[0]

    return diagnose


def test_ctrl_c_keeps_what_is_known(folder: Path) -> None:
    reports, interrupted = fleet.diagnosed(cases(folder), interrupted_after(4), partial=True, processes=1)
    assert interrupted
    assert len(reports) == 4


@pytest.mark.parametrize(("number", "partial"), [(4, False), (0, True)])
def test_ctrl_c_ends_all_if_nothing_is_known_or_wanted(folder: Path, number: int, *, partial: bool) -> None:
    with pytest.raises(KeyboardInterrupt):
        fleet.diagnosed(cases(folder), interrupted_after(number), partial=partial, processes=1)
