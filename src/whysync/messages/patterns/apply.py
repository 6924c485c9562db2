"""Errors of the API server for an apply, except field errors and webhooks."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName
from whysync.messages.object_names import RESOURCE, forbidden_object, invalid_object, named_object
from whysync.messages.pattern import Builder, Context, Pattern, compiled, distinct, fill, group_text, number
from whysync.messages.patterns.admission import AdmissionDenied, PolicyEngine
from whysync.messages.wrappers import LayerKind


class ImmutableField(Failure, frozen=True, kw_only=True):
    """`allowed`: the fields that may change, if the text lists those instead of the immutable one."""

    resource: ObjectName = NO_OBJECT_NAME
    field: str = ""
    pointer: str = ""
    old: str = ""
    new: str = ""
    allowed: tuple[str, ...] = ()
    detail: str = ""

    @property
    def is_emptied(self) -> bool:
        """`Invalid value: "": field is immutable`: what was applied has no value for it."""
        return not self.new and bool(self.field) and f'{self.field}: Invalid value: "": ' in self.text

    @property
    def may_only_grow(self) -> bool:
        return "can not be less than" in self.detail


class KindNotServed(Failure, frozen=True, kw_only=True):
    """`other_version` (and `other_group`) is one that the cluster serves."""

    kind: str = ""
    group: str = ""
    version: str = ""
    other_version: str = ""
    other_group: str = ""
    resource: ObjectName = NO_OBJECT_NAME


class NamespaceMissing(Failure, frozen=True, kw_only=True):
    namespace: str = ""


class NamespaceTerminating(Failure, frozen=True, kw_only=True):
    namespace: str = ""
    resource: ObjectName = NO_OBJECT_NAME


class QuotaExceeded(Failure, frozen=True, kw_only=True):
    quota: str = ""
    requested: str = ""
    used: str = ""
    limited: str = ""
    must_specify: tuple[str, ...] = ()
    resource: ObjectName = NO_OBJECT_NAME


class LimitRange(Failure, frozen=True, kw_only=True):
    """`bound` is minimum or maximum (or a ratio), `per` Container, Pod or PersistentVolumeClaim.

    `got` is the amount that violates it, and `side` says of what: its `limit` or its `request`. Without
    `got`, that side is not specified.
    """

    bound: str = ""
    amount: str = ""
    per: str = ""
    limit: str = ""
    got: str = ""
    side: str = ""
    resource: ObjectName = NO_OBJECT_NAME


class AnnotationTooLong(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    limit: int = 262144


class SsaConflict(Failure, frozen=True, kw_only=True):
    managers: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


_INVALID_VERSION = "metadata.resourceVersion: Invalid value:"


class ConflictModified(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    detail: str = ""

    @property
    def removes_version(self) -> bool:
        """Would the update remove the resourceVersion? Then it is not a race."""
        """The API server has no other reason for an invalid `resourceVersion`, which may be cut off."""
        return "must be specified for an update" in self.text or self.text.rstrip().endswith(_INVALID_VERSION)


class AlreadyExists(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    being_deleted: bool = False


class ObjectMissing(Failure, frozen=True, kw_only=True):
    """An object to change or delete does not exist (`deployments.apps "x" not found`)."""

    resource: ObjectName = NO_OBJECT_NAME


class DeletionFailed(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    detail: str = ""


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
    resource: ObjectName = NO_OBJECT_NAME


class FinalizerStuck(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    finalizer: str = ""
    detail: str = ""


_ETCD_SEND_LIMIT = 2 * 1024 * 1024
"""The send limit of the API server's etcd client; Argo CD's own limits are larger."""


def crd_missing(match: re.Match[str], context: Context) -> Failure:
    group, _, version = group_text(match, "gv").rpartition("/")
    return KindNotServed(
        text=context.text,
        kind=group_text(match, "kind"),
        group=group,
        version=version,
        resource=ObjectName(
            kind=group_text(match, "kind"),
            group=group,
            namespace=group_text(match, "namespace"),
            name=group_text(match, "name"),
        ),
    )


quota_exceeded = fill(
    QuotaExceeded,
    must_specify=lambda match, _: distinct(re.split(r"[,;]\s*|\s+for: ", group_text(match, "must"))),
    resource=forbidden_object,
)

limit_range = fill(
    LimitRange,
    limit=lambda match, _: group_text(match, "limit").rstrip("."),
    got=lambda match, _: group_text(match, "got").rstrip("."),
    side=lambda match, _: group_text(match, "side") or group_text(match, "unset"),
    resource=forbidden_object,
)


def ssa_conflict(match: re.Match[str], context: Context) -> Failure:
    body = group_text(match, "body")
    managers = compiled(r'conflicts? with "([^"]{1,200})"').findall(match[0][:4000])
    fields = compiled(
        r"(?:^|[\s-])(\.[\w.\-]{1,200}(?:\[[^\]\s]{0,200}\][\w.\-]{0,200}){0,12})(?=[\s,]|$)"
    ).findall(body[:4000])
    return SsaConflict(text=context.text, managers=distinct(managers), fields=distinct(fields))


def too_large(limit_of: SizeLimit) -> Builder:
    return fill(TooLarge, limit_of=limit_of, resource=invalid_object)


conflict = fill(
    ConflictModified,
    resource=lambda match, _: named_object(match) if group_text(match, "name") else NO_OBJECT_NAME,
)


def not_found(match: re.Match[str], context: Context) -> Failure | None:
    """`deployments.apps "x" not found`, with nothing around it: the object itself does not exist."""
    if group_text(match, "resource") == "namespaces":
        return NamespaceMissing(text=context.text, namespace=group_text(match, "name"))
    if not _is_resource(match):
        return None
    return ObjectMissing(text=context.text, resource=named_object(match))


def _is_resource(match: re.Match[str]) -> bool:
    """`deployments.apps "x"` is an object; `relation "x"` and `chart "x"` come from other programs."""
    return bool(group_text(match, "name")) and (
        bool(group_text(match, "group")) or group_text(match, "resource").endswith("s")
    )


def already_exists(match: re.Match[str], context: Context) -> Failure | None:
    if not _is_resource(match):
        return None
    return AlreadyExists(text=context.text, resource=named_object(match))


def deletion(match: re.Match[str], context: Context) -> Failure | None:
    if not context.within(LayerKind.DELETION, LayerKind.DELETION_ERROR):
        return None
    return DeletionFailed(text=context.text, detail=match[0].strip())


FIRST: tuple[Pattern, ...] = (
    # kubectl's and Argo CD's own types lack it: a version that was removed, or that is too new for them.
    Pattern(
        "is registered for ",
        r'no kind "(?P<kind>[^"]{1,100})" is registered for (?:version "(?P<gv>[^"]{0,253})"|the internal)',
        lambda m, c: None if compiled("(?:failed to|error) convert").search(c.text) else crd_missing(m, c),
    ),
    # Before field errors: these hold the words `Forbidden` or `is invalid` as well.
    Pattern(
        "because it is being terminated",
        r"unable to create new content in namespace "
        r"(?P<namespace>[\w.<>{}$-]{1,253}) because it is being terminated",
        fill(NamespaceTerminating, resource=forbidden_object),
    ),
    Pattern(
        "unable to create new cont",
        r"unable to create new cont(?:ent in namespace (?P<namespace>[\w.<>{}$-]{1,253}))?[^:]{0,60}$",
        fill(NamespaceTerminating, resource=forbidden_object),
    ),
    Pattern(
        "ensuring all content is removed",
        r'(?:namespaces "(?P<namespace>[^"]{1,253})": )?The system is ensuring all content is removed',
        fill(NamespaceTerminating),
    ),
    Pattern(
        "because it is being terminated",
        r"namespace (?P<namespace>[\w.<>{}$-]{1,253}) because it is being terminated",
        fill(NamespaceTerminating),
    ),
    Pattern(
        "xceeded quota",
        r"[Ee]xceeded quota: (?P<quota>[\w.-]{1,253}), requested: "
        r"(?P<requested>.{1,500}?), used: (?P<used>.{1,500}?), limited: "
        r"(?P<limited>[^\s)]{1,500}(?:, ?[\w./-]{1,100}=[^\s,)]{1,60})*)",
        quota_exceeded,
    ),
    Pattern("xceeded quota", r"[Ee]xceeded quota: (?P<quota>[\w.-]{1,253})", quota_exceeded),
    Pattern(
        "failed quota",
        r"failed quota: (?P<quota>[\w.-]{1,253}): must specify (?P<must>[\w.,;:/ -]{1,500})",
        quota_exceeded,
    ),
    Pattern("failed quota", r"failed quota: (?P<quota>[\w.-]{1,253}):?[^:]{0,20}$", quota_exceeded),
    Pattern(
        "insufficient quota",
        r"insufficient quota to match these scopes: (?P<must>\[[^\]]{0,300})",
        quota_exceeded,
    ),
    Pattern(
        " usage per ",
        r"(?P<bound>minimum|maximum) (?P<amount>[\w./-]{1,100}) usage per "
        r"(?P<per>\w{1,60}) is (?P<limit>[\w.]{1,60})(?:, but (?:lower |upper )?(?P<side>request|limit) is "
        r"(?P<got>[\w.]{1,60})|\s{1,3}No (?P<unset>request|limit) is specified)?",
        limit_range,
    ),
    Pattern(
        " usage per ",
        r"No (?P<unset>limit|request) is specified",
        limit_range,
    ),
    Pattern(
        "max limit to request ratio",
        r"(?P<amount>[\w./-]{1,100}) max limit to request ratio per "
        r"(?P<per>\w{1,60}) is (?P<limit>[\w.]{1,60}), but provided ratio is "
        r"(?P<got>[\w.]{1,60})",
        limit_range,
    ),
    Pattern(
        "Apply failed with",
        r"Apply failed with \d{1,5} conflicts?: (?P<body>.*)",
        ssa_conflict,
    ),
    Pattern(
        "262144",
        r"metadata\.annotations: Too long: (?:must have at most|may not be more than) (?P<limit>\d{4,9})",
        fill(AnnotationTooLong, resource=invalid_object),
    ),
    Pattern(
        "metadata.annotations",
        r"is invalid: metadata\.annotations: Too long",
        fill(AnnotationTooLong, resource=invalid_object),
    ),
    # kubectl and UIs cut the field off; the limit is that of all annotations together.
    Pattern(
        "262144",
        r"(?:must have at most|may not be more than) 262144",
        fill(AnnotationTooLong, resource=invalid_object),
    ),
    Pattern(
        "only dynamically provisioned pvc can be resized",
        r"only dynamically provisioned pvc can be resized.*",
        fill(
            ImmutableField,
            whole="detail",
            field="spec.resources.requests.storage",
            pointer="/spec/resources/requests/storage",
            resource=forbidden_object,
        ),
    ),
)

_KINDS: tuple[Pattern, ...] = (
    Pattern(
        "no matches for kind",
        r'no matches for kind "(?P<kind>[^"]{1,100})" in (?:version|group)(?: "(?P<gv>[^"]{0,253})")?',
        crd_missing,
    ),
    Pattern(
        "unable to recogni",
        r"^unable to recogni(?:z|ze|ze \"[^\"]{0,300}\"?:?[^:]{0,40})?$",
        fill(KindNotServed),
    ),
    Pattern(
        "unable to verify permissions",
        r"failed to get API resource info for (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63}): unable to verify",
        fill(KindNotServed, resource=named_object),
    ),
    Pattern(
        "The Kubernetes API could not find",
        r"The Kubernetes API could not find (?:version \""
        r"(?P<version>[^\"]{1,63})\" of )?(?P<group>[\w.-]{0,253})/"
        r"(?P<kind>\w{1,63}) for requested resource (?P<namespace>[\w.-]{0,63})/"
        r"(?P<name>[\w.:-]{0,253})\.(?: Version \"(?P<other_version>[^\"]{1,63})\" of "
        r"(?P<other_group>[\w.-]{0,253})/\w{1,63} is installed)?",
        fill(KindNotServed, resource=named_object),
    ),
    Pattern(
        "failed to discover server resources",
        r"failed to discover server resources for group version (?P<gv>[\w./-]{1,253})",
        crd_missing,
    ),
    Pattern(
        '"" not found',
        r'(?P<kind>[A-Z]\w{1,62})\.(?P<group>[\w.-]{1,253}) "" not found',
        fill(KindNotServed),
    ),
    Pattern(
        "could not find the requested resource",
        # client-go puts the Go type in front, and the request behind.
        r"(?:failed to list \*(?P<version>v\d\w{0,20})\.(?P<kind>[A-Z]\w{0,62}): )?"
        r"the server could not find the requested resource"
        r"(?: \((?:get|post|put|patch|delete) [a-z0-9-]{1,63}\.(?P<group>[a-z0-9.-]{1,253})\))?",
        fill(KindNotServed),
    ),
    Pattern(
        'namespaces "',
        r'^namespaces "(?P<namespace>[^"]{1,253})$',
        lambda _, c: (
            NamespaceMissing(text=c.text)
            if any(layer.kind is LayerKind.KUBECTL and layer.subject == "NotFound" for layer in c.layers)
            else None
        ),
    ),
    Pattern(
        "namespace",
        r'namespaces? "(?P<namespace>[^"]{1,253})" not found'
        r"|error getting namespace (?P<other>[\w.<>-]{1,253}):(?: .{0,600}not found|\s*$)",
        lambda m, c: NamespaceMissing(
            text=c.text, namespace=group_text(m, "namespace") or group_text(m, "other")
        ),
    ),
    Pattern(
        "object is being deleted",
        r"object is being deleted: " + RESOURCE + " already exists",
        fill(AlreadyExists, resource=named_object, being_deleted=True),
    ),
    Pattern(
        "already exists",
        RESOURCE + " already exists",
        already_exists,
    ),
    Pattern(
        "Operation cannot be fulfilled",
        r"Operation cannot be fulfilled on " + RESOURCE + r": (?P<detail>.*)",
        conflict,
    ),
    Pattern("Precondition failed: ", r"Precondition failed: UID in precondition: ", conflict),
    Pattern("bject has been modified", r"[Tt]he object has been modified", conflict),
    Pattern("in the precondition", r"Precondition failed: .*|the UID in the precondition .*", conflict),
)

SIZES: tuple[Pattern, ...] = (
    Pattern(
        "equest entity too large",
        r"[Rr]equest entity too large(?:: limit is (?P<limit>\d{1,12}))?",
        too_large(SizeLimit.REQUEST),
    ),
    Pattern(
        "request is too large",
        r"etcdserver: request is too large",
        too_large(SizeLimit.ETCD),
    ),
    Pattern(
        "trying to send message larger than max",
        r"trying to send message larger than max \((?P<size>\d{1,15}) vs\. (?P<limit>\d{1,15})\)",
        fill(
            TooLarge,
            limit_of=lambda match, _: (
                SizeLimit.ETCD if number(match, "limit") == _ETCD_SEND_LIMIT else SizeLimit.GRPC
            ),
            resource=invalid_object,
        ),
    ),
    Pattern(
        "received message larger than max",
        r"received message larger than max \((?P<size>\d{1,15}) vs\. (?P<limit>\d{1,15})\)",
        too_large(SizeLimit.GRPC),
    ),
    Pattern(
        "received message larger than max",
        r"received message larger than max",
        too_large(SizeLimit.GRPC),
    ),
    Pattern(
        "after decompression larger than max",
        r"after decompression larger than max(?:[^(]{0,40}\((?P<size>\d{1,15}) vs\. (?P<limit>\d{1,15})\))?",
        too_large(SizeLimit.GRPC),
    ),
    Pattern(
        "status exceeds the Kubernetes resource size limit",
        r"Application status exceeds the Kubernetes resource size limit",
        too_large(SizeLimit.STATUS),
    ),
    Pattern(
        "exceeded max combined manifest file size",
        r"exceeded max combined manifest file size",
        too_large(SizeLimit.MANIFESTS),
    ),
)

_OBJECTS: tuple[Pattern, ...] = (
    Pattern(
        "no new finalizers can be added",
        r"no new finalizers can be added if the object is being deleted.*",
        fill(FinalizerStuck, whole="detail", resource=invalid_object),
    ),
    Pattern(
        "is forbidden: ",
        RESOURCE + r" is forbidden: (?![Uu]ser )(?P<reason>.*)",
        fill(AdmissionDenied, engine=PolicyEngine.PLUGIN, resource=named_object),
    ),
    Pattern(" not found", RESOURCE + r" not found", not_found),
)

TABLE: tuple[Pattern, ...] = (*_KINDS, *SIZES, *_OBJECTS)

LAST: tuple[Pattern, ...] = (Pattern("", r"^.+", deletion),)
