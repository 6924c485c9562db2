"""Apply a fix of whysync's answer exactly as it is printed, and watch the Applications afterwards."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Final

from suites.argocd.answers import Answer, Answers
from suites.argocd.real_play import RealPlay
from whysync.diagnosis.fix import FixKind
from whysync.json_tree import dig, text

SOURCE: Final = "server and core"
"""The source with the most facts, and so with the most proofs."""
_APPLIED: Final = re.compile(r"^kubectl apply -f (\S+)$", re.MULTILINE)
"""A file that the commands want to be saved first."""
_AS_A_PERSON: Final = """\
argocd() {
  case "$1 $2" in
  "app diff") command argocd "$@" || true ;;
  "app delete") command argocd "$@" --yes ;;
  *) command argocd "$@" ;;
  esac
}
"""
"""`argocd app diff` ends with 1 if there is a difference; `argocd app delete` asks whether it is meant."""
_GOOD: Final = ("Synced", "Healthy")
_REACHES_SECONDS: Final = 90.0
_STAYS_SECONDS: Final = 10.0


def apply_fix(
    play: RealPlay, answers: Answers, app: str, kind: str, chosen: Sequence[str] = ()
) -> tuple[str, str]:
    """Why the printed commands fail, if they do, and the commands; `chosen` are flags that select the fix."""
    flags = [*answers.flags(SOURCE), *chosen]
    checkout = play.argocd.git.checkout(play.scenario.repos[0].url)
    commands = answers.whysync(["fix", app, *flags, "-o", "commands"], exits=(0,))
    if applied := _APPLIED.search(commands):
        manifest = answers.whysync(["fix", app, *flags, "-o", "yaml"], exits=(0,))
        (checkout / applied[1]).write_text(manifest, encoding="utf-8")
    elif kind == FixKind.MANIFEST:
        answers.whysync(["fix", app, *flags, "--checkout", str(checkout), "--write"], exits=(0,))
    done = play.argocd.run(["bash", "-e"], stdin=f"{_AS_A_PERSON}{commands}", cwd=checkout)
    if done.returncode != 0:
        return f"the printed commands end with {done.returncode}: {done.stderr.strip()}\n{commands}", commands
    return "", commands


def why_fix_fails(play: RealPlay, answers: Answers, app: str, answer: Answer) -> str:
    """Why the fix does not hold; empty if the Application becomes Synced and Healthy and stays so."""
    problem, commands = apply_fix(play, answers, app, answer.fix_kind)
    if problem:
        return problem
    if not play.wait_until(lambda: _state(play, app) == _GOOD, _REACHES_SECONDS):
        return f"it is {' and '.join(_state(play, app))} after {_REACHES_SECONDS:.0f} s\n{commands}"
    until = time.monotonic() + _STAYS_SECONDS
    play.refresh(app)
    while time.monotonic() < until:
        if _state(play, app) != _GOOD:
            return f"it does not stay so: it is {' and '.join(_state(play, app))}\n{commands}"
        time.sleep(0.3)
    return ""


def _state(play: RealPlay, app: str) -> tuple[str, str]:
    application = play.application(app)
    sync, health = dig(application, "status", "sync"), dig(application, "status", "health")
    return text(dig(sync, "status")), text(dig(health, "status"))
