"""Failures of the API server's answer to an apply."""

from __future__ import annotations

from enum import StrEnum

from whysync.messages.failure import NOTHING, Failure, Named, Network


class ImmutableField(Failure, frozen=True, kw_only=True):
    """`allowed`: the fields that may change, where the text lists those instead of the one that may not."""

    resource: Named = NOTHING
    field: str = ""
    pointer: str = ""
    old: str = ""
    new: str = ""
    allowed: tuple[str, ...] = ()
    detail: str = ""


class KindNotServed(Failure, frozen=True, kw_only=True):
    """`other_version` (and `other_group`) is one that the cluster does serve."""

    kind: str = ""
    group: str = ""
    version: str = ""
    other_version: str = ""
    other_group: str = ""
    resource: Named = NOTHING


class PolicyEngine(StrEnum):
    KYVERNO = "kyverno"
    GATEKEEPER = "gatekeeper"
    POD_SECURITY = "pod-security"
    POD_SECURITY_POLICY = "pod-security-policy"
    SECURITY_CONTEXT_CONSTRAINTS = "security-context-constraints"
    ADMISSION_POLICY = "validating-admission-policy"
    WEBHOOK = "webhook"
    PLUGIN = "admission-plugin"


class AdmissionDenied(Failure, frozen=True, kw_only=True):
    """`inner` is what the webhook's own words say, where they name a more exact mechanism."""

    engine: PolicyEngine
    webhook: str = ""
    policy: str = ""
    rule: str = ""
    binding: str = ""
    reason: str = ""
    pointer: str = ""
    resource: Named = NOTHING
    inner: Failure | None = None


class WebhookDown(Failure, frozen=True, kw_only=True):
    """`service` and `namespace` are read off the URL; a webhook by URL has `url` only."""

    webhook: str = ""
    service: str = ""
    namespace: str = ""
    url: str = ""
    reason: Network = Network.UNTOLD
    detail: str = ""


class Forbidden(Failure, frozen=True, kw_only=True):
    """`escalation`: the user may write roles, but not grant what it does not hold (`detail` lists it)."""

    user: str = ""
    verb: str = ""
    resource: str = ""
    group: str = ""
    namespace: str = ""
    cluster_scope: bool = False
    name: str = ""
    escalation: bool = False
    detail: str = ""


class NamespaceMissing(Failure, frozen=True, kw_only=True):
    namespace: str = ""


class NamespaceTerminating(Failure, frozen=True, kw_only=True):
    namespace: str = ""
    resource: Named = NOTHING


class QuotaExceeded(Failure, frozen=True, kw_only=True):
    quota: str = ""
    requested: str = ""
    used: str = ""
    limited: str = ""
    must_specify: tuple[str, ...] = ()
    resource: Named = NOTHING


class LimitRange(Failure, frozen=True, kw_only=True):
    """`bound` is minimum or maximum (or a ratio), `per` Container, Pod or PersistentVolumeClaim."""

    bound: str = ""
    amount: str = ""
    per: str = ""
    limit: str = ""
    got: str = ""
    resource: Named = NOTHING


class DependencyMissing(Failure, frozen=True, kw_only=True):
    """`key` when the object is there and an entry of it is not; `referrer` is who asks for it."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    key: str = ""
    referrer: str = ""


class SchemaProblem(StrEnum):
    UNKNOWN_FIELD = "unknown-field"
    DUPLICATE_FIELD = "duplicate-field"
    TYPE = "type"
    REQUIRED = "required"
    UNSUPPORTED = "unsupported-value"
    INVALID = "invalid-value"
    FORBIDDEN = "forbidden"
    DUPLICATE = "duplicate-value"
    TOO_LONG = "too-long"
    TOO_MANY = "too-many"
    NAME = "name"
    NOT_FOUND = "not-found"
    OPTIONS = "options"
    OTHER = "other"


class SchemaInvalid(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    field: str = ""
    pointer: str = ""
    problem: SchemaProblem = SchemaProblem.OTHER
    value: str = ""
    detail: str = ""


class AnnotationTooLong(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    limit: int = 262144


class SsaConflict(Failure, frozen=True, kw_only=True):
    managers: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


class ConflictModified(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    detail: str = ""


class AlreadyExists(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    being_deleted: bool = False


class ObjectMissing(Failure, frozen=True, kw_only=True):
    """An object that should be changed or deleted is not there (`deployments.apps "x" not found`)."""

    resource: Named = NOTHING


class SecretEncoding(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    detail: str = ""


class DeletionFailed(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    detail: str = ""


class ConnectionFailed(Failure, frozen=True, kw_only=True):
    """A connection of which the text does not tell whose it was."""

    host: str = ""
    port: int | None = None
    reason: Network = Network.UNTOLD


class DatabaseAuth(Failure, frozen=True, kw_only=True):
    user: str = ""
    host: str = ""
    detail: str = ""
