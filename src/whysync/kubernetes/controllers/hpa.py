"""The autoscaler of workloads: every fifteen seconds it asks the metrics, and writes the target's scale.

Mirrors the horizontal pod autoscaler controller of Kubernetes 1.36 for what the script says of the metrics;
where it says nothing, the metrics are at their target. Differs: of `behavior` only the windows and
`selectPolicy: Disabled` count.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil
from typing import Final, NamedTuple

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.conversion import AUTOSCALING_V1, AUTOSCALING_V2, autoscaler_in_version
from whysync.kubernetes.apiserver.label_selectors import selects
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

AUTOSCALERS: Final = ("autoscaling", "horizontalpodautoscalers")
_SYNC_SECONDS: Final = 15
_DOWNSCALE_WINDOW_SECONDS: Final = 300
_TOLERANCE: Final = 0.1
_COMPONENT: Final = "horizontal-pod-autoscaler"
_NO_METRICS_SERVER: Final = "the server could not find the requested resource (get pods.metrics.k8s.io)"


class _Recommendation(NamedTuple):
    """What the metrics ask for: a number, or why there is none."""

    replicas: int
    what: str
    metrics: list[Json]
    reason: str = ""
    error: str = ""
    """What could not be had."""
    first: str = ""
    """The same as the controller passes it on."""


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
        """A new one is looked at at once; a change waits for the next round."""
        if change.type != "MODIFIED":
            self.queue.add(change.place[1:])

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
        passed = (self.client.now - self._start).total_seconds()
        current_metrics = [
            metric
            for metric in self._behavior.metrics
            if (metric.namespace, metric.name) == key and metric.after_seconds <= passed
        ]
        return max(current_metrics, key=lambda metric: metric.after_seconds, default=None)

    def stabilize_recommendation(self, key: Key, wanted: int, seconds: int) -> int:
        """The highest advice of the last while."""
        now = self.client.now
        advice = [
            recommendation
            for recommendation in self._recommendations.get(key, [])
            if (now - recommendation[0]).total_seconds() <= seconds
        ]
        highest = max([wanted, *(number for _, number in advice)])
        self._recommendations[key] = [*advice, (now, wanted)]
        return highest


class _AutoscalerSync:
    """One look at one autoscaler."""

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
        path, problem = self._scale_path(target)
        answer = None if problem else self._client.api_server.send(Request(verb="get", path=path))
        if answer is None or not answer.ok or answer.body is None:
            why = problem or (text((answer.body or {}).get("message")) if answer else "")
            self._record_event("Warning", "FailedGetScale", why)
            message = f"the HPA controller was unable to get the target's current scale: {why}"
            self._set_condition("AbleToScale", "False", "FailedGetScale", message)
            self._write_status({})
            return
        message = "the HPA controller was able to get the target's current scale"
        self._set_condition("AbleToScale", "True", "SucceededGetScale", message)
        self._reconcile_scale(answer.body, path)

    def _scale_path(self, target: Object) -> tuple[str, str]:
        version, kind = text(target.get("apiVersion")), text(target.get("kind"))
        served = kind_of(self._client.api_server, version, kind)
        if served is None:
            return "", f'no matches for kind "{kind}" in group "{version.rpartition("/")[0]}"'
        return served.path(self._key[0], text(target.get("name")), "scale"), ""

    def _reconcile_scale(self, scale: Object, path: str) -> None:
        current = integer(dig(scale, "spec", "replicas"))
        least = integer(self._spec.get("minReplicas"), 1)
        most = integer(self._spec.get("maxReplicas"), 1)
        status: Object = {"currentReplicas": integer(dig(scale, "status", "replicas"))}
        reason, wanted = "", current
        if current == 0 and least:
            message = "scaling is disabled since the replica count of the target is zero"
            self._set_condition("ScalingActive", "False", "ScalingDisabled", message)
            wanted = 0
        elif current > most:
            reason, wanted = "Current number of replicas above Spec.MaxReplicas", most
        elif current < least:
            reason, wanted = "Current number of replicas below Spec.MinReplicas", least
        else:
            answer = self._compute_replicas_for_metrics(scale, current)
            status["currentMetrics"] = answer.metrics
            if answer.error:
                self._fail_metrics(answer, status)
                return
            message = f"the HPA was able to successfully calculate a replica count from {answer.what}"
            self._set_condition("ScalingActive", "True", "ValidMetricFound", message)
            wanted = self._normalize_desired_replicas(answer.replicas, current, least, most)
            if answer.replicas > current:
                reason = f"{answer.what} above target"
            elif answer.replicas < current:
                reason = "All metrics below target"
        if wanted != current and not self._rescale(scale, path, wanted, reason):
            self._write_status(status)
            return
        status["desiredReplicas"] = wanted
        if wanted != current:
            status["lastScaleTime"] = self._client.stamp()
        self._write_status(status)

    def _rescale(self, scale: Object, path: str, wanted: int, reason: str) -> bool:
        body: Object = {**scale, "spec": {**fields(scale.get("spec")), "replicas": wanted}}
        answer = self._client.api_server.send(
            Request(verb="update", path=path, body=body, manager=self._client.manager)
        )
        if not answer.ok:
            why = text((answer.body or {}).get("message")) or answer.text
            self._record_event(
                "Warning", "FailedRescale", f"New size: {wanted}; reason: {reason}; error: {why}"
            )
            message = f"the HPA controller was unable to update the target scale: {why}"
            self._set_condition("AbleToScale", "False", "FailedUpdateScale", message)
            return False
        message = f"the HPA controller was able to update the target scale to {wanted}"
        self._set_condition("AbleToScale", "True", "SucceededRescale", message)
        self._record_event("Normal", "SuccessfulRescale", f"New size: {wanted}; reason: {reason}")
        return True

    # -- metrics ----------------------------------------------------------------------------------

    def _compute_replicas_for_metrics(self, scale: Object, current: int) -> _Recommendation:
        wanted = self._owner.metric(self._key)
        spec = fields((items(self._spec.get("metrics")) or [{}])[0])
        resource = fields(spec.get("resource"))
        name = text(resource.get("name"), "cpu")
        what = f"{name} resource utilization (percentage of request)"
        target = dig(resource, "target", "averageUtilization")
        if spec.get("type") not in (None, "Resource") or not isinstance(target, int):
            what, target = _metric_description(spec, name), 0
        if wanted is not None and wanted.error:
            return self._metrics_error(name, wanted.error, spec)
        if wanted is None or wanted.utilization is not None:
            lack = self._missing_input(scale, name) if target else ""
            if lack:
                return self._metrics_error(name, lack, spec)
        use = target if wanted is None or wanted.utilization is None else wanted.utilization
        replicas = current
        if wanted is not None and wanted.replicas is not None:
            replicas = wanted.replicas
            use = round(target * replicas / max(current, 1))
        elif target and abs(use / target - 1) > _TOLERANCE:
            replicas = ceil(current * use / target)
        metrics: list[Json] = []
        if target:
            current_metric: Object = {"name": name, "current": {"averageUtilization": use}}
            metrics.append({"type": "Resource", "resource": current_metric})
        return _Recommendation(replicas, what, metrics)

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
        """Pods of the scale's selector, which is one line of text; only `key=value` pairs are read."""
        pairs = [part.partition("=") for part in selector.split(",") if "=" in part and " " not in part]
        labels: Object = {key: value for key, _, value in pairs}
        rules: Object = {"matchLabels": labels}
        return [
            pod
            for pod in self._client.list(PODS, self._key[0])
            if labels and not is_terminating(pod) and selects(rules, labels_of(pod))
        ]

    def _metrics_error(self, name: str, why: str, spec: Object) -> _Recommendation:
        if spec.get("type") not in (None, "Resource"):
            kind = text(spec.get("type"))
            message = f"unable to get {kind.lower()} metric: {why}"
            return _Recommendation(0, "", [], f"FailedGet{kind}Metric", message, message)
        if why == "no metrics server":
            why = f"unable to fetch metrics from resource metrics API: {_NO_METRICS_SERVER}"
        if "pods returned" not in why and not why.startswith("missing request"):
            why = f"unable to get metrics for resource {name}: {why}"
        message = f"failed to get {name} utilization: {why}"
        passed = f"failed to get {name} resource metric value: {message}"
        return _Recommendation(0, "", [], "FailedGetResourceMetric", message, passed)

    def _fail_metrics(self, answer: _Recommendation, status: Object) -> None:
        self._record_event("Warning", answer.reason, answer.error)
        message = f"the HPA was unable to compute the replica count: {answer.error}"
        self._set_condition("ScalingActive", "False", answer.reason, message)
        passed = f"invalid metrics (1 invalid out of 1), first error is: {answer.first}"
        self._record_event("Warning", "FailedComputeMetricsReplicas", passed)
        self._write_status(status)

    # -- limits -----------------------------------------------------------------------------------

    def _normalize_desired_replicas(self, wanted: int, current: int, least: int, most: int) -> int:
        down = fields(dig(self._spec, "behavior", "scaleDown"))
        window = integer(down.get("stabilizationWindowSeconds"), _DOWNSCALE_WINDOW_SECONDS)
        steady = self._owner.stabilize_recommendation(self._key, wanted, window)
        if wanted < current and steady > wanted:
            wanted = min(steady, current)
            message = "recent recommendations were higher than current one, applying the highest recent "
            self._set_condition("AbleToScale", "True", "ScaleDownStabilized", f"{message}recommendation")
        else:
            message = "recommended size matches current size"
            self._set_condition("AbleToScale", "True", "ReadyForNewScale", message)
        for side, moves in (("scaleDown", wanted < current), ("scaleUp", wanted > current)):
            if moves and dig(self._spec, "behavior", side, "selectPolicy") == "Disabled":
                wanted = current
        ceiling, reason, message = _calculate_scale_up_limit(current, most)
        if wanted < least:
            message = "the desired replica count is less than the minimum replica count"
            self._set_condition("ScalingLimited", "True", "TooFewReplicas", message)
            return least
        if wanted > ceiling:
            self._set_condition("ScalingLimited", "True", reason, message)
            return ceiling
        message = "the desired count is within the acceptable range"
        self._set_condition("ScalingLimited", "False", "DesiredWithinRange", message)
        return wanted

    # -- telling ----------------------------------------------------------------------------------

    def _set_condition(self, kind: str, status: str, reason: str, message: str) -> None:
        old = self._conditions.get(kind, {})
        moved = old.get("lastTransitionTime") if old.get("status") == status else self._client.stamp()
        self._conditions[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": moved,
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


def _calculate_scale_up_limit(current: int, most: int) -> tuple[int, str, str]:
    fastest = max(2 * current, 4)
    if most > fastest:
        message = "the desired replica count is increasing faster than the maximum scale rate"
        return fastest, "ScaleUpLimit", message
    return most, "TooManyReplicas", "the desired replica count is more than the maximum replica count"


def _metric_description(spec: Object, resource: str) -> str:
    kind = text(spec.get("type"))
    if kind in ("", "Resource"):
        return f"{resource} resource"
    source = fields(spec.get(kind[:1].lower() + kind[1:]))
    name = text(dig(source, "metric", "name"))
    return {"Pods": f"pods metric {name}", "External": f"external metric {name}(nil)"}.get(
        kind, f"{kind.lower()} metric {name}"
    )
