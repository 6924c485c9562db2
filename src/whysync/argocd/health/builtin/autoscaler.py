"""HorizontalPodAutoscaler. In version v1 the conditions hide as JSON in an annotation."""

from __future__ import annotations

import json
from typing import Final, cast

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import status_of
from whysync.argocd.health.builtin.typed import METADATA, GoCheck, conditions_shape
from whysync.argocd.health.problems import CannotJudge
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.hooks.annotations import annotations_of
from whysync.json_tree import Json, Object, fields, items, json_kind, text
from whysync.kubernetes.api.ref import version_of

_V1_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_WAITING: Final = HealthVerdict(HealthCode.PROGRESSING, "Waiting to Autoscale")

_FAILURES: Final = {
    ("AbleToScale", "FailedGetScale"),
    ("AbleToScale", "FailedUpdateScale"),
    ("ScalingActive", "FailedGetResourceMetric"),
    ("ScalingActive", "FailedGetObjectMetric"),
    ("ScalingActive", "FailedGetPodsMetric"),
    ("ScalingActive", "FailedGetExternalMetric"),
    ("ScalingActive", "FailedComputeMetricsReplicas"),
    ("ScalingActive", "InvalidSelector"),
}


def _judge(autoscaler: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getHPAHealth`, Argo CD 3.6."""
    if version_of(text(autoscaler.get("apiVersion"))) == "v1":
        found = _annotated_conditions(autoscaler)
    else:
        found = [fields(condition) for condition in items(status_of(autoscaler).get("conditions"))]
    for condition in found:
        if (condition.get("type"), condition.get("reason")) in _FAILURES:
            return HealthVerdict(HealthCode.DEGRADED, text(condition.get("message")))
    for condition in found:
        if condition.get("type") in ("AbleToScale", "ScalingLimited") and condition.get("status") == "True":
            return HealthVerdict(HealthCode.HEALTHY, text(condition.get("message")))
    return _WAITING


def _annotated_conditions(autoscaler: Object) -> list[Object]:
    annotation = annotations_of(autoscaler).get(_V1_CONDITIONS)
    if annotation is None:
        return []
    try:
        written = cast(Json, json.loads(annotation))
    except json.JSONDecodeError as problem:
        raise _unreadable(_as_go_says(annotation, problem.pos)) from None
    except RecursionError:
        raise _unreadable("exceeded max depth") from None
    if written is None:
        return []
    if not isinstance(written, list):
        raise _unreadable(
            f"json: cannot unmarshal {json_kind(written)} into Go value of type []health.hpaCondition"
        )
    return [_condition(item) for item in written]


def _condition(written: Json) -> Object:
    """Go matches the names of fields without regard to case."""
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise _unreadable(
            f"json: cannot unmarshal {json_kind(written)} into Go value of type health.hpaCondition"
        )
    condition: Object = {}
    for key, value in written.items():
        field = key.lower()
        if field not in ("type", "reason", "message", "status") or value is None:
            continue
        if not isinstance(value, str):
            where = f"Go struct field hpaCondition.{field.capitalize()} of type string"
            raise _unreadable(f"json: cannot unmarshal {json_kind(value)} into {where}")
        condition[field] = value
    return condition


def _unreadable(why: str) -> CannotJudge:
    return CannotJudge(f"failed to convert conditions annotation to typed: {why}")


def _as_go_says(annotation: str, position: int) -> str:
    if position >= len(annotation):
        return "unexpected end of JSON input"
    return f"invalid character '{annotation[position]}' looking for beginning of value"


HORIZONTAL_POD_AUTOSCALER = GoCheck(
    name="HPA",
    versions=("v1", "v2"),
    judge=_judge,
    shape={"metadata": METADATA, "status": {"conditions": conditions_shape("v2.HorizontalPodAutoscaler")}},
)
