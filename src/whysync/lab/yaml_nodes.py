"""YAML values of a scenario with their positions, so that errors name the file and line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NoReturn

from whysync.errors import Unreadable
from whysync.golang.duration import BadDuration, parse_duration
from whysync.json_tree import Json, Object
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api import yaml

LONGEST: Final = 366 * 86_400.0
_FORMAT: Final = "docs/lab.md tells the format; whysync lab show NAME -o yaml prints an example"


class Source:
    """One file: its display name and its text."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def location(self, pointer: str) -> str:
        line = yaml.position(self.text, pointer) if pointer else None
        return f"{self.name} line {line}" if line else self.name


class Node:
    """A value of the file and its path."""

    def __init__(self, value: Json, source: Source, pointer: str = "") -> None:
        self.value = value
        self.source = source
        self.pointer = pointer

    def fail(self, problem: str, *, why: str = "", next: str = _FORMAT) -> NoReturn:
        raise Unreadable(what=f"{self.source.location(self.pointer)}: {problem}", why=why, next=next)

    @property
    def name(self) -> str:
        """The path as people write it: `happens[2].run`."""
        path = ""
        for part in pointers.split(self.pointer):
            path += f"[{part}]" if part.isdecimal() else f".{part}" if path else part
        return path or "the file"

    def _child(self, key: str | int, value: Json) -> Node:
        return Node(value, self.source, f"{self.pointer}/{pointers.escape(str(key))}")

    def mapping(self, *allowed: str) -> Object:
        """The fields; unknown fields are an error."""
        if not isinstance(self.value, dict):
            self.fail(f"{self.name} must be a mapping, not {kind_of(self.value)}")
        for key in self.value:
            if allowed and key not in allowed:
                matches = difflib.get_close_matches(key, allowed, n=1, cutoff=0.5)
                self._child(key, None).fail(
                    f"{self.name} has no field {key!r}",
                    why=f"did you mean {matches[0]!r}?"
                    if matches
                    else f"known keys: {', '.join(sorted(allowed))}",
                )
        return self.value

    def has(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def at(self, key: str) -> Node:
        return self._child(key, self.value.get(key) if isinstance(self.value, dict) else None)

    def each(self) -> Iterator[Node]:
        """The items of a list; a single value counts as a list."""
        if self.value is None:
            return
        if not isinstance(self.value, list):
            yield self
            return
        for index, item in enumerate(self.value):
            yield self._child(index, item)

    def entries(self) -> Iterator[tuple[str, Node]]:
        if self.value is None:
            return
        if not isinstance(self.value, dict):
            self.fail(f"{self.name} must be a mapping, not {kind_of(self.value)}")
        for key, value in self.value.items():
            yield key, self._child(key, value)

    def text(self, default: str | None = None) -> str:
        if self.value is None:
            if default is None:
                self.missing("a text")
            return default
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, (int, float)):
            return str(self.value)
        if not isinstance(self.value, str):
            self.fail(f"{self.name} must be a string, not {kind_of(self.value)}")
        return self.value

    def maybe(self) -> str | None:
        return None if self.value is None else self.text()

    def texts(self) -> tuple[str, ...]:
        return tuple(entry.text() for entry in self.each())

    def labels(self) -> dict[str, str]:
        return {key: entry.text() for key, entry in self.entries()}

    def flag(self) -> bool:
        if self.value is None:
            return False
        if not isinstance(self.value, bool):
            self.fail(f"{self.name} must be true or false, not {kind_of(self.value)}")
        return self.value

    def integer(self, default: int | None = None, *, least: int = 0, most: int = 1_000_000) -> int:
        if self.value is None and default is not None:
            return default
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"{self.name} must be a whole number, not {kind_of(self.value)}")
        if not least <= self.value <= most:
            self.fail(f"{self.name} must be between {least} and {most}")
        return self.value

    def choice(self, options: Sequence[str], default: str | None = None) -> str:
        value = self.text(default)
        if value not in options:
            matches = difflib.get_close_matches(
                value, [option for option in options if option], n=1, cutoff=0.5
            )
            options_text = ", ".join(option for option in options if option)
            self.fail(
                f"{self.name} cannot be {value!r}",
                why=f"did you mean {matches[0]!r}?" if matches else f"it is one of {options_text}",
            )
        return value

    def duration(self, default: float | None = None) -> float:
        """A duration of simulated time such as `90s`, `10m`, `1h30m`, in seconds."""
        if self.value is None and default is not None:
            return default
        if self.value == 0:
            return 0.0
        value = self.text()
        try:
            seconds = parse_duration(value.removeprefix("after ")).total_seconds()
        except BadDuration:
            self.fail(
                f"{self.name} is {value!r}, which is no duration",
                why="a duration has a unit: 30s, 5m, 1h30m",
            )
        if not 0 <= seconds <= LONGEST:
            self.fail(f"{self.name} must be between 0s and a year")
        return seconds

    def instant(self, default: datetime) -> datetime:
        if self.value is None:
            return default
        try:
            parsed = datetime.fromisoformat(self.text())
        except ValueError:
            self.fail(f"{self.name} is not a time", why="write it as 2026-03-02T09:00:00Z")
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)

    def objects(self) -> tuple[Object, ...]:
        """Kubernetes objects: as text separated by `---`, or as a list."""
        if isinstance(self.value, str):
            return tuple(self._objects_in(self.value))
        objects: list[Object] = []
        for entry in self.each():
            if isinstance(entry.value, str):
                objects += entry.objects()
            elif isinstance(entry.value, dict):
                objects.append(entry.value)
            else:
                entry.fail(f"{entry.name} must be an object, not {kind_of(entry.value)}")
        return tuple(objects)

    def _objects_in(self, text: str) -> Iterator[Object]:
        for document in yaml.documents(text):
            if isinstance(document, yaml.Broken):
                self.fail(
                    f"{self.name} is not YAML: {document}", next="fix that line, counted within the text"
                )
            if not isinstance(document.body, dict):
                self.fail(f"{self.name} contains {kind_of(document.body)} instead of an object")
            yield document.body

    def missing(self, expected: str) -> NoReturn:
        self.fail(f"{self.name} is missing: it must be {expected}")


def kind_of(value: Json) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
