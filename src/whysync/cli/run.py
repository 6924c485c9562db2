"""Runs one verb: reads the facts, calls the app, writes the report to standard output."""

from __future__ import annotations

import argparse
import io
import logging
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, cast

from whysync.cli.exits import Exit, exit_of
from whysync.cli.parser import Unfit, parser
from whysync.cli.signals import taken_like_ctrl_c
from whysync.deadline import Deadline
from whysync.errors import Unreadable, WhysyncError
from whysync.reports.output import err, one_safe_line, out
from whysync.reports.screen import Screen


def run(arguments: Sequence[str], *, meant: str = "") -> int:
    """`meant` is the first word as it was typed: an app's name, or perhaps a verb with a slip in it."""
    with taken_like_ctrl_c() as terminated:
        code = _guarded(arguments, meant)
    return 143 if terminated.asked else code


def _guarded(arguments: Sequence[str], meant: str) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except WhysyncError as error:
        _complain(error)
        _suggest_verb(meant)
        return Exit.ERROR
    except KeyboardInterrupt:
        err().say("", "interrupted")
        return 130
    except RecursionError:
        _complain(Unreadable(what="the input is nested too deeply", next="look for what makes it so deep"))
        return Exit.ERROR
    except BrokenPipeError:
        # The reader (head, less) has gone: that is its right, and no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        # A fault of ours. Python would end with 1, and to a pipeline that means: something was found.
        logging.getLogger(__name__).debug("whysync failed", exc_info=True)
        _complain(
            WhysyncError(
                what=f"whysync itself failed: {type(problem).__name__}: {problem}",
                why="this is a fault of whysync, not of your input",
                next="run it again with -vv, and report what it prints",
            )
        )
        return Exit.ERROR


def _complain(error: WhysyncError) -> None:
    screen = _screen(sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    why = [f"  why    {error.why}"] if error.why else []
    next = [f"  next   {error.next}"] if error.next else []
    err().say(f"{screen.paint('whysync:', 'bold', 'red')} {error.what}", *why, *next)


def _suggest_verb(typed: str) -> None:
    """`whysync diagnos` asks for an app of that name, which may exist; where it fails, the slip is likely."""
    from difflib import get_close_matches

    from whysync.cli.main import VERBS

    if len(typed) < 2 or typed in VERBS:
        return
    begun = [verb for verb in VERBS if verb.startswith(typed)]
    for verb in begun[:1] or get_close_matches(typed, VERBS, n=1, cutoff=0.75):
        err().say(f"  meant  whysync {verb}? {typed} is no command, so it was taken for an app")


def _screen(color: bool) -> Screen:
    encoding = (sys.stdout.encoding or "ascii").lower()
    return Screen(
        width=shutil.get_terminal_size((80, 24)).columns
        if sys.stdout.isatty() or "COLUMNS" in os.environ
        else 100,
        color=color,
        unicode=encoding.startswith("utf"),
    )


def _run(arguments: Sequence[str]) -> int:
    top = parser(os.environ, verb=arguments[0] if arguments else "")
    if not arguments or list(arguments) == ["help"]:
        top.print_help()
        return Exit.OK if arguments else Exit.ERROR
    if arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    options = top.parse_args(arguments)
    for value in vars(options).values():
        if isinstance(value, Unfit):
            raise value.problem
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeLines("%(levelname)s %(name)s: %(message)s"))
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(getattr(options, "verbose", 0), 2)]
    logging.basicConfig(level=level, handlers=[handler])
    _let_speak(getattr(options, "output", ""))
    color = not options.no_color and "NO_COLOR" not in os.environ and _wants_color()
    screen = _screen(color)
    if getattr(options, "watch", 0):
        from whysync.cli.watch import watch

        return watch(lambda: _once(options, screen), every=options.watch)
    return _once(options, screen)


def _once(options: argparse.Namespace, screen: Screen) -> int:
    options.deadline = Deadline.after(getattr(options, "timeout", 0.0))
    return _VERBS[options.verb](options, screen)


class _SafeLines(logging.Formatter):
    """What is logged may hold values of a cluster, too; a traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is logging's)
        return one_safe_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (the name is logging's)
        return "\n".join(map(one_safe_line, super().formatException(ei).split("\n")))


def _let_speak(form: str) -> None:
    """A terminal that knows fewer letters gets `?` for the others; data is UTF-8 wherever it goes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        out = cast("io.TextIOWrapper", sys.stdout)
        out.reconfigure(
            encoding="utf-8" if form in ("json", "yaml", "patch", "commands") else None, errors="replace"
        )


