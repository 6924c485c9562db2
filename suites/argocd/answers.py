"""What whysync answers about a played scenario, from each source of facts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final, cast

import msgspec

from suites.argocd.real_play import RealPlay
from whysync.json_tree import Object, dig, fields, items, text
from whysync.lab.bundle import write_bundle

SOURCES: Final = ("server", "core", "core and files", "server and core", "collected")
_LONGEST: Final = 300.0
_PYTHONPATH: Final = os.pathsep.join(
    filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")))
)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The first cause, whether a sync is safe, and the first fix."""

    cause: str
    safety: str
    fix_kind: str = ""
    fix_title: str = ""
    proof: str = ""
    why: str = ""
    """Why the fix is not proven."""

    def __str__(self) -> str:
        return f"{self.cause}, sync {self.safety}"


class NoAnswer(Exception):
    """whysync ended with an error."""


class Answers:
    """Runs whysync as a user would, with a folder for bundles."""

    def __init__(self, play: RealPlay, folder: Path) -> None:
        self._play, self._argocd, self._folder = play, play.argocd, folder
        self._of_lab: dict[str, Answer] = {}

    def of_lab(self, app: str) -> Answer:
        """From the bundle of the model, which does not change any more."""
        if app not in self._of_lab:
            bundle = self._folder / "lab"
            if not bundle.exists():
                write_bundle(self._play.model.snapshot(), bundle)
            self._of_lab[app] = self._diagnosed(app, ["--bundle", str(bundle)], later=False)
        return self._of_lab[app]

    def of(self, source: str, app: str) -> Answer:
        if source != "collected":
            return self._diagnosed(app, self.flags(source))
        bundle = self._folder / "collected.tar.gz"
        bundle.unlink(missing_ok=True)
        self.whysync(
            ["collect", *self.flags("server and core"), "-o", str(bundle)], exits=(0, 3), later=False
        )
        return self._diagnosed(app, ["--bundle", str(bundle)])

    def flags(self, source: str) -> list[str]:
        server = ["--server", self._argocd.address, "--plaintext", "--auth-token", self._argocd.token]
        core = ["--core", "--kubeconfig", str(self._argocd.kubeconfig)]
        manifests = self._play.manifests
        files = ["--local", str(manifests)] if manifests.exists() else []
        return {
            "server": server,
            "core": core,
            "core and files": [*core, *files],
            "server and core": [*server, *core],
        }[source]

    def whysync(
        self, arguments: list[str], *, exits: tuple[int, ...], later: bool = True, cwd: Path | None = None
    ) -> str:
        """Run it, unless told otherwise as late after the last step as in the scenario."""
        seconds, compared = self._play.seconds_to_add, self._play.model_compared_seconds_ago
        module = ["suites.argocd.later", str(seconds), str(compared)] if later and seconds else ["whysync"]
        command = [sys.executable, "-m", *module, *arguments]
        done = self._argocd.run(command, seconds=_LONGEST, cwd=cwd, variables={"PYTHONPATH": _PYTHONPATH})
        if done.returncode not in exits:
            raise NoAnswer(f"whysync {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def diagnosed(self, app: str, flags: list[str], *, later: bool = True) -> Object:
        """The part of the report that is about this Application."""
        output = self.whysync(["diagnose", app, *flags, "-o", "json"], exits=(0, 1, 3), later=later)
        report = cast(Object, json.loads(output))
        return fields(items(report.get("apps"))[0])

    def _diagnosed(self, app: str, flags: list[str], *, later: bool = True) -> Answer:
        body = self.diagnosed(app, flags, later=later)
        finding = next(iter(items(body.get("findings"))), None)
        fix = next(iter(items(dig(finding, "fixes"))), None)
        return Answer(
            cause=text(dig(finding, "cause")) or "none",
            safety=text(dig(body, "safety", "sync")),
            fix_kind=text(dig(fix, "kind")),
            fix_title=text(dig(fix, "title")),
            proof=text(dig(fix, "proof", "status")),
            why=text(dig(fix, "proof", "why")),
        )
