"""Admission webhooks of a scenario: their configuration in the cluster, and their responses."""

from __future__ import annotations

from typing import Final

from whysync.argocd.simulation.commands.actor import merged
from whysync.json_tree import Json, Object, copy, copy_object, dig, fields, items, text
from whysync.kubernetes.admission.webhooks import Denied, Unreachable
from whysync.kubernetes.admission.webhooks import Webhook as Answer
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.cel.evaluate import evaluate
from whysync.kubernetes.cel.values import CelError, UnknownValue
from whysync.lab.scenario import Webhook

_GROUPS: Final = {
    "pods": ("", "v1"), "services": ("", "v1"), "configmaps": ("", "v1"), "secrets": ("", "v1"),
    "namespaces": ("", "v1"), "serviceaccounts": ("", "v1"), "persistentvolumeclaims": ("", "v1"),
    "deployments": ("apps", "v1"), "statefulsets": ("apps", "v1"), "daemonsets": ("apps", "v1"),
    "replicasets": ("apps", "v1"), "jobs": ("batch", "v1"), "cronjobs": ("batch", "v1"),
    "ingresses": ("networking.k8s.io", "v1"),
}  # fmt: skip


class Admission:
    """Responses of the webhooks of a scenario; which of them are reachable can change over time."""

    def __init__(self, api_server: ApiServer, webhooks: tuple[Webhook, ...]) -> None:
        self._api_server = api_server
        self._down = {webhook.name: webhook.unreachable for webhook in webhooks}
        for webhook in webhooks:
            api_server.webhooks[webhook.name] = self._answer_of(webhook)

    def set_error(self, name: str, why: str) -> None:
        self._down[name] = why

    def _answer_of(self, webhook: Webhook) -> Answer:
        def answer(obj: Object) -> Object:
            problem = self._down[webhook.name] or self._unreachable_reason(webhook)
            if problem:
                raise Unreachable(problem)
            return reviewed(webhook, obj)

        return answer

    def _unreachable_reason(self, webhook: Webhook) -> str:
        """Does the Service have no ready pods?"""
        space, _, name = webhook.service.partition("/")
        if not name:
            return ""
        if self._api_server.store.get((("", "services"), space, name)) is None:
            return f'service "{name}" not found'
        for _, slice in self._api_server.store.within(("discovery.k8s.io", "endpointslices"), space):
            if text(dig(slice, "metadata", "labels", "kubernetes.io/service-name")) == name and any(
                dig(endpoint, "conditions", "ready") is not False
                for endpoint in items(slice.get("endpoints"))
            ):
                return ""
        return f'no endpoints available for service "{name}"'


def reviewed(webhook: Webhook, obj: Object) -> Object:
    """The object as a reachable webhook admits it. Raises `Denied`."""
    if webhook.denies and not _holds(webhook.unless, obj):
        name = f"{text(obj.get('kind'))}/{text(dig(obj, 'metadata', 'name'))}"
        raise Denied(webhook.denies.replace("OBJECT", name))
    return _changed(webhook, obj)


def configurations_of(webhooks: tuple[Webhook, ...]) -> list[Object]:
    """Webhook configuration objects; webhooks of one configuration are in one object."""
    configurations: dict[tuple[str, str], Object] = {}
    for webhook in webhooks:
        kind = "MutatingWebhookConfiguration" if webhook.mutates else "ValidatingWebhookConfiguration"
        configuration = configurations.setdefault(
            (kind, webhook.configuration),
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": webhook.configuration},
                "webhooks": [],
            },
        )
        items(configuration["webhooks"]).append(_entry(webhook))
    return list(configurations.values())


def _entry(webhook: Webhook) -> Object:
    space, _, name = webhook.service.partition("/")
    if not name:
        space, name = "webhooks", webhook.name.partition(".")[0]
    path = "/mutate" if webhook.mutates else "/validate"
    rules: list[Json] = []
    for resource in webhook.resources:
        group, version = _GROUPS.get(resource, ("*", "*"))
        rules.append(
            {
                "apiGroups": [group],
                "apiVersions": [version],
                "operations": list(webhook.operations),
                "resources": [resource],
            }
        )
    entry: Object = {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": space, "name": name, "path": path}},
        "failurePolicy": "Ignore" if webhook.ignored_when_down else "Fail",
        "rules": rules,
        "sideEffects": "None",
    }
    if webhook.labels:
        entry["objectSelector"] = {"matchLabels": dict(webhook.labels)}
    if webhook.namespaces:
        names: Json = [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(webhook.namespaces)}
        ]
        entry["namespaceSelector"] = {"matchExpressions": names}
    return entry


def _holds(expression: str, obj: Object) -> bool:
    if not expression:
        return False
    try:
        return evaluate(expression, {"object": obj}) is True
    except (CelError, UnknownValue):
        return False


def _changed(webhook: Webhook, obj: Object) -> Object:
    if webhook.changes is not None:
        obj = fields(merged(copy(obj), webhook.changes))
    if not webhook.containers:
        return obj
    obj = copy_object(obj)
    pod = fields(dig(obj, "spec", "template", "spec")) or fields(obj.get("spec"))
    containers = items(pod.get("containers"))
    names = {text(fields(container).get("name")) for container in containers}
    added = [copy(container) for container in webhook.containers if text(container.get("name")) not in names]
    if pod:
        pod["containers"] = [*containers, *added]
    return obj
