"""Every command that whysync prints can be pasted: the shell reads it as shown, and the program accepts it.

Here by tables of subcommands and flags, which `tools/command_tables.py` writes. `suites/render` asks kubectl,
helm and git themselves, and `suites/argocd` compares the table of argocd with the program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.printed import commands_of
from tests.fixes.programs import refusal
from tests.fixes.shell import NotPasteable, commands_in
from tests.played import played
from tests.reports.test_goldens import report_of
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.situations import EXAMPLES
from whysync import app
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.lab.library import names


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


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_of_every_rule(folder: Path) -> None:
    report = app.diagnose([load_case(folder)], prove=False)
    assert [problem for line in commands_of(report) for problem in problems(line)] == []


@pytest.mark.parametrize("name", names())
def test_of_every_scenario(name: str) -> None:
    report = app.diagnose(app.cases(SnapshotIndex(played(name).snapshot())), prove=False)
    assert [problem for line in commands_of(report) for problem in problems(line)] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_of_every_report(example: Path) -> None:
    assert [problem for line in commands_of(report_of(example)) for problem in problems(line)] == []


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
    ],
)
def test_what_is_one(line: str) -> None:
    assert problems(line) == []
