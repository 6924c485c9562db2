"""Argo CD RBAC: policies, decisions, and explanations of denials."""

from whysync.argocd.rbac.decision import Asker, Decision, Reason, asker_of, decide, denial_text, project_of
from whysync.argocd.rbac.explain import Explanation, Nearest, explain
from whysync.argocd.rbac.policy import (
    Answer,
    BadLine,
    Grant,
    MatchMode,
    Origin,
    Permission,
    Policy,
    PolicyPart,
    Request,
    policy_keys,
    policy_problem,
    project_lines,
    read_line,
    read_lines,
    read_policy,
)

__all__ = [
    "Answer",
    "Asker",
    "BadLine",
    "Decision",
    "Explanation",
    "Grant",
    "MatchMode",
    "Nearest",
    "Origin",
    "Permission",
    "Policy",
    "PolicyPart",
    "Reason",
    "Request",
    "asker_of",
    "decide",
    "denial_text",
    "explain",
    "policy_keys",
    "policy_problem",
    "project_lines",
    "project_of",
    "read_line",
    "read_lines",
    "read_policy",
]
