"""The flags of `whysync plan`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from whysync.cli.parser import proving

FORMS = ("text", "wide", "json", "markdown", "html", "svg", "junit", "github")


def plan(
    verb: argparse.ArgumentParser,
    facts: Callable[[argparse.ArgumentParser], None],
    append: type[argparse.Action],
) -> None:
    verb.add_argument(
        "what",
        metavar="PATH|APP",
        nargs="?",
        default="",
        help="a folder or file of the checkout, or the name of an app; none means all apps",
    )
    verb.add_argument(
        "-o",
        "--output",
        metavar="FORM[=FILE]",
        action=append,
        default=[],
        help=f"{', '.join(FORMS)}; repeatable: -o text -o html=plan.html",
    )
    verb.add_argument(
        "--base", metavar="REV", default="", help="what is deployed now (where the head parted)"
    )
    verb.add_argument(
        "--head", metavar="REV", default="", help="what would be merged (the files as they are)"
    )
    verb.add_argument("--app", metavar="FILE", default="", help="the Application, as a file of the checkout")
    verb.add_argument(
        "--live",
        metavar="BUNDLE",
        nargs="?",
        const="",
        default=None,
        help="also on the cluster as it is: of a bundle, or asked as diagnose asks (see below)",
    )
    verb.add_argument("--empty", action="store_true", help="on an empty cluster alone")
    verb.add_argument("--network", action="store_true", help="charts and other repositories may be fetched")
    proving(verb)
    verb.add_argument(
        "--exit-zero", action="store_true", help="exit 0 whatever is found (errors still exit 2)"
    )
    facts(verb)
    verb.epilog = (
        "whysync plan apps/shop --base main -o markdown\n"
        "whysync plan --live --context prod -o html=plan.html\n\n"
        "a flag that names a place (--bundle, --server, --context, …) asks for --live\n\n"
        "exit codes: 0 it would pass, 1 it would fail, 2 an error, 3 it cannot be told"
    )
