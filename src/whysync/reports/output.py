"""Safe output: all text for a terminal, a pipe or a file is written here.

Reports are built from values of a cluster or of a repository, which may be hostile. Nothing is cleaned where
a report is built. Each medium has one function that turns a report into `Safe` text, and only `Safe` text is
written: `text` here for terminals and logs, `markdown_text.page` for Markdown, `xml_text.document` for HTML,
SVG and XML, `json_yaml.as_json` and `json_yaml.as_yaml` for data, and
`annotations.github` for workflow commands.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from typing import Final, NewType, TextIO

from whysync.unsafe_text import CI_COMMAND, CI_MARK, is_safe

Safe = NewType("Safe", str)
"""Text that may be written as it is. Only the functions named above create it."""

# Colors are marked with a random number, which no value can contain, and become escape sequences on output.
_STYLE: Final = f"\x1b{os.urandom(12).hex()}"
_STYLED: Final = re.compile(rf"{_STYLE}\[([0-9;]+)m")


class Exact(str):
    """A line of a patch that `git apply` reads from a pipe: it must be identical to the file."""

    __slots__ = ()


def styled(text: str, codes: str) -> str:
    return f"{_STYLE}[{codes}m{text}{_STYLE}[0m"


def is_styled(text: str) -> bool:
    return _STYLE in text


def one_safe_line(line: str) -> str:
    """One line: unsafe characters are replaced, and no CI runner interprets it as a command."""
    return CI_COMMAND.sub(r"\1: ", CI_MARK.sub("# ", _visible(line)))


def _visible(line: str) -> str:
    if is_safe(line):
        return line
    parts = _STYLED.split(line)
    parts[::2] = ["".join(map(_replaced, part)) for part in parts[::2]]
    parts[1::2] = [f"\x1b[{codes}m" for codes in parts[1::2]]
    return "".join(parts)


def _replaced(char: str) -> str:
    return char if is_safe(char) else " " if char in "\n\r\t" else "\ufffd"


def text(lines: Iterable[str]) -> Safe:
    """Text for a terminal or a log. A line break inside of one of the lines came from a value."""
    return Safe("".join(f"{line if isinstance(line, Exact) else one_safe_line(line)}\n" for line in lines))


class Out:
    """A stream that takes safe text only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()

    def put(self, safe: Safe) -> None:
        self._stream.write(safe)

    def say(self, *lines: str) -> None:
        self._stream.write(text(lines))
        self._stream.flush()

    def redraw(self, lines: Iterable[str], *, over: int) -> None:
        """Replace the last `over` lines of a terminal."""
        back = f"\x1b[{over}F\x1b[J" if over else ""
        self._stream.write(f"{back}{text(lines)}")
        self._stream.flush()

    def replace_page(self, page: Safe, *lines: str) -> None:
        """Show `page`, with `lines` below it, on an empty terminal."""
        self._stream.write(f"\x1b[H\x1b[J{page}{text(lines)}")
        self._stream.flush()

    def progress(self, line: str) -> None:
        """Replace the current line of a terminal, without ending it."""
        self._stream.write(f"\r{one_safe_line(line)}\x1b[K")
        self._stream.flush()

    def show_cursor(self, *, visible: bool) -> None:
        self._stream.write("\x1b[?25h" if visible else "\x1b[?25l")
        self._stream.flush()


def out() -> Out:
    return Out(sys.stdout)


def err() -> Out:
    return Out(sys.stderr)


def captured(show: Callable[[], int]) -> tuple[Safe, int]:
    """What `show` writes to standard output, and what it returns."""
    buffer = io.StringIO()
    with redirect_stdout(buffer):
        code = show()
    return Safe(buffer.getvalue()), code
