"""Runs Helm or Kustomize in a temporary home directory; errors have upstream's format."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.argocd.repo_server.render.problem import CannotRender
from whysync.golang.duration import seconds_text
from whysync.processes.children import NOWHERE, NotStarted, TooMuchOutput, TooSlow, environment, run

# Errors of programs without network access.
_NO_NETWORK_ERRORS: Final = (NOWHERE, "transport 'https' not allowed", "transport 'ssh' not allowed")


class CommandFailed(Exception):
    """`` `helm template …` failed exit status 1: Error: …``: mirrors `CmdError`, Argo CD 3.6."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class ToolHome(msgspec.Struct, frozen=True):
    """The temporary home directory of one rendering; `shown` replaces local paths in messages."""

    path: Path
    options: RenderOptions
    shown: Callable[[str], str]

    def call(
        self,
        command: Sequence[str],
        *,
        shown_as: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """The output of a program. `shown_as` is the command line as upstream runs it."""
        options = self.options
        command_line = self.shown(" ".join(shown_as))
        variables = environment(self.path, network=options.network, more={**self._homes(), **(env or {})})
        try:
            result = run(
                command, folder=folder, env=variables, bounds=options.bounds, apart=not options.network
            )
        except TooSlow:
            raise CommandFailed(
                f"`{command_line}` failed timeout after {seconds_text(options.bounds.seconds)}"
            ) from None
        except TooMuchOutput:
            raise CannotRender(
                what=f"`{command_line}` printed more than {options.bounds.output >> 20} MiB",
                why="whysync stops there: no cluster accepts that much at once",
                next="check for a template that generates too much output",
            ) from None
        except NotStarted as problem:
            raise CannotRender(
                what=f"{shown_as[0]} cannot be run",
                why=str(problem),
                next=f"fix the installation of {shown_as[0]}",
            ) from None
        if result.code != 0:
            complaint = self.shown(result.complaint).replace(str(self.path), "/tmp")
            if not options.network and any(mark in complaint for mark in _NO_NETWORK_ERRORS):
                raise CannotRender(
                    what=f"`{command_line}` needs the network",
                    why=complaint,
                    next="allow it with --network, or keep what it fetches in the repository",
                )
            raise CommandFailed(
                f"`{command_line}` failed {result.cause}{f': {complaint}' if complaint else ''}"
            )
        return result.out.decode("utf-8", "replace").removesuffix("\n")

    def _homes(self) -> dict[str, str]:
        return {
            "XDG_CACHE_HOME": f"{self.path}/cache",
            "XDG_CONFIG_HOME": f"{self.path}/config",
            "XDG_DATA_HOME": f"{self.path}/data",
            "HELM_CONFIG_HOME": f"{self.path}/config",
            "HELM_PLUGINS": f"{self.path}/plugins",
            "GOMEMLIMIT": str(max(self.options.bounds.memory // 4, 64 << 20)),
            "GOMAXPROCS": "2",
        }


@contextmanager
def home(options: RenderOptions, shown: Callable[[str], str]) -> Generator[ToolHome]:
    with tempfile.TemporaryDirectory(prefix="whysync-render-", ignore_cleanup_errors=True) as path:
        yield ToolHome(Path(path).resolve(), options, shown)
