"""Argo CD's settings from its API, as the ConfigMap and Secrets that they come from.

The API only returns a part: tracking, health checks, ignore rules. Compare options, exclusions and timeouts
are only in `argocd-cm` and `argocd-cmd-params-cm`, and have their defaults here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api import yaml

IN_CLUSTER = "https://kubernetes.default.svc"
_SECRET_TYPE = "argocd.argoproj.io/secret-type"
_RULES = ("ignoreDifferences", "ignoreResourceUpdates")


def config_map(settings: Object, namespace: str) -> Object:
    """The parts of `argocd-cm` that `GET /api/v1/settings` returns."""
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
    customizations: dict[str, Json] = {}
    for kind, raw in sorted(overrides.items()):
        rules: dict[str, Json] = {name: value for name, value in fields(raw).items() if value}
        for name in _RULES:
            # Rules without content are written too; every Argo CD adds the one for `/status` itself.
            ignored = _ignored(text(rules.get(name)))
            if not ignored or (kind == "*/*" and ignored == ["/status"]):
                rules.pop(name, None)
        if rules:
            customizations[kind] = rules
    return customizations


def _ignored(rule: str) -> list[Json]:
    """All fields that a rule (YAML in a string) ignores; content that cannot be parsed counts."""
    try:
        return (
            [ignored_field for part in fields(yaml.load(rule)).values() for ignored_field in items(part)]
            if rule
            else []
        )
    except yaml.Invalid:
        return [rule]


def with_global_projects(
    settings: Object, projects: Iterable[Object], inherited: Mapping[str, Sequence[str]]
) -> Object:
    """`argocd-cm` with the global projects of some projects, which the API returns without their selectors.

    A selector selects by labels, so one that selects exactly the labels of a project gives the same answer.
    """
    labels = {
        text(dig(project, "metadata", "name")): fields(dig(project, "metadata", "labels"))
        for project in projects
    }
    keys = {key for own in labels.values() for key in own}
    entries: list[Json] = []
    for project, parents in sorted(inherited.items()):
        own = labels.get(project, {})
        lacking: list[Json] = [{"key": key, "operator": "DoesNotExist"} for key in sorted(keys - own.keys())]
        selector: Object = {"matchLabels": own, "matchExpressions": lacking}
        for parent in parents:
            entry: Object = {"projectName": parent, "labelSelector": selector}
            entries.append(entry)
    if not entries:
        return settings
    data: Object = {**fields(settings.get("data")), "globalProjects": yaml.dump(entries)}
    return {**settings, "data": data}


def cluster_secrets(clusters: Object, namespace: str) -> Iterator[Object]:
    """A cluster as its Secret, which resolves the destination of an Application."""
    for raw in items(clusters.get("items")):
        cluster = fields(raw)
        server = text(cluster.get("server"))
        if not server or server == IN_CLUSTER:
            continue
        values = {name: text(cluster.get(name)) for name in ("server", "name", "project")}
        values["namespaces"] = ",".join(text(namespace) for namespace in items(cluster.get("namespaces")))
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
