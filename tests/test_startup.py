"""The first answer comes soon: only what a command needs is imported."""

from __future__ import annotations

import compileall
import subprocess
import sys

import pytest

from benchmarks.startup import EXAMPLE, PROMISES, bare, of_command
from tests.cli.running import small_environment
from tests.situations import ROOT
from whysync.cli.main import VERBS

NOISE = 3  # other work on the machine; the measured figures are in docs/benchmarks.md


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compileall.compile_dir(ROOT / "src", quiet=2)


@pytest.mark.parametrize("command", PROMISES)
def test_start_up_is_within_its_promise(command: str) -> None:
    above = of_command(command, rounds=3).above(bare(rounds=3))
    assert above.cpu < PROMISES[command] * NOISE


def imported_by(*arguments: str) -> set[str]:
    code = (
        "import sys; from whysync.cli.main import main\n"
        f"try: main({list(arguments)!r})\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=small_environment(), check=True, timeout=60
    )
    return set(done.stderr.decode().split())


def test_the_version_needs_nothing() -> None:
    loaded = imported_by("--version")
    assert {name for name in loaded if name.startswith("whysync")} == {
        "whysync",
        "whysync.cli",
        "whysync.cli.main",
        # The one way for text to leave the process, and the characters that it keeps back.
        "whysync.unsafe_text",
        "whysync.reports",
        "whysync.reports.output",
    }
    assert not loaded & {"argparse", "msgspec", "yaml"}


@pytest.mark.parametrize("arguments", [("--help",), ("completion", "bash"), ("lab", "run", "--help")])
def test_help_needs_no_library(arguments: tuple[str, ...]) -> None:
    """`completion` loads the flags of every verb."""
    assert not imported_by(*arguments) & {"msgspec", "yaml", "lupa", "jq", "whysync.app"}


def test_only_the_chosen_verb_is_loaded() -> None:
    assert not imported_by("wait", "--help") & {f"whysync.cli.{name}" for name in VERBS if name != "wait"}


def test_a_diagnosis_loads_no_sandbox_and_no_archives() -> None:
    loaded = imported_by("diagnose", "--bundle", str(EXAMPLE))
    assert "whysync.app" in loaded
    assert not loaded & {"mcp", "pydantic", "starlette", "uvicorn", "whysync.mcp"}
    assert not loaded & {"lupa", "jq", "zipfile", "tarfile", "multiprocessing", "asyncio", "http.client"}
    live = ("httpx2", "ssl", "whysync.facts.argocd_api", "whysync.facts.kubernetes_api", "whysync.facts.http")
    assert not {name for name in loaded if name.startswith((*live, "whysync.facts.collect"))}


def test_without_proofs_no_simulation_is_loaded() -> None:
    loaded = imported_by("diagnose", "--no-proof", "--bundle", str(EXAMPLE))
    simulation = ("whysync.proofs", "whysync.argocd.simulation", "whysync.kubernetes.controllers")
    assert not {name for name in loaded if name.startswith(simulation)}


def test_without_the_facts_for_it_no_simulation_is_loaded() -> None:
    """The example has no manifests, so neither a sync nor a fix can be simulated."""
    loaded = imported_by("diagnose", "--bundle", str(EXAMPLE))
    simulation = (
        "whysync.argocd.simulation",
        "whysync.kubernetes.controllers",
        "whysync.kubernetes.apiserver.server",
    )
    assert not {name for name in loaded if name.startswith(simulation)}
