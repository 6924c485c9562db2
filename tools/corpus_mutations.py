"""`python -m tools.corpus_mutations FOLDER [FILE ...] [--changed]`: first causes of mangled texts.

Users paste messages without their quotes, chats change the case of the first letter, the UI and events cut
long texts, and log collectors wrap lines. Each mutation is applied to every reported text of every case; the
figure is the share of cases whose first cause stays the same, among those with texts that get a cause at all.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.corpus import FILES, load
from whysync.cli.main import main as whysync

Case = dict[str, Any]
_SHARE_KEPT = 0.7
_SHORTEST_CUT = 40


def without_quotes(text: str) -> str:
    return text.replace('\\"', "").translate(str.maketrans("", "", "\"'`"))


def cut(text: str) -> str:
    return text if len(text) < _SHORTEST_CUT else text[: int(len(text) * _SHARE_KEPT)]


def logfmt(text: str) -> str:
    return "\n".join(
        f"time=2026-01-01T00:00:00Z level=error msg={json.dumps(line)}" for line in text.splitlines()
    )


def json_lines(text: str) -> str:
    return "\n".join(
        json.dumps({"level": "error", "msg": line, "time": "2026-01-01T00:00:00Z"})
        for line in text.splitlines()
    )


MUTATIONS: dict[str, Callable[[str], str]] = {
    "quotes dropped": without_quotes,
    "lower case": str.lower,
    "first letter upper case": lambda text: text[:1].upper() + text[1:],
    "cut at 70 %": cut,
    "wrapped in logfmt": logfmt,
    "wrapped in JSON": json_lines,
}


def mutated(case: Case, change: Callable[[str], str]) -> Case | None:
    """The case with every reported text changed; `None` where it has no text."""
    other = copy.deepcopy(case)
    holders = list(_texts(other["evidence"]))
    for holder, key in holders:
        holder[key] = change(holder[key])
    return other if holders else None


def _texts(evidence: Case) -> Iterator[tuple[Case, str]]:
    holders = [
        evidence.get("condition"),
        evidence.get("operation"),
        *evidence.get("resources", ()),
        *evidence.get("events", ()),
    ]
    for holder in holders:
        if holder and isinstance(holder.get("message"), str) and holder["message"]:
            yield holder, "message"
    if isinstance(evidence.get("logs"), str):
        yield evidence, "logs"


def first_cause(to_bundle: ModuleType, case: Case, parent: Path) -> str | None:
    folder = Path(tempfile.mkdtemp(dir=parent))
    to_bundle.bundle(case, folder)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        code = whysync(["diagnose", "--no-proof", "-o", "json", "--bundle", str(folder)])
    if code not in (0, 1, 3):
        return f"exit {code}"
    return next((f["cause"] for app in json.loads(out.getvalue())["apps"] for f in app["findings"]), None)


def survival(folder: Path, files: Sequence[Path]) -> Iterator[tuple[str, float, list[str]]]:
    """Per mutation: its title, the share of cases that keep their first cause, a line for each other."""
    to_bundle = load(folder / "to_bundle.py")
    cases = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        before = {case["id"]: first_cause(to_bundle, case, parent) for case in cases if mutated(case, str)}
        explained = [case for case in cases if before.get(case["id"])]
        for title, change in MUTATIONS.items():
            changed: list[str] = []
            for case in explained:
                other = mutated(case, change)
                assert other is not None
                after = first_cause(to_bundle, other, parent)
                if after != before[case["id"]]:
                    changed.append(f"  {case['id']:44} {before[case['id']]:24} -> {after}")
            yield title, 1 - len(changed) / len(explained), changed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.corpus_mutations", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of to_bundle.py and its cases")
    parser.add_argument("files", type=Path, nargs="*", help=f"files of cases (default: {', '.join(FILES)})")
    parser.add_argument("--changed", action="store_true", help="list the cases whose first cause changes")
    options = parser.parse_args(arguments)
    files: list[Path] = options.files or [options.folder / name for name in FILES]
    for title, share, changed in survival(options.folder, files):
        print(f"{title:26} {share:6.1%} keep their first cause", flush=True)
        if options.changed:
            print("\n".join(changed), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
