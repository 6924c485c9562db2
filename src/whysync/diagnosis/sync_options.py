"""Sync options of one object: its annotation `argocd.argoproj.io/sync-options`, a list with commas."""

from __future__ import annotations

from whysync.contracts.manifest import Manifest
from whysync.diagnosis.fix import Set

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
_POINTER = "/metadata/annotations/argocd.argoproj.io~1sync-options"


def options_of(manifest: Manifest) -> tuple[str, ...]:
    """Trimmed and in order; Argo CD matches each of them exactly, upper and lower case included."""
    text = manifest.annotations.get(SYNC_OPTIONS)
    parts = (part.strip() for part in text.split(",")) if isinstance(text, str) else ()
    return tuple(dict.fromkeys(part for part in parts if part))


def has_option(manifest: Manifest | None, option: str) -> bool:
    return manifest is not None and option in options_of(manifest)


def with_options(manifest: Manifest, *options: str) -> Set:
    """The edit that adds these options and keeps the others."""
    return Set(pointer=_POINTER, value=",".join(dict.fromkeys((*options_of(manifest), *options))))