def _wants_color() -> bool:
    return "FORCE_COLOR" in os.environ or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _diagnose(options: argparse.Namespace, screen: Screen) -> int:
    from whysync import app
    from whysync.cli.filters import chosen, chosen_by_column, facts
    from whysync.diagnosis.finding import Severity
    from whysync.reports import json_v1, list_view, markdown, terminal
    from whysync.reports.json_yaml import as_json, as_yaml

    cases = chosen(app.cases(facts(options), options.apps), options)
    report = app.diagnose(cases, prove=not options.no_proof, deadline=options.deadline)
    report = chosen_by_column(report, options)
    match options.output:
        case "json":
            text = as_json(json_v1.report_v1(report))
        case "yaml":
            text = as_yaml(json_v1.report_v1(report))
        case "markdown":
            text = markdown.render(report)
        case "name":
            text = list_view.names(report)
        case form:
            from whysync.cli.source_flags import same_place

            place = same_place(options)
            text = terminal.render(
                report, screen, wide=form == "wide", proofs=options.show_proof, place=place
            )
    out().put(text)
    if options.exit_zero:
        return Exit.OK
    return exit_of(report, fail_on=Severity(options.fail_on))


def _list(options: argparse.Namespace, screen: Screen) -> int:
    import msgspec

    from whysync import app
    from whysync.cli.filters import chosen, chosen_by_column, facts
    from whysync.diagnosis.finding import Severity
    from whysync.reports import list_view
    from whysync.reports.json_yaml import as_json, as_yaml

    report = app.diagnose(chosen(app.cases(facts(options)), options), prove=False)
    report = chosen_by_column(report, options)
    ordered = sorted(report.apps, key=list_view.sort_key(options.sort), reverse=options.reverse)
    report = msgspec.structs.replace(report, apps=tuple(ordered))
    match options.output:
        case "json":
            text = as_json(list_view.as_object(report))
        case "yaml":
            text = as_yaml(list_view.as_object(report))
        case "markdown":
            text = list_view.as_markdown(report)
        case "name":
            text = list_view.names(report)
        case form:
            text = list_view.render(report, screen, wide=form == "wide")
    out().put(text)
    if options.exit_zero:
        return Exit.OK
    return exit_of(report, fail_on=Severity(options.fail_on))


def _get(options: argparse.Namespace, screen: Screen) -> int:
    from whysync import app
    from whysync.cli.filters import facts
    from whysync.reports import get_view

    cases = app.cases(facts(options), options.apps)
    out().put(get_view.render(cases, screen, form=options.output, show_operation=options.show_operation))
    return Exit.OK


def _diff(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.diff import diff

    return diff(options, screen)


def _fix(options: argparse.Namespace, _: Screen) -> int:
    from whysync.cli.fix import fix

    return fix(options)


def _health(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.health import health

    return health(options, screen)


def _collect(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.collect import collect

    return collect(options, screen)


def _explain(options: argparse.Namespace, _: Screen) -> int:
    from whysync import app
    from whysync.diagnosis.rule import all_rules
    from whysync.reports import rule_pages

    rules = all_rules() if options.name is None else app.explained(options.name)
    pages = options.name is not None or options.output == "wide"
    out().put(rule_pages.render(rules, form=options.output, pages=pages))
    return Exit.OK


def _lint(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.lint import lint

    return lint(options, screen)


def _plan(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.plan import plan

    return plan(options, screen)


def _lab(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.lab import lab

    return lab(options, screen)


def _alerts(options: argparse.Namespace, _: Screen) -> int:
    from whysync.cli.alerts import alerts

    return alerts(options)


def _audit(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.audit import audit

    return audit(options, screen)


def _wait(options: argparse.Namespace, screen: Screen) -> int:
    from whysync.cli.wait import wait

    return wait(options, screen)


def _completion(options: argparse.Namespace, _: Screen) -> int:
    from whysync.cli.completion import script

    out().say(*script(options.shell).removesuffix("\n").split("\n"))
    return Exit.OK


_VERBS = {
    "diagnose": _diagnose,
    "list": _list,
    "get": _get,
    "diff": _diff,
    "fix": _fix,
    "health": _health,
    "collect": _collect,
    "explain": _explain,
    "lint": _lint,
    "plan": _plan,
    "lab": _lab,
    "alerts": _alerts,
    "audit": _audit,
    "wait": _wait,
    "completion": _completion,
}
