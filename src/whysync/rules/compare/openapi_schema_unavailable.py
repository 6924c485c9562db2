"""The cluster's OpenAPI schema or an aggregated API is not available.

## What happens
Argo CD reads the list of kinds and their schemas before it compares. If the backend of one aggregated API
(metrics, a service catalog) is down, this can fail, and no Application of the cluster can be compared.

## How whysync knows
`error getting openapi resources`, `unable to retrieve the complete list of server APIs`, with the group and
version if reported; or one kind cannot be listed while the API server itself answers. The APIService, its
Service and the Pods behind it show why.

## Fix
Find the unavailable APIService and get its backend running, or delete the APIService if its backend was
removed permanently.

## When it is something else
If the API server does not answer at all: cluster-unreachable.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.settings.settings import excluded_by
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import both_ends, one_line
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.network import Network
from whysync.messages.patterns.cluster import ClusterUnreachable
from whysync.messages.patterns.diffs import OpenApiError
from whysync.queries.commands import comment, kubectl, refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.reason_chain import Link, chain_evidence, last_reason, reason_chain
from whysync.queries.service_backends import logs_behind


@rule(cause="openapi-error", since="0.1")
def openapi_schema_unavailable(case: Case) -> Iterator[Finding]:
    yield from _not_listed(case)
    for group in grouped(case, OpenApiError, by=lambda failure: failure.group_version):
        failure = group.failure
        unavailable = tuple(_unavailable(case))
        which = failure.group_version or ", ".join(service.ref.name for service, _ in unavailable)
        chain = _chain_of(case, failure, unavailable)
        reason = last_reason(chain)
        yield Finding(
            about=unavailable[0][0].ref if unavailable else case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict="the cluster's API discovery fails"
            + (f": {which} is not available" if which else "")
            + ", which stops the comparison of all apps of this cluster"
            + _via(chain),
            root=both_ends(reason.text) if reason is not None else one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="error of the API discovery"),
                *_cited(unavailable),
                *chain_evidence(chain[1:]),
            ),
            fixes=tuple(_fixes(case, failure, unavailable)),
        )


def _via(chain: tuple[Link, ...]) -> str:
    """What the last object reports: the APIService, or a Pod behind its Service."""
    return "".join(f": {link.ref}: {both_ends(link.reason.text)}" for link in chain[-1:] if link.reason)


def _chain_of(
    case: Case, failure: OpenApiError, unavailable: tuple[tuple[Manifest, int], ...]
) -> tuple[Link, ...]:
    """From the APIService that the error names, or the only one that is not available."""
    group, _, version = failure.group_version.rpartition("/")
    named = [service for service, _ in unavailable if service.ref.name == f"{version}.{group}"]
    services = named or ([service for service, _ in unavailable] if not failure.group_version else [])
    return reason_chain(case, services[0].ref) if len(services) == 1 else ()


def _not_listed(case: Case) -> Iterator[Finding]:
    """The API server answers, but a kind of one group cannot be listed: what serves that group is down."""
    for group in grouped(case, ClusterUnreachable, by=lambda failure: failure.loading):
        kind = group.failure.loading
        if not kind or group.failure.reason is not Network.UNAVAILABLE:
            continue
        api_group = kind.partition(".")[2]
        services = (s for s, _ in _unavailable(case) if text(s.spec.get("group")) == api_group)
        service = next(services, None)
        chain = reason_chain(case, service.ref) if service is not None else ()
        reason = last_reason(chain)
        service_label = service.ref if service is not None else f"the APIService of {api_group}"
        yield Finding(
            about=service.ref if service is not None else case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{kind} cannot be listed: {service_label} is not available, which stops the"
            f" comparison of all apps of this cluster{_via(chain)}",
            root=both_ends(reason.text) if reason is not None else None,
            evidence=(*group.cited(says="the kind that cannot be listed"), *chain_evidence(chain)),
            fixes=(
                Fix.run(
                    *_look_behind(service, api_group or kind),
                    refresh(case),
                    title=f"Get the Pods behind {service_label} running, then refresh",
                ),
                *_exclusion(case, api_group, kind.partition(".")[0]),
            ),
        )


def _look_behind(service: Manifest | None, name: str) -> Iterator[str]:
    """From an APIService to the Pods of its Service, on the destination cluster."""
    backend = fields(service.spec.get("service")) if service is not None else {}
    namespace, behind = text(backend.get("namespace")), text(backend.get("name"))
    if not (namespace and behind):
        namespace, behind = "NAMESPACE", "SERVICE"
        yield with_comment(
            f"kubectl get apiservice | grep -F {quote(name)}",
            "on the destination cluster; column SERVICE is NAMESPACE/SERVICE",
        )
    yield kubectl("get", "pods,endpointslices", namespace=namespace)
    yield kubectl("get", "events", "--sort-by=.lastTimestamp", namespace=namespace)
    yield logs_behind(namespace, behind)


def _exclusion(case: Case, group: str, kind: str) -> Iterator[Fix]:
    """An Argo CD that lists the kind does not exclude it, so it is older if it always does so now."""
    if excluded_by(case.argocd, group, kind, case.app.spec.destination.server) is not None:
        return
    yield Fix.run(
        comment(f"resource.exclusions in argocd-cm: apiGroups [{group}], kinds ['*']"),
        title="Exclude the API group in Argo CD, so that it does not list its kinds",
        risk="no Application can deploy kinds of this group",
    )


def _unavailable(case: Case) -> Iterator[tuple[Manifest, int]]:
    for manifest in case.live_of_kind("APIService"):
        for index, condition in enumerate(items(manifest.status.get("conditions"))):
            entry = fields(condition)
            if text(entry.get("type")) == "Available" and text(entry.get("status")) == "False":
                yield manifest, index


def _cited(unavailable: tuple[tuple[Manifest, int], ...]) -> Iterator[Evidence]:
    for service, index in unavailable[:3]:
        yield cite(service, f"/status/conditions/{index}", says="the API is not available")


def _fixes(case: Case, failure: OpenApiError, unavailable: tuple[tuple[Manifest, int], ...]) -> Iterator[Fix]:
    group, _, version = failure.group_version.rpartition("/")
    name = f"{version}.{group}" if group else (unavailable[0][0].ref.name if unavailable else "")
    look = with_comment(
        kubectl("get", "apiservice") + " | grep -v True", "which API is not available, and its Service"
    )
    if not name:
        yield Fix.run(
            look,
            with_comment(
                "kubectl get --raw '/readyz?verbose'", "if all are available: the API server itself"
            ),
            refresh(case),
            title="Find the API that is not available and get its Pods running, then refresh",
        )
        return
    service = next(
        (manifest for manifest in case.live_of_kind("APIService") if manifest.ref.name == name), None
    )
    yield Fix.run(
        *_look_behind(service, name), refresh(case), title=f"Get the Pods behind {name} running, then refresh"
    )
    yield Fix.run(
        kubectl("delete", "apiservice", name),
        refresh(case),
        title="If its backend was removed permanently: delete the APIService",
        destroys=("the API with all its kinds, until its operator registers it again",),
    )
