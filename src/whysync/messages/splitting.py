"""Several reasons in one text: Argo CD joins them with `,`, `; ` or a line break.

A comma alone separates nothing; a comma with no space behind it, followed by words with which an error of
kubectl or the API server begins, does.
"""

from __future__ import annotations

import re
from functools import cache

_BEGINNINGS = (
    r"error when \w+ \"|error validating \"|error running |error |Internal error occurred|"
    r"admission webhook \"|"
    r"[A-Z]\w{1,62}(?:\.[a-z0-9.-]{1,200})? \"[^\"]{0,253}\" is invalid|"
    r"[a-z]{3,62}(?:\.[a-z0-9.-]{1,200})? \"[^\"]{0,253}\" (?:is forbidden|is invalid|"
    r"not found|already exists)|"
    r"[A-Z]\w{1,62} in version \"|The Kubernetes API could not find|"
    r"the server could not find|no matches for kind|"
    r"resource mapping not found|[Rr]esource [\w.-]{0,200}:\w{1,62} is not permitted|"
    r"namespace \S{1,253} is not permitted|"
    r"Operation cannot be fulfilled|Apply failed with|failed to |Failed to |unable to |"
    r"Unable to |strict decoding error|"
    r"Resource \S{1,300} is missing|[\w/-]{1,80}: Forbidden|the server |"
    r"conversion webhook for|Timeout: |etcdserver: |"
    r"Unauthorized|object is being deleted|job failed|Job has reached|rpc error: "
)
_CONDITION = re.compile(r";(?=(?:Comparison|InvalidSpec|Unknown|Sync|Deletion)Error: )")


@cache
def _separator() -> re.Pattern[str]:
    return re.compile(
        rf",(?=(?:{_BEGINNINGS}))|; (?=(?:{_BEGINNINGS}))|\n(?=one or more SyncFail hooks failed)"
    )


def conditions_of(text: str) -> list[str]:
    """`ComparisonError: a;InvalidSpecError: b`: how an operation says that it was not even tried."""
    return _CONDITION.split(text) if ";" in text and "Error: " in text else [text]


def reasons_of(text: str) -> list[str]:
    """The reasons that stand behind `, reason: ` or `are not valid: `; repeated ones count once."""
    pieces = (piece.strip(" ,;\n") for piece in _separator().split(text[:65536]))
    return list(dict.fromkeys(piece for piece in pieces if piece))[:200]
