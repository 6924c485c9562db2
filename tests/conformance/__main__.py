"""`python -m tests.conformance DIR [--verbose]`: how many recorded answers whysync gives too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.runner import Result, run


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the *.jsonl vectors are")
    parser.add_argument("--verbose", action="store_true", help="show each failure: expected and got")
    arguments = parser.parse_args(argv)
    directory: Path = arguments.directory
    if not any(directory.glob("*.jsonl")):
        parser.error(
            f"no *.jsonl in {directory}. The vectors are not part of the repository: run "
            "`make conformance VECTORS=DIR` with the folder of the *.jsonl files, or SHARED=DIR with the "
            "folder above it"
        )
    agreed = True
    for result in run(directory):
        _write(f"{result}\n")
        if arguments.verbose:
            _write(_failures(result))
        agreed = agreed and not result.unknown
    return 0 if agreed else 1


def _failures(result: Result) -> str:
    lines: list[str] = []
    for failure in result.failures:
        lines.append(f"  {failure.record}" + (f" (known: {failure.known})" if failure.known else ""))
        lines.extend(f"    {mismatch}" for mismatch in failure.mismatches)
    return "".join(f"{line}\n" for line in lines)


def _write(text: str) -> None:
    """Vectors hold texts that not every terminal can write."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
