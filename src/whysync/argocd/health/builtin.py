"""The kinds whose health Argo CD assesses in Go.

Mirrors gitops-engine `GetHealthCheckFunc`, Argo CD 3.6. The kind is matched without its version; objects of
versions that the check does not support are Unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.verdict import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    SUSPENDED,
    UNKNOWN,
    CannotJudge,
    HealthVerdict,
)
from whysync.argocd.hooks import is_hook
from whysync.argocd.hooks.annotations import annotations_of
from whysync.golang.fmt import quoted
from whysync.json_tree import Json, Object, dig, fields, integer, items, json_kind, text
from whysync.kubernetes.api.ref import group_of, version_of

# Conversion of raw objects to Go types, whose errors make the health Unknown.
#
# A shape has the Go type of each field that a check reads: a name is a scalar (`int32`, `bool`, or a string
# type), a list contains one shape, `{"*": shape}` is a map and any other dictionary a struct. Differs from
# upstream: other fields, timestamps and quantities are not checked.


Shape: TypeAlias = "str | list[Shape] | dict[str, Shape]"


class GoCheck(msgspec.Struct, frozen=True):
    name: str
    """The kind in upstream's error messages."""
    judge: Callable[[Object], HealthVerdict]
    shape: dict[str, Shape] = {}
    """Without the metadata. Empty if upstream reads the raw object of any version."""
    versions: tuple[str, ...] = ("v1",)

    def __call__(self, obj: Object) -> HealthVerdict:
        if self.shape:
            if version_of(text(obj.get("apiVersion"))) not in self.versions:
                raise CannotJudge(f"unsupported {self.name} GVK: {_gvk(obj)}")
            problem = conversion_problem(obj, {"metadata": _METADATA, **self.shape})
            if problem is not None:
                raise CannotJudge(f"failed to convert unstructured {self.name} to typed: {problem}")
        return self.judge(obj)


def conversion_problem(value: Json, shape: Shape) -> str | None:
    """Mirrors `fromUnstructured` of k8s.io/apimachinery 0.36 with its messages; null is the zero value."""
    if value is None:
        return None
    if isinstance(shape, str):
        return _scalar_problem(value, shape)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        return next((p for item in value if (p := conversion_problem(item, shape[0]))), None)
    each = shape.get("*")
    if not isinstance(value, dict):
        return f"cannot restore {'struct from:' if each is None else 'map from'} {_kind(value)}"
    if each is not None:
        return next((p for item in value.values() if (p := conversion_problem(item, each))), None)
    for key, field_shape in shape.items():  # most fields are absent, the others have the right type
        item = value.get(key)
        if item is None or (
            isinstance(field_shape, str) and type(item) is _PYTHON_TYPES.get(field_shape, str)
        ):
            continue
        if problem := conversion_problem(item, field_shape):
            return problem
    return None


_PYTHON_TYPES: Final = {"int32": int, "int64": int, "bool": bool}


def _scalar_problem(value: Json, go_type: str) -> str | None:
    kind = _kind(value)
    if go_type in ("int32", "int64"):
        if kind == "int64" or (isinstance(value, float) and value.is_integer()):
            return None
        return (
            f"cannot convert float64 to {go_type}" if kind == "float64" else f"unrecognized type: {go_type}"
        )
    expected = "bool" if go_type == "bool" else "string"
    if kind == expected:
        return None
    # Go could convert a number to a character, so this has a separate error.
    if expected == "string" and kind == "int64":
        return f"cannot convert int64 to {go_type}"
    return f"unrecognized type: {expected}"


def _kind(value: Json) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "slice"
        case _:
            return "map"


def _gvk(obj: Object) -> str:
    api_version = text(obj.get("apiVersion"))
    return f"{group_of(api_version)}/{version_of(api_version)}, Kind={text(obj.get('kind'))}"


def name_of(obj: Object) -> str:
    return text(dig(obj, "metadata", "name"))


def spec_of(obj: Object) -> Object:
    return fields(obj.get("spec"))


def status_of(obj: Object) -> Object:
    return fields(obj.get("status"))


def count(parent: Object, field: str) -> int:
    """A counter; 0 if it is missing."""
    return integer(parent.get(field))


