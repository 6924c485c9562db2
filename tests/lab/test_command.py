"""`whysync lab` from the outside: list, show, run, test, in every form, in a pipe and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Whysync, process, small_environment
from tests.situations import ROOT
from whysync.kubernetes.api import yaml
from whysync.lab.library import names


def test_list(whysync: Whysync) -> None:
    result = whysync("lab", "list")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["NAME", "CAUSE", "WHAT", "HAPPENS"]
    assert [line.split()[0] for line in lines[1 : 1 + len(names())]] == list(names())
    assert max(map(len, lines)) <= 80
    assert whysync("lab", "list", "-o", "name").out.split() == list(names())
    assert [
        load["name"] for load in json.loads(whysync("lab", "list", "-o", "json").out)["scenarios"]
    ] == list(names())
    assert "| `hpa-loop` |" in whysync("lab", "list", "-o", "markdown").out


def test_show(whysync: Whysync) -> None:
    result = whysync("lab", "show", "hook-leftover")
    assert result.code == 0
    assert "hook-leftover   The Job of a failed hook still exists" in result.out
    assert "    5m      the fix: git push: vat: add the column only where it is missing" in result.out
    assert "apps/billing/migrate.yaml" in result.out
    assert "from: GitOps Failure Modes" in result.out


@pytest.mark.parametrize("name", names())
def test_every_page_can_be_shown_and_copied(name: str, whysync: Whysync, tmp_path: Path) -> None:
    page = whysync("lab", "show", name)
    assert (page.code, page.err) == (0, "")
    copy = whysync("lab", "show", name, "-o", "yaml")
    (tmp_path / f"{name}.yaml").write_text(copy.out)
    assert yaml.load(copy.out) == json.loads(whysync("lab", "show", name, "-o", "json").out)
    result = whysync("lab", "list", str(tmp_path / f"{name}.yaml"), "-o", "name")
    assert result.out == f"{name}\n"


def test_test_says_what_differs(whysync: Whysync, tmp_path: Path) -> None:
    assert whysync("lab", "test", "quota", "rename").out == "✓ quota\n✓ rename\n\n2 of 2 passed\n"
    wrong = whysync("lab", "show", "quota", "-o", "yaml").out.replace("cause: quota", "cause: oom")
    (tmp_path / "wrong.yaml").write_text(wrong)
    result = whysync("lab", "test", str(tmp_path / "wrong.yaml"))
    assert result.code == 1
    assert "renderer: cause is 'quota', expected 'oom'" in " ".join(result.out.split())
    assert whysync("lab", "run", "--check", str(tmp_path / "wrong.yaml")).code == 1
    assert whysync("lab", "test", str(tmp_path / "wrong.yaml"), "quota", "-o", "name").out == "wrong\n"


def test_a_run_has_the_forms_and_codes_of_diagnose(whysync: Whysync) -> None:
    assert whysync("lab", "run", "quota", "--exit-zero").code == 0
    assert whysync("lab", "run", "quota", "--fail-on", "critical").code == 1
    assert (
        json.loads(whysync("lab", "run", "quota", "-o", "json").out)["apps"][0]["findings"][0]["cause"]
        == "quota"
    )
    assert whysync("lab", "run", "quota", "-o", "yaml").out.startswith("version: 1\n")
    assert whysync("lab", "run", "quota", "-o", "markdown").out.startswith("#")
    assert whysync("lab", "run", "quota", "hook-works-on-staging", "-o", "name").out.split() == [
        "argocd/renderer",
        "argocd/storefront",
    ]
    wide = whysync("lab", "run", "quota", "-o", "wide").out
    assert len(wide) > len(whysync("lab", "run", "quota").out)


def test_until_ends_earlier(whysync: Whysync) -> None:
    early = whysync("lab", "run", "migration-dead-database", "--until", "20s")
    assert "0:20    the end" in early.out
    assert "sync running for 20s" in early.out
    assert whysync("lab", "run", "quota", "--until", "later").code == 2
    assert whysync("lab", "run", "quota", "--until", "-5m").code == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("lab",), "the following arguments are required"),
        (("lab", "play"), "invalid choice: 'play'"),
        (("lab", "run"), "lab run requires the name of a scenario"),
        (("lab", "run", "hpa-lop"), "did you mean hpa-loop"),
        (("lab", "run", "no/such/file.yaml"), "there is no scenario 'no/such/file.yaml'"),
        (("lab", "run", "a\0b"), "there is no scenario"),
        (("lab", "run", "quota", "rename", "-o", "json"), "several scenarios are given"),
        (("lab", "run", "quota", "--speed", "fast"), "invalid speed 'fast'"),
        (("lab", "test", "-o", "json"), "invalid choice: 'json'"),
        (("lab", "run", "quota", "--bundle", "/dev/null/x"), "the bundle cannot be written"),
    ],
)
def test_mistakes_are_usage_errors(arguments: tuple[str, ...], expected: str, whysync: Whysync) -> None:
    result = whysync(*arguments)
    assert result.code == 2
    assert expected in result.err
    assert "Traceback" not in result.err


def test_a_bundle_is_never_written_over(whysync: Whysync, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    result = whysync("lab", "run", "quota", "--bundle", str(tmp_path))
    assert (result.code, "already exists" in result.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_bundle_to_read_is_no_bundle_to_write(whysync: Whysync, tmp_path: Path) -> None:
    assert whysync("lab", "run", "quota", WHYSYNC_BUNDLE=str(tmp_path / "x")).code == 1
    assert not (tmp_path / "x").exists()


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    some = names()[::3]
    ran = [
        process("lab", "run", *some, environ={"PYTHONHASHSEED": seed, "TZ": zone})
        for seed, zone in (("0", "UTC"), ("7", "Asia/Tokyo"))
    ]
    assert ran[0].err == ""
    assert ran[0].out == ran[1].out


def test_without_colour_and_without_unicode(whysync: Whysync) -> None:
    assert "\x1b" not in whysync("lab", "run", "rename", NO_COLOR="1", FORCE_COLOR="1").out
    assert "\x1b[" in whysync("lab", "run", "rename", FORCE_COLOR="1").out
    result = process("lab", "run", "wave-stalled", environ={"PYTHONIOENCODING": "ascii"})
    assert result.err == ""
    assert "~ StatefulSet kafka" in result.out


def on_a_terminal(*arguments: str, interrupt: bool = False) -> tuple[int, str]:
    """Runs whysync with a terminal of 80 columns; interrupts it once it shows the first picture."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "whysync", *arguments],
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env=small_environment({"COLUMNS": "80", "TERM": "xterm"}),
    )
    os.close(theirs)
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
        if interrupt and b"simulated" in b"".join(pieces):
            running.send_signal(signal.SIGINT)
            interrupt = False
    os.close(ours)
    return running.wait(timeout=120), b"".join(pieces).decode()


