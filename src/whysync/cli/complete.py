"""Shell completion: the possible next words of a command line. The scripts of `whysync completion` call it.

    whysync __complete diagnose --output j     prints json

Names of apps come from the source in use. They are cached for half a minute, and reading them is given up
after two seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import whysync
from whysync.cli.flag_types import Append
from whysync.cli.main import VERBS
from whysync.cli.parser import Parser, parser
from whysync.reports.output import out

FILES = ":files"
"""Printed alone: the shell completes names of files."""
_SECONDS = 2.0
_CACHED_SECONDS = 30.0
_FAILED_SECONDS = 5.0
_MOST_NAMES = 5_000
_FILE_WORDS = ("FILE", "DIR", "PATH")
# A shell inserts these without quotes, and never runs them.
_PLAIN = re.compile(r"[\w.:@/+=,!-]+")
_LISTS = ("--sync", "--health", "--cause")


def run(arguments: Sequence[str]) -> int:
    """Print the candidates for the last argument, one per line; never an error."""
    *previous, current = arguments or ("",)
    with suppress(Exception):
        out().say(*candidates(previous, current))
    return 0


def candidates(previous: Sequence[str], current: str) -> list[str]:
    """The possible values of the argument `current`, which follows `previous`."""
    if not previous and not current.startswith("-"):
        verbs = [*VERBS, "help"]
        matching = [name for name in verbs if name.startswith(current)]
        return matching or _starting(_apps("diagnose", ()), current)
    verb = previous[0] if previous and previous[0] in (*VERBS, "help") else "diagnose"
    typed = list(previous[1:] if previous and previous[0] == verb else previous)
    if verb == "help":
        return _starting(VERBS, current)
    command = parser(os.environ, verb=verb).verbs()[verb]
    if below := command.verbs():
        if not typed:
            return _starting(below, current)
        command = below.get(typed.pop(0), command)
    return _of_command(verb, command, typed, current)


def _of_command(verb: str, command: Parser, typed: list[str], current: str) -> list[str]:
    flags = command._option_string_actions  # pyright: ignore[reportPrivateUsage]  (no public way)
    name, equals, value = current.partition("=")
    if equals and name.startswith("--") and name in flags:
        values = _values(flags[name], value, typed)
        return values if values == [FILES] else [f"{name}={candidate}" for candidate in values]
    before = typed[-1] if typed else ""
    if before in flags and flags[before].nargs is None and not isinstance(flags[before], _NO_VALUE):
        return _values(flags[before], current, typed)
    if current.startswith("-"):
        return sorted(flag for flag in flags if flag.startswith(current) and flag.startswith("--"))
    return _positionals(verb, command, typed, current)


_NO_VALUE = (
    argparse._StoreTrueAction,  # pyright: ignore[reportPrivateUsage]  (no public class)
    argparse._CountAction,  # pyright: ignore[reportPrivateUsage]
    argparse._HelpAction,  # pyright: ignore[reportPrivateUsage]
)


def _values(action: argparse.Action, current: str, typed: Sequence[str]) -> list[str]:
    """The values of a flag. A list is completed at its last element, with or without `!`."""
    name = next((flag for flag in action.option_strings if flag.startswith("--")), "")
    candidates: Iterable[str] = ()
    if action.choices is not None:
        candidates = map(str, action.choices)
    elif isinstance(action, Append) and action.known:
        candidates = action.known
    elif name == "--context":
        candidates = _kube_contexts(_value_of("--kubeconfig", typed))
    elif name == "--argocd-context":
        candidates = _argocd_contexts(_value_of("--config", typed))
    elif any(kind in str(action.metavar or "") for kind in _FILE_WORDS):
        return [FILES]
    if name not in _LISTS:
        return _starting(candidates, current)
    first, comma, last = current.rpartition(",")
    negation = "!" if last.startswith("!") else ""
    last = last.removeprefix("!")
    return [f"{first}{comma}{negation}{value}" for value in _column_values(name) if _begins(value, last)]


def _column_values(name: str) -> Sequence[str]:
    if name == "--cause":
        from whysync.app import known_causes

        return known_causes()
    from whysync.argocd.api.application import HealthCode, SyncCode

    return tuple(SyncCode) if name == "--sync" else tuple(HealthCode)


def _positionals(verb: str, command: Parser, typed: Sequence[str], current: str) -> list[str]:
    actions = command._get_positional_actions()  # pyright: ignore[reportPrivateUsage]  (no public way)
    if not actions:
        return []
    action = actions[0]
    metavar = str(action.metavar or "")
    if action.choices is not None:
        return _starting(map(str, action.choices), current)
    if verb == "explain":
        from whysync.app import known_causes

        return _starting((*known_causes(), *_rules()), current)
    if verb == "lab":
        from whysync.lab.library import names

        return _starting(names(), current) or [FILES]
    if metavar == "APP":
        return _starting(_apps(verb, typed), current)
    return [FILES] if any(kind in metavar for kind in _FILE_WORDS) else []


def _starting(values: Iterable[str], current: str) -> list[str]:
    return sorted({value for value in values if value.startswith(current) and _PLAIN.fullmatch(value)})


def _begins(value: str, current: str) -> bool:
    return value.lower().startswith(current.lower())


def _value_of(flag: str, typed: Sequence[str]) -> str:
    """The value of a flag that was typed before."""
    for index, argument in enumerate(typed):
        if argument == flag and index + 1 < len(typed):
            return typed[index + 1]
        if argument.startswith(f"{flag}="):
            return argument.partition("=")[2]
    return ""


def _rules() -> list[str]:
    """The ids of the rules, from their file names, without importing them."""
    files = (Path(whysync.__file__).parent / "rules").glob("*/*.py")
    return sorted({file.stem for file in files if file.stem != "__init__"})


def _kube_contexts(path: str) -> Iterable[str]:
    from whysync.facts.kubernetes_api.kubeconfig import load_kubeconfig

    return load_kubeconfig(str(Path(path).expanduser()) if path else "", os.environ).contexts


def _argocd_contexts(path: str) -> Iterable[str]:
    from whysync.facts.argocd_api.config import default_path, read_config

    config = read_config(Path(path).expanduser() if path else default_path(os.environ))
    return [context.name for context in config.contexts] if config is not None else ()


# --- names of apps -------------------------------------------------------------------------------------


def _apps(verb: str, typed: Sequence[str]) -> list[str]:
    """The names of the apps in the source that the typed flags and the environment select."""
    command = parser(os.environ, verb=verb).verbs()[verb]
    flags = list(_source_arguments(command, typed))
    if "-" in flags:
        return []
    options, _ = command.parse_known_args([*flags, "x"])
    options.apps = []
    return _cached(_source_key(flags), lambda: _read_apps(options))


def _source_arguments(command: Parser, typed: Sequence[str]) -> Generator[str]:
    """The flags among the arguments, with their values; names of apps are omitted."""
    flags = command._option_string_actions  # pyright: ignore[reportPrivateUsage]  (no public way)
    arguments = iter(typed)
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if name not in flags:
            continue
        yield argument
        if not equals and not isinstance(flags[name], _NO_VALUE) and flags[name].nargs is None:
            yield os.path.expanduser(next(arguments, ""))


def _source_key(flags: Sequence[str]) -> str:
    """What decides which apps there are; tokens do not."""
    names = ("HOME", "KUBECONFIG", "ARGOCD_SERVER", "ARGOCD_OPTS", "ARGOCD_CONFIG_DIR", "XDG_CONFIG_HOME")
    described = [os.getcwd(), *flags, *(f"{name}={os.environ.get(name, '')}" for name in names)]
    described += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name == "WHYSYNC_BUNDLE"]
    return hashlib.sha256("\0".join(described).encode("utf-8", "replace")).hexdigest()


def _read_apps(options: argparse.Namespace) -> list[str]:
    from whysync import app
    from whysync.cli.sources import source_of
    from whysync.deadline import Deadline
    from whysync.diagnosis.snapshot_index import SnapshotIndex
    from whysync.reports.fleet import app_names

    options.deadline = Deadline.after(_SECONDS)
    options.refresh = options.hard_refresh = False
    with _time_limit():
        source = source_of(options)
        worlds = app.read(source) if source.bundles else (SnapshotIndex(app.applications_snapshot(source)),)
        return list(app_names(app.cases(worlds)).values())[:_MOST_NAMES]


def _cached(key: str, read: Callable[[], list[str]]) -> list[str]:
    """What was read in the last half minute; a source that failed is not asked again for a few seconds."""
    from whysync.argocd.repo_server.git.repo import cache_folder
    from whysync.files import write_file

    file = cache_folder() / "completion" / f"{key}.json"
    with suppress(OSError, ValueError):
        age = time.time() - file.stat().st_mtime
        cached_names = [str(name) for name in json.loads(file.read_bytes())]
        if 0 <= age < (_CACHED_SECONDS if cached_names else _FAILED_SECONDS):
            return cached_names
    names: list[str] = []
    with suppress(Exception):
        names = read()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(file, json.dumps(names).encode(), mode=0o600, durable=False)
    return names


class _TimeIsUp(Exception):
    pass


@contextmanager
def _time_limit() -> Generator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TimeIsUp

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
