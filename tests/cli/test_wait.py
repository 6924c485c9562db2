"""`whysync wait`: it looks again and again, and says why where it does not come about."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.facts.argocd_api.answers import Answers
from tests.facts.argocd_api.server import TOKEN, ArgoCD
from tests.situations import application, row
from whysync import app
from whysync.cli.parser import parser
from whysync.cli.wait import run
from whysync.facts.bundle import read_bundle
from whysync.json_tree import Json, Object
from whysync.reports.output import Out
from whysync.reports.terminal import Terminal
from whysync.wait.goal import Goal, distance
from whysync.wait.progress import Frames, Lines

HEAD = "b" * 40
OLD = "a" * 40
WEB = row("Deployment", "web", health={"status": "Progressing"})


def state(
    sync: str = "Synced",
    health: str = "Healthy",
    *,
    phase: str = "Succeeded",
    revision: str = HEAD,
    message: str = "",
    results: list[Json] | None = None,
    **status: Json,
) -> Object:
    result: Object = {"revision": revision, "resources": results or []}
    operation: Object = {
        "phase": phase,
        "message": message,
        "startedAt": "2026-03-02T03:00:00Z",
        "operation": {"sync": {"revision": revision}},
        "syncResult": result,
    }
    if phase != "Running":
        operation["finishedAt"] = "2026-03-02T03:05:00Z"
    sync_status: Object = {"status": sync, "revision": revision}
    more: Object = {"sync": sync_status, "operationState": operation, "resources": [WEB], **status}
    return application(sync=sync, health=health, status=more)


class Time:
    """A clock that only `pause` moves; each pause lets the next thing happen."""

    def __init__(self, happens: Sequence[Callable[[], object]] = ()) -> None:
        self.now = 0.0
        self._happens: Iterator[Callable[[], object]] = iter(happens)

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds
        next(self._happens, lambda: None)()


def ran(time: Time, *arguments: str) -> int:
    options = parser(verb="wait").parse_args(["wait", "shop", "--no-proof", *arguments])
    options.terminal = Terminal(width=100)
    return run(options, now=time.clock, pause=time.pause)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "shop.json"


def written(bundle: Path, app: Object) -> Callable[[], object]:
    return lambda: bundle.write_text(json.dumps(app))


def test_a_bundle_that_changes(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    applied: Json = {
        "group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": "web",
        "status": "Synced", "hookPhase": "Running", "syncPhase": "Sync", "message": "deployment configured",
    }  # fmt: skip
    written(bundle, state("OutOfSync", revision=OLD))()
    running = state("OutOfSync", "Progressing", phase="Running", message="waiting for web", results=[applied])
    time = Time([written(bundle, running), lambda: None, written(bundle, state())])
    assert ran(time, "--bundle", str(bundle), "--interval", "5s") == 0
    out = capsys.readouterr().out
    assert time.now == 15
    assert "   0:05  shop   OutOfSync · Progressing   sync Running: waiting for web\n" in out
    assert out.count("Deployment shop/web: Running (deployment configured)") == 1
    assert out.endswith(f"✓ shop: Synced and Healthy at {HEAD[:12]}, after 0:15\n")


def test_the_diagnosis_when_the_time_is_over(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(bundle, state(health="Progressing"))()
    time = Time()
    assert ran(time, "--bundle", str(bundle), "--timeout", "1m") == 1
    out = capsys.readouterr().out
    assert time.now == pytest.approx(60)
    assert "✗ shop: it is Progressing, not Healthy" in out
    assert "within 1:00. Why:" in out
    assert "shop   Synced · Progressing" in out.partition("Why:")[2]


def test_a_failed_sync_is_not_waited_for(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(bundle, state("OutOfSync", phase="Failed", message="one or more objects failed to apply"))()
    time = Time()
    assert ran(time, "--bundle", str(bundle)) == 1
    assert time.now == 0
    assert "the last sync failed" in capsys.readouterr().out


def test_a_failure_of_an_older_commit_is_not_ours(bundle: Path) -> None:
    written(bundle, state("OutOfSync", phase="Failed", revision=OLD))()
    time = Time([written(bundle, state())])
    assert ran(time, "--bundle", str(bundle), "--revision", HEAD[:8]) == 0


def test_a_requested_sync_is_waited_for(bundle: Path) -> None:
    requested: Object = {**state("OutOfSync", phase="Failed"), "operation": {"sync": {}}}
    written(bundle, requested)()
    assert ran(Time([written(bundle, state())]), "--bundle", str(bundle)) == 0


def test_an_older_commit_is_not_enough(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(bundle, state(revision=OLD))()
    assert ran(Time(), "--bundle", str(bundle), "--revision", HEAD, "--timeout", "20s") == 1
    assert f"it is at {OLD[:12]}, not at {HEAD[:12]}" in capsys.readouterr().out


def test_degraded_may_pass_but_not_for_ever(bundle: Path) -> None:
    written(bundle, state(health="Degraded"))()
    assert ran(Time([written(bundle, state())]), "--bundle", str(bundle)) == 0
    written(bundle, state(health="Degraded"))()
    time = Time()
    assert ran(time, "--bundle", str(bundle), "--give-up", "30s") == 1
    assert time.now == 30


def test_a_status_from_before_the_sync_ended_does_not_count(bundle: Path) -> None:
    written(bundle, state(reconciledAt="2026-03-02T03:04:00Z"))()
    time = Time([written(bundle, state())])
    assert ran(time, "--bundle", str(bundle)) == 0
    assert time.now == 5


@pytest.mark.parametrize(
    ("flags", "code"), [(["--operation"], 0), (["--sync"], 1), (["--health"], 1), (["--sync", "--health"], 1)]
)
def test_only_what_is_asked_for(bundle: Path, flags: list[str], code: int) -> None:
    written(bundle, state("OutOfSync", "Progressing"))()
    assert ran(Time(), "--bundle", str(bundle), "--timeout", "5s", *flags) == code


def test_data_is_on_standard_output_alone(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(bundle, state(health="Progressing"))()
    assert ran(Time(), "--bundle", str(bundle), "--timeout", "5s", "-o", "json") == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["version"] == 1
    assert "Progressing" in captured.err


def test_a_source_that_breaks_meanwhile_is_asked_again(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(bundle, state(health="Progressing"))()
    time = Time([bundle.unlink, lambda: None, written(bundle, state())])
    assert ran(time, "--bundle", str(bundle)) == 0
    assert capsys.readouterr().out.count("retrying") == 1


def test_ctrl_c_is_kind(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    written(bundle, state(health="Progressing"))()
    assert ran(Time([interrupt]), "--bundle", str(bundle)) == 130
    assert "whysync diagnose shop" in capsys.readouterr().err


class TestUsage:
    def test_standard_input_cannot_change(self, whysync: Whysync) -> None:
        assert whysync("wait", "shop", "--bundle", "-", stdin=b"{}").code == 2

    def test_an_app_that_is_not_there(self, whysync: Whysync, bundle: Path) -> None:
        written(bundle, state())()
        done = whysync("wait", "shap", "--bundle", str(bundle))
        assert done.code == 2
        assert "did you mean" in done.err

    def test_a_short_revision(self, whysync: Whysync, bundle: Path) -> None:
        assert whysync("wait", "shop", "--bundle", str(bundle), "--revision", "abc").code == 2

    def test_filters_of_the_environment_are_not_its_flags(self, whysync: Whysync, bundle: Path) -> None:
        written(bundle, state(phase="Running"))()
        result = whysync("wait", "shop", "--bundle", str(bundle), "--timeout", "0.01s", WHYSYNC_SYNC="Synced")
        assert result.code == 1
        assert "an operation is running" in result.out

    def test_it_is_a_command(self, whysync: Whysync, bundle: Path) -> None:
        written(bundle, state())()
        assert whysync("wait", "shop", "--bundle", str(bundle)).code == 0


def test_argocds_api(bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The server's response changes between two polls; logs are requested only at the end."""
    for name in list(os.environ):
        if name.startswith(("WHYSYNC_", "ARGOCD_", "KUBE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    written(bundle, state(health="Progressing"))()
    before = read_bundle((str(bundle),))
    written(bundle, state())()
    after = read_bundle((str(bundle),))
    with ArgoCD(before) as argocd:

        def better() -> None:
            argocd.answers = Answers(after)

        flags = ("--server", argocd.url, "--plaintext", "--auth-token", TOKEN)
        time = Time([lambda: None, better])
        assert ran(time, *flags) == 0
        assert time.now == 10
        assert argocd.refreshed == []
        argocd.answers = Answers(before)
        assert ran(Time(), *flags, "--timeout", "5s") == 1


def test_a_picture_is_drawn_over_itself(bundle: Path) -> None:
    written(bundle, state("OutOfSync", "Progressing", phase="Running", message="x" * 300))()
    cases = app.cases(app.read(app.FactSource(bundles=(str(bundle),))))
    apart = [distance(case, Goal()) for case in cases]
    out = io.StringIO()
    frames = Frames(Out(out), Terminal(width=60), Goal(revision=HEAD), 600.0)
    frames.on_poll(cases, apart, 1.0)
    first = out.getvalue()
    assert "0:01 of 10:00" in first
    assert all(len(line) <= 60 for line in first.splitlines())
    frames.on_poll(cases, apart, 2.0)
    assert f"\x1b[{len(first.splitlines())}F\x1b[J" in out.getvalue()


def test_lines_are_not_told_twice(bundle: Path) -> None:
    written(bundle, state("OutOfSync", phase="Running", message="a\x1b[31mb"))()
    cases = app.cases(app.read(app.FactSource(bundles=(str(bundle),))))
    out = io.StringIO()
    lines = Lines(Out(out), Terminal())
    for seconds in (1.0, 2.0):
        lines.on_poll(cases, [distance(case, Goal()) for case in cases], seconds)
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()
