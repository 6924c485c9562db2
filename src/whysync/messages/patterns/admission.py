"""Admission: webhooks and policies that deny an object, and webhooks that do not respond."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, Network, ObjectName
from whysync.messages.network import reason_of, service_of
from whysync.messages.object_names import forbidden_object, named_object
from whysync.messages.pattern import Builder, Context, Pattern, compiled, distinct, fill, group_text


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
    """`inner` is the failure in the webhook's own message, if it names a more exact mechanism."""

    engine: PolicyEngine
    webhook: str = ""
    policy: str = ""
    rule: str = ""
    binding: str = ""
    reason: str = ""
    pointer: str = ""
    resource: ObjectName = NO_OBJECT_NAME
    inner: Failure | None = None

    @property
    def other(self) -> ObjectName:
        """The object that the denied one collides with, if the reason names it."""
        for regex in _COLLISIONS:
            if named := compiled(regex).search(self.reason):
                return named_object(named)
        return NO_OBJECT_NAME

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the reason names: `securityContext.privileged: true`, `spec.replicas`."""
        if self.pointer:
            return (self.pointer,)
        paths = [match[0].rstrip(".") for match in compiled(_FIELD_PATH).finditer(self.reason)]
        quoted = [
            f"{match[1]}.{match[2]}" + (f": {match[3]}" if match[3] else "")
            for match in compiled(_QUOTED_FIELD).finditer(self.reason)
        ]
        known = [field for phrase, field in _FIELDS_OF_PHRASES if phrase in self.reason.lower()]
        demanded = [
            f"metadata.{match[1]}s.{name}"
            for match in compiled(_DEMANDED).finditer(self.reason)
            for name in compiled(_QUOTED).findall(match[2])
        ]
        return distinct((*paths, *quoted, *demanded, *known))[:_MOST_FIELDS]

    @property
    def checks(self) -> str:
        """The checks of a Pod Security level that fail, without the containers; empty for other engines."""
        if self.engine is not PolicyEngine.POD_SECURITY:
            return ""
        return compiled(r" \((?:[^()]|\([^()]{0,300}\)){0,2000}\)").sub("", self.reason)


class WebhookDown(Failure, frozen=True, kw_only=True):
    """`service` and `namespace` are from the URL; a webhook that is configured by URL has only `url`."""

    webhook: str = ""
    service: str = ""
    namespace: str = ""
    url: str = ""
    reason: Network = Network.UNKNOWN
    detail: str = ""

    @property
    def response_error(self) -> str:
        """What is wrong with the response; empty if the webhook did not respond."""
        return self.detail.rpartition("webhook response: ")[2] if self.reason is Network.BAD_RESPONSE else ""


class ConversionWebhookFailed(Failure, frozen=True, kw_only=True):
    group: str = ""
    version: str = ""
    kind: str = ""
    service: str = ""
    namespace: str = ""
    url: str = ""
    reason: Network = Network.UNKNOWN


_POLICY = r"[\w.:-]{1,253}"
_MOST_FIELDS = 4
# How webhooks name the object that already has what the denied one declares: ingress-nginx writes `ingress
# shop/old`, KEDA `ScaledObject 'old'`, Gatekeeper `service <old> in namespace <shop>`.
_COLLIDES = (
    r"(?i:(?:already (?:defined|used|in use|claimed|owned|managed|exposed|taken|exists|allocated)"
    r"|conflicts?|overlaps?|duplicates?|collides?|same \w{1,30}) (?:in|by|with|as|of|on) "
    r"(?:an? |the |another |existing |already existing ){0,2})"
    r"(?P<kind>(?!(?i:container|namespace|field|path|host|label|policy|rule|user|port)\b)[A-Za-z]{2,63}) "
)
_COLLISIONS = (
    _COLLIDES + r"[\"'<]?(?P<namespace>[a-z0-9-]{1,63})/(?P<name>[a-z0-9.-]{1,253})",
    _COLLIDES + r"<(?P<name>[a-z0-9.-]{1,253})>(?: in namespace <(?P<namespace>[a-z0-9-]{1,63})>)?",
    _COLLIDES + r"[\"'](?P<name>[a-z0-9.-]{1,253})[\"']",
)
_QUOTED = r'"([^"]{1,253})"'
_FIELD_PATH = r"\b(?:spec|metadata)(?:\.[A-Za-z][\w-]{0,62}|\[[\w*]{1,10}\]){1,12}"
_QUOTED_FIELD = r'\b([a-z][A-Za-z]{2,40}): \{"([a-z][A-Za-z]{1,40})": (true|false|\d{1,9})?'
_DEMANDED = r"you must provide (label|annotation)(?:s|\(s\))?: \{([^}]{1,300})\}"
# The messages of Gatekeeper's policy library that name no field.
_FIELDS_OF_PHRASES = (
    ("privilege escalation container is not allowed", "securityContext.allowPrivilegeEscalation"),
    ("read-only root filesystem", "securityContext.readOnlyRootFilesystem"),
    ("sharing the host namespace is not allowed", "hostPID and hostIPC"),
    ("hostnetwork and hostport are not allowed", "hostNetwork and hostPort"),
    ("hostpath volume", "the hostPath volume"),
    ("no resource limits", "resources.limits"),
    ("has no memory limit", "resources.limits.memory"),
    ("has no cpu limit", "resources.limits.cpu"),
    ("invalid image repo", "image"),
)


def webhook_down(match: re.Match[str], context: Context) -> Failure:
    url, detail = group_text(match, "url"), group_text(match, "detail")
    service, namespace = service_of(url)
    reason = reason_of(detail)
    if missing := compiled(r'service "([^"]{1,253})" not found').search(detail):
        reason, service = Network.SERVICE_MISSING, service or missing[1]
    elif "invalid webhook response" in detail or "expected response.uid" in detail or "converting" in detail:
        reason = Network.BAD_RESPONSE
    elif endpoint := compiled(r'no endpoints available for service "([^"]{1,253})"').search(detail):
        service = service or endpoint[1]
    return WebhookDown(
        text=context.text,
        webhook=group_text(match, "webhook"),
        service=service,
        namespace=namespace,
        url=url,
        reason=reason,
        detail=detail,
    )


def conversion_failed(match: re.Match[str], context: Context) -> Failure:
    url = group_text(match, "url")
    service, namespace = service_of(url)
    group, _, version = group_text(match, "gv").rpartition("/")
    detail = group_text(match, "detail")
    reason = (
        Network.SERVICE_MISSING
        if compiled(r'service "[^"]{1,253}" not found').search(detail)
        else reason_of(detail)
    )
    return ConversionWebhookFailed(
        text=context.text,
        group=group,
        version=version,
        kind=group_text(match, "kind"),
        service=service,
        namespace=namespace,
        url=url,
        reason=reason,
    )


def denied_by_webhook(match: re.Match[str], context: Context) -> Failure:
    webhook, reason = group_text(match, "webhook"), group_text(match, "reason")
    kyverno = compiled(
        r"(?:due to the following policies\s+|for resource violations?:?\s+)"
        rf"(?P<policy>{_POLICY}):\s+(?P<rule>{_POLICY}):\s?(?P<why>.*)"
    ).search(reason)
    if kyverno or "kyverno" in webhook:
        return _kyverno(kyverno, webhook, reason, context)
    gatekeeper = compiled(rf"\[(?:denied by )?(?P<policy>{_POLICY})\] (?P<why>.*)").match(reason)
    if gatekeeper and ("gatekeeper" in webhook or "denied by" in reason[:20]):
        return AdmissionDenied(
            text=context.text,
            engine=PolicyEngine.GATEKEEPER,
            webhook=webhook,
            policy=gatekeeper["policy"],
            reason=gatekeeper["why"].strip(),
        )
    return AdmissionDenied(
        text=context.text,
        engine=PolicyEngine.WEBHOOK,
        webhook=webhook,
        reason=reason,
        inner=_about_fields(context.read(reason)) if reason else None,
    )


def _about_fields(inner: Failure | None) -> Failure | None:
    """A field error in a webhook's message is about the object; others are about the webhook's own work."""
    of_fields = inner is not None and type(inner).__module__.endswith((".invalid", ".schema", ".apply"))
    return inner if of_fields else None


def _kyverno(match: re.Match[str] | None, webhook: str, reason: str, context: Context) -> Failure:
    resource, pointer = NO_OBJECT_NAME, ""
    if blocked := compiled(
        r"(?:resource|policy) (?P<kind>\w{1,63})/(?:(?P<namespace>[\w.-]{0,63})/)?(?P<name>[\w.:-]{1,253}) "
        r"(?:was blocked|for resource violation)"
    ).search(reason):
        resource = named_object(blocked)
    why = match["why"].strip().strip("'") if match else reason
    if path := compiled(r"failed at path (/[^\s']{1,300})").search(why):
        pointer = path[1].rstrip("/'.")
    return AdmissionDenied(
        text=context.text,
        engine=PolicyEngine.KYVERNO,
        webhook=webhook,
        policy=match["policy"] if match else "",
        rule=match["rule"] if match else "",
        reason=why,
        pointer=pointer,
        resource=resource,
    )


def denied_by(engine: PolicyEngine) -> Builder:
    return fill(AdmissionDenied, engine=engine, resource=forbidden_object)


FIRST: tuple[Pattern, ...] = (
    Pattern(
        "conversion webhook for",
        r"conversion webhook for (?P<gv>[\w./-]{1,253}), Kind=(?P<kind>\w{1,63}) failed: "
        r'(?:Post "?(?P<url>https?://[^\s"]{1,300})"?: )?(?P<detail>.*)',
        conversion_failed,
    ),
    Pattern(
        "failed calling webhook",
        r'failed calling webhook "?(?P<webhook>[^"\s:]{1,253})"?:? ?(?:failed to call webhook: )?(?:Post "?(?P<url>https?://[^\s"]{1,300}?)"?(?::\s|$))?(?P<detail>.*)',
        webhook_down,
    ),
    Pattern(
        "failed calling admission webhook",
        r'failed calling admission webhook "?(?P<webhook>[^"\s:]{1,253})"?:? ?(?:Post "?(?P<url>https?://[^\s"]{1,300}?)"?(?::\s|$))?(?P<detail>.*)',
        webhook_down,
    ),
    Pattern(
        "denied the request",
        r'admission webhook "(?P<webhook>[^"]{1,253})" denied the request(?:: ?|'
        r" without explanation)?(?P<reason>.*)",
        denied_by_webhook,
    ),
    Pattern(
        "ValidatingAdmissionPolicy '",
        r"ValidatingAdmissionPolicy '(?P<policy>[^']{1,253})' with binding '"
        r"(?P<binding>[^']{0,253})' denied request:? ?(?P<reason>.*)",
        denied_by(PolicyEngine.ADMISSION_POLICY),
    ),
    Pattern(
        "violates PodSecurity",
        r'violates PodSecurity "(?P<policy>[^"]{1,100})": ?(?P<reason>.*)',
        denied_by(PolicyEngine.POD_SECURITY),
    ),
    Pattern(
        "PodSecurityPolicy: ",
        r"(?P<reason>PodSecurityPolicy: .*)",
        denied_by(PolicyEngine.POD_SECURITY_POLICY),
    ),
    Pattern(
        "security context constraint",
        r"unable to validate against any (?:pod )?security (?:context constraint|policy): ?(?P<reason>.*)",
        denied_by(PolicyEngine.SECURITY_CONTEXT_CONSTRAINTS),
    ),
    Pattern(
        "unable to validate against any pod security policy",
        r"unable to validate against any pod security policy: ?(?P<reason>.*)",
        denied_by(PolicyEngine.POD_SECURITY_POLICY),
    ),
)
