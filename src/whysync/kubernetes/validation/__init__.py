"""Validation of objects as in a Kubernetes 1.36 API server, with its error messages.

`problems_on_create` and `problems_on_update` take an object that is decoded and has its defaults; on
update, also the fields that the server carries over from the old object. The server answers these problems
with code 422.
"""

from __future__ import annotations

from whysync.kubernetes.validation.field_error import FieldProblem, Kind
from whysync.kubernetes.validation.kinds import problems_on_create, problems_on_update

__all__ = ["FieldProblem", "Kind", "problems_on_create", "problems_on_update"]
