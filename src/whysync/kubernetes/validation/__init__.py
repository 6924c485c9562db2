"""Validation of objects as in a Kubernetes 1.36 API server, with its error messages.

`problems_on_create` and `problems_on_update` take an object that is decoded and has its defaults; on
update, also the fields that the server carries over from the old object. The server answers these problems
with code 422.
"""

from __future__ import annotations

from whysync.json_tree import Object
from whysync.kubernetes.validation.field_error import FieldProblem, Kind

__all__ = ["FieldProblem", "Kind", "problems_on_create", "problems_on_update"]


# The checks of all kinds are 25 modules: most users of this package need only one, such as `selectors`.


def problems_on_create(obj: Object) -> tuple[FieldProblem, ...]:
    """Problems of a new object, whose defaults are already set."""
    from whysync.kubernetes.validation.kinds import problems_on_create as problems

    return problems(obj)


def problems_on_update(old: Object, new: Object) -> tuple[FieldProblem, ...]:
    """Problems of a change from the stored object `old` to `new`."""
    from whysync.kubernetes.validation.kinds import problems_on_update as problems

    return problems(old, new)
