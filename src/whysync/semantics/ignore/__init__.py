"""`ignoreDifferences`: which fields may differ, how they are taken out, and why a rule misses."""

from whysync.semantics.ignore.known_types import known_type, with_known_types
from whysync.semantics.ignore.managers import atom_for, trusted_changes, without_trusted_changes
from whysync.semantics.ignore.misses import Miss, MissKind, explain_miss
from whysync.semantics.ignore.normalizer import Applied, BadRule, Normalizer, Removal
from whysync.semantics.ignore.respect import respectful_target
from whysync.semantics.ignore.rules import Mismatch, Rule, application_rules, same_rules, system_rules

__all__ = [
    "Applied",
    "BadRule",
    "Mismatch",
    "Miss",
    "MissKind",
    "Normalizer",
    "Removal",
    "Rule",
    "application_rules",
    "atom_for",
    "explain_miss",
    "known_type",
    "respectful_target",
    "same_rules",
    "system_rules",
    "trusted_changes",
    "with_known_types",
    "without_trusted_changes",
]
