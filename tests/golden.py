"""Goldens: expected output in files, rewritten by `--accept` and reviewed in the diff."""

from __future__ import annotations

from pathlib import Path


class Golden:
    def __init__(self, *, accept: bool) -> None:
        self.accept = accept

    def __call__(self, path: Path, text: str) -> None:
        if self.accept:
            path.write_text(text)
            return
        assert path.exists(), f"no golden yet: make accept writes {path.name}, then read it"
        assert text == path.read_text()
