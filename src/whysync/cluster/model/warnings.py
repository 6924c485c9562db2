"""What the server lets pass but warns about.

Mirrors the warnings of Pod templates, Services, Secrets and a few more kinds, Kubernetes 1.36; the rarer
ones are left out.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Final

from whysync.cluster.model.kinds import Resource
from whysync.contracts.tree import Object, dig, fields, integer, items, text

_TEMPLATES: Final = {
    ("", "Pod"): (),
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_FORMATS: Final = frozenset(
    {
        "bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "double", "duration",
        "email", "float", "hexcolor", "hostname", "int32", "int64", "ipv4", "ipv6", "isbn", "isbn10",
        "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password", "rgbcolor", "ssn", "uri", "uuid",
        "uuid3", "uuid4", "uuid5",
    }
)  # fmt: skip
_LONGEST_LABEL: Final = 63


def warnings_about(obj: Object, resource: Resource) -> Iterator[str]:
    """For an object as it is about to be stored."""
    yield from _about_name(obj, resource)
    path = _TEMPLATES.get((resource.group, resource.kind))
    if path is not None:
        template = fields(dig(obj, *path)) if path else obj
        yield from _about_template(template, ".".join(path))
    match resource.kind:
        case "Service":
            yield from _about_service(fields(obj.get("spec")))
        case "Secret":
            yield from _about_secret(obj)
        case "CustomResourceDefinition":
            for version in items(dig(obj, "spec", "versions")):
                yield from _about_formats(fields(dig(version, "schema", "openAPIV3Schema")))
        case "CSIDriver":
            spec = fields(obj.get("spec"))
            if spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None:
                yield (
                    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to "
                    "true to prevent possible logging of tokens in volume attributes"
                )
        case _:
            pass


def _about_formats(schema: Object) -> Iterator[str]:
    """Formats that the server does not know are passed over, which it says."""
    known = text(schema.get("format"))
    if known and known not in _FORMATS:
        yield f'unrecognized format "{known}"'
    for inner in fields(schema.get("properties")).values():
        yield from _about_formats(fields(inner))
    for key in ("items", "additionalProperties"):
        yield from _about_formats(fields(schema.get(key))) if schema.get(key) else ()


def _about_name(obj: Object, resource: Resource) -> Iterator[str]:
    if (resource.group, resource.kind) not in _TEMPLATES or resource.kind in {"PodTemplate", "CronJob"}:
        return
    name = text(dig(obj, "metadata", "name"))
    if resource.kind in {"Deployment", "ReplicaSet", "DaemonSet", "ReplicationController"}:
        problems: list[str] = []
        if len(name) > _LONGEST_LABEL:
            problems.append("must be no more than 63 characters")
        if "." in name:
            problems.append(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
                "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
                "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            )
        if problems:
            yield (
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
                f"behavior; a DNS label is recommended: [{' '.join(problems)}]"
            )


def _about_template(template: Object, prefix: str) -> Iterator[str]:
    base = f"{prefix}." if prefix else ""
    spec = fields(template.get("spec"))
    for at, raw in enumerate(items(spec.get("topologySpreadConstraints"))):
        if fields(raw).get("labelSelector") is None:
            where = f"{base}spec.topologySpreadConstraints[{at}].labelSelector"
            yield f"{where}: a null labelSelector results in matching no pod"
    for key in sorted(fields(dig(template, "metadata", "annotations"))):
        if key.startswith(_APPARMOR):
            where = f"{base}metadata.annotations[{key}]"
            yield f'{where}: deprecated since v1.30; use the "appArmorProfile" field instead'
    for at, raw in enumerate(items(spec.get("volumes"))):
        for source, why in _OLD_VOLUMES.items():
            if source in fields(raw):
                yield f"{base}spec.volumes[{at}].{source}: {why}"
    for group in ("initContainers", "containers"):
        for at, raw in enumerate(items(spec.get(group))):
            yield from _about_container(fields(raw), f"{base}spec.{group}[{at}]")


def _about_container(container: Object, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for at, raw in enumerate(items(container.get("env"))):
        name = text(fields(raw).get("name"))
        if name in seen and f"$({name})" not in text(fields(raw).get("value")):
            why = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{at}]: {why}"
        seen.add(name)
    ports: dict[tuple[int, str, str, int], int] = {}
    for at, raw in enumerate(items(container.get("ports"))):
        port = fields(raw)
        key = (
            integer(port.get("containerPort")),
            text(port.get("protocol")),
            text(port.get("hostIP")),
            integer(port.get("hostPort")),
        )
        if key in ports:
            yield f"{path}.ports[{at}]: duplicate port definition with {path}.ports[{ports[key]}]"
        ports.setdefault(key, at)


def _about_service(spec: Object) -> Iterator[str]:
    if spec.get("externalIPs"):
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _about_secret(obj: Object) -> Iterator[str]:
    if obj.get("type") != "kubernetes.io/tls":
        return
    try:
        certificate = binascii.a2b_base64(text(dig(obj, "data", "tls.crt")))
    except (ValueError, binascii.Error):
        return
    if b"-----BEGIN" not in certificate:
        yield "tls: failed to find any PEM data in certificate input"
