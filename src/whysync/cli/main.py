"""`whysync`: the entry point. Only what the chosen verb needs is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

VERBS = (
    "diagnose",
    "list",
    "get",
    "diff",
    "fix",
    "health",
    "collect",
    "explain",
    "lint",
    "plan",
    "lab",
    "alerts",
    "audit",
    "wait",
    "completion",
    "help",
)


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
    if not arguments or arguments[0] in VERBS or arguments[0] in ("-h", "--help"):
        return arguments
    return ["diagnose", *arguments]


if __name__ == "__main__":
    sys.exit(main())
