"""A Case with nothing in it but pasted text, at the places where Argo CD and Kubernetes would show it.

What the text does not name has a placeholder in capitals, as no object of a cluster is named: APP, POD.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.messages.failure import Failure
from whysync.messages.log_line import parse_log_line
from whysync.messages.parse import understand
from whysync.messages.pasted import Origin, PastedMessage

APP: Final = "APP"
NAMESPACE: Final = "NAMESPACE"
POD: Final = "POD"
CONTAINER: Final = "CONTAINER"
_REVISION: Final = "REVISION"
_CONTROLLER_POD: Final = "argocd-application-controller-0"
# Text has no clock: these two tell a running operation from one that lasts too long.
_NOW: Final = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
_LONG_BEFORE: Final = "2026-01-01T00:00:00Z"


def case_of_parts(parts: Sequence[PastedMessage], *, application: str = "") -> Case:
    """The Case in which each of the parts is where it belongs."""
    namespace = next((part.namespace for part in parts if part.namespace), NAMESPACE)
    builder = _Builder(application or APP, namespace)
    for part in parts:
        builder.add(part)
    world = SnapshotIndex(builder.snapshot())
    manifest, app = world.decoded[0]
    return Case(world, manifest, app)


# Kinds that Argo CD reports as Progressing while their controller fails.
_NEVER_DEGRADED = ("Ingress", "PersistentVolumeClaim", "Service")
# Reasons of events that only the controllers of one kind report.
_KIND_OF_REASON = {
    reason: kind
    for kind, reasons in {
        "PersistentVolumeClaim": "ProvisioningFailed ProvisioningCleanupFailed FailedBinding"
        " VolumeResizeFailed WaitForFirstConsumer ExternalExpanding ClaimLost ClaimMisbound",
        "Service": "SyncLoadBalancerFailed CreatingLoadBalancerFailed UpdateLoadBalancerFailed"
        " AllocationFailed",
        "Ingress": "FailedBuildModel FailedDeployModel FailedLoadGroupID",
        "HorizontalPodAutoscaler": "FailedGetScale FailedRescale FailedGetResourceMetric"
        " FailedGetExternalMetric FailedGetObjectMetric FailedGetPodsMetric FailedComputeMetricsReplicas",
        "PodDisruptionBudget": "CalculateExpectedPodCountFailed NoPods",
        "Job": "BackoffLimitExceeded",
    }.items()
    for reason in reasons.split()
}


class _Builder:
    def __init__(self, application: str, namespace: str) -> None:
        self._application = application
        self._namespace = namespace
        self._conditions: list[Json] = []
        self._operation: Object = {}
        self._results: list[Json] = []
        self._rows: dict[tuple[str, str, str], Object] = {}
        self._pods: dict[str, dict[str, Object]] = {}
        self._events: list[Manifest] = []
        self._argocd_lines: list[str] = []
        self._container_lines: list[str] = []
        self._failures: list[Failure] = []

    def add(self, part: PastedMessage) -> None:
        self._failures += understand(part.text).failures
        match part.origin:
            case Origin.CONDITION:
                self._conditions.append({"type": part.reason, "message": part.text})
            case Origin.OPERATION:
                self._operation = {"phase": part.reason, "message": part.text}
            case Origin.LONG_OPERATION:
                self._operation = {"phase": part.reason, "message": part.text, "startedAt": _LONG_BEFORE}
            case Origin.RESULT:
                self._add_result(part)
            case Origin.HEALTH:
                self._add_health(part)
            case Origin.EVENT:
                self._add_event(part)
            case Origin.CONTAINER:
                self._add_state(part)
            case Origin.ARGOCD_LOG:
                is_structured = parse_log_line(part.text).level
                line = f"level={part.reason or 'error'} msg={_quoted(part.text)}"
                self._argocd_lines.append(part.text if is_structured else line)
            case Origin.CONTAINER_LOG:
                self._add_state(PastedMessage(origin=Origin.CONTAINER, reason="CrashLoopBackOff"))
                self._container_lines += part.text.split("\n")

    def _identity(self, part: PastedMessage) -> Object:
        kind = part.kind or _KIND_OF_REASON.get(part.reason, "Pod")
        name = part.name or (POD if kind == "Pod" else "NAME")
        resource = _built_in().get(kind)
        is_namespaced = resource is None or resource.namespaced
        return {
            "group": part.group or (resource.group if resource is not None else ""),
            "version": "v1",
            "kind": kind,
            "namespace": (part.namespace or self._namespace) if is_namespaced else "",
            "name": name,
        }

    def _row(self, part: PastedMessage, **more: Json) -> None:
        identity = self._identity(part)
        key = (str(identity["kind"]), str(identity["namespace"]), str(identity["name"]))
        self._rows[key] = {**identity, "status": "Synced", **self._rows.get(key, {}), **more}

    def _add_result(self, part: PastedMessage) -> None:
        hook: Object = {"hookType": part.hook, "hookPhase": "Failed"} if part.hook else {}
        is_skipped = part.reason == "PruneSkipped"
        status = "" if part.hook else part.reason if is_skipped else "SyncFailed"
        self._results.append({**self._identity(part), "status": status, "message": part.text, **hook})
        if part.hook:
            self._row(part, hook=True, status="")
        else:
            self._row(part, status="OutOfSync", **({"requiresPruning": True} if is_skipped else {}))
        phase = "Succeeded" if is_skipped else "Failed"
        self._operation = self._operation or {"phase": phase, "message": ""}

    def _add_health(self, part: PastedMessage) -> None:
        health: Object = {"status": part.reason, "message": part.text}
        self._row(part, health=health)
        if (part.kind or "Pod") == "Pod":
            self._pods.setdefault(part.name or POD, {})

    def _add_event(self, part: PastedMessage) -> None:
        identity = self._identity(part)
        about: Object = {name: identity[name] for name in ("kind", "namespace", "name")}
        body: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"event-{len(self._events)}", "namespace": identity["namespace"]},
            "type": "Warning",
            "reason": part.reason,
            "message": part.text,
            "involvedObject": about,
        }
        self._events.append(Manifest(body, role=Role.EVENT))
        self._row(
            part, health={"status": "Progressing" if identity["kind"] in _NEVER_DEGRADED else "Degraded"}
        )

    def _add_state(self, part: PastedMessage) -> None:
        self._row(part, health={"status": "Degraded"})
        containers = self._pods.setdefault(part.name or POD, {})
        status = containers.setdefault(part.container or CONTAINER, {"name": part.container or CONTAINER})
        if part.ended:
            code: Object = {} if part.exit_code is None else {"exitCode": part.exit_code}
            status["lastState"] = {"terminated": {"reason": part.reason, "message": part.text, **code}}
        else:
            status["state"] = {"waiting": {"reason": part.reason, "message": part.text}}

    def snapshot(self) -> Snapshot:
        live = tuple(self._pod(name, containers) for name, containers in self._pods.items() if containers)
        return Snapshot(
            collected_at=_NOW,
            applications=(Manifest(self._application_body(), role=Role.APPLICATION),),
            live=live,
            events=tuple(self._events),
            logs=tuple(self._logs()),
        )

    def _pod(self, name: str, containers: dict[str, Object]) -> Manifest:
        body: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self._namespace},
            "spec": {"containers": [{"name": container} for container in containers]},
            "status": {"containerStatuses": list(containers.values())},
        }
        return Manifest(body, role=Role.LIVE)

    def _logs(self) -> list[Log]:
        logs: list[Log] = []
        if self._argocd_lines:
            lines = tuple(self._argocd_lines)
            logs.append(
                Log(namespace="argocd", pod=_CONTROLLER_POD, container="application-controller", lines=lines)
            )
        if self._container_lines:
            lines = tuple(self._container_lines)
            logs.append(
                Log(namespace=self._namespace, pod=POD, container=CONTAINER, lines=lines, previous=True)
            )
        return logs

    def _application_body(self) -> Object:
        rows = list(self._rows.values())
        failed = bool(self._operation)
        degraded = any("health" in row for row in rows)
        status: Object = {
            "sync": {"status": "Unknown" if self._conditions else "OutOfSync" if failed else "Synced"},
            "health": {"status": "Degraded" if degraded else "Healthy"},
            "conditions": self._conditions,
            "resources": [*rows],
        }
        if failed:
            status["operationState"] = {
                "operation": {"sync": {}},
                **self._operation,
                "syncResult": {"revision": _REVISION, "resources": self._results},
            }
        source: Object = {
            "repoURL": self._named("url", "repo") or "REPO_URL",
            "path": self._named("path") or "PATH",
            "targetRevision": self._named("revision") or _REVISION,
        }
        destination: Object = {"server": self._named("server") or "CLUSTER", "namespace": self._namespace}
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": self._application},
            "spec": {
                "project": self._named("project") or "PROJECT",
                "source": source,
                "destination": destination,
            },
            "status": status,
        }

    def _named(self, *names: str) -> str:
        """What the texts themselves name as the repository, the path …: a failure has fields for it."""
        values = (getattr(failure, name, "") for failure in self._failures for name in names)
        return next((value for value in values if value), "")


@cache
def _built_in() -> dict[str, Resource]:
    """By kind; of several groups with the same kind, the first one of Kubernetes' own list."""
    return {resource.kind: resource for resource in reversed(built_in().values())}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
