"""A container crashes and is restarted repeatedly.

## What happens
The program in the container exits (or is killed). Kubernetes restarts it with increasing delays
(`CrashLoopBackOff`). The workload never becomes ready; after its progress deadline it is Degraded. Another
sync does not change that.

## How whysync knows
A container of the workload's Pods waits with `CrashLoopBackOff`, or has exited with an error and was
restarted. The log of its last run, if it is in the facts, names the reason.

## Fix
Fix the error shown in the log. If a new image or setting caused it: revert to the previous version.

## When it is something else
Exit code 137 with reason `OOMKilled` is a memory limit. A container that never started (`ImagePullBackOff`,
`CreateContainerConfigError`) has other causes. A failed hook Job is a failed hook.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.diagnosis import (
    Case,
    Confidence,
    Evidence,
    Finding,
    Fix,
    Severity,
    SymptomKind,
    cite,
    cite_line,
    rule,
)
from whysync.diagnosis.pods import ContainerHistory, LogRootCause, PodHistory, log_root_cause, logs_below
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.log_patterns import LogReason
from whysync.messages.patterns.pods import CrashLoop
from whysync.queries.commands import kubectl, with_comment
from whysync.queries.group_failures import pod_symptoms
from whysync.queries.log_lines import last_line, root_cause_text
from whysync.queries.previous_revision import with_revert
from whysync.queries.probes import killed_by_probe

# Exit codes above 128 are signals.
_SIGNALS = {
    132: "SIGILL: the program is for another CPU",
    134: "SIGABRT: the program stopped itself",
    135: "SIGBUS: a memory or file access failed",
    137: "SIGKILL: by the kubelet, as after a failing probe, or because the node ran out of memory",
    139: "SIGSEGV: it crashed in native code",
    143: "SIGTERM: something stopped it, as the kubelet does after a failing probe",
}
_FOREIGN = "the program is for another CPU architecture, or a script without #!"


@rule(cause="crashloop", since="0.1")
def container_crash_loop(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None:
            continue
        crash = _crashing(case, symptom.ref)
        if crash is not None:
            below = pod_symptoms(case, symptom.ref, CrashLoop)
            explained.update((symptom.id, *below))
            finding = _from_pod(symptom.ref, (symptom.id, *below), *crash)
            if killed_by_probe(case, symptom.ref) is not None:
                yield replace(
                    finding, because=(symptom.id,), verdict=_restarted(*crash)
                )  # the probe is the cause
                continue
            yield with_revert(case, finding)
    for report in case.failures(CrashLoop):
        if report.ref is None or not explained.isdisjoint(report.symptoms):
            continue
        if any(
            c.exit_reason == "OOMKilled" for history in case.pods_of(report.ref) for c in history.containers
        ):
            continue  # OOM killed, which is another cause
        unhealthy = [
            s for s in (SymptomId.unhealthy(report.ref.key),) if s in case.symptom_ids and s not in explained
        ]
        root_cause = log_root_cause(logs_below(case, report.ref))
        yield Finding(
            about=report.ref,
            explains=tuple(dict.fromkeys([*unhealthy, *report.symptoms])),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if root_cause else Confidence.MEDIUM,
            verdict=f"a container of {report.ref} crashes repeatedly{_ending(root_cause)}",
            root=root_cause.failure.text if root_cause else None,
            evidence=(report.cite(says="the kubelet delays its restarts"), *_cited(root_cause)),
            fixes=(_inspect(report.ref, report.ref.name, root_cause=root_cause),),
        )


def _crashing(case: Case, ref: Ref) -> tuple[PodHistory, ContainerHistory] | None:
    for history in case.pods_of(ref):
        for container in history.containers:
            crashed = container.exit_code not in (None, 0) and container.restarts > 0
            looping = container.waiting == "CrashLoopBackOff" or crashed
            if looping and container.exit_reason != "OOMKilled":
                return history, container
    return None


def _from_pod(
    ref: Ref, explains: tuple[SymptomId, ...], history: PodHistory, container: ContainerHistory
) -> Finding:
    log = history.log_of(container)
    root_cause = log_root_cause((log,)) if log else None
    label = "init container" if container.init else "container"
    exit_code = "" if container.exit_code is None else f" with exit code {container.exit_code}"
    signal = _SIGNALS.get(container.exit_code or 0) if root_cause is None else None
    return Finding(
        about=ref,
        explains=tuple(dict.fromkeys(explains)),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"{label} {container.name} of {history.pod.ref} crashes repeatedly{exit_code}"
        + (f" ({signal})" if signal is not None else "")
        + (_ending(root_cause) or (f": {container.last_words}" if container.last_words else "")),
        root=root_cause.failure.text if root_cause else container.exit_message or None,
        evidence=(
            cite(history.pod, container.pointer, says=f"restarted {container.restarts} times"),
            *(_cited(root_cause) or _last_words(log)),
        ),
        fixes=(
            _inspect(
                history.pod.ref,
                container.name,
                history.pod,
                root_cause=root_cause,
                exit_code=container.exit_code,
            ),
        ),
    )


def _restarted(history: PodHistory, container: ContainerHistory) -> str:
    """A container that the kubelet stops because of a probe does not crash."""
    return (
        f"container {container.name} of {history.pod.ref} was restarted {container.restarts} times"
        " because of its probe"
    )


def _ending(root_cause: LogRootCause | None) -> str:
    if root_cause is None:
        return ""
    is_foreign = root_cause.failure.reason is LogReason.WRONG_ARCHITECTURE
    return f": {root_cause.failure.text.strip()}" + (f" ({_FOREIGN})" if is_foreign else "")


def _cited(root_cause: LogRootCause | None) -> tuple[Evidence, ...]:
    return (
        (cite_line(root_cause.log, root_cause.failure.line, says="the log line with the reason"),)
        if root_cause
        else ()
    )


def _last_words(log: Log | None) -> tuple[Evidence, ...]:
    """The end of a log in which no line reports a failure."""
    number = last_line(log) if log is not None else 0
    return (cite_line(log, number, says="the last line of its log"),) if log is not None and number else ()


def _title(root_cause: LogRootCause | None, exit_code: int | None) -> str:
    if root_cause is not None and root_cause.failure.reason is LogReason.WRONG_ARCHITECTURE:
        return "Use an image for the CPU architecture of the node, or run it on a node that fits"
    if root_cause is not None:
        return (
            f"Correct what its log shows ({root_cause_text(root_cause.failure)}), or revert the last commit"
        )
    if exit_code in (126, 127):
        return f"Correct command and args in Git: the shell cannot run the program (exit code {exit_code})"
    if exit_code == 139:
        return "Use another image: the program crashes in native code (exit code 139)"
    return "Read its last log, correct the error it shows, or revert the commit that introduced it"


def _inspect(
    ref: Ref,
    container: str,
    pod: Manifest | None = None,
    *,
    root_cause: LogRootCause | None,
    exit_code: int | None = None,
) -> Fix:
    target = (ref.name, "-c", container) if pod is not None else (f"{ref.kind.lower()}/{ref.name}",)
    return Fix.run(
        kubectl("logs", *target, "--previous", namespace=ref.namespace or "default"),
        *_architectures(root_cause),
        title=_title(root_cause, exit_code),
        then_commit=True,
    )


def _architectures(root_cause: LogRootCause | None) -> tuple[str, ...]:
    if root_cause is None or root_cause.failure.reason is not LogReason.WRONG_ARCHITECTURE:
        return ()
    return (
        kubectl("get", "nodes", "-L", "kubernetes.io/arch"),
        with_comment("docker manifest inspect IMAGE", "the architectures of the image"),
    )
