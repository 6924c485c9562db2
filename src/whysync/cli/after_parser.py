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
    ("flaps", 8, "changes of status within the window"),
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


def _wait(verb: argparse.ArgumentParser, facts: Facts, append: type[argparse.Action]) -> None:
    del append
    verb.add_argument("apps", metavar="APP", nargs="+", help="name or namespace/name")
    verb.add_argument("--sync", action="store_true", help="until it is Synced")
    verb.add_argument("--health", action="store_true", help="until it is Healthy")
    verb.add_argument("--operation", action="store_true", help="until no sync is asked for or running")
    verb.add_argument("--revision", metavar="SHA", default="", help="at this commit, not at an older one")
    verb.add_argument("--interval", metavar="TIME", type=seconds, default=5.0, help="between two looks (5s)")
    verb.add_argument(
        "--give-up",
        metavar="TIME",
        type=seconds,
        default=60.0,
        help="an app that is Degraded or cannot be compared for so long has failed (1m)",
    )
    verb.add_argument(
        "-o",
        "--output",
        choices=("text", "wide", "json", "yaml", "markdown"),
        default="text",
        help="how to show the diagnosis; with data, the progress goes to standard error",
    )
    verb.add_argument("--no-proof", action="store_true", help="do not try the fixes on a model")
    facts(verb)
    for action in verb._actions:  # pyright: ignore[reportPrivateUsage]  (argparse has no public way to list them)
        if action.dest == "timeout":  # here it is not the questions that take so long
            action.default, action.help = 600.0, "wait at most so long (10m)"
    verb.epilog = (
        "whysync wait shop --revision $(git rev-parse HEAD) --timeout 15m\n"
        "None of --sync, --health and --operation means all three.\n\n"
        "exit codes: 0 it is there; 1 it failed or the time is over, with the diagnosis; 2 an error"
    )


BUILDERS = {"alerts": _alerts, "audit": _audit, "wait": _wait}
