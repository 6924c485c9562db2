"""The command line: one parser per verb. Environment variables `WHYSYNC_…` set the defaults of flags."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from whysync.cli.flag_types import Append, CollapsedGroup
from whysync.cli.main import VERBS
from whysync.errors import UsageError

_EPILOG = """\
exit codes:
  0  nothing wrong
  1  findings of severity --fail-on or higher, or unexplained symptoms
  2  usage error, or the facts could not be read
  3  nothing found, but important facts are missing

whysync APP is short for whysync diagnose APP.
Use whysync COMMAND --help for the flags of a command, and whysync explain for the causes.
"""
_UNKNOWN = "unrecognized arguments: "
# Flags that write must be on the command line.
_NOT_FROM_ENVIRONMENT = (
    "--help", "--help-all", "--write", "--apply", "--fix", "--write-baseline", "--refresh", "--hard-refresh",
)  # fmt: skip
# Verbs where the flag has another meaning than the environment variable.
_ANOTHER_MEANING = {
    "--bundle": " lab run",
    "--config": " serve",
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


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Flags as `-o, --output FORMAT`, in all versions of Python as in 3.13."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class Parser(argparse.ArgumentParser):
    """A parser whose `--help` fits on a screen: it lists the flags of collapsed groups under one heading."""

    verb: str = ""
    """The verb on the command line: argparse reports its unknown flags on the top parser."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (argparse exits here; we raise)
        verb = self.verbs().get(self.verb) if message.startswith(_UNKNOWN) else None
        similar = _similar_flag(message.removeprefix(_UNKNOWN), verb) if verb is not None else ""
        raise UsageError(
            what=message,
            why=f"did you mean {similar}?" if similar else "",
            next=f"see {(verb or self).prog} --help",
        )

    def format_help(self) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self._short_usage(), [], [])
        formatter.add_text(self.description)
        collapsed = [group for group in self._action_groups if isinstance(group, CollapsedGroup)]
        for group in self._action_groups:
            if group not in collapsed:
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(group._group_actions)
                formatter.end_section()
        if collapsed:
            formatter.start_section("more flags, described by --help-all")
            formatter.add_text("\n".join(map(_names_of, collapsed)))
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_full_help(self) -> None:
        self._print_message(self.format_full_help(), sys.stdout)

    def format_full_help(self) -> str:
        """The text of `--help-all`."""
        return super().format_help()

    def collapsed_groups(self) -> dict[str, str]:
        """The descriptions that only `--help-all` shows, by the title of the group."""
        texts: dict[str, str] = {}
        for group in self._action_groups:
            if isinstance(group, CollapsedGroup):
                formatter = self._get_formatter()
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(group._group_actions)
                formatter.end_section()
                texts[group.title or ""] = formatter.format_help().strip()
        return texts

    def _short_usage(self) -> str:
        """`whysync diagnose [APP ...] [flags]`."""
        formatter = self._get_formatter()
        formatter.add_usage(None, self._get_positional_actions(), [], "")
        return f"{formatter.format_help().strip()} [flags]"

    def verbs(self) -> dict[str, Parser]:
        """The parser of each verb."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]  (no public way)
                return dict(cast("dict[str, Parser]", action.choices))
        return {}


def _names_of(group: CollapsedGroup) -> str:
    """The flags of a group after its title, in lines that fit into the terminal."""
    width = min(shutil.get_terminal_size().columns, 100) - 4
    names = f"{group.title}: {', '.join(group.names)}"
    return "\n".join(textwrap.wrap(names, width, break_on_hyphens=False, subsequent_indent="  "))


def _similar_flag(unknown: str, verb: argparse.ArgumentParser) -> str:
    from difflib import get_close_matches

    flags = [flag for flag in verb._option_string_actions if flag.startswith("--")]  # pyright: ignore[reportPrivateUsage]  (no public way)
    typed = (argument.partition("=")[0] for argument in unknown.split() if argument.startswith("--"))
    matches = (match for argument in typed for match in get_close_matches(argument, flags, n=1, cutoff=0.8))
    return next(matches, "")


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        parser.print_full_help()
        parser.exit()


class InvalidVariable(str):
    """The value of an environment variable that the verb does not accept."""

    error: UsageError


def parser(environ: Mapping[str, str] | None = None, *, verb: str = "") -> Parser:
    """The parser of `verb`, with the environment as defaults; without a verb, the parser of all of them."""
    top = Parser(
        prog="whysync",
        description="Why is this Argo CD app OutOfSync, Degraded or failed? The cause, its writer, the fix.",
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )
    top.verb = verb
    top.add_argument("-V", "--version", action="store_true", help="print the version and exit")
    verbs = top.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser)
    for name, help in VERBS.items():
        subparser = verbs.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        if name == verb or not verb:
            verb_module(name).add_flags(subparser)
            for command in subparser.verbs().values() or (subparser,):
                _add_common_flags(command)
                if name == verb:
                    _from_environment(command, environ or {})
    return top


def _add_common_flags(verb: argparse.ArgumentParser) -> None:
    verb._positionals.title, verb._optionals.title = "arguments", "flags"  # pyright: ignore[reportPrivateUsage]  (no public way)
    if any(isinstance(group, CollapsedGroup) for group in verb._action_groups):  # pyright: ignore[reportPrivateUsage]
        verb.add_argument("--help-all", nargs=0, action=_HelpAll, help="describe all flags and exit")
    verb.add_argument("--no-color", action="store_true", help="no color (also: NO_COLOR)")
    verb.add_argument(
        "-v", "--verbose", action="count", default=0, help="log progress to standard error (-vv: more)"
    )


def _from_environment(verb: argparse.ArgumentParser, env: Mapping[str, str]) -> None:
    """Read defaults from the environment: `WHYSYNC_FAIL_ON=critical` is `--fail-on critical`."""
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
            # Another verb may accept it: it is an error only if no flag of this verb overrides it.
            action.default = InvalidVariable(value)
            action.default.error = UsageError(
                what=f"invalid WHYSYNC_{name[2:].replace('-', '_').upper()} {value!r}",
                why=f"for {verb.prog} it must be one of {', '.join(map(str, action.choices))}",
                next=f"unset it, or pass {name}",
            )
        else:
            action.default = [value] if isinstance(action, Append) else value
