"""`jqPathExpressions`: what `del(<expression>)` leaves of an object, as Argo CD's gojq does it."""

from whysync.semantics.jq import plain
from whysync.semantics.jq.deletion import BadExpression, Deletion, DeletionFailed
from whysync.semantics.jq.tree_paths import Path, removed

__all__ = ["BadExpression", "Deletion", "DeletionFailed", "Path", "plain", "removed"]
