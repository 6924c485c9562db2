"""What a POSIX shell reads in a line: the words of each command, and what it would expand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+{}")
_OPERATORS = ("&&", "||", "|", ";")


class NotPasteable(ValueError):
    """The shell would not run this line as it is shown."""


@dataclass
class _Reader:
    commands: list[list[str]] = field(default_factory=lambda: [[]])
    word: str | None = None

    def end_word(self) -> None:
        if self.word is not None:
            self.commands[-1].append(self.word)
        self.word = None

    def end_command(self) -> None:
        self.end_word()
        if not self.commands[-1]:
            raise NotPasteable("an operator without a command")
        self.commands.append([])


def commands_in(line: str) -> list[list[str]]:
    """The words of each command of a pipeline or list; a comment has none.

    Refuses what a shell would expand: `*`, `$`, `(`; a redirection only of or to a file: not `<name>`.
    """
    if "\n" in line:
        raise NotPasteable("more than one line")
    if line.startswith("#"):
        return []
    if re.search(r"<[^>\s]+>", line.partition(" #")[0]) and "'" not in line:
        raise NotPasteable("a placeholder in angle brackets is a redirection")
    reader = _Reader()
    position = 0
    while position < len(line):
        char = line[position]
        if char.isspace():
            reader.end_word()
        elif char == "#" and reader.word is None:
            break
        elif char in "'\"":
            end = _closing(line, position)
            reader.word = (reader.word or "") + line[position + 1 : end]
            position = end
        elif operator := next((o for o in _OPERATORS if line.startswith(o, position)), ""):
            reader.end_command()
            position += len(operator) - 1
        elif char in "<>":
            reader.end_word()
        elif char in _PLAIN or char.isalnum():
            reader.word = (reader.word or "") + char
        else:
            raise NotPasteable(f"{char!r} is not quoted")
        position += 1
    reader.end_word()
    if not reader.commands[-1] and len(reader.commands) > 1:
        raise NotPasteable("it ends with an operator")
    return [command for command in reader.commands if command]


def _closing(line: str, start: int) -> int:
    quote = line[start]
    end = line.find(quote, start + 1)
    if end < 0:
        raise NotPasteable("an open quote")
    if quote == '"' and any(char in "$`\\!" for char in line[start:end]):
        raise NotPasteable("expanded within double quotes")
    return end
