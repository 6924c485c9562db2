"""An API server made of a list of objects: discovery, lists in pages, selectors, logs, who may read what."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.facts.http.faulty import FakeRequest, FakeResponse, json_response
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.api.ref import group_of, version_of

KINDS: dict[str, tuple[str, bool]] = {
    "v1/Namespace": ("namespaces", False),
    "v1/Node": ("nodes", False),
    "v1/PersistentVolume": ("persistentvolumes", False),
    "v1/Pod": ("pods", True),
    "v1/Service": ("services", True),
    "v1/ConfigMap": ("configmaps", True),
    "v1/Secret": ("secrets", True),
    "v1/ServiceAccount": ("serviceaccounts", True),
    "v1/PersistentVolumeClaim": ("persistentvolumeclaims", True),
    "v1/ResourceQuota": ("resourcequotas", True),
    "v1/LimitRange": ("limitranges", True),
    "v1/Event": ("events", True),
    "apps/v1/Deployment": ("deployments", True),
    "apps/v1/ReplicaSet": ("replicasets", True),
    "apps/v1/StatefulSet": ("statefulsets", True),
    "apps/v1/DaemonSet": ("daemonsets", True),
    "batch/v1/Job": ("jobs", True),
    "autoscaling/v2/HorizontalPodAutoscaler": ("horizontalpodautoscalers", True),
    "storage.k8s.io/v1/StorageClass": ("storageclasses", False),
    "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": ("mutatingwebhookconfigurations", False),
    "apiextensions.k8s.io/v1/CustomResourceDefinition": ("customresourcedefinitions", False),
    "argoproj.io/v1alpha1/Application": ("applications", True),
    "argoproj.io/v1alpha1/AppProject": ("appprojects", True),
    "argoproj.io/v1alpha1/ApplicationSet": ("applicationsets", True),
    "cert-manager.io/v1/Certificate": ("certificates", True),
    "cert-manager.io/v1/CertificateRequest": ("certificaterequests", True),
    "cert-manager.io/v1/ClusterIssuer": ("clusterissuers", False),
    "kyverno.io/v1/ClusterPolicy": ("clusterpolicies", False),
    "storage.k8s.io/v1/VolumeAttachment": ("volumeattachments", False),
}
DATE = "Mon, 02 Mar 2026 03:27:00 GMT"


class FakeApi:
    """`forbidden(plural, namespace)` refuses; `page` is the largest page that it gives."""

    def __init__(
        self,
        objects: Iterable[Object],
        *,
        forbidden: Callable[[str, str], bool] | None = None,
        aggregated: bool = True,
        page: int = 1000,
        logs: dict[str, str] | None = None,
        hidden_groups: tuple[str, ...] = (),
    ) -> None:
        self.kinds = {
            name: value
            for name, value in KINDS.items()
            if group_of(name.rpartition("/")[0]) not in hidden_groups
        }
        self.objects = list(objects)
        self.forbidden = forbidden or _nothing
        self.aggregated = aggregated
        self.page = page
        self.logs = logs or {}
        self.paths: list[str] = []

    def __call__(self, request: FakeRequest) -> FakeResponse:
        self.paths.append(request.target)
        url = urlsplit(request.target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        answer = self._answer(unquote(url.path), query, request)
        return FakeResponse(answer.status, answer.body, {**answer.headers, "Date": DATE}, answer.how)

    def _answer(self, path: str, query: dict[str, str], request: FakeRequest) -> FakeResponse:
        if path in ("/api", "/apis"):
            return self._discovery(path, request)
        if path == "/version":
            return json_response({"gitVersion": "v1.36.4", "major": "1", "minor": "36"})
        parts = path.strip("/").split("/")
        root = 2 if parts[0] == "api" else 3
        group = "" if parts[0] == "api" else parts[1]
        version, rest = parts[root - 1], parts[root:]
        if not rest:
            return json_response(self._resources(group, version))
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, name = rest[0], rest[1] if len(rest) > 1 else ""
        if rest[2:] == ["log"]:
            return self._log(namespace, name, query)
        if self.forbidden(plural, namespace):
            verb = "get" if name else "list"
            scope = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            message = f'{plural} is forbidden: User "me" cannot {verb} resource "{plural}" {scope}'
            return _failure(403, message)
        if name:
            result = [item for item in self._listed(group, plural, namespace) if _name(item) == name]
            return json_response(result[0]) if result else _failure(404, f'{plural} "{name}" not found')
        return self._list(group, version, plural, namespace, query)

    def _list(
        self, group: str, version: str, plural: str, namespace: str, query: dict[str, str]
    ) -> FakeResponse:
        result = [item for item in self._listed(group, plural, namespace) if _matches(item, query)]
        start = int(query.get("continue", "0"))
        size = min(int(query.get("limit", "0")) or 10**9, self.page if query.get("limit") else 10**9)
        bodies = [{key: item[key] for key in item if key not in ("kind", "apiVersion")} for item in result]
        meta: Object = {"resourceVersion": "7"}
        if start + size < len(result):
            meta["continue"] = str(start + size)
        kind = f"{group}/{version}" if group else version
        shown: list[Json] = [*bodies[start : start + size]]
        return json_response({"kind": "List", "apiVersion": kind, "metadata": meta, "items": shown})

    def _listed(self, group: str, plural: str, namespace: str) -> list[Object]:
        return [
            obj
            for obj in self.objects
            if group_of(text(obj.get("apiVersion"))) == group
            and _plural(obj) == plural
            and (not namespace or dig(obj, "metadata", "namespace") == namespace)
        ]

    def _log(self, namespace: str, pod: str, query: dict[str, str]) -> FakeResponse:
        if self.forbidden("pods/log", namespace):
            return _failure(403, 'pods "x" is forbidden: User "me" cannot get resource "pods/log"')
        end = ".previous" if query.get("previous") else ""
        written = self.logs.get(f"{pod}/{query['container']}{end}")
        if written is None:
            return _failure(400, "previous terminated container not found")
        return FakeResponse(200, written.encode())

    # Discovery

    def _discovery(self, path: str, request: FakeRequest) -> FakeResponse:
        grouped: dict[str, dict[str, list[Json]]] = {}
        for name, (plural, namespaced) in self.kinds.items():
            api_version, _, kind = name.rpartition("/")
            resource: Json = {
                "resource": plural,
                "responseKind": {"kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
                "verbs": ["get", "list"],
            }
            versions = grouped.setdefault(group_of(api_version), {})
            versions.setdefault(version_of(api_version), []).append(resource)
        if self.aggregated and "APIGroupDiscoveryList" in request.headers["accept"]:
            groups: list[Json] = [
                {
                    "metadata": {"name": group},
                    "versions": [
                        {"version": version, "freshness": "Current", "resources": resources}
                        for version, resources in versions.items()
                    ],
                }
                for group, versions in grouped.items()
                if bool(group) == (path == "/apis")
            ]
            return json_response({"kind": "APIGroupDiscoveryList", "items": groups})
        if path == "/api":
            return json_response({"kind": "APIVersions", "versions": ["v1"]})
        plain: list[Json] = [
            {"name": group, "versions": [{"version": version} for version in versions]}
            for group, versions in grouped.items()
            if group
        ]
        return json_response({"kind": "APIGroupList", "groups": plain})

    def _resources(self, group: str, version: str) -> Object:
        prefix = f"{group}/{version}" if group else version
        listed: list[Json] = []
        for name, (plural, namespaced) in self.kinds.items():
            if name.rpartition("/")[0] == prefix:
                kind = name.rpartition("/")[2]
                entry: Json = {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["list"]}
                below: Json = {"name": f"{plural}/status", "kind": kind, "verbs": ["get"]}
                listed += [entry, below]
        return {"kind": "APIResourceList", "resources": listed}


def kubeconfig(home: Path, url: str, **more: Json) -> Path:
    """A kubeconfig for the server; further contexts by name and URL."""
    servers: dict[str, Json] = {"real": url, **more}
    config: Object = {
        "kind": "Config",
        "current-context": "real",
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server in servers.items()],
        "users": [{"name": "me", "user": {"token": "kubeconfig-token-1"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in servers],
    }
    path = home / "config"
    path.write_text(json.dumps(config))
    return path


def base64_of(written: str) -> str:
    return base64.b64encode(written.encode()).decode()


def _nothing(_plural: str, _namespace: str) -> bool:
    return False


def _failure(code: int, message: str) -> FakeResponse:
    return json_response({"kind": "Status", "status": "Failure", "message": message, "code": code}, code)


def _plural(body: Object) -> str:
    return KINDS[f"{body.get('apiVersion')}/{body.get('kind')}"][0]


def _name(body: Object) -> str:
    return text(dig(body, "metadata", "name"))


def _matches(body: Object, query: dict[str, str]) -> bool:
    labels = fields(dig(body, "metadata", "labels"))
    for item in filter(None, query.get("labelSelector", "").split(",")):
        key, equals, value = item.partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    for item in filter(None, query.get("fieldSelector", "").split(",")):
        path, equals, value = item.partition("=")
        negated = path.endswith("!")
        result = dig(body, *path.rstrip("!").split("."))
        if (result == value) == negated:
            return False
    return True