def test_the_picture_moves_on_a_terminal() -> None:
    code, out = on_a_terminal("lab", "run", "hook-leftover", "--speed", "500")
    assert code == 1
    assert out.startswith("\x1b[?25l")
    assert out.index("\x1b[?25h") < out.index("hook-delete-policy"), "the cursor is back before the diagnosis"
    assert out.count("of 10:00 simulated") > 3
    assert "\x1b[33m⏳\x1b[0m Job billing-migrate" in out
    assert "\x1b[31m✗\x1b[0m Job billing-migrate" in out
    still = on_a_terminal("lab", "run", "hook-leftover", "--speed", "0")[1]
    assert "\x1b[?25l" not in still


def test_ctrl_c_leaves_a_terminal_with_a_cursor() -> None:
    code, out = on_a_terminal("lab", "run", "hpa-loop", "--speed", "0.1", interrupt=True)
    assert code == 130
    assert out.index("\x1b[?25l") < out.index("\x1b[?25h")
    assert "Traceback" not in out


EVIL = "\\e]0;owned\\a\\e[2J\\x9b31m\\u202e"


def test_what_a_file_says_cannot_take_over_a_terminal(whysync: Whysync, tmp_path: Path) -> None:
    text = whysync("lab", "show", "hook-leftover", "-o", "yaml").out
    text = text.replace("title: The Job", f'title: "The {EVIL} Job').replace("next one\n", 'next one"\n', 1)
    text = text.replace("note: the fix", f'note: "the {EVIL} fix"').replace(
        "  message: ", f'  message: "{EVIL}" #', 1
    )
    (tmp_path / "evil.yaml").write_text(text)
    for arguments in (("run",), ("show",), ("list",), ("test",)):
        result = whysync("lab", *arguments, str(tmp_path / "evil.yaml"))
        assert result.code in (0, 1), result.err
        assert not set("\x1b\x07\x9b\u202e") & set(result.out + result.err)


DELETED = """
title: The app is taken away
ends: 5m
applications:
- metadata: {name: shop}
  spec:
    source: {repoURL: "https://git.example.com/platform/deploy.git", targetRevision: main, path: shop}
    destination: {namespace: shop}
    syncPolicy: {syncOptions: [CreateNamespace=true], automated: {}}
git:
  files:
    shop/hook.yaml: |
      apiVersion: batch/v1
      kind: Job
      metadata:
        generateName: a-very-long-beginning-of-a-name-
        annotations: {argocd.argoproj.io/hook: PreSync}
      spec:
        template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}
happens:
- {at: 2m, run: argocd app sync shop, as: admin}
- {at: 4m, run: argocd app delete shop, as: admin}
expect: {gone: true}
"""


def test_a_scenario_may_end_without_an_application(whysync: Whysync, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(DELETED)
    result = whysync("lab", "run", str(mine))
    assert (result.code, result.err) == (0, "")
    assert "4:00    the Application is gone" in result.out
    assert result.out.endswith("No Application is left to diagnose.\n")
    assert json.loads(whysync("lab", "run", str(mine), "-o", "json").out)["apps"] == []
    assert whysync("lab", "test", str(mine)).code == 0
    mine.write_text(DELETED.replace("argocd app delete shop", "argocd app get shop"))
    failed = whysync("lab", "test", str(mine))
    assert (failed.code, "shop: it is still there" in failed.out) == (1, True)


def test_the_picture_knows_hooks_without_a_name(whysync: Whysync, tmp_path: Path) -> None:
    """Those of an earlier sync are not part of the last one, and long names stay on their line."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(DELETED)
    result = whysync("lab", "run", str(mine), "--until", "3m", COLUMNS="40")
    waves = result.out.partition("the end\n")[2].partition("\n\n✓ ")[0]
    assert waves.count("Job ") == 1
    assert "✓ Job a-very-lon" in waves
    assert max(map(len, waves.splitlines())) <= 40


def test_a_page_of_a_file_tells_how_to_run_that_file(whysync: Whysync, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(DELETED)
    assert whysync("lab", "show", str(mine)).out.splitlines()[-1] == f"  whysync lab run {mine}"
