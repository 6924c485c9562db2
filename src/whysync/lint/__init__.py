"""What files alone can tell before anything is merged: `whysync lint`.

There is no engine of its own here: a check is a small function on what was read, as a rule is one on a Case;
severities, edits and names of objects are those of `diagnosis`, Argo CD's and the API server's opinions come
from `semantics` and `cluster.model`.
"""

from __future__ import annotations

from whysync.lint.remark import Note, Outcome, Remark

__all__ = ["Note", "Outcome", "Remark"]
