"""`whysync`: the entry point. Only what the chosen verb needs is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

VERBS = {
    "diagnose": "say why apps are not Synced and Healthy, and what fixes it",
    "list": "list apps as argocd does, with the cause of each",
    "get": "show one app as argocd app get does",
    "diff": "show where Git and the cluster differ, who wrote it, and what is ignored",
    "fix": "show one fix as a patch, YAML or commands, or write it into a checkout",
    "health": "show the health Argo CD reports for each object in files",
    "collect": "collect the facts into a bundle without secrets",
    "explain": "describe a rule or a cause, or say what an error message can mean",
    "lint": "check files for problems before they are merged",
    "plan": "show what a commit would do to the cluster before it is merged",
    "lab": "simulate failures on a cluster in memory, and diagnose them",
    "alerts": "print Prometheus rules for Argo CD, each with a runbook",
    "audit": "report future problems: other writers, missing health checks, hooks, deletion",
    "wait": "wait until apps are synced and healthy; otherwise explain why not",
    "completion": "print a completion script for a shell",
}
"""Each verb is the module of its name in this package."""


def main(argv: Sequence[str] | None = None) -> int:
    """Never a traceback: what a user can mend is said in three parts, Ctrl-C ends quietly."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"], ["version"]):
        from whysync import __version__
        from whysync.reports.output import out

        out().say(f"whysync {__version__}")
        return 0
    from whysync.cli.run import run

    return run(with_verb(arguments), meant=arguments[0] if arguments else "")


def with_verb(arguments: list[str]) -> list[str]:
    """`whysync shop` means `whysync diagnose shop`; a verb wins over an app of that name."""
    if not arguments or arguments[0] in (*VERBS, "help", "-h", "--help"):
        return arguments
    return ["diagnose", *arguments]
