"""An object or message exceeds a size limit.

## What happens
Kubernetes stores objects up to about 1.5 MB. Argo CD limits gRPC messages and the total size of manifests,
and the Application with its status must fit into one object. Anything over a limit is rejected as a total.

## How whysync knows
`Request entity too large`, `etcdserver: request is too large`, `received message larger than max`,
`exceeded max combined manifest file size`, or Argo CD's error that the status could not be stored.

## Fix
Split the object or the Application. Argo CD's own limits can be increased.

## When it is something else
`metadata.annotations: Too long` concerns client-side apply only: annotation-too-long.
"""

from collections.abc import Iterator

import msgspec

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.pointer import join
from whysync.messages.patterns.apply import SizeLimit, TooLarge
from whysync.queries.commands import (
    API_SERVER,
    CONTROLLER,
    REPO_SERVER,
    argocd_namespace,
    comment,
    kubectl,
    refresh,
    restart,
    sync,
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref, object_text
from whysync.queries.revert import revert_commit

GRPC_DEFAULT = 4 * 1024 * 1024
GRPC_LIMIT = "ARGOCD_GRPC_MAX_SIZE_MB=300"
MIN_REPORTED_SIZE = 500_000
OBJECT_LIMITS = (SizeLimit.REQUEST, SizeLimit.ETCD, SizeLimit.OBJECT)
PROBLEMS = {
    SizeLimit.REQUEST: "the request exceeds the API server's limit",
    SizeLimit.ETCD: "the object exceeds etcd's limit (about 1.5 MB)",
    SizeLimit.GRPC: "a message between Argo CD's components exceeds the gRPC limit",
    SizeLimit.STATUS: "the Application with its status exceeds the limit of Kubernetes",
    SizeLimit.MANIFESTS: "the total size of the manifests in the folder exceeds Argo CD's limit",
    SizeLimit.OBJECT: "the object exceeds the limit of Kubernetes (1 MiB of data)",
}


@rule(cause="resource-too-large", since="0.1")
def resource_too_large(case: Case) -> Iterator[Finding]:
    for group in grouped(case, TooLarge, by=lambda failure: (failure.limit_of, failure.resource)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        what = object_text(case, ref) if failure.limit_of in OBJECT_LIMITS else str(ref)
        numbers = (
            f": {failure.size} bytes, the limit is {failure.limit}" if failure.size and failure.limit else ""
        )
        desired = case.desired_of(ref.key) if failure.limit_of in OBJECT_LIMITS else None
        largest = _largest(desired.body) if desired is not None else None
        if largest is not None and not numbers:
            # Manifests that were shortened by hand are smaller than the rejected object.
            size = f" of {largest.total // 1000} kB" if largest.total > MIN_REPORTED_SIZE else ""
            numbers = f"; most{size} is at {largest.pointer}"
        yield Finding(
            about=ref,
            field=largest.pointer if largest is not None else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{what}: {PROBLEMS[failure.limit_of]}{numbers}",
            evidence=group.cited(says="the exceeded limit"),
            fixes=(
                _fix(case, failure, largest.pointer if largest is not None else ""),
                *(revert_commit(case, _source(case)) if failure.limit_of in OBJECT_LIMITS else ()),
            ),
        )


class Largest(msgspec.Struct, frozen=True, kw_only=True):
    pointer: str
    total: int


def _largest(body: Object) -> Largest | None:
    """The innermost field that has more than half of the object's size."""
    total = _size(body)
    at: Json = body
    parts: list[str] = []
    while isinstance(at, dict):
        result = next(((key, item) for key, item in at.items() if _size(item) * 2 > total), None)
        if result is None:
            break
        parts.append(result[0])
        at = result[1]
    return Largest(pointer=join(parts), total=total) if parts else None


def _size(value: Json) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (ValueError, OverflowError, RecursionError):
        return 0


def _source(case: Case) -> Source | None:
    return case.app.sources[0] if len(case.app.sources) == 1 else None


def _fix(case: Case, failure: TooLarge, largest: str) -> Fix:
    namespace = argocd_namespace(case)
    match failure.limit_of:
        case SizeLimit.GRPC if failure.limit == GRPC_DEFAULT:
            return Fix.run(
                with_comment(
                    "argocd version", "the server; its components, and plugins, have the same version?"
                ),
                with_comment(refresh(case), "after the upgrade"),
                title="Upgrade Argo CD or the plugin: 4 MB is the limit of gRPC itself, current versions"
                " have 100 MB; or split the Application",
            )
        case SizeLimit.GRPC:
            return Fix.run(
                kubectl("set", "env", CONTROLLER, REPO_SERVER, API_SERVER, GRPC_LIMIT, namespace=namespace),
                with_comment(refresh(case), "when the Pods are ready"),
                title="Increase the gRPC limit (default 100 MB), or split the Application",
                risk="Argo CD restarts: nothing is reconciled for a minute or two; its Pods need more memory;"
                " the next upgrade resets it, unless it is in the manifests that install Argo CD",
            )
        case SizeLimit.MANIFESTS:
            patch = '{"data":{"reposerver.max.combined.directory.manifests.size":"50M"}}'
            return Fix.run(
                f"kubectl -n {namespace} patch configmap argocd-cmd-params-cm --type merge -p '{patch}'",
                restart(case, REPO_SERVER),
                refresh(case),
                title="Increase the limit (default 10M), or exclude files that are not manifests",
                risk="the repo-server restarts and needs more memory; renderings in progress start again",
            )
        case SizeLimit.STATUS:
            return Fix.run(
                "# split the Application: fewer resources in each, or an ApplicationSet over folders",
                title="Split the Application: its list of resources is too long",
            )
        case SizeLimit.REQUEST | SizeLimit.ETCD | SizeLimit.OBJECT:
            return Fix.run(
                comment(
                    f"in Git: split {largest or 'the data'} over several objects, or keep it outside"
                    " Kubernetes (an image, a bucket); commit and push"
                ),
                sync(case),
                title=f"Make {largest or 'the object'} smaller, commit, then sync",
            )
