"""The values of a diagnosis (Case, Symptom, Rule, Finding, Evidence, Fix) and the rule runner."""

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.diagnosis.evidence import Evidence, cite, cite_if, cite_line
from whysync.diagnosis.failures import ReportedFailure
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Add, Edit, Fix, FixKind, Remove, Set
from whysync.diagnosis.rule import Fact, Rule, rule
from whysync.diagnosis.symptom import Side, Symptom, SymptomKind

__all__ = [
    "Add",
    "Case",
    "Confidence",
    "Drift",
    "Edit",
    "Evidence",
    "Fact",
    "Finding",
    "Fix",
    "FixKind",
    "Mechanism",
    "Remove",
    "ReportedFailure",
    "Rule",
    "Set",
    "Severity",
    "Side",
    "Symptom",
    "SymptomKind",
    "cite",
    "cite_if",
    "cite_line",
    "rule",
]
