"""The result of a diff."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from whysync.argocd.diff.changes import FieldChange, changes_between
from whysync.json_tree import Object
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.schema import Type


class Sides(NamedTuple):
    """The two compared objects; `None` for an object that does not exist."""

    live: Object | None
    predicted: Object | None
    kind: Type | None = None


class DiffResult:
    """Whether a resource is modified, its normalized live object, and the predicted one after an apply.

    `way` is the kind of diff: `two-way`, `three-way`, `structured-merge`, `server-side`, or `create` and
    `delete` if one side does not exist. Objects and changes are computed lazily, because most resources are
    equal. They may share parts with the compared objects, and must not be changed.
    """

    __slots__ = ("_changes", "_compute_sides", "_sides", "modified", "way")

    def __init__(self, *, modified: bool, way: str, compute_sides: Callable[[], Sides]) -> None:
        self.modified = modified
        self.way = way
        self._compute_sides = compute_sides
        self._sides: Sides | None = None
        self._changes: tuple[FieldChange, ...] | None = None

    @property
    def sides(self) -> Sides:
        if self._sides is None:
            try:
                self._sides = self._compute_sides()
            except RecursionError:
                raise DiffError("the object is nested too deeply to be compared") from None
        return self._sides

    @property
    def normalized_live(self) -> Object | None:
        return self.sides.live

    @property
    def predicted_live(self) -> Object | None:
        return self.sides.predicted

    @property
    def changes(self) -> tuple[FieldChange, ...]:
        """The field changes; empty for equal objects, and if one side does not exist."""
        if self._changes is None:
            live, predicted, kind = self.sides if self.modified else Sides(None, None)
            try:
                is_pair = live is not None and predicted is not None
                self._changes = changes_between(live or {}, predicted or {}, kind) if is_pair else ()
            except RecursionError:
                raise DiffError("the object is nested too deeply to be compared") from None
        return self._changes

    def __repr__(self) -> str:
        return f"<DiffResult {self.way} {'modified' if self.modified else 'equal'}>"
