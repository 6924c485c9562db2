"""The flags of the commands for after the merge: `alerts`, `audit` and `wait`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from whysync.cli.live_parser import seconds

Facts = Callable[[argparse.ArgumentParser], None]

_TIMES = (
    ("stuck", "30m", "a sync or a deletion that does not end"),
    ("out-of-sync", "30m", "OutOfSync with automated sync"),
    ("waiting", "1d", "OutOfSync without it"),
    ("degraded", "15m", "Degraded or Missing"),
    ("progressing", "1h", "Progressing"),
    ("unknown", "15m", "what Argo CD cannot compare or reach"),
    ("silent", "30m", "nothing was compared"),
    ("window", "1h", "in which failures and changes are counted"),
)
_COUNTS = (
    ("flaps", 4, "changes of status within the window"),
    ("syncs", 10, "syncs that succeed within it"),
    ("failures", 0, "syncs that fail within it"),
    ("repo-failures", 3, "requests to a repository that fail within it"),
)


def _alerts(verb: argparse.ArgumentParser, facts: Facts, append: type[argparse.Action]) -> None:
    verb.add_argument(
        "-o",
        "--output",
        choices=("yaml", "json", "prometheusrule", "markdown"),
        default="yaml",
        help="a file of rules, the operator's object, or the runbooks on one page",
    )
    verb.add_argument("--alert", metavar="NAME", action=append, default=[], help="only this one (repeatable)")
    verb.add_argument(
        "--skip", metavar="NAME", action=append, default=[], help="all but this one (repeatable)"
    )
    verb.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        action=append,
        help="only Applications of this namespace (repeatable)",
    )
    verb.add_argument(
        "--project", metavar="NAME", action=append, help="only Applications of this project (repeatable)"
    )
    verb.add_argument(
        "--for-app",
        dest="apps",
        metavar="APP",
        action=append,
        default=[],
        help="of this app, with a runbook written from its facts",
    )
    verb.add_argument(
        "--no-proof", action="store_true", help="with --for-app: do not try the fixes on a model"
    )
    verb.add_argument(
        "--namespace-label",
        metavar="LABEL",
        default="namespace",
        help="exported_namespace where the scraper does not honour labels",
    )
    verb.add_argument("--runbook-url", metavar="URL", default="", help="where the page of -o markdown is")
    verb.add_argument("--rule-name", metavar="NAME", default="argocd", help="of the PrometheusRule (argocd)")
    verb.add_argument("--rule-namespace", metavar="NS", default="", help="of the PrometheusRule")
    limits = verb.add_argument_group("how long, and how often")
    for name, usual, help in _TIMES:
        limits.add_argument(f"--{name}", metavar="TIME", type=seconds, help=f"{help} ({usual})")
    for name, count, help in _COUNTS:
        limits.add_argument(f"--{name}", metavar="N", type=_number, help=f"more {help} ({count})")
    facts(verb)
    verb.epilog = (
        "whysync alerts > argocd.rules.yaml; promtool check rules argocd.rules.yaml\n"
        "whysync alerts -o prometheusrule --rule-namespace monitoring | kubectl apply -f -"
    )


def _number(written: str) -> int:
    if not written.isdecimal() or len(written) > 6:
        raise argparse.ArgumentTypeError(f"{written!r} is no such number")
    return int(written)


def _audit(verb: argparse.ArgumentParser, facts: Facts, append: type[argparse.Action]) -> None:
    from whysync.cli.parser import judging

    del append
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    verb.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "yaml", "markdown"),
        default="text",
        help="how to show it",
    )
    verb.add_argument(
        "-l", "--selector", metavar="LABELS", help="only apps with these labels, as kubectl's -l"
    )
    judging(verb)
    facts(verb)


BUILDERS = {"alerts": _alerts, "audit": _audit}
