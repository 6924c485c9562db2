"""The Pod template of a workload: its spec, labels and containers."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.api.manifest import Manifest

TEMPLATES = {
    "Pod": ("", ""),
    "Deployment": ("/spec/template", "apps"),
    "StatefulSet": ("/spec/template", "apps"),
    "DaemonSet": ("/spec/template", "apps"),
    "ReplicaSet": ("/spec/template", "apps"),
    "ReplicationController": ("/spec/template", ""),
    "Job": ("/spec/template", "batch"),
    "CronJob": ("/spec/jobTemplate/spec/template", "batch"),
    "Rollout": ("/spec/template", "argoproj.io"),
}


def template_at(manifest: Manifest) -> str | None:
    """The pointer of the Pod template; empty for other kinds."""
    entry = TEMPLATES.get(manifest.ref.kind)
    return entry[0] if entry is not None and entry[1] == manifest.ref.group else None


def pod_spec_of(manifest: Manifest) -> tuple[Object, str]:
    """The Pod spec and its pointer; an empty one for other kinds."""
    at = template_at(manifest)
    if at is None:
        return {}, ""
    return fields(manifest.at(f"{at}/spec")), f"{at}/spec"


def pod_labels_of(manifest: Manifest) -> Object:
    at = template_at(manifest)
    if at is None:
        return {}
    return fields(dig(fields(manifest.at(at) if at else manifest.body), "metadata", "labels"))


def containers_of(manifest: Manifest) -> Iterator[tuple[Object, str]]:
    spec, base = pod_spec_of(manifest)
    for group in ("initContainers", "containers"):
        for number, container in enumerate(items(spec.get(group))):
            yield fields(container), f"{base}/{group}/{number}"
