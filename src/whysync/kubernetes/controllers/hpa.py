"""HorizontalPodAutoscaler controller: reads metrics every 15 seconds and updates the scale of the target.

Mirrors the controller of Kubernetes 1.36 for the metrics in `Behavior.metrics`; other metrics are at their
target. Differs: of `spec.behavior`, only the windows and `selectPolicy: Disabled` have an effect.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.conversion import AUTOSCALING_V1, AUTOSCALING_V2, autoscaler_in_version
from whysync.kubernetes.apiserver.protocol import Request, kind_of
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.behavior import Behavior, Metric
from whysync.kubernetes.controllers.client import (
    PODS,
    Client,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.validation.selectors import selects

AUTOSCALERS: Final = ("autoscaling", "horizontalpodautoscalers")
_SYNC_SECONDS: Final = 15
_DOWNSCALE_WINDOW_SECONDS: Final = 300
_COMPONENT: Final = "horizontal-pod-autoscaler"


class _Recommendation(NamedTuple):
    """The replica count that the metrics recommend, or the error why there is none."""

    replicas: int
    metric: str
    metrics: list[Json]
    error: str = ""
    wrapped_error: str = ""
    """The error as it is wrapped in the event FailedComputeMetricsReplicas."""


class HorizontalController(QueueController):
    name = "horizontalpodautoscaler"
    main = AUTOSCALERS

    def __init__(self, client: Client, behavior: Behavior) -> None:
        super().__init__(client)
        self._behavior = behavior
        self._start = client.now
        self._next: dict[Key, datetime] = {}
        self._recommendations: dict[Key, list[tuple[datetime, int]]] = {}

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({AUTOSCALERS})

    def on_event(self, change: Change) -> None:
        """A new autoscaler is synced at once; a changed one at its next interval."""
        if change.type != "MODIFIED":
            self.queue.add(change.object_key[1:])

    def forget(self, key: Key) -> None:
        self._recommendations.pop(key, None)
        self._next.pop(key, None)

    def sync(self, obj: Object) -> None:
        if is_terminating(obj):
            return
        key = (namespace_of(obj), name_of(obj))
        if self._next.get(key, self.client.now) > self.client.now:
            return
        self._next[key] = self.client.now + timedelta(seconds=_SYNC_SECONDS)
        self.enqueue_at(obj, self._next[key])
        _AutoscalerSync(self, obj, key).reconcile_autoscaler()

    def metric(self, key: Key) -> Metric | None:
        """The current metric of the autoscaler, from the behavior."""
        elapsed = (self.client.now - self._start).total_seconds()
        current_metrics = [
            metric
            for metric in self._behavior.metrics
            if (metric.namespace, metric.name) == key and metric.after_seconds <= elapsed
        ]
        return max(current_metrics, key=lambda metric: metric.after_seconds, default=None)

    def stabilize_recommendation(self, key: Key, recommended: int, seconds: int) -> int:
        """The highest recommendation within the stabilization window."""
        now = self.client.now
        recent = [
            recommendation
            for recommendation in self._recommendations.get(key, [])
            if (now - recommendation[0]).total_seconds() <= seconds
        ]
        stabilized = max([recommended, *(number for _, number in recent)])
        self._recommendations[key] = [*recent, (now, recommended)]
        return stabilized


class _AutoscalerSync:
    """One sync of an autoscaler."""

    def __init__(self, owner: HorizontalController, obj: Object, key: Key) -> None:
        self._owner = owner
        self._client: Client = owner.client
        self._obj = obj
        self._key = key
        self._spec = fields(
            (
                autoscaler_in_version(obj, AUTOSCALING_V2) if obj.get("apiVersion") == AUTOSCALING_V1 else obj
            ).get("spec")
        )
        self._conditions = {
            text(fields(raw).get("type")): fields(raw) for raw in items(dig(obj, "status", "conditions"))
        }

    def reconcile_autoscaler(self) -> None:
        target = fields(self._spec.get("scaleTargetRef"))
        path, error = self._scale_path(target)
        response = None if error else self._client.api_server.send(Request(verb="get", path=path))
        if response is None or not response.ok or response.body is None:
            reason = error or (text((response.body or {}).get("message")) if response else "")
            self._record_event("Warning", "FailedGetScale", reason)
            message = f"the HPA controller was unable to get the target's current scale: {reason}"
            self._set_condition("AbleToScale", "False", "FailedGetScale", message)
            self._write_status({})
            return
        message = "the HPA controller was able to get the target's current scale"
        self._set_condition("AbleToScale", "True", "SucceededGetScale", message)
        self._reconcile_scale(response.body, path)

    def _scale_path(self, target: Object) -> tuple[str, str]:
        version, kind = text(target.get("apiVersion")), text(target.get("kind"))
        served = kind_of(self._client.api_server, version, kind)
        if served is None:
            return "", f'no matches for kind "{kind}" in group "{version.rpartition("/")[0]}"'
        return served.path(self._key[0], text(target.get("name")), "scale"), ""

    def _reconcile_scale(self, scale: Object, path: str) -> None:
        current = integer(dig(scale, "spec", "replicas"))
        min_replicas = integer(self._spec.get("minReplicas"), 1)
        max_replicas = integer(self._spec.get("maxReplicas"), 1)
        status: Object = {"currentReplicas": integer(dig(scale, "status", "replicas"))}
        reason, desired = "", current
        if current == 0 and min_replicas:
            message = "scaling is disabled since the replica count of the target is zero"
            self._set_condition("ScalingActive", "False", "ScalingDisabled", message)
            desired = 0
        elif current > max_replicas:
            reason, desired = "Current number of replicas above Spec.MaxReplicas", max_replicas
        elif current < min_replicas:
            reason, desired = "Current number of replicas below Spec.MinReplicas", min_replicas
        else:
            recommendation = self._compute_replicas_for_metrics(scale, current)
            status["currentMetrics"] = recommendation.metrics
            if recommendation.error:
                self._fail_metrics(recommendation, status)
                return
            message = (
                f"the HPA was able to successfully calculate a replica count from {recommendation.metric}"
            )
            self._set_condition("ScalingActive", "True", "ValidMetricFound", message)
            desired = self._normalize_desired_replicas(
                recommendation.replicas, current, min_replicas, max_replicas
            )
            if recommendation.replicas > current:
                reason = f"{recommendation.metric} above target"
            elif recommendation.replicas < current:
                reason = "All metrics below target"
        if desired != current and not self._rescale(scale, path, desired, reason):
            self._write_status(status)
            return
        status["desiredReplicas"] = desired
        if desired != current:
            status["lastScaleTime"] = self._client.stamp()
        self._write_status(status)

    def _rescale(self, scale: Object, path: str, desired: int, reason: str) -> bool:
        body: Object = {**scale, "spec": {**fields(scale.get("spec")), "replicas": desired}}
        response = self._client.api_server.send(
            Request(verb="update", path=path, body=body, manager=self._client.manager)
        )
        if not response.ok:
            error = text((response.body or {}).get("message")) or response.text
            self._record_event(
                "Warning", "FailedRescale", f"New size: {desired}; reason: {reason}; error: {error}"
            )
            message = f"the HPA controller was unable to update the target scale: {error}"
            self._set_condition("AbleToScale", "False", "FailedUpdateScale", message)
            return False
        message = f"the HPA controller was able to update the target scale to {desired}"
        self._set_condition("AbleToScale", "True", "SucceededRescale", message)
        self._record_event("Normal", "SuccessfulRescale", f"New size: {desired}; reason: {reason}")
        return True

    # -- metrics ----------------------------------------------------------------------------------

    def _compute_replicas_for_metrics(self, scale: Object, current: int) -> _Recommendation:
        metric = self._owner.metric(self._key)
        spec = fields((items(self._spec.get("metrics")) or [{}])[0])
        resource = fields(spec.get("resource"))
        name = text(resource.get("name"), "cpu")
        description = f"{name} resource utilization (percentage of request)"
        target = dig(resource, "target", "averageUtilization")
        if spec.get("type") not in (None, "Resource") or not isinstance(target, int):
            description, target = _metric_description(spec, name), 0
        replicas, utilization = current, target
        if metric is not None:
            replicas = metric.replicas
            utilization = round(target * replicas / max(current, 1))
        elif target and (missing := self._missing_input(scale, name)):
            error = f"failed to get {name} utilization: {missing}"
            wrapped_error = f"failed to get {name} resource metric value: {error}"
            return _Recommendation(0, description, [], error, wrapped_error)
        metrics: list[Json] = []
        if target:
            current_metric: Object = {"name": name, "current": {"averageUtilization": utilization}}
            metrics.append({"type": "Resource", "resource": current_metric})
        return _Recommendation(replicas, description, metrics)

    def _missing_input(self, scale: Object, name: str) -> str:
        """Why the utilization cannot be computed from the pods alone."""
        selector = dig(scale, "status", "selector")
        pods = self._selected_pods(text(selector))
        if not pods:
            return "no pods returned by selector while calculating replica count"
        for pod in pods:
            for raw in items(dig(pod, "spec", "containers")):
                if name not in fields(dig(raw, "resources", "requests")):
                    container = text(fields(raw).get("name"))
                    return f"missing request for {name} in container {container} of Pod {name_of(pod)}"
        return ""

    def _selected_pods(self, selector: str) -> list[Object]:
        """Pods that match the selector of the scale; only its `key=value` pairs are read."""
        pairs = [pair.partition("=") for pair in selector.split(",") if "=" in pair and " " not in pair]
        labels: Object = {key: value for key, _, value in pairs}
        label_selector: Object = {"matchLabels": labels}
        return [
            pod
            for pod in self._client.list(PODS, self._key[0])
            if labels and not is_terminating(pod) and selects(label_selector, labels_of(pod))
        ]

    def _fail_metrics(self, recommendation: _Recommendation, status: Object) -> None:
        self._record_event("Warning", "FailedGetResourceMetric", recommendation.error)
        message = f"the HPA was unable to compute the replica count: {recommendation.error}"
        self._set_condition("ScalingActive", "False", "FailedGetResourceMetric", message)
        combined = f"invalid metrics (1 invalid out of 1), first error is: {recommendation.wrapped_error}"
        self._record_event("Warning", "FailedComputeMetricsReplicas", combined)
        self._write_status(status)

    # -- limits -----------------------------------------------------------------------------------

    def _normalize_desired_replicas(
        self, desired: int, current: int, min_replicas: int, max_replicas: int
    ) -> int:
        scale_down = fields(dig(self._spec, "behavior", "scaleDown"))
        window = integer(scale_down.get("stabilizationWindowSeconds"), _DOWNSCALE_WINDOW_SECONDS)
        stabilized = self._owner.stabilize_recommendation(self._key, desired, window)
        if desired < current and stabilized > desired:
            desired = min(stabilized, current)
            message = "recent recommendations were higher than current one, applying the highest recent "
            self._set_condition("AbleToScale", "True", "ScaleDownStabilized", f"{message}recommendation")
        else:
            message = "recommended size matches current size"
            self._set_condition("AbleToScale", "True", "ReadyForNewScale", message)
        for side, applies in (("scaleDown", desired < current), ("scaleUp", desired > current)):
            if applies and dig(self._spec, "behavior", side, "selectPolicy") == "Disabled":
                desired = current
        limit, reason, message = _calculate_scale_up_limit(current, max_replicas)
        if desired < min_replicas:
            message = "the desired replica count is less than the minimum replica count"
            self._set_condition("ScalingLimited", "True", "TooFewReplicas", message)
            return min_replicas
        if desired > limit:
            self._set_condition("ScalingLimited", "True", reason, message)
            return limit
        message = "the desired count is within the acceptable range"
        self._set_condition("ScalingLimited", "False", "DesiredWithinRange", message)
        return desired

    # -- status and events ------------------------------------------------------------------------

    def _set_condition(self, kind: str, status: str, reason: str, message: str) -> None:
        old = self._conditions.get(kind, {})
        since = old.get("lastTransitionTime") if old.get("status") == status else self._client.stamp()
        self._conditions[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }

    def _record_event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)

    def _write_status(self, changes: Object) -> None:
        status = fields(self._obj.get("status"))
        conditions: list[Json] = list(self._conditions.values())
        new: Object = {**status, **changes, "conditions": conditions}
        new.setdefault("desiredReplicas", 0)
        new.setdefault("currentReplicas", 0)
        if not new.get("currentMetrics"):
            new["currentMetrics"] = None
        generation = dig(self._obj, "metadata", "generation")
        if isinstance(generation, int):
            new["observedGeneration"] = generation
        self._client.update_status(self._obj, new)


def _calculate_scale_up_limit(current: int, max_replicas: int) -> tuple[int, str, str]:
    rate_limit = max(2 * current, 4)
    if max_replicas > rate_limit:
        message = "the desired replica count is increasing faster than the maximum scale rate"
        return rate_limit, "ScaleUpLimit", message
    return max_replicas, "TooManyReplicas", "the desired replica count is more than the maximum replica count"


def _metric_description(spec: Object, resource: str) -> str:
    kind = text(spec.get("type"))
    if kind in ("", "Resource"):
        return f"{resource} resource"
    source = fields(spec.get(kind[:1].lower() + kind[1:]))
    name = text(dig(source, "metric", "name"))
    return {"Pods": f"pods metric {name}", "External": f"external metric {name}(nil)"}.get(
        kind, f"{kind.lower()} metric {name}"
    )
