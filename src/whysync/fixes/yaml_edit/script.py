"""Collect the changes of one text and apply them together at the end."""

from __future__ import annotations

from copy import copy


class Uneditable(Exception):
    """This text cannot be edited safely; the reason completes "the file cannot be edited: …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Script:
    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._changes: list[tuple[int, int, str]] = []

    def combined(self, *scripts: Script) -> Script:
        """A script for the same text that includes the changes of others."""
        script = copy(self)
        script._changes = [change for other in scripts for change in other._changes]
        return script

    @property
    def is_empty(self) -> bool:
        return not self._changes

    def replace(self, start: int, end: int, new: str) -> None:
        if start != end or new:
            self._changes.append((start, end, new))

    def applied(self) -> str:
        chunks: list[str] = []
        at = 0
        for start, end, new in sorted(self._changes, key=lambda change: change[:2]):
            if start < at:
                raise Uneditable("two changes meet at one place")
            chunks += (self.text[at:start], new)
            at = end
        if at == len(self.text) and chunks and "\n" in chunks[-1] and not chunks[-1].endswith("\n"):
            chunks.append(
                self.newline
            )  # otherwise a literal block at the end of a file loses its last line ending
        return "".join([*chunks, self.text[at:]])

    # --- lines -------------------------------------------------------------------------------------

    def start_of_line(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def end_of_line(self, at: int) -> int:
        """Offset of the line ending; a value that ends with its line includes it already."""
        newline = self.text.find("\n", at)
        return len(self.text) if newline < 0 else newline

    def line_below(self, at: int) -> int:
        return min(self.end_of_line(at) + 1, len(self.text))

    def is_first_on_line(self, at: int) -> bool:
        return not self.text[self.start_of_line(at) : at].strip()

    def _behind(self, end: int) -> int:
        """Where the next line starts, after something that ends at `end`."""
        return end if end and self.text[end - 1] == "\n" else self.line_below(end)

    def cut_lines(self, start: int, end: int) -> None:
        self.replace(self.start_of_line(start), self._behind(end), "")

    def cut_to_end_of_line(self, start: int, end: int) -> None:
        """Cut everything up to the line ending, and the blanks before it."""
        stop = self.end_of_line(end)
        while stop > end and self.text[stop - 1] in "\r\n":
            stop -= 1
        while start > 0 and self.text[start - 1] == " ":
            start -= 1
        self.replace(start, stop, "")

    def add_below(self, end: int, lines: list[str]) -> None:
        """Add lines after the line on which something ends."""
        if not lines:
            return
        at = self._behind(end)
        block = self.newline.join(lines)
        if at == len(self.text) and not self.text.endswith("\n"):
            self.replace(at, at, self.newline + block)
        else:
            self.replace(at, at, block + self.newline)
