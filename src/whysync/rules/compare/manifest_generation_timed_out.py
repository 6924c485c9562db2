"""Rendering the manifests takes longer than Argo CD waits.

## What happens
Fetching and rendering the source must end in time: each tool has 90 seconds, the whole call to the
repo-server 60. A large repository, many remote bases or chart downloads, a slow host or a
repo-server with too little CPU exceed that.

## How whysync knows
`timeout after 1m30s` of a named command, or `context deadline exceeded` of the call to the
repo-server.

## Fix
Give it more time with the setting that this time-out belongs to; and look for why it is slow, which
is the lasting remedy.

## When it is something else
The Git host does not answer at all: repo-unreachable. The repo-server is down: repo-server-down.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.patterns.manifests import GenerationTimeout
from whysync.queries.commands import argocd_namespace, hard_refresh
from whysync.queries.group_failures import grouped


@rule(cause="generation-timeout", since="0.1")
def manifest_generation_timed_out(case: Case) -> Iterator[Finding]:
    for group in grouped(case, GenerationTimeout, by=lambda failure: failure.command):
        failure = group.failure
        tool = " ".join(failure.command.split()[:2])
        after = f" after {failure.after}" if failure.after else ""
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"`{tool}` was cut off{after}: rendering takes too long"
            if tool
            else f"the repo-server did not answer in time{after}: rendering takes too long",
            evidence=group.cited(says="what ran out of time"),
            fixes=tuple(_fixes(case, of_tool=bool(tool))),
        )


def _fixes(case: Case, *, of_tool: bool) -> Iterator[Fix]:
    namespace = argocd_namespace(case)
    if of_tool:
        yield Fix.run(
            f"kubectl -n {namespace} set env deployment/argocd-repo-server ARGOCD_EXEC_TIMEOUT=5m",
            *_longer_call(namespace),
            hard_refresh(case),
            title="Give the tool more time (ARGOCD_EXEC_TIMEOUT, 90s by default), and the call around it too",
        )
    else:
        yield Fix.run(
            *_longer_call(namespace),
            hard_refresh(case),
            title="Give the repo-server more time (controller.repo.server.timeout.seconds, 60 by default)",
        )
    yield Fix.run(
        f"kubectl -n {namespace} top pods -l app.kubernetes.io/name=argocd-repo-server",
        f"kubectl -n {namespace} logs deploy/argocd-repo-server --tail=200",
        title="Find out why it is slow: CPU limits, remote bases, chart downloads, a huge repository",
    )


def _longer_call(namespace: str) -> tuple[str, str]:
    patch = '{"data":{"controller.repo.server.timeout.seconds":"300"}}'
    return (
        f"kubectl -n {namespace} patch configmap argocd-cmd-params-cm --type merge -p '{patch}'",
        f"kubectl -n {namespace} rollout restart statefulset argocd-application-controller",
    )
