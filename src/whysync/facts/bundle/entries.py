"""The files of a bundle, one at a time; nothing is written to disk."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from whysync.facts.bundle.limits import Budget, size

CHUNK = 1 << 18
READABLE = (".yaml", ".yml", ".json")
_DRIVE = re.compile(r"[A-Za-z]:")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Of a log only the end is kept, which `cut` indicates."""

    name: str
    data: bytes
    cut: bool = False


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A skipped file; with a `why` that the user can change it becomes a gap."""

    name: str
    why: str = ""
    is_gap: bool = False


FileResult = Entry | Skipped
Read = Callable[[int], bytes]


def safe_name(name: str) -> str | None:
    """The path inside the bundle, or `None` if it points outside."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or _DRIVE.match(name) or ".." in parts or "\0" in name:
        return None
    return "/".join(parts)


def is_log(name: str) -> bool:
    return name.endswith(".log") and "logs" in name.split("/")[:-1]


def is_readable(name: str) -> bool:
    return name.lower().endswith(READABLE) or is_log(name)


def is_tar(start: bytes) -> bool:
    return start[257:262] == b"ustar"


def read_entry(name: str, read: Read, budget: Budget) -> FileResult:
    """Read one file in chunks, up to the limits."""
    if is_log(name):
        return _read_log(name, read, budget)
    limit = budget.limits.file_bytes
    chunks: list[bytes] = []
    total = 0
    while chunk := read(CHUNK):
        budget.spend(len(chunk), name)
        total += len(chunk)
        if total > limit:
            why = f"the file is larger than {size(limit)} (--max-file-size)"
            return Skipped(name=name, why=why, is_gap=True)
        chunks.append(chunk)
    return Entry(name=name, data=b"".join(chunks))


def _read_log(name: str, read: Read, budget: Budget) -> Entry:
    chunks: deque[bytes] = deque()
    buffered = total = 0
    while chunk := read(CHUNK):
        budget.spend(len(chunk), name)
        total += len(chunk)
        buffered += len(chunk)
        chunks.append(chunk)
        while buffered - len(chunks[0]) >= budget.limits.log_bytes:
            buffered -= len(chunks.popleft())
    data = b"".join(chunks)
    truncated = total > budget.limits.log_bytes
    if truncated:
        data = data[-budget.limits.log_bytes :]
        # The first line is incomplete.
        data = data[data.find(b"\n") + 1 :]
    return Entry(name=name, data=data, cut=truncated)


def with_prefix(files: Iterator[FileResult], prefix: str) -> Iterator[FileResult]:
    """The same files below a folder."""
    for file in files:
        if isinstance(file, Entry):
            yield Entry(name=f"{prefix}{file.name}", data=file.data, cut=file.cut)
        else:
            yield Skipped(name=f"{prefix}{file.name}", why=file.why, is_gap=file.is_gap)
