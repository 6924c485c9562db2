"""What the server lets pass but warns about.

Mirrors `WarningsOnCreate` and `WarningsOnUpdate` of the registry, Kubernetes 1.36; the rarer ones are left
out. Those of Pods and their templates are in `pod_warnings`.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.pod_warnings import about_claim, about_template, about_terms

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
_FORMATS: Final = frozenset(
    {
        "bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "double", "duration",
        "email", "float", "hexcolor", "hostname", "int32", "int64", "ipv4", "ipv6", "isbn", "isbn10",
        "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password", "rgbcolor", "ssn", "uri", "uuid",
        "uuid3", "uuid4", "uuid5",
    }
)  # fmt: skip
_LONGEST_LABEL: Final = 63
_NAMING: Final = frozenset({"Pod", "Deployment", "ReplicaSet", "ReplicationController", "Job", "CronJob"})
_OLD_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_OLD_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_OLD_MOUNTS: Final = "volume.beta.kubernetes.io/mount-options"
_OLD_ANNOTATIONS: Final = {
    _OLD_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    _OLD_MOUNTS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}


def warnings_about(obj: Object, resource: Resource, *, old: Object | None = None) -> Iterator[str]:
    """For an object as it is about to be stored; `old` is what it replaces."""
    if old is None:
        yield from _about_name(obj, resource)
    path = _TEMPLATES.get((resource.group, resource.kind))
    if path is not None and (old is None or (path and _newly_specified(obj, old, resource))):
        template = fields(dig(obj, *path)) if path else obj
        yield from about_template(template, ".".join(path))
    annotations = fields(dig(obj, "metadata", "annotations"))
    spec = fields(obj.get("spec"))
    match resource.kind:
        case "Service":
            yield from _about_service(spec, annotations)
        case "Ingress":
            if old is None and _OLD_INGRESS_CLASS in annotations and not spec.get("ingressClassName"):
                instead = "please use 'spec.ingressClassName' instead"
                yield f'annotation "{_OLD_INGRESS_CLASS}" is deprecated, {instead}'
        case "PersistentVolumeClaim":
            yield from _about_annotations(annotations, _OLD_CLASS)
            yield from about_claim(spec, "spec")
        case "PersistentVolume":
            yield from _about_annotations(annotations, _OLD_CLASS, _OLD_MOUNTS)
            if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
                yield (
                    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
                    "the recommended approach is to use dynamic provisioning."
                )
            terms = items(dig(spec, "nodeAffinity", "required", "nodeSelectorTerms"))
            yield from about_terms(terms, "spec.nodeAffinity.required.nodeSelectorTerms")
        case "StatefulSet":
            yield from _about_claims(spec, "" if old is None else ".Spec")
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


def _newly_specified(obj: Object, old: Object, resource: Resource) -> bool:
    """Templates are looked at again only when something of the spec changes (a DaemonSet: its template)."""
    if resource.kind == "DaemonSet":
        return dig(obj, "spec", "template") != dig(old, "spec", "template")
    return obj.get("spec") != old.get("spec")


def _about_annotations(annotations: Object, *known: str) -> Iterator[str]:
    for key in known:
        if key in annotations:
            yield f"metadata.annotations[{key}]: {_OLD_ANNOTATIONS[key]}"


def _about_claims(spec: Object, inner: str) -> Iterator[str]:
    """Of a StatefulSet; the path on an update is upstream's own slip."""
    for at, raw in enumerate(items(spec.get("volumeClaimTemplates"))):
        yield from about_claim(fields(fields(raw).get("spec")), f"spec.volumeClaimTemplates[{at}]{inner}")
    limit = spec.get("revisionHistoryLimit")
    if isinstance(limit, int) and limit < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
            "recommended"
        )


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
    """Of what gives its name to Pods, which make a host name of it."""
    if resource.kind not in _NAMING or resource.group not in {"", "apps", "batch"}:
        return
    name = text(dig(obj, "metadata", "name"))
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
        used = "the Pod's hostname" if resource.kind == "Pod" else "Pod names and hostnames"
        yield (
            f"metadata.name: this is used in {used}, which can result in surprising "
            f"behavior; a DNS label is recommended: [{' '.join(problems)}]"
        )


def _about_service(spec: Object, annotations: Object) -> Iterator[str]:
    if _OLD_HINTS in annotations:
        yield f"annotation {_OLD_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
    kind = spec.get("type")
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    if spec.get("externalIPs") and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("externalIPs") and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and kind != "ExternalName":
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
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
