"""The conversion webhook of a CRD fails, so its objects cannot be read.

## What happens
A webhook converts objects between the versions of a CRD. If the webhook is down, objects of the kind cannot
be listed, and Argo CD cannot build its cache of the cluster. Every Application of the cluster is affected,
also those without such objects.

## How whysync knows
`conversion webhook for … failed`, with the kind and the webhook's address.

## Fix
Get the webhook's Pods running, and check its certificate (`caBundle`) in the CRD. If the operator was
removed, install it again in a version that still converts these versions. Removing the conversion from the
CRD (strategy `None`) loses data: the API server then removes from an object each field that the requested
version does not have, and the next write stores it like that.

## When it is something else
An admission webhook that does not answer blocks only writes: webhook-down.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.json_tree import items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.failure import Network
from whysync.messages.patterns.admission import ConversionWebhookFailed
from whysync.queries.commands import comment, kubectl, refresh, sync, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped

_REPAIR = "Fix the webhook's Pods or certificate"
_REPAIRS = {
    Network.SERVICE_MISSING: "Reinstall the operator that provides the Service, in a version that converts"
    " these objects",
    Network.NO_ENDPOINTS: "Get the Pods of the webhook running",
    Network.X509: "Correct the caBundle of the CRD or the webhook's certificate",
}
NO_CONVERSION = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'


@rule(cause="conversion-webhook-failed", since="0.1")
def conversion_webhook_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ConversionWebhookFailed, by=lambda f: (f.group, f.kind, f.service)):
        failure = group.failure
        crd = _crd(case, failure)
        called = f"{failure.kind} ({failure.group})" if failure.kind else "a CRD"
        at = f" (Service {failure.namespace}/{failure.service})" if failure.service else ""
        yield Finding(
            about=crd.ref if crd else _about(case, failure),
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the conversion webhook of {called}{at} fails: {why_unreachable(failure.reason)}",
            evidence=(*group.cited(says="why objects of the kind cannot be read"), *_conversion(crd)),
            fixes=tuple(_fixes(case, failure, crd)),
        )


def _crd(case: Case, failure: ConversionWebhookFailed) -> Manifest | None:
    for manifest in case.live_of_kind("CustomResourceDefinition"):
        if manifest.at("/spec/names/kind") == failure.kind and manifest.at("/spec/group") == failure.group:
            return manifest
    return None


def _about(case: Case, failure: ConversionWebhookFailed) -> Ref:
    if failure.service:
        return Ref(version="v1", kind="Service", namespace=failure.namespace, name=failure.service)
    return case.application.ref


def _conversion(crd: Manifest | None) -> Iterator[Evidence]:
    if crd is not None:
        yield cite(
            crd, "/spec/conversion/webhook/clientConfig/service", says="the Service that the CRD calls"
        )


def _fixes(case: Case, failure: ConversionWebhookFailed, crd: Manifest | None) -> Iterator[Fix]:
    failed = case.operation is not None and case.operation.phase in FAILED_PHASES
    again = sync(case) if failed else refresh(case)
    kind = f"{failure.kind}.{failure.group}".lower() if failure.kind else ""
    yield Fix.run(
        *(
            (kubectl("get", "services,pods,endpointslices", namespace=failure.namespace),)
            if failure.namespace
            else ()
        ),
        *((with_comment(kubectl("get", kind, "-A"), "fails until the webhook works"),) if kind else ()),
        again,
        title=f"{_REPAIRS.get(failure.reason, _REPAIR)}, then {'sync' if failed else 'refresh'}",
    )
    yield Fix.run(
        *_without_conversion(failure, crd),
        again,
        title="Last resort, if its operator was removed for good: remove the conversion from the CRD",
        risk="fields that the requested version does not have are removed from what is read, and the next"
        " write, such as a sync, stores the object without them: back up the objects in their stored version"
        " first",
        destroys=(
            "in each object, the fields that the other version does not have or names differently",
            "the conversion between the versions of this CRD",
        ),
    )


def _without_conversion(failure: ConversionWebhookFailed, crd: Manifest | None) -> Iterator[str]:
    """The CRD's name contains the plural of the kind, which the message does not contain."""
    if crd is not None:
        stored = items(crd.at("/status/storedVersions"))
        versions = [text(version) for version in stored] or ["STORED_VERSION"]
        for number, version in enumerate(versions, 1):
            resource = f"{failure.kind.lower()}.{version}.{failure.group}"
            yield with_comment(
                f"{kubectl('get', resource, '-A', '-o', 'yaml')} > backup-{number}.yaml",
                f"fails if one is stored in another version than {version}: then one by one",
            )
        yield kubectl("patch", "crd", crd.ref.name, "--type", "merge", "-p", NO_CONVERSION)
        return
    listed = f"{kubectl('get', 'crd', '-o', 'name')} | grep {quote(failure.group or '.')}"
    yield with_comment(listed, "the name of the CRD")
    yield comment(
        "back up the objects in each version of the CRD's status.storedVersions: kubectl get"
        " PLURAL.VERSION.GROUP -A -o yaml"
    )
    yield comment(f"kubectl patch crd, with that name, --type merge -p '{NO_CONVERSION}'")
