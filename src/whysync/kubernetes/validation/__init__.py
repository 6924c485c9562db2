"""What a Kubernetes 1.36 API server refuses, and in which words.

`problems_on_create` and `problems_on_update` answer for an object as the server sees it: decoded, with its
defaults, and on update with what the server itself carries over from the old object. They are the checks
behind code 422.
"""

from __future__ import annotations

from whysync.kubernetes.validation.field_error import FieldProblem, Kind
from whysync.kubernetes.validation.kinds import problems_on_create, problems_on_update

__all__ = ["FieldProblem", "Kind", "problems_on_create", "problems_on_update"]
