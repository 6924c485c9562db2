"""`whysync`: the entry point. It imports only what the verb needs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

VERBS = {
    "diagnose": "explain why apps are not Synced and Healthy, and how to fix them",
    "list": "list apps, as in argocd app list, with the cause of each problem",
    "get": "show an app, as in argocd app get",
    "diff": "show the differences between Git and the cluster, their writers, and what is ignored",
    "fix": "print a fix as a patch, YAML or commands, or write it to a checkout",
    "health": "show the health that Argo CD reports for the objects in files",
    "collect": "collect the facts into a bundle without secrets",
    "explain": "describe a rule or a cause, or explain an error message",
    "lint": "check manifests for problems before they are merged",
    "plan": "show what a commit would change in the cluster before it is merged",
    "lab": "simulate failures on an in-memory cluster, and diagnose them",
    "alerts": "print Prometheus rules for Argo CD, with runbooks",
    "audit": "report risks: other writers, missing health checks, hooks, deletion",
    "wait": "wait until apps are Synced and Healthy; explain why if they are not",
    "mcp": "serve diagnoses to AI assistants over the Model Context Protocol",
    "serve": "watch a fleet and show it on a web page, with history and metrics",
    "completion": "print a shell completion script",
}
"""Each verb is the module of its name in this package."""
_NEW_OBJECTS = 200_000
"""Collect garbage after so many: imports create many objects, and nearly all of them stay."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are printed as what, why and next, never as a traceback.

    Without `argv` the process is ours, and it ends here.
    """
    if argv is not None:
        return _run(list(argv))
    code = _run(sys.argv[1:])
    _end_process(code)
    return code


def _end_process(code: int) -> None:
    """Exit without freeing every object, which takes a tenth of the time of a short command.

    What is registered for the exit runs. Threads that are still running need the usual exit.
    """
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return
    import atexit

    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  (what the interpreter calls)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # the reader has ended, or the stream is closed: the interpreter reports it
    os._exit(code)


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"], ["version"]):
        from whysync import __version__
        from whysync.reports.output import out

        out().say(f"whysync {__version__}")
        return 0
    if arguments[:1] == ["__complete"]:
        from whysync.cli.complete import run as complete

        return complete(arguments[1:])
    gc.set_threshold(_NEW_OBJECTS)
    from whysync.cli.run import run

    return run(with_verb(arguments), first_word=arguments[0] if arguments else "")


def with_verb(arguments: list[str]) -> list[str]:
    """`whysync shop` is `whysync diagnose shop`; a verb takes precedence over an app of that name."""
    if not arguments or arguments[0] in (*VERBS, "help", "-h", "--help"):
        return arguments
    return ["diagnose", *arguments]
