"""Failures between Argo CD and the destination cluster, and in comparing with what lies there."""

from __future__ import annotations

from enum import StrEnum

from whysync.messages.failure import NOTHING, Failure, Named, Network


class ClusterUnreachable(Failure, frozen=True, kw_only=True):
    server: str = ""
    reason: Network = Network.UNTOLD
    loading: str = ""  # the kind whose listing failed, as `ImageStream.image.openshift.io`


class ClusterAuth(Failure, frozen=True, kw_only=True):
    server: str = ""
    detail: str = ""


class ClusterNotRegistered(Failure, frozen=True, kw_only=True):
    server: str = ""
    name: str = ""
    ambiguous: bool = False
    disabled: bool = False


class NamespaceNotManaged(Failure, frozen=True, kw_only=True):
    """`namespace` is empty for a cluster-scoped object."""

    namespace: str = ""
    kind: str = ""
    name: str = ""


class DiffSide(StrEnum):
    LIVE = "live"
    CONFIG = "config"
    UNTOLD = ""


class DiffProblem(StrEnum):
    UNDECLARED = "undeclared"
    DUPLICATE_KEY = "duplicate-key"
    TYPE = "type"
    OMITS_KEY = "omits-key"
    NO_SCHEMA = "no-schema"
    REJECTED = "rejected"  # the dry run of a server-side diff was turned down: see `inner`
    OTHER = "other"


class DiffSchemaError(Failure, frozen=True, kw_only=True):
    """`fields` as the text writes them (`.spec.x`), `pointers` where they can be told without a list key."""

    side: DiffSide = DiffSide.UNTOLD
    problem: DiffProblem = DiffProblem.OTHER
    fields: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    resource: Named = NOTHING
    inner: Failure | None = None
    detail: str = ""


class OpenApiError(Failure, frozen=True, kw_only=True):
    group_version: str = ""
    detail: str = ""


class ConversionWebhookFailed(Failure, frozen=True, kw_only=True):
    group: str = ""
    version: str = ""
    kind: str = ""
    service: str = ""
    namespace: str = ""
    url: str = ""
    reason: Network = Network.UNTOLD


class SizeLimit(StrEnum):
    REQUEST = "request"
    ETCD = "etcd"
    GRPC = "grpc"
    STATUS = "status"
    MANIFESTS = "manifests"
    OBJECT = "object"


class TooLarge(Failure, frozen=True, kw_only=True):
    limit_of: SizeLimit
    size: int | None = None
    limit: int | None = None
    resource: Named = NOTHING
