"""The result of an audit: findings by topic, and what could not be checked."""

from __future__ import annotations

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Topic
from whysync.facts.snapshot import Gap


class AuditFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, the app that it is about, and the section of the report."""

    topic: Topic
    case: Case
    finding: Finding

    @property
    def app(self) -> str:
        return self.case.qualified_name


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    apps: tuple[str, ...]
    findings: tuple[AuditFinding, ...]
    gaps: tuple[Gap, ...] = ()
    # information only
    notes: tuple[Gap, ...] = ()

    def of(self, topic: Topic) -> tuple[AuditFinding, ...]:
        return tuple(finding for finding in self.findings if finding.topic is topic)

    def fails(self, severity: Severity) -> bool:
        return any(finding.finding.severity.weight >= severity.weight for finding in self.findings)
