"""Finding: one cause, the symptoms that it explains, the evidence for it, and fixes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import Side, SymptomId
from whysync.facts.snapshot import Gap
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        return _SEVERITIES.index(self)


class Confidence(StrEnum):
    """High: no other cause matches the evidence. Medium: the best match. Low: a possible cause."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        return _CONFIDENCES.index(self)


_SEVERITIES = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)
_CONFIDENCES = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


class KeyKind(StrEnum):
    WEBHOOK = "webhook"
    POLICY = "policy"
    REPOSITORY = "repository"
    HOST = "host"
    ADDRESS = "address"
    REGISTRY = "registry"
    IMAGE = "image"
    QUOTA = "quota"
    LIMIT = "limit"
    CLUSTER = "cluster"
    PROJECT = "project"
    API = "api"
    """A kind of objects, or a group of the Kubernetes API."""
    NAMESPACE = "namespace"
    ACCOUNT = "account"
    SETTING = "setting"
    COMPONENT = "component"
    """A part of Argo CD: the repo-server, Redis, a plugin."""
    WRITER = "writer"
    """A program that writes a field, or the field alone if no program is recorded."""
    OBJECT = "object"
    """Nothing that several apps share, unless they share the object itself."""


class EvidenceKey(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """What findings of several apps must have in common to be one cause: this webhook, this repository.

    `name` is for people; `scope` (a cluster, an Argo CD instance) and `detail` (the reason) tell apart what
    has the same name.
    """

    kind: KeyKind
    name: str
    scope: str = ""
    detail: str = ""


class RejectedFix(msgspec.Struct, frozen=True, kw_only=True):
    """A fix that does not help in the simulation."""

    title: str
    why: str


class AlreadyFixed(msgspec.Struct, frozen=True, kw_only=True):
    """Git or a setting is already correct, but Argo CD has not used it yet: sync or refresh."""

    fixes: tuple[Fix, ...]
    verdict: str = ""


NO_OBJECT: Final = Ref(kind="", name="")
"""The `about` of a finding about a file instead of an object."""


_ON_ADMISSION: Final = "webhook-injected"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule yields. The runner adds `id`, `rule`, `side`, `caused_by`, and `cause` if the rule has one.

    A rule on files sets `location`, and a `hint` if there is no fix. `because` names symptoms whose cause
    is also the cause of this finding (a stalled wave waits for a Deployment: the cause of that Deployment's
    health is the root cause). `key` is set by a rule that knows it; otherwise the runner derives it from the
    failures that the finding cites. A rule sets `already_fixed` if the cause no longer exists: the runner
    then replaces the fixes. `predicted` is set by the simulation of a sync, not by a rule: the facts do not
    show it, a sync would fail because of it.
    """

    about: Ref
    verdict: str
    confidence: Confidence
    severity: Severity = Severity.WARNING
    explains: tuple[SymptomId, ...] = ()
    because: tuple[SymptomId, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    hint: str = ""
    field: str | None = None
    location: FileLocation | None = None
    writer: Writer | None = None
    root: str | None = None
    already_fixed: AlreadyFixed | None = None
    key: EvidenceKey | None = None
    gaps: tuple[Gap, ...] = ()
    id: str = ""
    rule: str = ""
    cause: str = ""
    side: Side = Side.NONE
    caused_by: tuple[str, ...] = ()
    rejected_fixes: tuple[RejectedFix, ...] = ()
    predicted: bool = False

    @property
    def written_by(self) -> str:
        """The writer in words; empty if it is not known. The API server records the change of a webhook under
        the name of whoever sent the request.
        """
        if self.writer is None:
            return ""
        on_admission = self.cause == _ON_ADMISSION and self.confidence is not Confidence.LOW
        if on_admission and self.writer.kind is not WriterKind.WEBHOOK:
            return f"a webhook, in a request of {phrase(self.writer)}"
        return phrase(self.writer)

    @property
    def path(self) -> str:
        return self.location.path if self.location else ""

    @property
    def line(self) -> int:
        return self.location.line if self.location else 0

    @property
    def place(self) -> str:
        return str(self.location) if self.location else ""


def with_already_fixed(finding: Finding, application: Ref) -> Finding:
    """If the cause is already fixed, the finding is about the Application, which has not used the fix yet."""
    fixed = finding.already_fixed
    if fixed is None:
        return finding
    return msgspec.structs.replace(
        finding,
        about=application,
        field=None if finding.about == application else finding.field,
        verdict=f"{finding.verdict}; {fixed.verdict}" if fixed.verdict else finding.verdict,
        fixes=fixed.fixes,
    )
