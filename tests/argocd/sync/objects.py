"""Small objects to sync."""

from __future__ import annotations

from whysync.json_tree import Json, Object

NAMESPACE = "shop"
HOOK = "argocd.argoproj.io/hook"
DELETE_POLICY = "argocd.argoproj.io/hook-delete-policy"
OPTIONS = "argocd.argoproj.io/sync-options"
WAVE = "argocd.argoproj.io/sync-wave"


def thing(name: str, kind: str = "ConfigMap", *, api_version: str = "v1", **annotations: Json) -> Object:
    """`thing("a", wave="1")`; an underscore stands for a hyphen."""
    meta: Object = {"name": name, "namespace": NAMESPACE}
    if annotations:
        names = {"wave": WAVE, "hook": HOOK, "policy": DELETE_POLICY, "options": OPTIONS}
        meta["annotations"] = {names[key]: value for key, value in annotations.items()}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def job(name: str, condition: str = "", *, message: str = "", hook: str = "PreSync", **more: Json) -> Object:
    """A hook; with a condition, it is over."""
    result = thing(name, "Job", api_version="batch/v1", hook=hook, **more)
    if condition:
        done: Object = {"type": condition, "status": "True", "message": message}
        result["status"] = {"conditions": [done]}
    return result


def deployment(name: str, *, ready: bool = True, **annotations: Json) -> Object:
    result = thing(name, "Deployment", api_version="apps/v1", **annotations)
    result["spec"] = {"replicas": 1, "template": {"spec": {"containers": [{"image": f"{name}:1"}]}}}
    count = 1 if ready else 0
    result["status"] = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": count}
    return result
