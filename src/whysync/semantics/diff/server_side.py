"""Not there yet."""

from __future__ import annotations

from whysync.contracts.tree import Object
from whysync.semantics.diff.compare import DiffOptions
from whysync.semantics.diff.errors import DiffError
from whysync.semantics.diff.result import DiffResult


def server_side_diff(desired: Object, live: Object, options: DiffOptions) -> DiffResult:  # noqa: ARG001
    raise DiffError("not supported yet")
