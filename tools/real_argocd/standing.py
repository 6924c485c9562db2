"""What the cluster of a real Argo CD has before a scenario begins: kinds, nodes, kwok stages, settings."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.real_cluster.binaries import NotAvailable
from tools.real_cluster.client import ApiServerClient
from whysync.json_tree import Json, Object, dig, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.apiserver.protocol import Request

SETTINGS: Final = ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
NODES: Final = 3
_STAGES: Final = Path(__file__).with_name("stages.yaml")
_SERVED_SECONDS: Final = 60


def install_definitions(client: ApiServerClient, files: Iterable[Path]) -> None:
    """CustomResourceDefinitions, and kwok's stages once their kind is served."""
    for file in files:
        for body in objects_in(file):
            _create(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    path = "/apis/kwok.x-k8s.io/v1alpha1/stages"
    until = time.monotonic() + _SERVED_SECONDS
    while not client.send(Request(verb="list", path=path)).ok:
        if time.monotonic() > until:
            raise NotAvailable(f"the API server does not serve {path}")
        time.sleep(0.1)
    for body in objects_in(_STAGES):
        _create(client, path, body)


def create_namespace_and_settings(client: ApiServerClient, namespace: str) -> None:
    _create(client, "/api/v1/namespaces", _object("v1", "Namespace", namespace))
    for name in SETTINGS:
        _create(client, f"/api/v1/namespaces/{namespace}/configmaps", config_map(name))
    secret = _object("v1", "Secret", "argocd-secret", labels=_labels("argocd-secret"))
    _create(client, f"/api/v1/namespaces/{namespace}/secrets", secret)


def config_map(name: str) -> Object:
    return _object("v1", "ConfigMap", name, labels=_labels(name))


def install_nodes(client: ApiServerClient) -> None:
    """Nodes as large as those of the model, and ready; kwok runs their Pods."""
    resources: Object = {"cpu": "16", "ephemeral-storage": "100Gi", "memory": "64Gi", "pods": "2500"}
    ready: Object = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }
    for number in range(1, NODES + 1):
        name = f"node-{number}"
        labels: Object = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        _create(client, "/api/v1/nodes", _object("v1", "Node", name, labels=labels))
        addresses: list[Json] = [{"type": "InternalIP", "address": "127.0.0.1"}]
        status: Object = {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [ready],
            "addresses": addresses,
        }
        path = f"/api/v1/nodes/{name}/status"
        answer = client.send(Request(verb="merge-patch", path=path, body={"status": status}))
        assert answer.ok, (answer.code, answer.body)


def set_kubelet_port(client: ApiServerClient, port: int) -> None:
    """The port on loopback where the API server asks for the logs of Pods."""
    body: Object = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}
    for number in range(1, NODES + 1):
        path = f"/api/v1/nodes/node-{number}/status"
        answer = client.send(Request(verb="merge-patch", path=path, body=body))
        assert answer.ok, (answer.code, answer.body)


def objects_in(file: Path) -> list[Object]:
    content = file.read_text(encoding="utf-8")
    bodies = (document.body for document in yaml.documents(content) if isinstance(document, yaml.Document))
    return [body for body in bodies if isinstance(body, dict)]


def _create(client: ApiServerClient, path: str, body: Object) -> None:
    answer = client.send(Request(verb="create", path=path, body=body, manager="whysync-tests"))
    if not answer.ok:
        name = text(dig(body, "metadata", "name"))
        raise NotAvailable(f"{name} was not created: {answer.code} {answer.body or answer.text}")


def _labels(name: str) -> Object:
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"}


def _object(version: str, kind: str, name: str, *, labels: Object | None = None) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels or {}}}
