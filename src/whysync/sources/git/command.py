"""The `git` command: quiet, without hooks, without a user's configuration, and never for long.

What it complains about reaches people, so credentials in URLs are taken out of every text.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from whysync.errors import SourceError, Unreadable
from whysync.sources.children import Bounds, Finished, NotStarted, TooMuchSaid, TooSlow, environment, run

READING: Final = Bounds(seconds=60.0, output=1 << 30)
FETCHING: Final = Bounds(seconds=180.0, output=16 << 20)

# Nothing that a repository brings along may run: hooks, file system monitors, external diffs, filters of LFS.
_QUIET: Final = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.askPass=",
    "-c",
    "credential.helper=",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "safe.directory=*",
    "-c",
    "submodule.recurse=false",
)
_CREDENTIALS: Final = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^/@\s'\"]{1,2000}@")


class GitFailed(Exception):
    """What git said, as the repo-server would pass it on: `` `git …` failed exit status 128: …``."""

    def __init__(self, message: str, *, complaint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.complaint = complaint


def without_credentials(text: str) -> str:
    """`https://user:token@host` → `https://host`, wherever it stands in a text."""
    return _CREDENTIALS.sub(lambda found: found["scheme"], text)


class Git:
    """`git` on one git directory, or on none."""

    def __init__(self, git_dir: Path | None = None, *, network: bool = False) -> None:
        self.git_dir = git_dir
        self.network = network

    def text(self, *arguments: str, bounds: Bounds = READING) -> str:
        return self.bytes(*arguments, bounds=bounds).decode("utf-8", "surrogateescape")

    def bytes(self, *arguments: str, bounds: Bounds = READING, given: bytes = b"") -> bytes:
        """What it writes. Raises `GitFailed`."""
        done = self.run(arguments, bounds=bounds, given=given)
        if done.code != 0:
            raise self._failed(arguments, done)
        return done.out

    def run(self, arguments: Sequence[str], *, bounds: Bounds = READING, given: bytes = b"") -> Finished:
        where = ("--git-dir", str(self.git_dir)) if self.git_dir is not None else ()
        with tempfile.TemporaryDirectory(prefix="whysync-git-", ignore_cleanup_errors=True) as home:
            env = environment(Path(home), network=self.network, more=_settings(network=self.network))
            try:
                return run(
                    [_program(), *_QUIET, *where, *arguments],
                    folder=Path(home),
                    env=env,
                    bounds=bounds,
                    given=given,
                )
            except TooSlow:
                raise GitFailed(
                    f"`{_shown(arguments)}` failed timeout after {bounds.seconds:.0f}s", complaint="timeout"
                ) from None
            except TooMuchSaid:
                raise GitFailed(f"`{_shown(arguments)}` gave more than {bounds.output >> 20} MiB") from None
            except NotStarted as problem:
                raise Unreadable(
                    what="git cannot be run", why=str(problem), next="install git, or mend its permissions"
                ) from problem

    def _failed(self, arguments: Sequence[str], done: Finished) -> GitFailed:
        complaint = without_credentials(done.complaint)
        if self.git_dir is not None:
            complaint = complaint.replace(str(self.git_dir), "<path to cached source>")
        return GitFailed(f"`{_shown(arguments)}` failed {done.cause}: {complaint}", complaint=complaint)


def _settings(*, network: bool) -> dict[str, str]:
    given = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "GIT_PAGER": "cat",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    if network:
        import os

        given["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git:file"
        given["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        # Keys and agents are how a person reaches an ssh remote: only these come through, and only here.
        for name in ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND"):
            if name in os.environ:
                given[name] = os.environ[name]
    return given


def _shown(arguments: Sequence[str]) -> str:
    return without_credentials(" ".join(("git", *arguments)))


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise SourceError(
            what="there is no git on the PATH",
            why="whysync reads repositories with the git command",
            next="install git, or give a folder with the files instead of a repository",
        )
    return found