def desired_replicas(obj: Object) -> int | None:
    """`spec.replicas`; checks ignore a missing value, which is not 0."""
    replicas = spec_of(obj).get("replicas")
    return None if replicas is None else integer(replicas)


def is_unobserved(obj: Object) -> bool:
    """The controller has not yet seen the newest spec."""
    return integer(dig(obj, "metadata", "generation")) > count(status_of(obj), "observedGeneration")


def conditions(obj: Object) -> Iterator[Object]:
    for condition in items(status_of(obj).get("conditions")):
        yield fields(condition)


def condition(obj: Object, kind: str) -> Object | None:
    """The first condition of that type."""
    return next((entry for entry in conditions(obj) if entry.get("type") == kind), None)


# Deployment. A crash loop is only Progressing until the progress deadline has passed.


def _get_appsv1_deployment_health(deployment: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1DeploymentHealth`, Argo CD 3.6."""
    if spec_of(deployment).get("paused") is True:
        return HealthVerdict(SUSPENDED, "Deployment is paused")
    if is_unobserved(deployment):
        return _waiting_for_rollout("observed deployment generation less than desired generation")
    progress = condition(deployment, "Progressing")
    if progress is not None and progress.get("reason") == "ProgressDeadlineExceeded":
        name = quoted(name_of(deployment))
        return HealthVerdict(DEGRADED, f"Deployment {name} exceeded its progress deadline")
    status, desired = status_of(deployment), desired_replicas(deployment)
    updated, total = count(status, "updatedReplicas"), count(status, "replicas")
    available = count(status, "availableReplicas")
    if desired is not None and updated < desired:
        return _waiting_for_rollout(f"{updated} out of {desired} new replicas have been updated...")
    if total > updated:
        return _waiting_for_rollout(f"{total - updated} old replicas are pending termination...")
    if available < updated:
        return _waiting_for_rollout(f"{available} of {updated} updated replicas are available...")
    return HealthVerdict(HEALTHY)


def _waiting_for_rollout(detail: str) -> HealthVerdict:
    return HealthVerdict(PROGRESSING, f"Waiting for rollout to finish: {detail}")


# StatefulSet. It is never Degraded: with Pods that do not start it stays Progressing.


def _get_appsv1_stateful_set_health(stateful_set: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1StatefulSetHealth`, Argo CD 3.6."""
    status, desired = status_of(stateful_set), desired_replicas(stateful_set)
    ready, updated = count(status, "readyReplicas"), count(status, "updatedReplicas")
    # Unlike the other workloads, this one must have been observed at least once.
    if count(status, "observedGeneration") == 0 or is_unobserved(stateful_set):
        return HealthVerdict(PROGRESSING, "Waiting for statefulset spec update to be observed...")
    if desired is not None and ready < desired:
        return HealthVerdict(PROGRESSING, f"Waiting for {desired - ready} pods to be ready...")
    strategy = fields(spec_of(stateful_set).get("updateStrategy"))
    if strategy.get("type") == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        return _partitioned_rollout(desired, updated, strategy)
    if strategy.get("type") == "OnDelete":
        return HealthVerdict(HEALTHY, f"statefulset has {ready} ready pods")
    current, update = text(status.get("currentRevision")), text(status.get("updateRevision"))
    if update != current:
        progress = f"{updated} pods at revision {update}..."
        return HealthVerdict(PROGRESSING, f"waiting for statefulset rolling update to complete {progress}")
    progress = f"{count(status, 'currentReplicas')} pods at revision {current}..."
    return HealthVerdict(HEALTHY, f"statefulset rolling update complete {progress}")


def _partitioned_rollout(desired: int | None, updated: int, strategy: Object) -> HealthVerdict:
    """The usual case even without a partition, because the API server defaults `rollingUpdate`."""
    partition = dig(strategy, "rollingUpdate", "partition")
    if desired is not None and isinstance(partition, int | float):
        new = desired - integer(partition)
        if updated < new:
            progress = f"{updated} out of {new} new pods have been updated..."
            return HealthVerdict(PROGRESSING, f"Waiting for partitioned roll out to finish: {progress}")
    return HealthVerdict(HEALTHY, f"partitioned roll out complete: {updated} new pods have been updated...")


# ReplicaSet.


def _get_appsv1_replica_set_health(replica_set: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1ReplicaSetHealth`, Argo CD 3.6."""
    waiting = "Waiting for rollout to finish:"
    if is_unobserved(replica_set):
        return HealthVerdict(
            PROGRESSING, f"{waiting} observed replica set generation less than desired generation"
        )
    failure = condition(replica_set, "ReplicaFailure")
    if failure is not None and failure.get("status") == "True":
        return HealthVerdict(DEGRADED, text(failure.get("message")))
    available, desired = count(status_of(replica_set), "availableReplicas"), desired_replicas(replica_set)
    if desired is not None and available < desired:
        progress = f"{available} out of {desired} new replicas are available..."
        return HealthVerdict(PROGRESSING, f"{waiting} {progress}")
    return HealthVerdict(HEALTHY)


# DaemonSet. It is never Degraded.


def _get_appsv1_daemon_set_health(daemon_set: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1DaemonSetHealth`, Argo CD 3.6."""
    if is_unobserved(daemon_set):
        return HealthVerdict(
            PROGRESSING,
            "Waiting for rollout to finish: observed daemon set generation less than desired generation",
        )
    status = status_of(daemon_set)
    updated, desired = count(status, "updatedNumberScheduled"), count(status, "desiredNumberScheduled")
    available = count(status, "numberAvailable")
    if dig(daemon_set, "spec", "updateStrategy", "type") == "OnDelete":
        return HealthVerdict(HEALTHY, f"daemon set {updated} out of {desired} new pods have been updated")
    waiting = f"Waiting for daemon set {quoted(name_of(daemon_set))} rollout to finish:"
    if updated < desired:
        progress = f"{updated} out of {desired} new pods have been updated..."
        return HealthVerdict(PROGRESSING, f"{waiting} {progress}")
    if available < desired:
        progress = f"{available} of {desired} updated pods are available..."
        return HealthVerdict(PROGRESSING, f"{waiting} {progress}")
    return HealthVerdict(HEALTHY)


# Ingress, of any version. Without a controller that publishes an address it stays Progressing.


def _get_ingress_health(ingress: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getIngressHealth`, Argo CD 3.6."""
    addresses = items(dig(ingress, "status", "loadBalancer", "ingress"))
    return HealthVerdict(HEALTHY if addresses else PROGRESSING)


# Service: only one of type LoadBalancer can be unready.


def _get_corev1_service_health(service: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getCorev1ServiceHealth`, Argo CD 3.6."""
    addresses = items(dig(service, "status", "loadBalancer", "ingress"))
    if spec_of(service).get("type") == "LoadBalancer" and not addresses:
        return HealthVerdict(PROGRESSING)
    return HealthVerdict(HEALTHY)


# PersistentVolumeClaim. With WaitForFirstConsumer it is Progressing until a Pod uses it.

_PVC_PHASES: Final = {"Lost": DEGRADED, "Pending": PROGRESSING, "Bound": HEALTHY}


def _get_corev1_pvc_health(claim: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getCorev1PVCHealth`, Argo CD 3.6."""
    return HealthVerdict(_PVC_PHASES.get(text(status_of(claim).get("phase")), UNKNOWN))


# Pod. One that ends by design (`restartPolicy` Never or OnFailure) is Progressing while it runs.
#
# Such a Pod is often a hook: if it were Degraded while an image cannot be pulled yet, the sync would end
# although the Pod may still run.

_IGNORE_RESTART_POLICY: Final = "argocd.argoproj.io/ignore-restart-policy"


def _get_corev1_pod_health(pod: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getCorev1PodHealth`, Argo CD 3.6."""
    long_running = _is_long_running(pod)
    if long_running:
        errors = [
            text(waiting.get("message")) for waiting in _waiting_states(pod) if _is_waiting_error(waiting)
        ]
        if errors:
            return HealthVerdict(DEGRADED, ", ".join(errors))
    message = text(status_of(pod).get("message"))
    match status_of(pod).get("phase"):
        case "Pending":
            return HealthVerdict(PROGRESSING, message)
        case "Succeeded":
            return HealthVerdict(HEALTHY, message)
        case "Failed":
            return HealthVerdict(DEGRADED, message or _get_fail_message(pod))
        case "Running" if long_running:
            return HealthVerdict(_running_pod_health(pod), message)
        case "Running" if spec_of(pod).get("restartPolicy") in ("OnFailure", "Never"):
            return HealthVerdict(PROGRESSING, message)
        case _:
            return HealthVerdict(UNKNOWN, message)


def _is_long_running(pod: Object) -> bool:
    if spec_of(pod).get("restartPolicy") == "Always":
        return True
    return annotations_of(pod).get(_IGNORE_RESTART_POLICY) == "true" and not is_hook(pod)


def _running_pod_health(pod: Object) -> HealthCode:
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "True":
        return HEALTHY
    for container in _container_statuses(pod, "containerStatuses"):
        if fields(container.get("lastState")).get("terminated") is not None:
            return DEGRADED
    return PROGRESSING


def _waiting_states(pod: Object) -> Iterator[Object]:
    for container in _container_statuses(pod, "containerStatuses"):
        waiting = dig(container, "state", "waiting")
        if isinstance(waiting, dict):
            yield waiting


def _is_waiting_error(waiting: Object) -> bool:
    reason = text(waiting.get("reason"))
    return reason.startswith("Err") or reason.endswith(("Error", "BackOff"))


def _get_fail_message(pod: Object) -> str:
    """The message of the first container that has one, init containers first."""
    for which in ("initContainerStatuses", "containerStatuses"):
        for container in _container_statuses(pod, which):
            terminated = fields(dig(container, "state", "terminated"))
            message, code = text(terminated.get("message")), integer(terminated.get("exitCode"))
            if message:
                return message
            if terminated.get("reason") == "OOMKilled":
                return "OOMKilled"
            if code != 0:
                return f"container {quoted(text(container.get('name')))} failed with exit code {code}"
    return ""


def _container_statuses(pod: Object, which: str) -> Iterator[Object]:
    for container in items(status_of(pod).get(which)):
        yield fields(container)


# Job. The status of its conditions is ignored, except for Suspended: only their presence matters.


def _get_batchv1_job_health(job: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getBatchv1JobHealth`, Argo CD 3.6.

    A Job that was resumed keeps the condition Suspended=False and reads as Healthy while it still runs.
    """
    failed: str | None = None
    message = ""
    complete = suspended = False
    for condition in conditions(job):
        match condition.get("type"):
            case "Failed":
                complete, failed = True, text(condition.get("message"))
            case "Complete":
                complete, message = True, text(condition.get("message"))
            case "Suspended":
                complete, message = True, text(condition.get("message"))
                suspended = suspended or condition.get("status") == "True"
            case _:
                pass
    if not complete:
        return HealthVerdict(PROGRESSING, message)
    if failed is not None:
        return HealthVerdict(DEGRADED, failed)
    return HealthVerdict(SUSPENDED if suspended else HEALTHY, message)


# HorizontalPodAutoscaler. In version v1 the conditions are JSON in an annotation.

_HPA_V1_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_WAITING_TO_AUTOSCALE: Final = HealthVerdict(PROGRESSING, "Waiting to Autoscale")

_HPA_FAILURES: Final = {
    ("AbleToScale", "FailedGetScale"),
    ("AbleToScale", "FailedUpdateScale"),
    ("ScalingActive", "FailedGetResourceMetric"),
    ("ScalingActive", "FailedGetObjectMetric"),
    ("ScalingActive", "FailedGetPodsMetric"),
    ("ScalingActive", "FailedGetExternalMetric"),
    ("ScalingActive", "FailedComputeMetricsReplicas"),
    ("ScalingActive", "InvalidSelector"),
}


def _get_hpa_health(autoscaler: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getHPAHealth`, Argo CD 3.6."""
    if version_of(text(autoscaler.get("apiVersion"))) == "v1":
        conditions = _annotated_conditions(autoscaler)
    else:
        conditions = [fields(condition) for condition in items(status_of(autoscaler).get("conditions"))]
    for condition in conditions:
        if (condition.get("type"), condition.get("reason")) in _HPA_FAILURES:
            return HealthVerdict(DEGRADED, text(condition.get("message")))
    for condition in conditions:
        if condition.get("type") in ("AbleToScale", "ScalingLimited") and condition.get("status") == "True":
            return HealthVerdict(HEALTHY, text(condition.get("message")))
    return _WAITING_TO_AUTOSCALE


def _annotated_conditions(autoscaler: Object) -> list[Object]:
    annotation = annotations_of(autoscaler).get(_HPA_V1_CONDITIONS)
    if annotation is None:
        return []
    try:
        decoded = cast(Json, json.loads(annotation))
    except json.JSONDecodeError as problem:
        raise _unreadable_conditions(_go_json_error(annotation, problem.pos)) from None
    except RecursionError:
        raise _unreadable_conditions("exceeded max depth") from None
    if decoded is None:
        return []
    if not isinstance(decoded, list):
        raise _unreadable_conditions(
            f"json: cannot unmarshal {json_kind(decoded)} into Go value of type []health.hpaCondition"
        )
    return [_hpa_condition(item) for item in decoded]


def _hpa_condition(raw: Json) -> Object:
    """Go matches field names case-insensitively."""
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise _unreadable_conditions(
            f"json: cannot unmarshal {json_kind(raw)} into Go value of type health.hpaCondition"
        )
    condition: Object = {}
    for key, value in raw.items():
        field = key.lower()
        if field not in ("type", "reason", "message", "status") or value is None:
            continue
        if not isinstance(value, str):
            target = f"Go struct field hpaCondition.{field.capitalize()} of type string"
            raise _unreadable_conditions(f"json: cannot unmarshal {json_kind(value)} into {target}")
        condition[field] = value
    return condition


def _unreadable_conditions(why: str) -> CannotJudge:
    return CannotJudge(f"failed to convert conditions annotation to typed: {why}")


def _go_json_error(annotation: str, position: int) -> str:
    if position >= len(annotation):
        return "unexpected end of JSON input"
    return f"invalid character '{annotation[position]}' looking for beginning of value"


# APIService: is the extension API server reachable?


def _get_api_service_health(api_service: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAPIServiceHealth`, Argo CD 3.6. An unreachable one is not Degraded."""
    available = condition(api_service, "Available")
    if available is None:
        return HealthVerdict(PROGRESSING, "Waiting to be processed")
    code = HEALTHY if available.get("status") == "True" else PROGRESSING
    return HealthVerdict(code, f"{text(available.get('reason'))}: {text(available.get('message'))}")


# Workflow of Argo Workflows.

_WORKFLOW_PHASES: Final = {
    "": PROGRESSING,
    "Pending": PROGRESSING,
    "Running": PROGRESSING,
    "Succeeded": HEALTHY,
    "Failed": DEGRADED,
    "Error": DEGRADED,
}


def _get_argo_workflow_health(workflow: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getArgoWorkflowHealth`, Argo CD 3.6."""
    status = status_of(workflow)
    phase, message = text(status.get("phase")), text(status.get("message"))
    return HealthVerdict(_WORKFLOW_PHASES.get(phase, UNKNOWN), message)


# The checks with the Go types of the fields that they read.


def struct(scalars: str = "", **inner: Shape) -> dict[str, Shape]:
    """The shape of a struct: `replicas:int32 paused:bool`, then the fields that are not scalars."""
    shape: dict[str, Shape] = {}
    for field in scalars.split():
        name, _, go_type = field.partition(":")
        shape[name] = go_type
    return {**shape, **inner}


def _conditions(prefix: str) -> Shape:
    """A list of conditions; `prefix` is the prefix of the Go type, such as `v1.Deployment`."""
    return [struct(f"type:{prefix}ConditionType status:v1.ConditionStatus reason:string message:string")]


_METADATA: Final = struct(
    "name:string namespace:string generation:int64",
    labels={"*": "string"},
    annotations={"*": "string"},
    finalizers=["string"],
)
_DEPLOYMENT: Final = struct(
    spec=struct("replicas:int32 paused:bool"),
    status=struct(
        "observedGeneration:int64 replicas:int32 updatedReplicas:int32 readyReplicas:int32"
        " availableReplicas:int32 unavailableReplicas:int32",
        conditions=_conditions("v1.Deployment"),
    ),
)
_STATEFUL_SET: Final = struct(
    spec=struct(
        "replicas:int32",
        updateStrategy=struct(
            "type:v1.StatefulSetUpdateStrategyType", rollingUpdate=struct("partition:int32")
        ),
    ),
    status=struct(
        "observedGeneration:int64 replicas:int32 readyReplicas:int32 currentReplicas:int32"
        " updatedReplicas:int32 currentRevision:string updateRevision:string"
    ),
)
_REPLICA_SET: Final = struct(
    spec=struct("replicas:int32"),
    status=struct(
        "availableReplicas:int32 observedGeneration:int64", conditions=_conditions("v1.ReplicaSet")
    ),
)
_DAEMON_SET: Final = struct(
    spec=struct(updateStrategy=struct("type:v1.DaemonSetUpdateStrategyType")),
    status=struct(
        "desiredNumberScheduled:int32 observedGeneration:int64 updatedNumberScheduled:int32"
        " numberAvailable:int32"
    ),
)
_SERVICE: Final = struct(
    spec=struct("type:v1.ServiceType"),
    status=struct(loadBalancer=struct(ingress=[struct("ip:string hostname:string")])),
)
_CONTAINER_STATE: Final = struct(
    waiting=struct("reason:string message:string"),
    terminated=struct("exitCode:int32 reason:string message:string"),
)
_CONTAINER_STATUSES: Final[Shape] = [
    struct("name:string", state=_CONTAINER_STATE, lastState=_CONTAINER_STATE)
]
_POD: Final = struct(
    spec=struct("restartPolicy:v1.RestartPolicy"),
    status=struct(
        "phase:v1.PodPhase",
        conditions=_conditions("v1.Pod"),
        message="string",
        reason="string",
        initContainerStatuses=_CONTAINER_STATUSES,
        containerStatuses=_CONTAINER_STATUSES,
    ),
)
_JOB: Final = struct(spec=struct("suspend:bool"), status=struct(conditions=_conditions("v1.Job")))
_CLAIM: Final = struct(status=struct("phase:v1.PersistentVolumeClaimPhase"))
_AUTOSCALER: Final = struct(status=struct(conditions=_conditions("v2.HorizontalPodAutoscaler")))
_API_SERVICE: Final = struct(status=struct(conditions=_conditions("v1.APIService")))

_CHECKS: Final = {
    ("apps", "Deployment"): GoCheck("Deployment", _get_appsv1_deployment_health, _DEPLOYMENT),
    ("apps", "StatefulSet"): GoCheck("StatefulSet", _get_appsv1_stateful_set_health, _STATEFUL_SET),
    ("apps", "ReplicaSet"): GoCheck("ReplicaSet", _get_appsv1_replica_set_health, _REPLICA_SET),
    ("apps", "DaemonSet"): GoCheck("DaemonSet", _get_appsv1_daemon_set_health, _DAEMON_SET),
    ("extensions", "Ingress"): GoCheck("Ingress", _get_ingress_health),
    ("argoproj.io", "Workflow"): GoCheck("Workflow", _get_argo_workflow_health),
    ("apiregistration.k8s.io", "APIService"): GoCheck(
        "APIService", _get_api_service_health, _API_SERVICE, ("v1", "v1beta1")
    ),
    ("networking.k8s.io", "Ingress"): GoCheck("Ingress", _get_ingress_health),
    ("", "Service"): GoCheck("Service", _get_corev1_service_health, _SERVICE),
    ("", "PersistentVolumeClaim"): GoCheck("PersistentVolumeClaim", _get_corev1_pvc_health, _CLAIM),
    ("", "Pod"): GoCheck("Pod", _get_corev1_pod_health, _POD),
    ("batch", "Job"): GoCheck("Job", _get_batchv1_job_health, _JOB),
    ("autoscaling", "HorizontalPodAutoscaler"): GoCheck("HPA", _get_hpa_health, _AUTOSCALER, ("v1", "v2")),
}


def builtin_check(obj: Object) -> GoCheck | None:
    """The check for an object of this kind; `None` if there is none."""
    return _CHECKS.get((group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))))
