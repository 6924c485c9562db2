"""The flags of `whysync lint`."""

from __future__ import annotations

import argparse

from whysync.cli.parser import common, judging

CONFIGURATION = ".whysync.yaml"
FORMS = ("text", "wide", "json", "sarif", "junit", "github", "gitlab", "markdown")


def lint(verb: argparse.ArgumentParser, *, append: type[argparse.Action]) -> None:
    verb.add_argument(
        "paths", metavar="PATH", nargs="*", help="files and folders; none means the current one"
    )
    verb.add_argument(
        "-o",
        "--output",
        metavar="FORM[=FILE]",
        action=append,
        default=[],
        help=f"{', '.join(FORMS)}; repeatable: -o text -o sarif=out.sarif",
    )
    verb.add_argument(
        "--lint-config", metavar="FILE", default="", help=f"settings (default: {CONFIGURATION} here or above)"
    )
    verb.add_argument(
        "--crds", metavar="PATH", action=append, default=[], help="CRDs that are not in the tree (repeatable)"
    )
    verb.add_argument(
        "--kubernetes-version",
        metavar="X.Y",
        default="",
        help="of the cluster: which kinds and fields it has, 1.25 to 1.37 (default: 1.36)",
    )
    verb.add_argument(
        "--check", metavar="CHECK", action=append, default=[], help="only this one (repeatable)"
    )
    verb.add_argument(
        "--skip", metavar="CHECK", action=append, default=[], help="all but this one (repeatable)"
    )
    verb.add_argument(
        "--outside",
        metavar="KIND/NAME",
        action=append,
        default=[],
        help="lives elsewhere; globs (repeatable)",
    )
    verb.add_argument("--baseline", metavar="FILE", default="", help="do not tell what this file knows")
    verb.add_argument(
        "--write-baseline", metavar="FILE", default="", help="write what is found now, and exit 0"
    )
    verb.add_argument("--fix", action="store_true", help="fix what can be fixed without changing its meaning")
    verb.add_argument("--no-render", action="store_true", help="leave charts and kustomizations unrendered")
    verb.add_argument(
        "--explain", metavar="CHECK", nargs="?", const="", help="the page of a check; none: a list"
    )
    judging(verb)
    common(verb)
