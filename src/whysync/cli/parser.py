"""The flags. They follow `argocd` and `kubectl`; each can also be given as `WHYSYNC_…`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from whysync.cli.live_parser import ANOTHER_MEANING, WRITING, live, watching
from whysync.cli.suggest import Parser
from whysync.errors import UsageError

OUTPUTS = ("text", "wide", "json", "yaml", "markdown", "name")
FIX_OUTPUTS = ("text", "patch", "yaml", "commands", "json")
DIFF_OUTPUTS = ("text", "json", "yaml", "markdown")
SEVERITIES = ("info", "warning", "critical")
SORTS = (
    "name",
    "namespace",
    "cluster",
    "destination",
    "project",
    "sync",
    "health",
    "policy",
    "since",
    "cause",
)
FILTERS = ("project", "cluster", "namespace", "destination", "sync", "health", "policy", "cause", "condition")

_EPILOG = """\
exit codes of verbs that judge:
  0  nothing wrong
  1  findings at or above --fail-on, or symptoms that nothing explains
  2  bad usage, or the facts could not be read at all
  3  nothing found, but evidence that matters was missing

whysync APP is short for whysync diagnose APP. Docs: docs/ in the project, whysync explain for each cause.
"""


_Build = Callable[[argparse.ArgumentParser], None]


class _Append(argparse.Action):
    """One more value; the first on the line replaces the default, which may be the environment's."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        known = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [values] if known is self.default else [*known, values])


class Unfit(str):
    """A value from the environment that the verb does not take."""

    problem: UsageError


def parser(environ: Mapping[str, str] | None = None, *, verb: str = "") -> Parser:
    """The environment counts for `verb` alone: what it says may make no sense to the others."""
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
    for name, help, build in _VERBS:
        made = verbs.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        build(made)
        if name == verb:
            for one in (made, *made.verbs().values()):
                _from_environment(one, environ or {})
    return top


def common(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--no-color", action="store_true", help="no colour (also: NO_COLOR)")
    verb.add_argument("-v", "--verbose", action="count", default=0, help="say what is being done (-vv: more)")


def _facts(verb: argparse.ArgumentParser, *, takes_local: bool = True) -> None:
    verb.add_argument(
        "--bundle",
        action=_Append,
        metavar="PATH",
        default=[],
        help="a bundle: folder, .tar.gz, .zip, YAML file, or - for standard input (repeatable)",
    )
    verb.add_argument("--max-size", metavar="SIZE", type=_size, help="unpacked, at most (default 2GiB)")
    verb.add_argument("--max-file-size", metavar="SIZE", type=_size, help="of one file, at most (64MiB)")
    verb.add_argument("--max-files", metavar="N", type=_count, help="at most that many files (200000)")
    live(verb, append=_Append, takes_local=takes_local)
    common(verb)


_UNITS = {"": 0, "k": 10, "ki": 10, "kib": 10, "m": 20, "mi": 20, "mib": 20, "g": 30, "gi": 30, "gib": 30}


def _size(written: str) -> int:
    """`512MiB`, `4Gi`, `1000000`."""
    digits = written.rstrip("kKmMgGiIbB")
    unit = written[len(digits) :].lower()
    if not digits.isdecimal() or unit not in _UNITS or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"{written!r} is no size such as 512MiB or 4GiB")
    return int(digits) << _UNITS[unit]


def _count(written: str) -> int:
    if not written.isdecimal() or int(written) == 0:
        raise argparse.ArgumentTypeError(f"{written!r} is no such number")
    return int(written)


def _choosing(verb: argparse.ArgumentParser) -> None:
    for column in FILTERS:
        names = ("-n", "--namespace") if column == "namespace" else (f"--{column}",)
        verb.add_argument(*names, metavar="VALUE", action=_Append, help=f"only apps with this {column}")
    verb.add_argument(
        "-l", "--selector", metavar="LABELS", help="only apps with these labels, as kubectl's -l"
    )


def judging(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--fail-on", choices=SEVERITIES, default="warning", help="from which severity on to exit 1"
    )
    verb.add_argument(
        "--exit-zero", action="store_true", help="exit 0 whatever is found (errors still exit 2)"
    )


