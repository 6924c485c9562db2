"""The result of an audit: remarks by topic, and what could not be checked."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Fix
from whysync.facts.snapshot import Gap
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer


class Topic(StrEnum):
    """Topics in the order of the report."""

    WRITERS = "fields that others write"
    HEALTH = "custom resources without a health check"
    HOOKS = "hooks"
    DATA = "data that a sync can delete"
    EXPIRY = "credentials and certificates"
    WEBHOOK = "webhooks"


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    topic: Topic
    severity: Severity
    case: Case
    about: Ref
    text: str
    pointers: tuple[str, ...] = ()
    writer: Writer | None = None
    fix: Fix | None = None

    @property
    def app(self) -> str:
        return self.case.app.qualified_name


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    apps: tuple[str, ...]
    remarks: tuple[Remark, ...]
    gaps: tuple[Gap, ...] = ()
    # information only
    notes: tuple[Gap, ...] = ()

    def of(self, topic: Topic) -> tuple[Remark, ...]:
        return tuple(remark for remark in self.remarks if remark.topic is topic)

    def fails(self, severity: Severity) -> bool:
        return any(remark.severity.weight >= severity.weight for remark in self.remarks)
