"""The Status that the API server answers with for problems of fields."""

from __future__ import annotations

from collections.abc import Sequence

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.status_errors import Cause, invalid
from whysync.kubernetes.validation import FieldProblem


def invalid_status(kind: str, group: str, name: str, problems: Sequence[FieldProblem]) -> Object:
    causes = [Cause(problem.path, problem.body, str(problem.kind)) for problem in problems]
    return invalid(kind, group, name, causes).status
