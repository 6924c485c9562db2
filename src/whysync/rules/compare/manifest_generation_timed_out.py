"""Manifest generation exceeds a timeout.

## What happens
Fetching and rendering the source has timeouts: 90 seconds for each tool, 60 for the whole call to the
repo-server. A large repository, many remote bases or chart downloads, a slow host or a repo-server with too
little CPU exceed them.

## How whysync knows
`timeout after 1m30s` of a named command, or `context deadline exceeded` of the call to the
repo-server.

## Fix
Increase the timeout, and find out why rendering is slow.

## When it is something else
If the Git host does not answer: repo-unreachable. If the repo-server is down: repo-server-down.
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
            verdict=f"`{tool}` timed out{after}: {_slow(tool)}"
            if tool
            else f"the repo-server did not answer in time{after}: rendering takes too long",
            evidence=group.cited(says="the timeout"),
            fixes=tuple(_fixes(case, of_tool=bool(tool))),
        )


def _slow(tool: str) -> str:
    """`git fetch` does not render."""
    if tool.startswith("git "):
        return "the repository is large, or its host is slow"
    return "rendering takes too long"


def _fixes(case: Case, *, of_tool: bool) -> Iterator[Fix]:
    namespace = argocd_namespace(case)
    if of_tool:
        yield Fix.run(
            f"kubectl -n {namespace} set env deployment/argocd-repo-server ARGOCD_EXEC_TIMEOUT=5m",
            *_longer_call(namespace),
            hard_refresh(case),
            title="Increase the timeouts of the tool (ARGOCD_EXEC_TIMEOUT, default 90s) and of the call",
            risk="the repo-server and the controller restart: nothing is reconciled for a minute or two",
        )
    else:
        yield Fix.run(
            *_longer_call(namespace),
            hard_refresh(case),
            title="Increase the repo-server timeout (controller.repo.server.timeout.seconds, default 60)",
            risk="the controller restarts: nothing is reconciled for a minute or two",
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
