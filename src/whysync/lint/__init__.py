"""`whysync lint`: check files before they are merged, without a cluster.

A check is a small function on the files, as a rule is one on a Case. Severities, edits and references are
those of `diagnosis`; the behavior of Argo CD and of the API server comes from `argocd` and `kubernetes`.
"""

from __future__ import annotations

from whysync.lint.remark import Note, Outcome, Remark

__all__ = ["Note", "Outcome", "Remark"]
