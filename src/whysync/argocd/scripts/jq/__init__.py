"""`jqPathExpressions`: what `del(<expression>)` leaves of an object, as Argo CD's gojq does it."""

from whysync.argocd.scripts.jq import plain
from whysync.argocd.scripts.jq.path_expressions import BadExpression, Deletion, DeletionFailed
from whysync.argocd.scripts.jq.plain import Path, removed

__all__ = ["BadExpression", "Deletion", "DeletionFailed", "Path", "plain", "removed"]
