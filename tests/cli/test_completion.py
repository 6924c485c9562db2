"""Shell completion: the words that `whysync __complete` offers. suites/ci tries the scripts in the shells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import ROOT, application, bundle
from whysync.cli import complete
from whysync.cli.complete import FILES, candidates

BUNDLE = str(ROOT / "examples" / "autoscaler-loop")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYSYNC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(complete, "_SECONDS", 120.0)  # a busy machine


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("dia", ["diagnose"]),
        ("help li", ["lint", "list"]),
        ("lab r", ["run"]),
        ("lab run controller-d", ["controller-down"]),
        ("list --sor", ["--sort"]),
        ("list --sort se", ["severity"]),
        ("explain --sor", []),
        ("diagnose -o sh", ["short"]),
        ("diagnose --output=ht", ["--output=html"]),
        ("plan -o sv", ["svg"]),
        ("list --fail-on c", ["critical"]),
        ("list --cause hook-f", ["hook-failed"]),
        ("list --cause quota,!hook-f", ["quota,!hook-failed"]),
        ("list --sync !s", ["!Synced"]),
        ("list --health Degraded,mis", ["Degraded,Missing"]),
        ("explain container_oom", ["container_oom_killed"]),
        ("explain repo-a", ["repo-auth"]),
        ("completion z", ["zsh"]),
        ("diagnose --bundle ex", [FILES]),
        ("diagnose --bundle=ex", [FILES]),
        (f"diagnose --bundle {BUNDLE} my", ["my-api-service"]),
        (f"--bundle {BUNDLE} my", ["my-api-service"]),
        (f"fix --bundle={BUNDLE} --pick 2 my", ["my-api-service"]),
        (f"diagnose --bundle {BUNDLE} zzz", []),
        ("diagnose --bundle - s", []),
        ("diagnose --bundle /nowhere s", []),
    ],
)
def test_candidates(typed: str, expected: list[str]) -> None:
    *arguments, current = typed.split(" ")
    completions = candidates(arguments, current)
    assert [
        word for word in completions if word in expected or word.startswith(current) or word == FILES
    ] == completions
    assert set(expected) <= set(completions)
    assert bool(completions) == bool(expected)


def test_contexts(tmp_path: Path) -> None:
    kube = tmp_path / "kube"
    kube.write_text(json.dumps({"contexts": [{"name": "arn:aws:eks:eu:1:cluster/prod"}, {"name": "kind"}]}))
    assert candidates(["list", "--kubeconfig", str(kube), "--context"], "arn") == [
        "arn:aws:eks:eu:1:cluster/prod"
    ]
    argocd = tmp_path / "argocd"
    argocd.write_text(
        json.dumps({"contexts": [{"name": "one", "server": "a", "user": "a"}], "current-context": "one"})
    )
    assert candidates(["list", "--config", str(argocd), "--argocd-context"], "") == ["one"]


def test_names_are_cached_for_a_short_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundle(tmp_path, application("one"))
    arguments = ["get", "--bundle", path]
    assert candidates(arguments, "") == ["one"]
    bundle(tmp_path, application("two"))
    assert candidates(arguments, "") == ["one"]
    monkeypatch.setattr(complete, "_CACHED_SECONDS", -1.0)
    assert candidates(arguments, "") == ["two"]


def test_a_source_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(_: object) -> list[str]:
        with complete._time_limit():  # pyright: ignore[reportPrivateUsage]  (what is tested)
            while True:
                pass

    monkeypatch.setattr(complete, "_SECONDS", 0.05)
    monkeypatch.setattr(complete, "_read_apps", hang)
    assert candidates(["get"], "s") == []


def test_names_that_a_shell_would_run_are_not_offered(tmp_path: Path) -> None:
    path = bundle(tmp_path, application("$(touch pwned)"), application("a b"), application("fine"))
    assert candidates(["get", "--bundle", path], "") == ["fine"]


def test_errors_are_never_shown(whysync: Whysync) -> None:
    result = whysync("__complete", "list", "--kubeconfig", "/nowhere", "--context", "")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert whysync("__complete").out.split()[0] == "diagnose"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(whysync: Whysync, shell: str) -> None:
    script = whysync("completion", shell).out
    assert "__complete" in script
    assert FILES in script
