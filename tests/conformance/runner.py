"""Ask whysync every question of a directory of vectors and count the answers that agree.

`NAME.jsonl` is judged by the module `tests/conformance/NAME.py`, all `apiserver_*.jsonl` by `apiserver.py`.
Such a module has `check(record) -> list[str]`: what does not agree, empty when all does. Health has two
questions to a record, `check_status` and `check_message`, each counted on a line of its own; there, `None`
means that the record claims nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from tests.conformance.known import known_differences
from whysync.json_tree import MISSING, Json, Missing, Object

Check: TypeAlias = Callable[[Object], list[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    record: str
    mismatches: tuple[str, ...]
    known: str | None
    """Why whysync differs here on purpose; `None`: nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    name: str
    total: int
    failures: tuple[Failure, ...]

    @property
    def unknown(self) -> tuple[Failure, ...]:
        return tuple(failure for failure in self.failures if failure.known is None)

    def __str__(self) -> str:
        known = len(self.failures) - len(self.unknown)
        line = f"{self.name} {self.total - len(self.failures)}/{self.total}"
        return f"{line} known {known}" if known else line


def run(directory: Path) -> Iterator[Result]:
    for file in sorted(directory.glob("*.jsonl")):
        yield from run_file(file)


def run_file(file: Path) -> Iterator[Result]:
    records = list(_records(file))
    for name, check in _checks(file.stem):
        yield _judge(name, check, records)


def module_of(name: str) -> str | None:
    """The module that can judge `NAME.jsonl`, if somebody has written it."""
    stem = "apiserver" if name.startswith("apiserver_") else name
    module = f"tests.conformance.{stem}"
    return module if stem.isidentifier() and importlib.util.find_spec(module) is not None else None


def _checks(name: str) -> list[tuple[str, Check]]:
    questions = {"health.status": "check_status", "health.message": "check_message"}
    if name != "health":
        questions = {name: "check"}
    module_name = module_of(name)
    if module_name is None:
        return [(line, _refuse(f"nothing judges {name}.jsonl yet")) for line in questions]
    try:
        module = importlib.import_module(module_name)
        return [(line, cast(Check, getattr(module, function))) for line, function in questions.items()]
    except Exception as problem:  # a module that cannot be loaded fails its own file, not the run
        return [(line, _refuse(_crash_text(problem))) for line in questions]


def _refuse(why: str) -> Check:
    def check(_: Object) -> list[str]:
        return [why]

    return check


def _judge(name: str, check: Check, records: list[tuple[str, Object | None]]) -> Result:
    known = known_differences().get(name, {})
    total = 0
    failures: list[Failure] = []
    for record, body in records:
        mismatches = ["the line is not a JSON object"] if body is None else _ask(check, body)
        if mismatches is None:
            continue
        total += 1
        if mismatches:
            failures.append(Failure(record=record, mismatches=tuple(mismatches), known=known.get(record)))
    return Result(name=name, total=total, failures=tuple(failures))


class _Record(dict[str, Json]):
    """A record of vectors: what it does not say is empty."""

    def __missing__(self, key: str) -> Json:
        return None


class _Claims(dict[str, Json]):
    """What a record expects: a field that is not there is not claimed, and agrees with any answer."""

    def __missing__(self, key: str) -> Missing:
        return MISSING


def _ask(check: Check, record: Object) -> list[str] | None:
    expect = record.get("expect")
    claims = cast(Json, _Claims(expect)) if isinstance(expect, dict) else expect
    try:
        return check(_Record({**record, "expect": claims}))
    except Exception as problem:  # what cannot be evaluated has failed, whatever the reason
        return [_crash_text(problem)]


def _crash_text(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _records(file: Path) -> Iterator[tuple[str, Object | None]]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                body = cast(object, json.loads(line))
            except (ValueError, RecursionError):
                body = None
            if isinstance(body, dict):
                record = cast(Object, body)
                yield str(record.get("id", f"{file.name}:{number}")), record
            else:
                yield f"{file.name}:{number}", None
