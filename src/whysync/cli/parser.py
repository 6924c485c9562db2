"""The command line: one parser per verb. Each flag can also be given as `WHYSYNC_…`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from whysync.cli.flag_types import Append
from whysync.cli.main import VERBS
from whysync.errors import UsageError

_EPILOG = """\
exit codes of verbs that judge:
  0  nothing wrong
  1  findings at or above --fail-on, or symptoms that nothing explains
  2  bad usage, or the facts could not be read at all
  3  nothing found, but evidence that matters was missing

whysync APP is short for whysync diagnose APP. Docs: docs/ in the project, whysync explain for each cause.
"""
_UNKNOWN = "unrecognized arguments: "
# What writes is asked for on the line, each time.
_NOT_FROM_ENVIRONMENT = (
    "--help", "--write", "--apply", "--fix", "--write-baseline", "--refresh", "--hard-refresh",
)  # fmt: skip
# The flag of this verb means something else than the variable.
_ANOTHER_MEANING = {
    "--bundle": " lab run",
    "--fail-on": " health",
    "--output": " collect",
    "--skip": " alerts",
    "--sync": " wait",
    "--health": " wait",
}


class Verb(Protocol):
    """A module of this package that is named after its verb."""

    def add_flags(self, verb: argparse.ArgumentParser, /) -> None: ...

    def run(self, options: argparse.Namespace, /) -> int: ...


def verb_module(name: str) -> Verb:
    return cast("Verb", import_module(f"whysync.cli.{name}"))


class Parser(argparse.ArgumentParser):
    verb: str = ""
    """Which one was asked for: argparse complains of its unknown flags at the top."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (argparse exits here; we raise)
        asked = self.verbs().get(self.verb) if message.startswith(_UNKNOWN) else None
        alike = _alike(message.removeprefix(_UNKNOWN), asked) if asked is not None else ""
        raise UsageError(
            what=message,
            why=f"did you mean {alike}?" if alike else "",
            next=f"{(asked or self).prog} --help shows what it takes",
        )

    def verbs(self) -> dict[str, argparse.ArgumentParser]:
        """Each verb's own parser: for the docs, and for completion."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]  (no public way)
                return dict(cast("dict[str, argparse.ArgumentParser]", action.choices))
        return {}


def _alike(unknown: str, asked: argparse.ArgumentParser) -> str:
    from difflib import get_close_matches

    flags = [flag for flag in asked._option_string_actions if flag.startswith("--")]  # pyright: ignore[reportPrivateUsage]  (no public way)
    told = (word.partition("=")[0] for word in unknown.split() if word.startswith("--"))
    return next((found[0] for word in told if (found := get_close_matches(word, flags, n=1, cutoff=0.8))), "")


class Unfit(str):
    """A value from the environment that the verb does not take."""

    problem: UsageError


def parser(environ: Mapping[str, str] | None = None, *, verb: str = "") -> Parser:
    """The parser of `verb`, with the environment as defaults; without a verb, the parser of all of them."""
    top = Parser(
        prog="whysync",
        description="Why is this Argo CD app OutOfSync, Degraded or failed? The cause, its writer, the fix.",
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.verb = verb
    top.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    verbs = top.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser)
    for name, help in VERBS.items():
        made = verbs.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == verb or not verb:
            verb_module(name).add_flags(made)
            for command in made.verbs().values() or (made,):
                _add_common_flags(command)
                if name == verb:
                    _from_environment(command, environ or {})
    return top


def _add_common_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--no-color", action="store_true", help="no color (also: NO_COLOR)")
    verb.add_argument(
        "-v", "--verbose", action="count", default=0, help="log progress to standard error (-vv: more)"
    )


def _from_environment(verb: argparse.ArgumentParser, env: Mapping[str, str]) -> None:
    """`WHYSYNC_FAIL_ON=critical` is `--fail-on critical`: a default, which a flag on the line overrides."""
    for action in verb._actions:  # pyright: ignore[reportPrivateUsage]  (argparse has no public way to list them)
        name = next((flag for flag in action.option_strings if flag.startswith("--")), None)
        if name is None or name in _NOT_FROM_ENVIRONMENT:
            continue
        if verb.prog.endswith(_ANOTHER_MEANING.get(name, "nowhere")):
            continue
        value = env.get("WHYSYNC_" + name[2:].replace("-", "_").upper())
        if not value:
            continue
        if isinstance(action.default, bool):
            action.default = value.lower() not in ("0", "false", "no", "off")
        elif isinstance(action.default, int):
            action.default = int(value) if value.isdecimal() else action.default
        elif action.choices is not None and value not in action.choices:
            # Another verb may take it: an error only where this one is run, and no flag overrides it.
            action.default = Unfit(value)
            action.default.problem = UsageError(
                what=f"WHYSYNC_{name[2:].replace('-', '_').upper()} is {value!r}",
                why=f"for {verb.prog} it must be one of {', '.join(map(str, action.choices))}",
                next=f"unset it, or give {name}",
            )
        else:
            action.default = [value] if isinstance(action, Append) else value
