"""The body of an HTTP response, decompressed up to a size limit."""

from __future__ import annotations

import zlib

from whysync.facts.http.errors import MalformedResponse, TooLarge

_GZIP = zlib.MAX_WBITS | 16


class Body:
    """`encoding` is the Content-Encoding; `most` counts bytes after decompression."""

    def __init__(self, encoding: str, path: str, *, most: int) -> None:
        self._path = path
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise self._garbled(f"its encoding {encoding[:80]!r} was not asked for; only gzip was")
        self._unpacking = zlib.decompressobj(_GZIP) if "gzip" in encoding else None

    def add(self, piece: bytes) -> int:
        """Returns the number of bytes added. Raises `TooLarge`, `Garbled`."""
        if self._unpacking is not None:
            try:
                piece = self._unpacking.decompress(piece, self._most - self._size + 1)
            except zlib.error as problem:
                raise self._garbled(str(problem)) from problem
        self._size += len(piece)
        if self._size > self._most:
            raise TooLarge(
                what=f"the answer to {self._path} is too large",
                why=f"more than {self._most / (1 << 20):.3g} MiB",
                next="ask for fewer Applications",
                path=self._path,
            )
        self._pieces.append(piece)
        return len(piece)

    def whole(self) -> bytes:
        if self._unpacking is not None and self._pieces and not self._unpacking.eof:
            raise self._garbled("it ends in the middle")
        return b"".join(self._pieces)

    def _garbled(self, why: str) -> MalformedResponse:
        what = f"the answer to {self._path} cannot be unpacked"
        return MalformedResponse(what=what, why=why, next="ask again", path=self._path)
