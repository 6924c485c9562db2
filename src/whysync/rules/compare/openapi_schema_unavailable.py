"""The cluster's OpenAPI schema, or an API behind the API server, cannot be read.

## What happens
Argo CD reads the list of kinds and their schemas before it compares anything. One aggregated API
(metrics, a service catalog) whose backend is down can make that fail, and then no Application of
the cluster can be compared.

## How whysync knows
`error getting openapi resources`, `unable to retrieve the complete list of server APIs`, with the
group and version where it is told; or one kind that cannot be listed while the API server itself answers. The
APIService, its Service and the Pods behind it tell why.

## Fix
Find the APIService that is not available and get its backend running, or delete the APIService if
its backend is gone for good.

## When it is something else
The API server does not answer at all: cluster-unreachable.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import both_ends, one_line
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.network import Network
from whysync.messages.patterns.cluster import ClusterUnreachable
from whysync.messages.patterns.diffs import OpenApiError
from whysync.queries.commands import comment, kubectl, refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.reason_chain import chain_evidence, last_reason, reason_chain


@rule(cause="openapi-error", since="0.1")
def openapi_schema_unavailable(case: Case) -> Iterator[Finding]:
    yield from _not_listed(case)
    for group in grouped(case, OpenApiError, by=lambda failure: failure.group_version):
        failure = group.failure
        broken = tuple(_unavailable(case))
        which = failure.group_version or ", ".join(service.ref.name for service, _ in broken)
        yield Finding(
            about=broken[0][0].ref if broken else case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict="the cluster's list of kinds cannot be read"
            + (f": {which} does not answer" if which else "")
            + ", so nothing of this cluster can be compared",
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="what could not be read"), *_cited(broken)),
            fixes=tuple(_fixes(case, failure, broken)),
        )


def _not_listed(case: Case) -> Iterator[Finding]:
    """The API server answers, but a kind of one group cannot be listed: what serves that group is down."""
    for group in grouped(case, ClusterUnreachable, by=lambda failure: failure.loading):
        kind = group.failure.loading
        if not kind or group.failure.reason is not Network.UNAVAILABLE:
            continue
        of_group = kind.partition(".")[2]
        services = (s for s, _ in _unavailable(case) if text(s.spec.get("group")) == of_group)
        service = next(services, None)
        chain = reason_chain(case, service.ref) if service is not None else ()
        reason = last_reason(chain)
        via = "".join(f": {link.ref}: {both_ends(link.reason.text)}" for link in chain[-1:] if link.reason)
        named = service.ref if service is not None else f"the APIService of {of_group}"
        yield Finding(
            about=service.ref if service is not None else case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{kind} cannot be listed: {named} is not available, so nothing of this cluster can be"
            f" compared{via}",
            root=both_ends(reason.text) if reason is not None else None,
            evidence=(*group.cited(says="what could not be listed"), *chain_evidence(chain)),
            fixes=(
                Fix.run(
                    with_comment(
                        kubectl("get", "apiservice") + f" | grep {quote(of_group or kind)}",
                        "on the destination cluster: is it available, and which Service serves it?",
                    ),
                    refresh(case),
                    title="Get the Pods behind that API running, then refresh",
                ),
                Fix.run(
                    comment(f"resource.exclusions in argocd-cm: apiGroups [{of_group}], kinds ['*']"),
                    title="Or exclude the group from Argo CD: it then does not list its kinds",
                    risk="no Application can deploy kinds of that group",
                ),
            ),
        )


def _unavailable(case: Case) -> Iterator[tuple[Manifest, int]]:
    for manifest in case.index.snapshot.live:
        if manifest.ref.kind == "APIService":
            for index, condition in enumerate(items(manifest.status.get("conditions"))):
                entry = fields(condition)
                if text(entry.get("type")) == "Available" and text(entry.get("status")) == "False":
                    yield manifest, index


def _cited(broken: tuple[tuple[Manifest, int], ...]) -> Iterator[Evidence]:
    for service, index in broken[:3]:
        yield cite(service, f"/status/conditions/{index}", says="this API is not available")


def _fixes(case: Case, failure: OpenApiError, broken: tuple[tuple[Manifest, int], ...]) -> Iterator[Fix]:
    group, _, version = failure.group_version.rpartition("/")
    name = f"{version}.{group}" if group else (broken[0][0].ref.name if broken else "")
    yield Fix.run(
        kubectl("get", "apiservice") + " | grep -v True   # which API is not available, and its Service",
        refresh(case),
        title="Get the Pods behind that API running, then refresh",
    )
    yield Fix.run(
        kubectl("delete", "apiservice", name) if name else "kubectl delete apiservice NAME",
        refresh(case),
        title="If its backend is gone for good: delete the APIService",
        destroys=("the API with all its kinds, until its operator registers it again",),
    )
