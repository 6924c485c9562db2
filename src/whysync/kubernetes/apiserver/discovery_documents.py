"""Discovery: which groups, versions and kinds there are, and which server this is.

Mirrors the unaggregated discovery documents of Kubernetes 1.36. Everybody may read them. Differs: of the
subresources only `status` and `scale` are listed, as the model has no others.
"""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from typing import Final

from whysync.json_tree import Json, Object
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.discovery import Discovery, version_rank

_VERSION: Final[Object] = {
    "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
    "minCompatibilityMajor": "1", "minCompatibilityMinor": "35", "gitVersion": "v1.36.4",
    "gitCommit": "unknown", "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.26.6", "compiler": "gc", "platform": "linux/amd64",
}  # fmt: skip
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SHORT: Final = {
    "configmaps": "cm", "endpoints": "ep", "events": "ev", "limitranges": "limits", "namespaces": "ns",
    "nodes": "no", "persistentvolumeclaims": "pvc", "persistentvolumes": "pv", "pods": "po",
    "replicationcontrollers": "rc", "resourcequotas": "quota", "serviceaccounts": "sa", "services": "svc",
    "customresourcedefinitions": "crd crds", "daemonsets": "ds", "deployments": "deploy",
    "replicasets": "rs", "statefulsets": "sts", "horizontalpodautoscalers": "hpa", "cronjobs": "cj",
    "certificatesigningrequests": "csr", "ingresses": "ing", "networkpolicies": "netpol",
    "poddisruptionbudgets": "pdb", "priorityclasses": "pc", "storageclasses": "sc", "ipaddresses": "ip",
    "volumeattributesclasses": "vac",
}  # fmt: skip
_IN_ALL: Final = frozenset(
    {
        "pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets",
        "statefulsets", "horizontalpodautoscalers", "cronjobs", "jobs",
    }
)  # fmt: skip
_IN_EXTENSIONS: Final = frozenset(
    {
        "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies",
        "mutatingadmissionpolicies", "apiservices",
    }
)  # fmt: skip


def document(path: str, discovery: Discovery) -> Object | None:
    """The discovery document at a path; `None` if the path has none."""
    parts = [segment for segment in path.partition("?")[0].split("/") if segment]
    match parts:
        case ["version"]:
            return dict(_VERSION)
        case ["api"]:
            address: Json = {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}
        case ["apis"]:
            groups: list[Json] = [_group(name, discovery) for name in _groups(discovery)]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", name] if name in _groups(discovery):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, discovery)}
        case ["api", version]:
            return _resources(version, discovery)
        case ["apis", group, version]:
            return _resources(f"{group}/{version}", discovery)
        case _:
            return None


def _groups(discovery: Discovery) -> list[str]:
    return list(dict.fromkeys(resource.group for resource in discovery.kinds() if resource.group))


def _group(name: str, discovery: Discovery) -> Object:
    group_versions = dict.fromkeys(
        resource.version for resource in discovery.kinds() if resource.group == name
    )
    versions: list[Json] = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in sorted(group_versions, key=version_rank, reverse=True)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(api_version: str, discovery: Discovery) -> Object | None:
    served = [resource for resource in discovery.kinds() if resource.api_version == api_version]
    if not served:
        return None
    listed: list[Json] = []
    for resource in sorted(served, key=lambda resource: resource.plural):
        listed.append(_resource(resource))
        if resource.scale:
            listed.append(
                {
                    **_subresource(resource, "scale"),
                    "group": "autoscaling",
                    "version": "v1",
                    "kind": "Scale",
                }
            )
        if resource.status:
            listed.append(_subresource(resource, "status"))
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": listed,
    }


def _resource(resource: Resource) -> Object:
    document: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(_VERBS) if resource.kept else ["create"],
    }
    if resource.custom:
        return {**document, "storageVersionHash": _hash(resource)}
    short = _SHORT.get(resource.plural, "").split()
    if short:
        document["shortNames"] = [*short]
    if resource.plural in _IN_ALL:
        document["categories"] = ["all"]
    elif resource.plural in _IN_EXTENSIONS:
        document["categories"] = ["api-extensions"]
    if resource.kept:
        document["storageVersionHash"] = _hash(resource)
    return document


def _subresource(resource: Resource, name: str) -> Object:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": ["get", "patch", "update"],
    }


def _hash(resource: Resource) -> str:
    identity = f"{resource.group}/{resource.version}/{resource.kind}"
    return b2a_base64(hashlib.sha256(identity.encode()).digest()[:8], newline=False).decode()
