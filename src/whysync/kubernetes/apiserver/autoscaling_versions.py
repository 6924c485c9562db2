"""Autoscalers in their two versions. What `autoscaling/v1` has no field for goes into annotations there.

Mirrors the conversions of `HorizontalPodAutoscaler`, Kubernetes 1.36. Differs: only the share of CPU is
carried over as a metric; other metrics and the behavior are not written to annotations.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items

V1: Final = "autoscaling/v1"
V2: Final = "autoscaling/v2"
_PERCENT: Final = "targetCPUUtilizationPercentage"
_USUAL: Final = 80


def in_version(obj: Object, api_version: str) -> Object:
    """The autoscaler as the other version writes it."""
    spec = dict(fields(obj.get("spec")))
    if api_version == V1:
        percent = _cpu_share(items(spec.pop("metrics", None)))
        spec.pop("behavior", None)
        if percent is not None:
            spec[_PERCENT] = percent
    else:
        percent = integer(spec.pop(_PERCENT, None), _USUAL)
        target: Json = {"type": "Utilization", "averageUtilization": percent}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return {**obj, "apiVersion": api_version, "spec": spec}


def with_usual_share(obj: Object) -> Object:
    """An autoscaler without metrics watches the CPU."""
    spec = fields(obj.get("spec"))
    if spec.get(_PERCENT) is not None:
        return obj
    filled: Object = {**spec, _PERCENT: _USUAL}
    return {**obj, "spec": filled}


def _cpu_share(metrics: list[Json]) -> int | None:
    for raw in metrics:
        resource = fields(fields(raw).get("resource"))
        share = dig(resource, "target", "averageUtilization")
        if resource.get("name") == "cpu" and isinstance(share, int):
            return share
    return None
