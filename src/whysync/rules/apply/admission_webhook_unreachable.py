"""An admission webhook does not answer, so the API server rejects every object that matches its rules.

## What happens
The API server calls a webhook with `failurePolicy: Fail` before it accepts an object. When the webhook's
Service has no ready Pod, its certificate is invalid, or it is too slow, everything that matches its rules is
rejected: often in many Applications at once, and often the very Pods that would bring the webhook back.

## How whysync knows
`failed calling webhook` with the webhook's name and address; and the Service, its Pods and the webhook's
configuration, if they are in the facts.

## Fix
Get the webhook's Pods running, then sync again. If its certificate is not trusted, renew it and the
`caBundle` in its configuration. If the webhook blocks its own Pods, or its operator was uninstalled, delete
its configuration: then nothing is validated or mutated anymore.

## When it is something else
A webhook that answered with a denial is admission-denied.
"""

import re
from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.failure import Network
from whysync.messages.patterns.admission import WebhookDown
from whysync.queries.attempts import sync_or_retry
from whysync.queries.commands import comment, kubectl, on_object, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.service_backends import logs_behind, pods_behind, scaled_to_zero

CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_CA_BUNDLES = (
    'jsonpath={range .items[*]}{.metadata.name}{" "}{.webhooks[*].name}{" "}'
    '{.webhooks[*].clientConfig.caBundle}{"\\n"}{end}'
)

# The webhook listens: it is not down.
_ANSWERS = frozenset(
    {Network.BAD_RESPONSE, Network.X509, Network.TLS, Network.SERVER_ERROR, Network.RATE_LIMITED}
)
_SERVICE_NAME = re.compile(r"[a-z0-9-]{1,63}\.(?P<namespace>[a-z0-9-]{1,63})\.svc(?:\.cluster\.local)?$")


@rule(cause="webhook-down", since="0.1")
def admission_webhook_unreachable(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, WebhookDown, by=lambda f: (f.namespace, f.service, "" if f.service else f.webhook)
    ):
        failure = group.failure
        service = case.live_named("Service", failure.namespace, failure.service) if failure.service else None
        configured = _configured(case, failure.webhook)
        yield Finding(
            about=_about(case, failure, configured),
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(case, group, service),
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="the API server could not call the webhook"),
                *_webhook_evidence(case, service, configured),
            ),
            fixes=(*_scaled_up(case, service), *_fixes(case, failure, configured)),
        )


def _scaled_up(case: Case, service: Manifest | None) -> Iterator[Fix]:
    """The webhook does not answer because its workload is scaled to zero."""
    scaled_down = scaled_to_zero(case, service) if service is not None else None
    if scaled_down is None:
        return
    ref, count = scaled_down[0].ref, scaled_down[1]
    name = f"{ref.kind.lower()}/{ref.name}"
    yield Fix.run(
        kubectl("scale", name, f"--replicas={count}", namespace=ref.namespace),
        kubectl("rollout", "status", name, namespace=ref.namespace),
        *sync_or_retry(case),
        title=f"Scale {ref} up: it has 0 replicas",
        risk="it may have been scaled down on purpose",
    )


def _verdict(case: Case, group: FailureGroup[WebhookDown], service: Manifest | None) -> str:
    failure = group.failure
    scaled_down = scaled_to_zero(case, service) if service is not None else None
    why = f"{scaled_down[0].ref} is scaled to zero" if scaled_down else why_unreachable(failure.reason)
    service_text = f" (Service {failure.namespace}/{failure.service})" if failure.service else ""
    if scaled_down and group.applied:
        service_text = ""  # its workload is named
    count = len(group.resources)
    blocked = f", which blocks {count} resources" if count > 1 else ""
    if group.applied and count == 1:
        blocked = f", which blocks {group.applied}"
    name = failure.webhook or failure.url
    answers = failure.reason in _ANSWERS or failure.reason is Network.TIMEOUT
    state = "fails" if not scaled_down and answers else "is down"
    if failure.response_error:
        why = f"its response is invalid: {one_line(failure.response_error)}"
    return f"admission webhook {name}{service_text} {state}: {why}{blocked}"


def _about(case: Case, failure: WebhookDown, configured: tuple[Manifest, int] | None) -> Ref:
    if failure.service:
        return Ref(version="v1", kind="Service", namespace=failure.namespace, name=failure.service)
    return configured[0].ref if configured else case.application.ref


def _configured(case: Case, webhook: str) -> tuple[Manifest, int] | None:
    """The configuration that contains this webhook, and its index in it."""
    for manifest in case.index.snapshot.live:
        if manifest.ref.kind in CONFIGURATIONS:
            for index, entry in enumerate(items(manifest.body.get("webhooks"))):
                if text(fields(entry).get("name")) == webhook:
                    return manifest, index
    return None


