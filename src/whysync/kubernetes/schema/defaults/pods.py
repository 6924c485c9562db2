"""Defaults of Pods, containers, volumes and probes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.schema.defaults.registry import fill, fills, own

_MODE: Final = 0o644
_VOLUME_SOURCES: Final = frozenset({"name"})
_PATH: Final = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_TAG: Final = re.compile(r"\w[\w.-]{0,127}")


@lru_cache(maxsize=4096)
def _is_latest(image: str) -> bool:
    """Does the reference mean `latest`? One that cannot be parsed means nothing."""
    name, _, digest = image.partition("@")
    head, slash, tail = name.rpartition("/")
    tail, colon, tag = tail.partition(":")
    domain, has_path, path = (head + slash + tail).partition("/")
    if not has_path or not (
        "." in domain or ":" in domain or domain == "localhost" or domain.lower() != domain
    ):
        path = head + slash + tail
    if not _PATH.fullmatch(path) or (colon and not _TAG.fullmatch(tag)):
        return False
    return tag == "latest" or not (tag or digest)


def _pull_policy(image: Json) -> str:
    return "Always" if _is_latest(text(image)) else "IfNotPresent"


@fills("core/v1.Container", "core/v1.EphemeralContainer")
def container(obj: Object) -> None:
    if not obj.get("imagePullPolicy"):
        obj["imagePullPolicy"] = _pull_policy(obj.get("image"))
    fill(obj, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")


@fills("core/v1.PodSpec")
def pod_spec(obj: Object) -> None:
    fill(
        obj,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        securityContext={},
        terminationGracePeriodSeconds=30,
        schedulerName="default-scheduler",
    )


@fills("core/v1.Pod")
def pod(obj: Object) -> None:
    """What only a Pod of its own gets, not the template in a workload."""
    spec = own(obj, "spec")
    for group in ("containers", "initContainers"):
        if group in spec:
            spec[group] = [_with_requests(item) for item in items(spec[group])]
    fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork"):
        for group in ("containers", "initContainers"):
            if group in spec:
                spec[group] = [_with_host_ports(item) for item in items(spec[group])]


def _with_requests(item: Json) -> Json:
    """Limits without requests are requests."""
    resources = fields(fields(item).get("resources"))
    limits = resources.get("limits")
    if not isinstance(limits, dict):
        return item
    requests: Object = {**limits, **fields(resources.get("requests"))}
    return {**fields(item), "resources": {**resources, "requests": requests}}


def _with_host_ports(item: Json) -> Json:
    if "ports" not in fields(item):
        return item
    ports: list[Json] = [
        port
        if fields(port).get("hostPort")
        else {**fields(port), "hostPort": fields(port).get("containerPort")}
        for port in items(fields(item)["ports"])
    ]
    return {**fields(item), "ports": ports}


@fills("core/v1.Volume")
def volume(obj: Object) -> None:
    if not any(value is not None for key, value in obj.items() if key not in _VOLUME_SOURCES):
        obj["emptyDir"] = {}
    image = obj.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        obj["image"] = {**image, "pullPolicy": _pull_policy(image.get("reference"))}


@fills("core/v1.Probe")
def probe(obj: Object) -> None:
    for key, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not obj.get(key):
            obj[key] = value


@fills("core/v1.HTTPGetAction")
def http_get(obj: Object) -> None:
    fill(obj, path="/", scheme="HTTP")


@fills("core/v1.ObjectFieldSelector")
def field_selector(obj: Object) -> None:
    fill(obj, apiVersion="v1")


@fills(
    "core/v1.SecretVolumeSource",
    "core/v1.ConfigMapVolumeSource",
    "core/v1.DownwardAPIVolumeSource",
    "core/v1.ProjectedVolumeSource",
)
def files_volume(obj: Object) -> None:
    fill(obj, defaultMode=_MODE)


@fills("core/v1.ServiceAccountTokenProjection")
def token(obj: Object) -> None:
    fill(obj, expirationSeconds=3600)


@fills("core/v1.HostPathVolumeSource")
def host_path(obj: Object) -> None:
    if obj.get("type") is None:
        obj["type"] = ""


@fills("core/v1.PersistentVolumeClaim")
def claim(obj: Object) -> None:
    fill(own(obj, "status"), phase="Pending")


@fills("core/v1.PersistentVolumeClaimSpec")
def claim_spec(obj: Object) -> None:
    fill(obj, volumeMode="Filesystem")


@fills("core/v1.PersistentVolume")
def persistent_volume(obj: Object) -> None:
    fill(own(obj, "status"), phase="Pending")
    fill(own(obj, "spec"), persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
