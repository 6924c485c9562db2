"""Every verb that writes: a failure at any system call loses nothing, and links are not written through."""

from __future__ import annotations

import os
import random
import shutil
import signal
import string
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Whysync, small_environment
from tests.faults import Calls, Fault, every_fault, files_below, injected, temporary_files
from tests.situations import ROOT

LETTERS = string.ascii_letters + string.digits
FEW = (Fault.FULL_DISK, Fault.SIGNAL_AFTER, Fault.KILLED)  # of verbs that take long
EXAMPLE = str(ROOT / "examples" / "autoscaler-loop")
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    # keep me
    argocd.argoproj.io/sync-wave: 1
data: {LEVEL: info}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: my-api-service, namespace: production}
spec:
  replicas: 1   # by hand
  selector: {matchLabels: {app: my-api-service}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  source: {repoURL: https://git.example.com/x.git, path: PATH, targetRevision: main}
status:
  sync: {status: Synced}
  health: {status: Healthy}
"""


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# --- a file that exists is never lost --------------------------------------------------------------


def lint_fix(folder: Path) -> tuple[str, ...]:
    (folder / "a.yaml").write_text(CONFIG)
    return "lint", "--fix", "--no-render", "a.yaml"


def lint_output(folder: Path) -> tuple[str, ...]:
    (folder / "in.yaml").write_text(CONFIG)
    (folder / "out.json").write_text("a report of yesterday")
    return "lint", "--no-render", "in.yaml", "-o", "json=out.json"


def lint_baseline(folder: Path) -> tuple[str, ...]:
    (folder / "in.yaml").write_text(CONFIG)
    (folder / "base.json").write_text("{}")
    return "lint", "--no-render", "in.yaml", "--write-baseline", "base.json"


def fix_write(folder: Path) -> tuple[str, ...]:
    (folder / "apps/my-api-service").mkdir(parents=True)
    (folder / "apps/my-api-service/a.yaml").write_text(DEPLOYMENT)
    return "fix", "my-api-service", "--bundle", EXAMPLE, "--no-proof", "--checkout", ".", "--write"


def plan_output(folder: Path) -> tuple[str, ...]:
    (folder / "apps").mkdir()
    (folder / "apps/a.yaml").write_text(CONFIG)
    (folder / "app.yaml").write_text(APPLICATION.replace("PATH", "apps"))
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", "https://git.example.com/x.git"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)
    (folder / "out.md").write_text("a report of yesterday")
    return "plan", "--base", "main", "--empty", "-o", "markdown=out.md"


Setup = Callable[[Path], tuple[str, ...]]


@pytest.mark.parametrize("setup", [lint_fix, lint_output, lint_baseline, fix_write, plan_output])
def test_a_failure_at_any_call_leaves_the_old_or_the_new_file(
    setup: Setup, whysync: Whysync, workdir: Path, tmp_path: Path
) -> None:
    command = setup(workdir)
    shutil.copytree(workdir, tmp_path / "before", symlinks=True)
    before = files_below(workdir)
    assert whysync(*command).code in (0, 1)
    after = files_below(workdir)
    changed = {name for name in after if after[name] != before.get(name)}
    assert len(changed) == 1

    def reset() -> None:
        for name in files_below(workdir):
            (workdir / name).write_bytes(before[name])
        for path in temporary_files(workdir):
            path.unlink()

    def check(calls: Calls) -> None:
        assert files_below(workdir) in (before, after), (calls.at, calls.fault)
        leftovers = temporary_files(workdir)
        assert len(leftovers) <= (calls.fault is Fault.KILLED), (calls.at, calls.fault, leftovers)

    faults = FEW if setup is plan_output else Fault
    assert every_fault(lambda: whysync(*command), check, reset, faults) >= 7


# --- collect resumes -------------------------------------------------------------------------------


@pytest.fixture
def facts(tmp_path: Path) -> str:
    path = tmp_path / "facts.yaml"
    path.write_text(APPLICATION.replace("PATH", "apps") + "---\n" + CONFIG)
    return str(path)


@pytest.mark.parametrize("out", ["out", "out.tar.gz"])
def test_collect_resumes_after_a_failure_at_any_call(
    out: str, whysync: Whysync, workdir: Path, facts: str
) -> None:
    command = ("collect", "--bundle", facts, "-o", out)

    def content() -> dict[str, bytes]:
        if not out.endswith("gz"):
            return files_below(workdir)
        with tarfile.open(out) as archive:
            return {member.name: file.read() for member in archive if (file := archive.extractfile(member))}

    assert whysync(*command).code == 0
    complete = content()
    assert len(complete) >= 3

    def reset() -> None:
        for path in workdir.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def check(calls: Calls) -> None:
        context = (calls.at, calls.fault)
        if calls.fault is not Fault.KILLED:
            assert temporary_files(workdir) == [], context
        with injected(Calls()):
            again = whysync(*command)
        if again.code == 2:  # it was complete before the failure
            assert "already exists" in again.err, context
        else:
            assert again.code == 0, (context, again.err)
        assert content() == complete, context

    every_fault(lambda: whysync(*command), check, reset, FEW)


def test_lab_leaves_no_half_bundle(whysync: Whysync, workdir: Path) -> None:
    command = ("lab", "run", "push-not-seen", "--bundle", "out", "--no-proof", "-o", "name")
    names = whysync("lab", "list", "-o", "name")
    if "push-not-seen" not in names.out:
        command = ("lab", "run", names.out.split()[0], *command[3:])

    def reset() -> None:
        shutil.rmtree(workdir / "out", ignore_errors=True)

    reset()
    assert whysync(*command).code in (0, 1)
    complete = files_below(workdir)
    for fault in (Fault.FULL_DISK, Fault.SIGNAL_AFTER):
        for at in (0, 3, 9):
            reset()
            with injected(Calls(at, fault)):
                assert whysync(*command).code in (2, 130)
            assert list(workdir.iterdir()) == [], (at, fault)
    assert whysync(*command).code in (0, 1)
    assert files_below(workdir).keys() == complete.keys()


# --- real processes --------------------------------------------------------------------------------


def real(
    *arguments: str, workdir: Path, prelude: str = "", limit: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """whysync in a process of its own, with a limit of the size of files in KiB, as `ulimit -f` sets it."""
    code = f"{prelude}\nimport sys\nfrom whysync.cli.main import main\nsys.exit(main({list(arguments)!r}))"
    if limit:
        code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit << 10}, -1))\n{code}"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=workdir,
        env=small_environment({"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        check=False,
        timeout=120,
    )


def kill_at(call: str, number: int = 1) -> str:
    """kill -9 just before the n-th of these calls."""
    return (
        f"import os, signal\nreal, left = os.{call}, [{number}]\n"
        "def killing(*arguments, **named):\n"
        "    left[0] -= 1\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(*arguments, **named)\n"
        f"os.{call} = killing"
    )


def test_lint_fix_on_a_full_disk_keeps_the_file(workdir: Path) -> None:
    many = "---\n".join(CONFIG.replace("name: settings", f"name: settings-{n}") for n in range(300))
    (workdir / "m.yaml").write_text(many)
    done = real("lint", "--fix", "--no-render", "m.yaml", workdir=workdir, limit=20)
    assert done.returncode == 2, done.stderr
    assert b"m.yaml cannot be written" in done.stderr
    assert files_below(workdir) == {"m.yaml": many.encode()}
    assert temporary_files(workdir) == []


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_lint_fix_killed_in_the_middle_keeps_the_file(workdir: Path, call: str) -> None:
    (workdir / "a.yaml").write_text(CONFIG)
    done = real("lint", "--fix", "--no-render", "a.yaml", workdir=workdir, prelude=kill_at(call))
    assert done.returncode == -signal.SIGKILL
    assert files_below(workdir) == {"a.yaml": CONFIG.encode()}
    assert len(temporary_files(workdir)) == 1


def test_collect_goes_on_after_a_packing_that_failed(workdir: Path, facts: str) -> None:
    """Each file is within the limit, the archive of all of them is not."""
    command = ("collect", "--bundle", facts, "-o", "c.tar.gz")
    with open(facts, "a") as more:
        for number in range(20):  # each in a namespace, and so in a file of its own; it does not compress
            manifest = CONFIG.replace("name: settings", f"name: settings\n  namespace: n{number}")
            more.write(
                "---\n" + manifest.replace("info", "".join(random.Random(number).choices(LETTERS, k=2_000)))
            )
    failed = real(*command, workdir=workdir, limit=8)
    assert failed.returncode == 2, failed.stdout
    assert b"the bundle cannot be written to c.tar.gz\n" in failed.stderr
    assert not (workdir / "c.tar.gz").exists()
    again = real(*command, workdir=workdir)
    assert again.returncode == 0, again.stderr
    assert [path.name for path in workdir.iterdir()] == ["c.tar.gz"]


@pytest.mark.parametrize("number", [1, 3, 5, 8])
def test_collect_goes_on_after_kill_9(workdir: Path, facts: str, number: int) -> None:
    command = ("collect", "--bundle", facts, "-o", "out")
    done = real(*command, workdir=workdir, prelude=kill_at("fsync", number))
    assert done.returncode == -signal.SIGKILL
    again = real(*command, workdir=workdir)
    assert again.returncode == 0, again.stderr
    assert temporary_files(workdir) == []
    assert not (workdir / "out/collecting.jsonl").exists()


# --- links, hard links, .git -----------------------------------------------------------------------


def test_lint_fix_does_not_follow_a_link(whysync: Whysync, workdir: Path, tmp_path: Path) -> None:
    (tmp_path / "victim.yaml").write_text(CONFIG)
    (workdir / "a.yaml").symlink_to(tmp_path / "victim.yaml")
    result = whysync("lint", "--fix", "--no-render", "a.yaml")
    assert result.code == 1
    assert "not fixed a.yaml: a.yaml is a symbolic link" in result.err
    assert (tmp_path / "victim.yaml").read_text() == CONFIG
    assert (workdir / "a.yaml").is_symlink()


def test_lint_fix_leaves_hard_links_alone_and_goes_on(whysync: Whysync, workdir: Path) -> None:
    for name in ("a.yaml", "c.yaml"):
        (workdir / name).write_text(CONFIG)
    os.link(workdir / "a.yaml", workdir / "b.txt")
    result = whysync("lint", "--fix", "--no-render", "a.yaml", "c.yaml")
    assert result.code == 1
    assert "not fixed a.yaml: a.yaml has 2 hard links" in result.err
    assert (workdir / "a.yaml").read_text() == (workdir / "b.txt").read_text() == CONFIG
    assert "sync-wave: '1'" in (workdir / "c.yaml").read_text()


def test_lint_fix_keeps_mode_encoding_and_byte_order_mark(whysync: Whysync, workdir: Path) -> None:
    for name, encoding in (("a.yaml", "utf-8-sig"), ("b.yaml", "utf-16")):
        (workdir / name).write_bytes(CONFIG.replace("\n", "\r\n").encode(encoding))
        (workdir / name).chmod(0o640)
    assert whysync("lint", "--fix", "--no-render").code == 0
    expected = CONFIG.replace("\n", "\r\n").replace("sync-wave: 1", "sync-wave: '1'")
    for name, encoding in (("a.yaml", "utf-8-sig"), ("b.yaml", "utf-16")):
        assert (workdir / name).read_bytes() == expected.encode(encoding)
        assert (workdir / name).stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("git", [".git", ".GIT", "sub/.git"])
def test_nothing_below_git_is_written(whysync: Whysync, workdir: Path, git: str) -> None:
    bundle = workdir.parent / "bundle"
    shutil.copytree(EXAMPLE, bundle)
    for path in bundle.rglob("*.yaml"):
        path.write_text(path.read_text().replace("apps/my-api-service", git))
    (workdir / git).mkdir(parents=True)
    (workdir / git / "a.yaml").write_text(DEPLOYMENT)
    command = ("fix", "my-api-service", "--bundle", str(bundle), "--no-proof", "--write", "--checkout", ".")
    assert whysync(*command).code == 2
    assert whysync(*command, "--file", f"{git}/a.yaml").code == 2
    assert files_below(workdir) | {"x": (workdir / git / "a.yaml").read_bytes()} == files_below(workdir) | {
        "x": DEPLOYMENT.encode()
    }
    (workdir / git / "b.yaml").write_text(CONFIG)
    result = whysync("lint", "--fix", "--no-render", f"{git}/b.yaml")
    assert f"not fixed {git}/b.yaml: {git}/b.yaml is in a Git directory" in result.err
    assert (workdir / git / "b.yaml").read_text() == CONFIG


def test_an_output_is_not_written_through_a_link(whysync: Whysync, workdir: Path, tmp_path: Path) -> None:
    (workdir / "a.yaml").write_text(CONFIG)
    (tmp_path / "victim").write_text("precious")
    (workdir / "out.json").symlink_to(tmp_path / "victim")
    result = whysync("lint", "--no-render", "a.yaml", "-o", "json=out.json")
    assert result.code == 2
    assert "it is a link" in result.err
    assert (tmp_path / "victim").read_text() == "precious"
    assert whysync("lint", "--no-render", "a.yaml", "-o", "json=/dev/null").code == 1


# --- pipes -----------------------------------------------------------------------------------------


def test_a_named_pipe_in_a_checkout_is_passed_over(whysync: Whysync, workdir: Path) -> None:
    (workdir / "apps/my-api-service").mkdir(parents=True)
    os.mkfifo(workdir / "apps/my-api-service/0.yaml")
    (workdir / "apps/my-api-service/a.yaml").write_text(DEPLOYMENT)
    result = whysync(
        "fix", "my-api-service", "--bundle", EXAMPLE, "--no-proof", "--checkout", ".", "--dry-run"
    )
    assert result.code == 0
    assert "a.yaml" in result.out


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("diagnose", "--bundle"), 2),
        (("health",), 2),
        (("lint", "--no-render"), 3),
        (("lint", "--baseline"), 2),
        (("lint", "--lint-config"), 2),
        (("lab", "run"), 2),
        (("collect", "-o", "out", "--bundle"), 2),
        (("list", "--core", "--kubeconfig"), 2),
        (("list", "--config"), 2),
        (("list", "--server", "localhost:1", "--auth-token-file"), 2),
    ],
)
def test_a_named_pipe_is_refused_at_once(
    command: tuple[str, ...], code: int, whysync: Whysync, workdir: Path
) -> None:
    os.mkfifo(workdir / "pipe")
    result = whysync(*command, "pipe")
    assert result.code == code
    assert "named pipe" in result.err + result.out


def test_a_pipe_of_the_shell_is_read(workdir: Path, facts: str) -> None:
    base = f"{sys.executable} -m whysync"
    for command in (
        f"{base} list -o name --bundle <(cat {facts})",
        f"cat {facts} | {base} list -o name --bundle /dev/stdin",
        f"cat {facts} | {base} list -o name --bundle -",
        f"{base} list -o name --bundle /dev/stdin < {facts}",
    ):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=workdir,
            env=small_environment({"PYTHONPATH": str(ROOT / "src")}),
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (0, b"argocd/shop\n"), (command, done.stderr)


def test_errors_have_a_problem_a_reason_and_a_next_step(whysync: Whysync, workdir: Path, facts: str) -> None:
    (workdir / "jd/sub").mkdir(parents=True)
    (workdir / "jd/collecting.jsonl").write_text("junk\n")
    (workdir / "jd/notes.txt").write_text("important")
    (workdir / "jd/sub/n").write_text("x")
    before = files_below(workdir)
    result = whysync("collect", "--bundle", facts, "-o", "jd")
    assert result.code == 2
    assert "jd is not a folder that whysync collect can use" in result.err
    assert "not a journal of whysync collect" in result.err
    assert "name a new folder with -o" in result.err
    assert files_below(workdir) == before


def test_collect_does_not_write_through_a_link(whysync: Whysync, workdir: Path, facts: str) -> None:
    (workdir / "victim").write_text("VICTIM")
    for name in ("x.tar.gz.tmp", "y.tar.gz"):
        (workdir / name).symlink_to("victim")
    (workdir / "elsewhere").mkdir()
    (workdir / "z.tar.gz.partial").symlink_to("elsewhere")
    assert whysync("collect", "--bundle", facts, "-o", "x.tar.gz").code == 0
    assert not (workdir / "x.tar.gz").is_symlink()
    assert whysync("collect", "--bundle", facts, "-o", "y.tar.gz").code == 2
    assert whysync("collect", "--bundle", facts, "-o", "z.tar.gz").code == 2
    assert (workdir / "victim").read_text() == "VICTIM"
    assert list((workdir / "elsewhere").iterdir()) == []
