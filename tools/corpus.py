"""`python -m tools.corpus FOLDER [FILE ...] [--misses]`: score whysync on the corpus of real cases.

`score.py` of the corpus defines and prints the score. Each file is scored by itself and then all together;
whysync runs once per case.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

FILES = ("cases.jsonl", "cases-2.jsonl")
Answer = Callable[[list[str], Path], list[str] | None]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.corpus", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of score.py and its cases")
    parser.add_argument("files", type=Path, nargs="*", help=f"files of cases (default: {', '.join(FILES)})")
    parser.add_argument("--misses", action="store_true", help="list the cases that are not explained")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    files: list[Path] = options.files or [folder / name for name in FILES]
    missing = [path for path in (folder / "score.py", *files) if not path.is_file()]
    if missing:
        sys.stderr.write(
            f"make corpus: not found: {', '.join(map(str, missing))}\n"
            "The corpus is not part of the repository. Run `make corpus SHARED=DIR`, where DIR/corpus has\n"
            f"score.py, to_bundle.py, {' and '.join(FILES)}, or `make corpus SHARED=DIR CASES=FILE`.\n"
        )
        return 2
    score = load(folder / "score.py")
    vars(score)["causes"] = _once_per_case(score.causes)
    flags = ["--misses"] if options.misses else []
    for path in files:
        _print(path.name, score, path, *flags)
    if len(files) > 1:
        with tempfile.TemporaryDirectory() as folder_name:
            combined = Path(folder_name) / "cases.jsonl"
            combined.write_text("".join(f"{path.read_text().rstrip()}\n" for path in files))
            _print("together", score, combined)
    return 0


def _once_per_case(ask: Answer) -> Answer:
    """`score.py` asks for each case in a folder with the name of the case."""
    cache: dict[str, list[str] | None] = {}

    def answer(command: list[str], folder: Path) -> list[str] | None:
        if folder.name not in cache:
            cache[folder.name] = ask(command, folder)
        return cache[folder.name]

    return answer


def _print(title: str, score: ModuleType, *arguments: str | Path) -> None:
    print(f"{title}:", flush=True)
    before, sys.argv = sys.argv, ["score.py", *map(str, arguments)]
    try:
        score.main()
    finally:
        sys.argv = before


def load(path: Path) -> ModuleType:
    """A Python file outside the packages, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
