"""Secrets on a real server, wherever they can be: no command, bundle or temporary file shows one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from suites.cluster.sources.marked import Marks, marked_world
from suites.cluster.sources.real_cluster import RealCluster

COMMANDS = (
    ("list", "--core"),
    ("list", "--core", "-o", "json"),
    ("list", "--core", "-o", "yaml"),
    ("get", "vault", "--core"),
    ("get", "vault", "--core", "-o", "json"),
    ("get", "vault", "--core", "-o", "yaml"),
    ("diff", "vault", "--core"),
    ("diff", "vault", "--core", "-o", "json"),
    ("diagnose", "vault", "--core"),
    ("diagnose", "vault", "--core", "-o", "wide"),
    ("diagnose", "vault", "--core", "-o", "json"),
    ("diagnose", "vault", "--core", "-o", "yaml"),
    ("diagnose", "vault", "--core", "-o", "markdown"),
    ("fix", "vault", "--core"),
    ("diagnose", "vault", "--core", "--use-cluster-secrets", "--timeout", "20s"),
)


@pytest.fixture(scope="session")
def marks(cluster: RealCluster) -> Marks:
    made = Marks()
    for body in marked_world(made):
        cluster.put(body)
    return made


def run(cluster: RealCluster, home: Path, *arguments: str) -> tuple[str, int]:
    """All that a command writes: both streams, and every file that it leaves in the temporary folder."""
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig(home)),
        "TMPDIR": str(temporary),
        "PYTHONWARNINGS": "default",
    }
    done = subprocess.run(
        [sys.executable, "-m", "whysync", *arguments],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    left = "".join(
        file.read_bytes().decode("latin-1") for file in sorted(temporary.rglob("*")) if file.is_file()
    )
    return done.stdout + done.stderr + left, done.returncode


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_output_shows_a_secret(
    cluster: RealCluster, marks: Marks, tmp_path: Path, command: tuple[str, ...]
) -> None:
    shown, code = run(cluster, tmp_path, *command)
    assert "Traceback" not in shown
    # 2: without rendered manifests there is nothing to show a diff of
    assert code in (0, 1, 3) or (code == 2 and command[0] == "diff"), shown[-2000:]
    assert "vault" in shown
    assert [form for form in marks.forms() if form in shown] == []
    assert cluster.token not in shown


def test_a_bundle_holds_no_secret(cluster: RealCluster, marks: Marks, tmp_path: Path) -> None:
    shown, code = run(cluster, tmp_path, "collect", "vault", "--core", "--output", "taken")
    assert code in (0, 3), shown
    taken = tmp_path / "taken"
    assert taken.exists(), shown
    written = "".join(
        file.read_bytes().decode("latin-1") for file in sorted(taken.rglob("*")) if file.is_file()
    )
    assert "vault" in written
    assert [form for form in marks.forms() if form in written + shown] == []
