"""Check that code and docs avoid the phrases listed in tools/voice.toml.

The counts in tools/voice_counts.json are a ratchet: the check fails when a phrase occurs more often in a
folder than recorded there. `python -m tools.voice --update` lowers the recorded counts; it never raises them.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNTS = Path("tools/voice_counts.json")
WHOLE = ("src", "docs", "changes", "examples", "tools", "ci")  # read completely
DOCSTRINGS = (
    "tests",
    "suites",
    "benchmarks",
)  # expected output in tests follows src; only docstrings are prose
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".sh"}

Counts = dict[str, dict[str, int]]  # folder -> phrase -> how often


def phrases(root: Path = ROOT) -> dict[str, str]:
    """Every phrase with its replacement."""
    tables = tomllib.loads((root / "tools/voice.toml").read_text())
    return {phrase: instead for table in tables.values() for phrase, instead in table.items()}


def files(root: Path) -> Iterator[tuple[str, Path]]:
    """(folder, file) for every file that is checked; files at the top have the folder '.'."""
    for path in sorted(root.iterdir()):
        if path.suffix in SUFFIXES or path.name == "Makefile":
            yield ".", path
    for folder in (*WHOLE, *DOCSTRINGS):
        for path in sorted((root / folder).rglob("*.*")):
            if path.suffix in ({".py"} if folder in DOCSTRINGS else SUFFIXES):
                yield folder, path


def docstrings(source: str) -> str:
    """The docstrings of a module, each on the lines it has in the source."""
    lines = [""] * (source.count("\n") + 2)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str(text), lineno=first)), *_]:
                    for number, line in enumerate(text.splitlines(), first):
                        lines[number - 1] = line
                case _:
                    pass
    return "\n".join(lines)


def pattern_of(phrase: str) -> re.Pattern[str]:
    spaced = phrase.replace(" ", r"[\s#>]+")  # a line break, also inside a comment or a quotation
    return re.compile(rf"\b(?:{spaced})\b")


def occurrences(root: Path, replacements: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(folder, phrase, path:line) for every place where a phrase occurs."""
    patterns = {phrase: pattern_of(phrase) for phrase in replacements}
    stems = {
        phrase: re.split("[ (]", phrase)[0] for phrase in replacements
    }  # a quick look before the exact one
    for folder, path in files(root):
        source = path.read_text()
        text = source.lower()
        likely = [phrase for phrase, stem in stems.items() if stem in text]
        if likely and folder in DOCSTRINGS:
            text = docstrings(source).lower()
        for phrase in likely:
            for match in patterns[phrase].finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield folder, phrase, f"{path.relative_to(root)}:{line}"


def counted(matches: list[tuple[str, str, str]]) -> Counts:
    counts: Counts = {}
    for (folder, phrase), number in sorted(
        Counter((folder, phrase) for folder, phrase, _ in matches).items()
    ):
        counts.setdefault(folder, {})[phrase] = number
    return counts


def lowered(recorded: Counts, counts: Counts) -> Counts:
    """The recorded counts, none higher than what is there now; a count of zero is left out."""
    lower = {
        folder: {phrase: min(number, counts.get(folder, {}).get(phrase, 0)) for phrase, number in row.items()}
        for folder, row in recorded.items()
    }
    nonzero = {
        folder: {phrase: number for phrase, number in row.items() if number} for folder, row in lower.items()
    }
    return {folder: row for folder, row in nonzero.items() if row}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Check the phrases listed in tools/voice.toml.")
    parser.add_argument("--update", action="store_true", help="lower the recorded counts to the present ones")
    parser.add_argument("--list", action="store_true", help="print every place where a phrase occurs")
    options = parser.parse_args(arguments)
    replacements = phrases(root)
    matches = list(occurrences(root, replacements))
    counts = counted(matches)
    recorded: Counts = json.loads((root / COUNTS).read_text())
    if options.list:
        for _, phrase, location in matches:
            print(f"{location}: write “{replacements[phrase]}” instead of /{phrase}/")
        return 0
    more = [
        (folder, phrase, number, allowed)
        for folder, row in counts.items()
        for phrase, number in row.items()
        if number > (allowed := recorded.get(folder, {}).get(phrase, 0))
    ]
    for folder, phrase, number, allowed in more:
        print(
            f"{folder}: /{phrase}/ occurs {number} times, at most {allowed} allowed;"
            f" write “{replacements[phrase]}”"
        )
    if more:
        print("python -m tools.voice --list shows every place; change the wording, not the recorded count")
        return 1
    lower = lowered(recorded, counts)
    if options.update:
        (root / COUNTS).write_text(json.dumps(lower, indent=2, sort_keys=True) + "\n")
    elif lower != recorded:
        print("voice: fewer than recorded; python -m tools.voice --update keeps it so")
    return 0


if __name__ == "__main__":
    sys.exit(main())