def proving(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--no-proof",
        action="store_true",
        help="try nothing on a model: neither the fixes, nor whether a sync is safe",
    )


def showing_proofs(verb: argparse.ArgumentParser) -> None:
    proving(verb)
    verb.add_argument(
        "--show-proof",
        action="store_true",
        help="what happened on the model, without each fix and with it",
    )


def _diagnose(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    verb.add_argument("-o", "--output", choices=OUTPUTS, default="text", help="how to show it")
    showing_proofs(verb)
    judging(verb)
    _choosing(verb)
    watching(verb)
    _facts(verb)


def _list(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-o", "--output", choices=OUTPUTS, default="text", help="how to show it")
    verb.add_argument(
        "--sort", choices=SORTS, default="name", metavar="COLUMN", help=f"by {', '.join(SORTS)}"
    )
    verb.add_argument("--reverse", action="store_true", help="the other way round")
    judging(verb)
    _choosing(verb)
    watching(verb)
    _facts(verb)


def _get(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="+", help="name or namespace/name")
    verb.add_argument(
        "-o",
        "--output",
        choices=OUTPUTS,
        default="text",
        help="how to show it",
    )
    verb.add_argument("--show-operation", action="store_true", help="what the last sync did to each resource")
    watching(verb)
    _facts(verb)


def _diff(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    verb.add_argument("-o", "--output", choices=DIFF_OUTPUTS, default="text", help="how to show it")
    verb.add_argument(
        "--resource",
        metavar="GROUP:KIND:NS/NAME",
        action=_Append,
        default=[],
        help="only this resource, as argocd's --resource; a name alone will do, ! leaves it out (repeatable)",
    )
    verb.add_argument(
        "--show-ignored", action="store_true", help="what ignore rules hide, and rules that hide nothing"
    )
    verb.add_argument(
        "--show-managed", action="store_true", help="all managers of each differing field, not the last alone"
    )
    verb.add_argument(
        "--side-by-side", action="store_true", help="live and Git beside each other (wide terminals: always)"
    )
    verb.add_argument(
        "-l", "--selector", metavar="LABELS", help="only apps with these labels, as kubectl's -l"
    )
    watching(verb)
    _facts(verb)
    verb.epilog = "exit codes: 0 nothing differs, 1 something does, 2 an error, or an app cannot be compared"


def _fix(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    verb.add_argument("-o", "--output", choices=FIX_OUTPUTS, default="text", help="how to show it")
    verb.add_argument(
        "--finding", metavar="ID", help="of this finding (id, rule, cause or number), not of the first"
    )
    verb.add_argument("--pick", metavar="N", type=_count, default=1, help="the N-th fix of the finding (1)")
    verb.add_argument(
        "--for-all", action="store_true", help="the one fix for all the apps that share a cause (see --cause)"
    )
    local = "a checkout of the repository: the diff is against its files"
    verb.add_argument("--checkout", "--local", metavar="DIR", help=local)
    verb.add_argument(
        "--file", metavar="PATH", default="", help="the file of the checkout, if there is a choice"
    )
    verb.add_argument("--write", action="store_true", help="edit the files of the checkout")
    verb.add_argument("--dry-run", action="store_true", help="say what --write would do, and do nothing")
    verb.add_argument("--apply", action="store_true", help="to a cluster: not in this version")
    proving(verb)
    _choosing(verb)
    _facts(verb, takes_local=False)
    verb.epilog = (
        "whysync fix APP --checkout . | git apply\n\n"
        "exit codes: 0 a fix was shown or written, or nothing is wrong;\n"
        "1 something is wrong, and no fix is offered; 2 an error, or it was refused"
    )


def _health(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="YAML or JSON of any objects, Lists too; a folder or an archive; - is standard input",
    )
    verb.add_argument(
        "-o",
        "--output",
        choices=("text", "wide", "json", "yaml", "name"),
        default="text",
        help="how to show it; wide says which check judged, name lists only what fails",
    )
    verb.add_argument("--settings", metavar="FILE", help="an argocd-cm with health checks of your own")
    verb.add_argument(
        "--fail-on",
        choices=("degraded", "progressing", "suspended"),
        default="degraded",
        help="exit 1 on Degraded, Missing and Unknown; on Progressing too; on Suspended too",
    )
    verb.add_argument(
        "--app", dest="apps", metavar="APP", action=_Append, default=[], help="of this app, live (repeatable)"
    )
    _facts(verb)
    verb.epilog = "exit codes: 0 nothing fails, 1 something does (see --fail-on), 2 the input cannot be read"


def _collect(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    verb.add_argument(
        "-o",
        "--output",
        metavar="DIR|FILE.tar.gz",
        default="whysync-bundle.tar.gz",
        help="output path (default whysync-bundle.tar.gz); an interrupted collection is resumed",
    )
    verb.add_argument("--project", metavar="VALUE", action=_Append, help="only apps with this project")
    verb.add_argument(
        "-l", "--selector", metavar="LABELS", help="only apps with these labels, as kubectl's -l"
    )
    _facts(verb)
    verb.epilog = (
        "whysync collect shop -o shop.tar.gz, and elsewhere: whysync diagnose --bundle shop.tar.gz\n\n"
        "exit codes: 0 all is there, 3 something could not be had (it is named), 2 an error"
    )


def _explain(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("name", metavar="RULE|CAUSE", nargs="?", help="none lists them all")
    verb.add_argument("-o", "--output", choices=OUTPUTS, default="text", help="how to show it")
    common(verb)


def _lint(verb: argparse.ArgumentParser) -> None:
    from whysync.cli.lint_parser import lint

    lint(verb, append=_Append)


def _plan(verb: argparse.ArgumentParser) -> None:
    from whysync.cli.plan_parser import plan

    plan(verb, lambda made: _facts(made, takes_local=False), _Append)


def _lab(verb: argparse.ArgumentParser) -> None:
    from whysync.cli.lab_parser import lab

    lab(verb)


def _after(name: str) -> _Build:
    def build(verb: argparse.ArgumentParser) -> None:
        from whysync.cli.after_parser import BUILDERS

        BUILDERS[name](verb, _facts, _Append)

    return build


def _completion(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("shell", choices=("bash", "zsh", "fish"), help="source <(whysync completion bash)")
    common(verb)


_VERBS: tuple[tuple[str, str, _Build], ...] = (
    ("diagnose", "say why apps are not Synced and Healthy, and what fixes it", _diagnose),
    ("list", "list apps as argocd does, with the cause of each", _list),
    ("get", "show one app as argocd app get does", _get),
    ("diff", "show where Git and the cluster differ, who wrote it, and what is ignored", _diff),
    ("fix", "show one fix as a patch, YAML or commands, or write it into a checkout", _fix),
    ("health", "say how healthy Argo CD would call each object of some files", _health),
    ("collect", "take the facts home in a bundle without secrets", _collect),
    ("explain", "the page of a rule or a cause", _explain),
    ("lint", "say what files would break, before they are merged", _lint),
    ("plan", "say what a commit would do to the cluster, before it is merged", _plan),
    ("lab", "play failures on a cluster in memory, and diagnose them", _lab),
    ("alerts", "print Prometheus rules for Argo CD, each with a runbook", _after("alerts")),
    ("audit", "say what will be trouble later: other writers, missing checks, hooks, ends", _after("audit")),
    ("wait", "wait until apps are synced and healthy; else say why they are not", _after("wait")),
    ("completion", "print a completion script for a shell", _completion),
)


def _from_environment(verb: argparse.ArgumentParser, env: Mapping[str, str]) -> None:
    """`WHYSYNC_FAIL_ON=critical` is `--fail-on critical`: a default, which a flag on the line overrides."""
    for action in verb._actions:  # pyright: ignore[reportPrivateUsage]  (argparse has no public way to list them)
        name = next((flag for flag in action.option_strings if flag.startswith("--")), None)
        if name is None or name in ("--help", "--write", "--apply", "--fix", "--write-baseline", *WRITING):
            continue  # what writes is asked for on the line, each time
        if verb.prog.endswith(ANOTHER_MEANING.get(name, "nowhere")):
            continue
        if name == "--bundle" and " lab " in verb.prog:
            continue  # the variable names a bundle to read; this one is written
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
            action.default = [value] if isinstance(action.default, list) or name[2:] in FILTERS else value
