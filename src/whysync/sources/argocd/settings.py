"""What the API tells of Argo CD's settings, as the ConfigMap and the Secrets that it was read from.

The API shows a part only: how things are tracked, health checks, ignore rules. Compare options, exclusions
and time-outs are in `argocd-cm` and `argocd-cmd-params-cm` alone, and stay at their defaults here.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.contracts import yaml
from whysync.contracts.tree import Json, Object, fields, items, text

IN_CLUSTER = "https://kubernetes.default.svc"
_SECRET_TYPE = "argocd.argoproj.io/secret-type"
# What is written for a rule that has nothing in it, since Go cannot leave it out.
_NOTHING = ("{}", "jqPathExpressions: null\njsonPointers: null\nmanagedFieldsManagers: null")


def config_map(settings: Object, namespace: str) -> Object:
    """The parts of `argocd-cm` that `GET /api/v1/settings` shows."""
    data: dict[str, Json] = {}
    for name, key in (
        ("appLabelKey", "application.instanceLabelKey"),
        ("trackingMethod", "application.resourceTrackingMethod"),
        ("installationID", "installationID"),
        ("url", "url"),
    ):
        if value := text(settings.get(name)):
            data[key] = value
    if settings.get("impersonationEnabled") is True:
        data["application.sync.impersonation.enabled"] = "true"
    if customizations := _customizations(fields(settings.get("resourceOverrides"))):
        data["resource.customizations"] = yaml.dump(customizations)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": namespace},
        "data": data,
    }


def _customizations(overrides: Object) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for kind, raw in sorted(overrides.items()):
        told: dict[str, Json] = {
            name: value
            for name, value in fields(raw).items()
            if value and not (isinstance(value, str) and value.strip() in _NOTHING)
        }
        # This rule every Argo CD adds by itself; as one of argocd-cm's it would be told twice.
        if kind == "*/*":
            told = {name: value for name, value in told.items() if not _is_status_rule(value)}
        if told:
            found[kind] = told
    return found


def _is_status_rule(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    try:
        rule = fields(yaml.load(value))
    except yaml.Invalid:
        return False
    return [one for part in rule.values() for one in items(part)] == ["/status"]


def cluster_secrets(clusters: Object, namespace: str) -> Iterator[Object]:
    """A cluster as its Secret would say it: by it an Application's destination is understood."""
    for raw in items(clusters.get("items")):
        cluster = fields(raw)
        server = text(cluster.get("server"))
        if not server or server == IN_CLUSTER:
            continue
        values = {name: text(cluster.get(name)) for name in ("server", "name", "project")}
        values["namespaces"] = ",".join(text(one) for one in items(cluster.get("namespaces")))
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": f"cluster-{values['name'] or server.rpartition('://')[2]}",
                "namespace": namespace,
                "labels": {_SECRET_TYPE: "cluster"},
            },
            "stringData": {name: value for name, value in values.items() if value},
        }
