"""The `git` command. Every Git call of whysync is `Git.run`.

Git runs no program that a repository names. A user's repository is read through a `View`, without its
configuration; no protocol is allowed unless a call asks for one, which only fetches into whysync's own cache
do; the environment and the home directory are empty. Fetches use the configuration of the user (not that of a
repository): credential helpers, `.netrc`, proxies, ssh. Credentials in URLs are removed from every message.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.errors import SourceError, Unreadable
from whysync.processes.children import Bounds, Finished, NotStarted, TooMuchOutput, TooSlow, environment, run

# A view of a user's repository: its objects, references and index, with a separate configuration.
#
# The configuration of a repository can name programs: hooks, filters, drivers, a remote that missing objects
# are fetched from. Git reads user repositories only through such a view. It is a git directory that links to
# the data and has its own `config`, so nothing in the repository's own configuration is in effect. In
# particular a view has no promisor remote: an object that a partial clone does not have is just missing.


# Keys without effect on what Git runs: upstream branches (`@{upstream}`), file names and storage formats.
_INERT: Final = (
    "branch.*.merge",
    "branch.*.remote",
    "remote.*.fetch",
    "core.ignorecase",
    "core.precomposeunicode",
    "extensions.objectformat",
    "extensions.refstorage",
)
_OF_ALL_WORK_TREES: Final = (
    "objects",
    "refs",
    "packed-refs",
    "reftable",
    "shallow",
    "info/exclude",
    "logs/refs",
)
_OF_ONE_WORK_TREE: Final = ("index", "sharedindex.*", "*_HEAD", "logs/HEAD")

Setting = tuple[str, str]


class View(msgspec.Struct, frozen=True, kw_only=True):
    git_dir: Path
    """Where HEAD and the index of this work tree are."""
    common_dir: Path
    """Where objects, references and the configuration are; differs in a linked work tree."""
    settings: tuple[Setting, ...] = ()
    """The settings in the configuration file of the repository, without included files."""

    def write(self, folder: Path) -> None:
        """Raises `OSError`."""
        head = self.git_dir / "HEAD"
        files = git_dir_files(
            head=head.read_text(errors="surrogateescape") if head.is_file() else "",
            settings=[
                setting for setting in self.settings if any(fnmatchcase(setting[0], key) for key in _INERT)
            ],
        )
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, errors="surrogateescape")
        for base, patterns in ((self.common_dir, _OF_ALL_WORK_TREES), (self.git_dir, _OF_ONE_WORK_TREE)):
            for source in (path for pattern in patterns for path in base.glob(pattern)):
                link = folder / source.relative_to(base)
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(source)


def git_dir_files(*, head: str, settings: Iterable[Setting] = ()) -> dict[str, str]:
    """The files by which Git recognizes a git directory; it also needs the folders `objects` and `refs`."""
    required = [("core.repositoryformatversion", "1"), ("core.bare", "true")]
    return {"HEAD": head, "config": config_text([*required, *settings])}


def config_text(settings: Iterable[Setting]) -> str:
    """Settings as a configuration file of Git."""
    lines: list[str] = []
    for key, value in settings:
        section, _, name_parts = key.partition(".")
        subsection, _, name = name_parts.rpartition(".")
        lines += [
            f"[{section} {_quoted(subsection)}]" if subsection else f"[{section}]",
            f"\t{name} = {_quoted(value)}",
        ]
    return "".join(f"{line}\n" for line in lines)


def settings_in(listing: bytes) -> tuple[Setting, ...]:
    """From `git config --null --list`; a key without a value is true."""
    entries = (
        entry.partition("\n") for entry in listing.decode("utf-8", "surrogateescape").split("\0") if entry
    )
    return tuple((key, value if has_value else "true") for key, has_value, value in entries)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


READING: Final = Bounds(seconds=60.0, output=1 << 30)
FETCHING: Final = Bounds(seconds=180.0, output=16 << 20, file_bytes=2 << 30)

NO_PROTOCOL: Final = "none"

# For the two calls that are made in a user's repository itself (to find it and to check its owner), and
# against defaults: hooks, file system monitors, prompts for credentials, jobs in the background.
_NO_CREDENTIALS: Final = ("core.askPass=", "credential.helper=")
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
)
# Variables that locate the user's Git configuration.
_USER_CONFIG_VARIABLE: Final = re.compile(
    r"HOME|XDG_CONFIG_HOME|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)"
)
_CREDENTIALS: Final = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^/@\s'\"]{1,2000}@")


class GitFailed(Exception):
    """A git command failed; the message is the repo-server's: `` `git …` failed exit status 128: …``."""

    def __init__(self, message: str, *, complaint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.complaint = complaint


def without_credentials(text: str) -> str:
    """The text with `https://host` in place of `https://user:token@host`."""
    return _CREDENTIALS.sub(lambda matched: matched["scheme"], text)


class Git:
    """`git` on a user's repository (a `View`), on a git directory in whysync's cache, or on none."""

    def __init__(self, repository: View | Path | None = None) -> None:
        self.repository = repository

    def text(self, *arguments: str, bounds: Bounds = READING, protocols: str = NO_PROTOCOL) -> str:
        return self.bytes(*arguments, bounds=bounds, protocols=protocols).decode("utf-8", "surrogateescape")

    def bytes(
        self,
        *arguments: str,
        bounds: Bounds = READING,
        input: bytes = b"",
        protocols: str = NO_PROTOCOL,
    ) -> bytes:
        """Standard output. Raises `GitFailed`."""
        done = self.run(arguments, bounds=bounds, input=input, protocols=protocols)
        if done.code != 0:
            raise GitFailed(
                f"`{_shown(arguments)}` failed {done.cause}: {done.complaint}", complaint=done.complaint
            )
        return done.out

    def run(
        self,
        arguments: Sequence[str],
        *,
        bounds: Bounds = READING,
        input: bytes = b"",
        protocols: str = NO_PROTOCOL,
        folder: Path | None = None,
        user_config: Sequence[Setting] | None = (),
    ) -> Finished:
        """Runs git in `folder`, or in an empty one. `protocols` are separated by colons.

        `user_config` replaces the configuration of the user; `None` leaves it in effect.
        """
        with tempfile.TemporaryDirectory(
            prefix="whysync-git-", ignore_cleanup_errors=True
        ) as temporary_folder:
            home = Path(temporary_folder)
            working_folder = folder or home
            env = environment(home, network=protocols != NO_PROTOCOL, more=_variables(protocols))
            env["GIT_CEILING_DIRECTORIES"] = str(working_folder.parent)
            is_fetch = protocols != NO_PROTOCOL
            if user_config is None or is_fetch:
                del env["GIT_CONFIG_NOSYSTEM"]
                env |= {
                    key: value for key, value in os.environ.items() if _USER_CONFIG_VARIABLE.fullmatch(key)
                }
            git_dir = self.repository
            try:
                if user_config and not is_fetch:
                    (home / ".gitconfig").write_text(config_text(user_config), errors="surrogateescape")
                if isinstance(git_dir, View):
                    git_dir.write(home / "repository")
                    git_dir = home / "repository"
                git_dir_arguments = ("--git-dir", str(git_dir)) if git_dir is not None else ()
                fixed = _SETTINGS if is_fetch else (*_SETTINGS, *_NO_CREDENTIALS)
                settings = (argument for setting in fixed for argument in ("-c", setting))
                done = run(
                    [_program(), "--no-pager", *settings, *git_dir_arguments, *arguments],
                    folder=working_folder,
                    env=env,
                    bounds=bounds,
                    input=input,
                )
            except TooSlow:
                raise GitFailed(
                    f"`{_shown(arguments)}` failed timeout after {bounds.seconds:.0f}s", complaint="timeout"
                ) from None
            except TooMuchOutput:
                raise GitFailed(f"`{_shown(arguments)}` gave more than {bounds.output >> 20} MiB") from None
            except OSError as problem:
                raise Unreadable(
                    what="the repository cannot be read",
                    why=str(problem),
                    next="check the permissions of its .git folder",
                ) from problem
            except NotStarted as problem:
                raise Unreadable(
                    what="git cannot be run", why=str(problem), next="install git, or fix its permissions"
                ) from problem
        complaint = without_credentials(done.complaint)
        if git_dir is not None:
            complaint = complaint.replace(str(git_dir), "<path to cached source>")
        return replace(done, complaint=complaint)


def _variables(protocols: str) -> dict[str, str]:
    variables = {
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
    }
    if "SUDO_UID" in os.environ:  # with sudo, Git's owner check accepts repositories of the calling user
        variables["SUDO_UID"] = os.environ["SUDO_UID"]
    if protocols != NO_PROTOCOL:
        # ssh needs the user's keys or agent. It cannot prompt: the process has no terminal.
        for name in ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH"):
            if name in os.environ:
                variables[name] = os.environ[name]
    return variables


def _shown(arguments: Sequence[str]) -> str:
    return without_credentials(" ".join(("git", *arguments)))


def _program() -> str:
    program = shutil.which("git")
    if program is None:
        raise SourceError(
            what="there is no git on the PATH",
            why="whysync reads repositories with the git command",
            next="install git, or give a folder with the files instead of a repository",
        )
    return program