def _webhook_evidence(
    case: Case, service: Manifest | None, configured: tuple[Manifest, int] | None
) -> Iterator[Evidence]:
    if configured is not None:
        manifest, index = configured
        yield cite(manifest, f"/webhooks/{index}/failurePolicy", says="with Fail, an error is a rejection")
    if service is None:
        return
    yield cite(service, "/spec/selector", says="selects the webhook's Pods")
    scaled_down = scaled_to_zero(case, service)
    if scaled_down is not None:
        yield cite(scaled_down[0], "/spec/replicas", says="the webhook's workload is scaled to zero")
    for pod in pods_behind(case, service):
        yield cite(pod, "/status/phase", says="Pod of the Service")


def _fixes(case: Case, failure: WebhookDown, configured: tuple[Manifest, int] | None) -> Iterator[Fix]:
    retried = sync_or_retry(case)
    if failure.reason in (Network.X509, Network.TLS):
        yield _certificate(case, failure, configured)
        yield _last_resort(case, failure, configured)
        return
    if failure.reason is Network.BAD_RESPONSE:
        title = "Upgrade the webhook, or roll it back: the API server cannot use its response; then sync"
    else:
        title = "Get the webhook's Pods running, then sync"
    named = _SERVICE_NAME.search(failure.webhook)  # many webhooks are named after their Service
    namespace = failure.namespace or (named["namespace"] if named else "")
    shown = ("pods,endpointslices",)
    if failure.reason is Network.BAD_RESPONSE:
        shown = ("deployments,pods", "-o", "wide")  # with the images
    show = (
        kubectl("get", *shown, namespace=namespace)
        if namespace
        else kubectl("get", ",".join(kind.lower() for kind in CONFIGURATIONS))
    )
    yield Fix.run(show, *(_of_pods(namespace, failure.service) if namespace else ()), *retried, title=title)
    yield _last_resort(case, failure, configured)


def _of_pods(namespace: str, service: str) -> Iterator[str]:
    yield kubectl("get", "events", "--sort-by=.lastTimestamp", namespace=namespace)
    if service:
        yield logs_behind(namespace, service)


def _certificate(case: Case, failure: WebhookDown, configured: tuple[Manifest, int] | None) -> Fix:
    """The API server trusts the webhook's certificate only if the CA in `caBundle` signed it.

    cert-manager's injector, a Job of the chart or the webhook itself writes both; a value in Git, or a chart
    that generates a new CA at each rendering, replaces one of the two.
    """
    expected = (
        on_object("get", configured[0].ref, "-o", "jsonpath={.webhooks[*].clientConfig.caBundle}")
        if configured
        else kubectl("get", ",".join(kind.lower() for kind in CONFIGURATIONS), "-o", _CA_BUNDLES)
    )
    namespace = failure.namespace
    of_service = (
        with_comment(
            kubectl("get", "secrets", namespace=namespace),
            "the one that the webhook's Pods mount: its ca.crt, or ca, must be that CA",
        ),
        with_comment(
            kubectl("get", "certificates.cert-manager.io", namespace=namespace),
            "if cert-manager issues it: READY? renew it with cmctl renew NAME",
        ),
    )
    return Fix.run(
        with_comment(expected, f"the CA that the API server expects for {failure.webhook or 'the webhook'}"),
        *(of_service if namespace else ()),
        comment(
            "sync the app that installs the webhook: its hooks, or cert-manager, write the CA of the Secret"
            " into caBundle; a chart's Job creates a new certificate only if the Secret was deleted before"
        ),
        *sync_or_retry(case),
        title="Renew the webhook's certificate and the caBundle in its configuration, then sync",
        risk="if Git or the chart declares caBundle or the certificate, the next sync of the app that"
        " installs the webhook replaces it; a webhook that does not reload its certificate must be restarted,"
        " which interrupts everything else that its Pods serve",
    )


def _last_resort(case: Case, failure: WebhookDown, configured: tuple[Manifest, int] | None) -> Fix:
    if configured is not None:
        delete_command = on_object("delete", configured[0].ref)
    else:
        columns = "custom-columns=KIND:.kind,NAME:.metadata.name,WEBHOOKS:.webhooks[*].name"
        listing = kubectl("get", ",".join(kind.lower() for kind in CONFIGURATIONS), "-o", columns)
        only = f" | grep -F {quote(failure.webhook)}" if failure.webhook else ""
        delete_command = with_comment(listing + only, "find and delete it")
    return Fix.run(
        delete_command,
        *sync_or_retry(case),
        title="Last resort: delete the webhook's configuration, so that it is no longer called",
        destroys=(
            "its validation and mutation in the whole cluster, until its operator, or a sync of the app that"
            " installs it, restores them",
        ),
    )
