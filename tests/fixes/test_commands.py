"""Every command that whysync prints can be pasted: the shell reads it as shown, and the program accepts it.

Here by tables of subcommands and flags, which `tools/command_tables.py` writes. `suites/render` asks kubectl,
helm and git themselves, and `suites/argocd` compares the table of argocd with the program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.printed import commands_of, shown_in
from tests.fixes.programs import refusal
from tests.fixes.shell import NotPasteable, commands_in
from tests.played import played
from tests.reports.test_goldens import report_of
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.shared import CORPUS, SHARED, needs_shared
from tests.situations import EXAMPLES
from tools.corpus import FILES, load
from whysync import app
from whysync.diagnosis.report import Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.lab.library import names
from whysync.reports import diagnose_text
from whysync.reports.terminal import Terminal


def problems(line: str) -> list[str]:
    try:
        reasons = [
            reason
            for command in commands_in(line)
            for reason in (refusal(command), *_unfit(command))
            if reason
        ]
    except NotPasteable as unfit:
        reasons = [str(unfit)]
    return [f"{line}: {reason}" for reason in reasons]


def _unfit(command: list[str]) -> list[str]:
    """Problems of commands that the parsers accept, but that do not do what they are printed for."""
    reasons: list[str] = []
    if "--force-conflicts" in command and not any(
        argument.startswith("--field-manager") for argument in command
    ):
        reasons.append("kubectl would own the fields, not Argo CD: name the field manager")
    if command[:3] == ["argocd", "cert", "add-tls"] and "kubernetes" in command[3]:
        reasons.append("certificates of clusters are not configured with it")
    if (
        command[:3] == ["argocd", "repo", "add"]
        and command[3].startswith("oci://")
        and "--type" not in command
    ):
        reasons.append("it would be added as a Git repository")
    if any("…" in argument or "..." in argument for argument in command):
        reasons.append("an ellipsis is no argument")
    return reasons


def problems_of(report: Report) -> list[str]:
    """Of the commands, and of those in the text of `-o wide` on a narrow terminal."""
    text = str(diagnose_text.render(report, Terminal(width=80), wide=True))
    printed = {line.strip() for line in text.splitlines()}
    steps = [step for step in _steps(report) if not step.startswith("#")]
    cut = [f"{step}: not on one line" for step in steps if step not in printed and step[:40] in text]
    return [*cut, *(p for line in (*commands_of(report), *shown_in(text)) for p in problems(line))]


def _steps(report: Report) -> list[str]:
    findings = [finding for reported in report.apps for finding in reported.findings]
    return [step for finding in findings for fix in finding.fixes for step in fix.commands]


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_of_every_rule(folder: Path) -> None:
    assert problems_of(app.diagnose([load_case(folder)], prove=False)) == []


@pytest.mark.parametrize("name", names())
def test_of_every_scenario(name: str) -> None:
    report = app.diagnose(app.cases(SnapshotIndex(played(name).snapshot())), prove=False)
    assert problems_of(report) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_of_every_report(example: Path) -> None:
    assert problems_of(report_of(example)) == []


@needs_shared
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # to_bundle.py leaves it to be closed
@pytest.mark.parametrize("name", FILES)
def test_of_real_cases(name: str, tmp_path: Path) -> None:
    to_bundle = load(CORPUS / "to_bundle.py")
    to_bundle.main(str(CORPUS / name), str(tmp_path))
    assert [problem for path in sorted(tmp_path.iterdir()) for problem in problems_of(_report(path))] == []


@needs_shared
def test_of_incidents() -> None:
    paths = sorted((SHARED / "reviews" / "incidents").rglob("*.yaml"))
    assert paths
    assert [problem for path in paths for problem in problems_of(_report(path))] == []


def _report(path: Path) -> Report:
    return app.diagnose(app.cases(app.read(app.FactSource(bundles=(str(path),)))), prove=False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("kubectl -n shop get pods --sortby x", "get has no flag --sortby"),
        ("kubectl rollout again deployment/a", "no such command: rollout again"),
        ("kubectl delete pod a --cascade orphan -x", "delete has no flag -x"),
        ("kubectl get pods -n", "-n needs a value"),
        ("kubectl get pods <name>", "angle brackets"),
        ("kubectl get pods *", "is not quoted"),
        ("kubectl get pods 'a", "an open quote"),
        ('kubectl get pods "$HOME"', "double quotes"),
        ("kubectl get pods |", "ends with an operator"),
        ("kubectl get pods && | grep a", "without a command"),
        ("kubectl apply --server-side --force-conflicts -f MANIFEST", "field manager"),
        ("argocd app sync shop --prune=true --no-such", "app sync has no flag --no-such"),
        ("argocd app refresh shop", "no such command: app refresh"),
        ("argocd repo add oci://a.io/b", "Git repository"),
        ("argocd cert add-tls kubernetes.default.svc", "certificates of clusters"),
        ("helm show chart oci://a/b --versions 1", "show chart has no flag --versions"),
        ("helm", "no command"),
        ("git lg", "git has no command"),
        ("git log --online", "git log has no flag --online"),
        ("argo get x", "is no program"),
        ("whysync fix shop --checkoutt .", "whysync refuses"),
        ("whysync fix shop --pick first", "whysync refuses"),
        ("argocd app get ...", "ellipsis"),
    ],
)
def test_what_is_no_command(line: str, reason: str) -> None:
    assert reason in " ".join(problems(line))


@pytest.mark.parametrize(
    "line",
    [
        "# a comment: it's free text",
        "kubectl -n shop get deployment.apps shop -oyaml   # don't mind",
        'kubectl -n shop patch svc a --type merge -p \'{"a": "<b>"}\'',
        "kubectl -n a logs job/b --all-containers --tail=-1 > b.log",
        "kubectl exec -it a -- sh -c 'x --y'",
        "kubectl argo rollouts retry rollout a -n b",
        "argocd --core app get shop",
        "git revert COMMIT && git push",
        "whysync fix shop --checkout DIR --write",
        "whysync shop --bundle FILE",
    ],
)
def test_what_is_one(line: str) -> None:
    assert problems(line) == []
