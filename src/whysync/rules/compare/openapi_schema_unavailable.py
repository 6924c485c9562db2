"""The cluster's OpenAPI schema, or an API behind the API server, cannot be read.

## What happens
Argo CD reads the list of kinds and their schemas before it compares anything. One aggregated API
(metrics, a service catalog) whose backend is down can make that fail, and then no Application of
the cluster can be compared.

## How whysync knows
`error getting openapi resources`, `unable to retrieve the complete list of server APIs`, with the
group and version where it is told.

## Fix
Find the APIService that is not available and get its backend running, or delete the APIService if
its backend is gone for good.

## When it is something else
The API server does not answer at all: cluster-unreachable.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.diffs import OpenApiError
from whysync.queries.commands import kubectl, refresh
from whysync.queries.group_failures import grouped


@rule(cause="openapi-error", since="0.1")
def openapi_schema_unavailable(case: Case) -> Iterator[Finding]:
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


def _unavailable(case: Case) -> Iterator[tuple[Manifest, int]]:
    for manifest in case.world.snapshot.live:
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
