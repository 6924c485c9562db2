"""`ignoreDifferences`: rules, removal of ignored fields, and mistakes in rules."""

from whysync.argocd.ignore_differences.known_types import known_type, with_known_types
from whysync.argocd.ignore_differences.remove_ignored import (
    Applied,
    BadRule,
    Normalizer,
    Removal,
    atom_for,
    trusted_changes,
    without_trusted_changes,
)
from whysync.argocd.ignore_differences.rule_mistakes import MistakeKind, RuleMistake, explain_miss
from whysync.argocd.ignore_differences.rules import (
    Mismatch,
    Rule,
    application_rules,
    system_rules,
)

__all__ = [
    "Applied",
    "BadRule",
    "Mismatch",
    "MistakeKind",
    "Normalizer",
    "Removal",
    "Rule",
    "RuleMistake",
    "application_rules",
    "atom_for",
    "explain_miss",
    "known_type",
    "system_rules",
    "trusted_changes",
    "with_known_types",
    "without_trusted_changes",
]
