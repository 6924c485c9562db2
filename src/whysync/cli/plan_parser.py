"""The flags of `whysync plan`."""

from __future__ import annotations

import argparse

from whysync.cli.parser import common, proving

FORMS = ("text", "wide", "json", "markdown")


def plan(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "what",
        metavar="PATH|APP",
        nargs="?",
        default="",
        help="a folder or file of the checkout, or the name of an app; none means all apps",
    )
    verb.add_argument("-o", "--output", choices=FORMS, default="text", help="how to show it")
    verb.add_argument(
        "--base", metavar="REV", default="", help="what is deployed now (where the head parted)"
    )
    verb.add_argument(
        "--head", metavar="REV", default="", help="what would be merged (the files as they are)"
    )
    verb.add_argument("--app", metavar="FILE", default="", help="the Application, as a file of the checkout")
    verb.add_argument(
        "--live", metavar="BUNDLE", default="", help="facts of the cluster, as whysync collect takes them"
    )
    verb.add_argument("--empty", action="store_true", help="on an empty cluster alone")
    verb.add_argument("--network", action="store_true", help="charts and other repositories may be fetched")
    proving(verb)
    verb.add_argument(
        "--exit-zero", action="store_true", help="exit 0 whatever is found (errors still exit 2)"
    )
    common(verb)
    verb.epilog = (
        "whysync plan apps/shop --base main -o markdown\n\n"
        "exit codes: 0 it would pass, 1 it would fail, 2 an error, 3 it cannot be told"
    )
