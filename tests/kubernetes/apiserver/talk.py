"""Short ways to ask the model for things."""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.server import ApiServer

PLURALS = {
    "ConfigMap": "configmaps", "Deployment": "deployments", "Service": "services", "Namespace": "namespaces",
    "Secret": "secrets", "Pod": "pods", "CustomResourceDefinition": "customresourcedefinitions",
    "Widget": "widgets", "ResourceQuota": "resourcequotas", "Role": "roles", "RoleBinding": "rolebindings",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations", "Job": "jobs",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations", "LimitRange": "limitranges",
    "Event": "events", "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
}  # fmt: skip
CLUSTER_WIDE = {
    "Namespace", "CustomResourceDefinition", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterRole", "ClusterRoleBinding",
}  # fmt: skip


class Talk:
    def __init__(self) -> None:
        self.api_server = ApiServer()
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})

    def collection(self, obj: Object) -> str:
        version, kind = text(obj.get("apiVersion")), text(obj.get("kind"))
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        space = "" if kind in CLUSTER_WIDE else "/namespaces/shop"
        return f"{prefix}{space}/{PLURALS[kind]}"

    def path(self, obj: Object) -> str:
        return f"{self.collection(obj)}/{text(fields(obj.get('metadata')).get('name'))}"

    def create(self, obj: Object, *, user: str = "", validation: str = "", dry_run: bool = False) -> Answer:
        return self.api_server.send(
            Request(
                verb="create",
                path=self.collection(obj),
                body=obj,
                user=user,
                validation=validation,
                dry_run=dry_run,
            )
        )

    def apply(self, obj: Object, manager: str, *, force: bool = False) -> Answer:
        return self.api_server.send(
            Request(verb="ssa", path=self.path(obj), body=obj, manager=manager, force=force)
        )

    def patch(self, obj: Object, body: Json, *, kind: str = "merge-patch") -> Answer:
        return self.api_server.send(Request(verb=kind, path=self.path(obj), body=body))

    def get(self, obj: Object) -> Answer:
        return self.api_server.send(Request(verb="get", path=self.path(obj)))

    def delete(self, obj: Object, **options: Json) -> Answer:
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return self.api_server.send(Request(verb="delete", path=self.path(obj), body=body))


def message_of(answer: Answer) -> str:
    return text((answer.body or {}).get("message"))


def managers(answer: Answer) -> list[str]:
    entries = items(fields((answer.body or {}).get("metadata")).get("managedFields"))
    return [text(fields(entry).get("manager")) for entry in entries]


def config_map(name: str = "cm", **data: Json) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}


def deployment(name: str = "web", *, replicas: int | None = None) -> Object:
    spec: Object = {
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def definition(schema: Object) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


def widget(spec: Object) -> Object:
    return {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}
