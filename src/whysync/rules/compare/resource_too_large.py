"""Something exceeds a limit of size.

## What happens
Kubernetes stores objects up to about 1.5 MB, gRPC messages and manifest sets have limits in Argo
CD, and the Application itself, with its status, must fit into one object. What is over the limit is
refused as a whole.

## How whysync knows
`Request entity too large`, `etcdserver: request is too large`, `received message larger than max`,
`exceeded max combined manifest file size`, or Argo CD's word that the status could not be stored.

## Fix
Make it smaller: split the object or the Application. Limits of Argo CD itself can be raised.

## When it is something else
`metadata.annotations: Too long` is about client-side apply only: annotation-too-long.
"""

from collections.abc import Iterator

import msgspec

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.pointer import join
from whysync.messages.patterns.apply import SizeLimit, TooLarge
from whysync.queries.commands import (
    API_SERVER,
    CONTROLLER,
    REPO_SERVER,
    argocd_namespace,
    kubectl,
    refresh,
    restart,
    sync,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

GRPC_LIMIT = "ARGOCD_GRPC_MAX_SIZE_MB=300"
TELLING = 500_000
OF_ONE_OBJECT = (SizeLimit.REQUEST, SizeLimit.ETCD, SizeLimit.OBJECT)
WORDS = {
    SizeLimit.REQUEST: "the request is larger than the API server takes",
    SizeLimit.ETCD: "the object is larger than etcd stores (about 1.5 MB)",
    SizeLimit.GRPC: "a message between Argo CD's parts is larger than its limit",
    SizeLimit.STATUS: "the Application with its status is larger than Kubernetes stores",
    SizeLimit.MANIFESTS: "the manifests of the folder together are larger than Argo CD takes",
    SizeLimit.OBJECT: "the object is larger than Kubernetes allows (1 MiB of data)",
}


@rule(cause="resource-too-large", since="0.1")
def resource_too_large(case: Case) -> Iterator[Finding]:
    for group in grouped(case, TooLarge, by=lambda failure: (failure.limit_of, failure.resource)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        numbers = f" ({failure.size} of {failure.limit} bytes)" if failure.size and failure.limit else ""
        desired = case.desired_of(ref.key) if failure.limit_of in OF_ONE_OBJECT else None
        largest = _largest(desired.body) if desired is not None else None
        if largest is not None and not numbers:
            # Facts that were cut by hand are smaller than what was refused: their size tells nothing.
            size = f" of {largest.whole // 1000} kB" if largest.whole > TELLING else ""
            numbers = f"; most{size} is at {largest.pointer}"
        yield Finding(
            about=ref,
            field=largest.pointer if largest is not None else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}: {WORDS[failure.limit_of]}{numbers}",
            evidence=group.cited(says="what is too large"),
            fixes=(_fix(case, failure.limit_of),),
        )


class Largest(msgspec.Struct, frozen=True, kw_only=True):
    pointer: str
    whole: int


def _largest(body: Object) -> Largest | None:
    """The innermost field that holds more than half of what the whole object has."""
    whole = _size(body)
    at: Json = body
    parts: list[str] = []
    while isinstance(at, dict):
        result = next(((key, item) for key, item in at.items() if _size(item) * 2 > whole), None)
        if result is None:
            break
        parts.append(result[0])
        at = result[1]
    return Largest(pointer=join(parts), whole=whole) if parts else None


def _size(value: Json) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (ValueError, OverflowError, RecursionError):
        return 0


def _fix(case: Case, limit: SizeLimit) -> Fix:
    namespace = argocd_namespace(case)
    match limit:
        case SizeLimit.GRPC:
            return Fix.run(
                kubectl("set", "env", CONTROLLER, REPO_SERVER, API_SERVER, GRPC_LIMIT, namespace=namespace),
                refresh(case),
                title="Raise the limit of messages (100 MB by default), or split the Application",
            )
        case SizeLimit.MANIFESTS:
            patch = '{"data":{"reposerver.max.combined.directory.manifests.size":"50M"}}'
            return Fix.run(
                f"kubectl -n {namespace} patch configmap argocd-cmd-params-cm --type merge -p '{patch}'",
                restart(case, REPO_SERVER),
                refresh(case),
                title="Raise the limit (10M by default), or exclude files that are no manifests",
            )
        case SizeLimit.STATUS:
            return Fix.run(
                "# split the Application: fewer resources in each, or an ApplicationSet over folders",
                title="Split the Application: its list of resources does not fit any more",
            )
        case SizeLimit.REQUEST | SizeLimit.ETCD | SizeLimit.OBJECT:
            return Fix.run(
                "# split the data over several objects, or keep it outside Kubernetes (an image, a bucket)",
                sync(case),
                title="Make the object smaller, then sync",
            )
