"""`Group`, and the wrappers that several components put around an error."""

from __future__ import annotations

from typing import NamedTuple

from whysync.messages.pasted import Origin

REPO_SERVER = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc "
    "error: code = Unknown desc = "
)


class Group(NamedTuple):
    """`texts` by the causes that are accepted for them, separated by spaces; empty: none is needed."""

    origin: Origin
    condition: str
    wrapper: str
    texts: tuple[tuple[str, str], ...]
