"""A hook needs a Service that is created only in a later phase or wave.

## What happens
A PreSync hook runs before anything of the Sync phase is applied. A hook that calls a Service of its own
Application works where that Service exists from an earlier sync, and never on a clean cluster: the hook fails
or waits, and the Service it waits for is applied only after the hook.

## How whysync knows
The hook's log names a host that it cannot reach. That host is a Service in Git, in a later phase or wave than
the hook, and it is not in the cluster.

## Fix
Run the hook after what it needs: as a PostSync hook, or in the Sync phase in a later wave.

## When it is something else
The Service exists but does not answer: then the hook's own failure (hook-failed) is the cause.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, cite_line, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.pods import log_root_cause, logs_below
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.log_patterns import LogReason
from whysync.queries.sync_position import comes_before, phase_and_wave

HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"
CONNECTION_ERRORS = (LogReason.DNS, LogReason.CONNECTION_REFUSED, LogReason.TIMEOUT)


@rule(cause="hook-deadlock", since="0.1")
def hook_needs_later_wave(case: Case) -> Iterator[Finding]:
    for result in case.results:
        hook = case.desired_of(result.key)
        if not result.hook_type or result.hook_phase == "Succeeded" or hook is None:
            continue
        root_cause = log_root_cause(logs_below(case, result.ref))
        if root_cause is None or root_cause.failure.reason not in CONNECTION_ERRORS:
            continue
        service = _service(case, hook, root_cause.failure.text)
        if service is None:
            continue
        yield Finding(
            about=result.ref,
            explains=symptoms_about(case, result.ref),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"hook {result.ref} ({phase_and_wave(hook)}) needs {service.ref},"
            f" which is created only later ({phase_and_wave(service)})",
            root=f"{service.ref} does not exist yet",
            evidence=(
                cite_line(root_cause.log, root_cause.failure.line, says="what the hook cannot reach"),
                cite(hook, "/metadata/annotations", says=f"when the hook runs: {phase_and_wave(hook)}"),
                cite(
                    service, "/metadata/name", says=f"when the Service is created: {phase_and_wave(service)}"
                ),
            ),
            fixes=(
                Fix.change(
                    hook.ref,
                    Set(pointer=HOOK, value="PostSync"),
                    title="Run the hook after the sync: as a PostSync hook",
                    risk="it then runs after the new version is live",
                ),
            ),
        )


def _service(case: Case, hook: Manifest, line: str) -> Manifest | None:
    """A Service that the log line names as a host, applied later than the hook and not live."""
    words = "".join(char if char.isalnum() or char in "-." else " " for char in line).split()
    for manifest in case.desired:
        if manifest.ref.kind != "Service" or not comes_before(hook, manifest):
            continue
        if case.live_of(manifest.key) is None and any(_is_host_of(case, manifest, word) for word in words):
            return manifest
    return None


def _is_host_of(case: Case, service: Manifest, host: str) -> bool:
    """`shop`, `shop.production`, `shop.production.svc.cluster.local`."""
    name, _, rest = host.partition(".")
    namespace = service.ref.namespace or case.destination_namespace
    return name == service.ref.name and rest.partition(".")[0] in ("", namespace)
