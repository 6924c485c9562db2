"""`whysync explain`: the page of a rule or a cause, or the possible causes of an error message."""

from __future__ import annotations

import argparse
import sys

from whysync.cli.exits import Exit
from whysync.cli.output_flags import add_output_flag
from whysync.errors import NotFound, TooLarge, Unreadable, UsageError
from whysync.reports.output import err, out

_LARGEST = 4 << 20
_EPILOG = """\
examples:
  whysync explain repo-auth                         describe a cause
  whysync explain 'rpc error: code = Unknown …'     explain an error message
  kubectl describe pod web | whysync explain -      explain standard input

exit codes: 0 explained, 2 an error, 3 no rule matches the text
"""


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "words",
        metavar="RULE|CAUSE|TEXT",
        nargs="*",
        help="a rule, a cause, an error message, or - for standard input; default: list all rules",
    )
    verb.epilog = _EPILOG
    add_output_flag(verb)


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.diagnosis.rule import registry
    from whysync.reports import explain_rules

    arguments: list[str] = options.words
    if arguments == ["-"]:
        return _explain_text(_standard_input(), options)
    text = " ".join(arguments)
    if not arguments:
        rules = registry()
    elif len(text.split()) > 1:
        return _explain_text(text, options)
    else:
        try:
            rules = app.explained(text)
        except NotFound as unknown:
            return _explain_text(text, options, otherwise=unknown)
    pages = bool(arguments) or options.output == "wide"
    out().put(explain_rules.render(rules, format=options.output, pages=pages))
    return Exit.OK


def _explain_text(text: str, options: argparse.Namespace, *, otherwise: NotFound | None = None) -> int:
    """Explain a message; `otherwise` is the error for a single word that is neither an id nor a message."""
    from whysync import app
    from whysync.messages.pasted import clean
    from whysync.reports import explain_message

    if not clean(text):
        raise UsageError(
            what="the text is empty",
            why="there is nothing to explain",
            next="pass the message: whysync explain 'TEXT', or: … | whysync explain -",
        )
    answer = app.explained_text(text)
    if not answer.causes and otherwise is not None:
        raise otherwise
    out().put(explain_message.render(answer, options.terminal, format=options.output))
    return Exit.OK if answer.causes else Exit.UNSURE


def _standard_input() -> str:
    if sys.stdin.isatty():
        err().say("paste the text, then press Ctrl-D")
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise TooLarge(
            what=f"the text is larger than {_LARGEST >> 20} MiB",
            why="explain reads a message or part of a log",
            next="pass the last lines: tail -n 200 FILE | whysync explain -",
        )
    text = data.decode("utf-8", "replace")
    unreadable = text.count("\ufffd") + text.count("\0")
    if unreadable * 10 > len(text):
        raise Unreadable(
            what="standard input is not text",
            why="more than a tenth of it is not UTF-8",
            next="decompress or decode it first",
        )
    return text
