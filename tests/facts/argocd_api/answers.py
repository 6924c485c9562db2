"""A Snapshot as Argo CD's API would tell it: the shapes of `assets/swagger.json`, Argo CD 3.6.

Made from the same facts as a bundle, so that both must lead to the same diagnosis. What the API does not
show (policies, webhooks, quotas, half of argocd-cm) is not shown here either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from whysync.argocd.api.project import AppProject
from whysync.argocd.health.assess import health_of
from whysync.argocd.hooks.recognition import is_hook
from whysync.argocd.projects import global_projects_of
from whysync.argocd.projects.cluster_secrets import cluster_secret_data
from whysync.argocd.settings import Settings
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key, ref_of

IN_CLUSTER: Final = "https://kubernetes.default.svc"


class Answers:
    def __init__(self, snapshot: Snapshot, *, home: str = "argocd") -> None:
        self.snapshot = snapshot
        self.home = home
        self.apps = {application.ref.place: application.body for application in snapshot.applications}
        self.live = [live_object.body for live_object in snapshot.live]
        self._by_key = {ref_of(live_object).key: live_object for live_object in self.live}
        maps = {
            setting.ref.name: setting.body for setting in snapshot.settings if setting.ref.kind == "ConfigMap"
        }
        self._cm = maps.get("argocd-cm", {})
        self._settings = Settings.from_config_maps(self._cm, maps.get("argocd-cmd-params-cm"))
        # for those who test what becomes of secrets: an Argo CD that does not hide them, and has more of them
        self.hides = True
        self.more_clusters: list[Json] = []
        self.more_repositories: list[Json] = []
        self._trees: dict[str, Object] = {}
        self._now = snapshot.collected_at.timestamp() if snapshot.collected_at else None

    # --- everything --------------------------------------------------------------------------------

    def version(self) -> Object:
        return {"Version": f"{self.snapshot.argocd_version}+abc1234", "GitTreeState": "clean"}

    def settings(self) -> Object:
        data = fields(self._cm.get("data"))
        overrides: Json = {
            kind: _as_sent(value.as_json()) for kind, value in self._settings.overrides.items()
        }
        return {
            "url": text(data.get("url")),
            "appLabelKey": self._settings.instance_label_key,
            "trackingMethod": self._settings.tracking_method,
            "controllerNamespace": self.home,
            "resourceOverrides": overrides,
            "oidcConfig": None,
            "dexConfig": None,
            "kustomizeOptions": {"BuildOptions": ""},
        }

    def projects(self) -> Object:
        return _listed(project.body for project in self.snapshot.projects)

    def global_projects(self, name: str) -> Object:
        """Those that the project inherits from, without their selectors, which the API does not tell."""
        every = {
            project.ref.name: decoded
            for project in self.snapshot.projects
            if (decoded := decode(project.body, AppProject)[0]) is not None
        }
        parents = global_projects_of(every[name], self._settings.global_projects, every)
        names = {parent.metadata.name for parent in parents}
        return _listed(project.body for project in self.snapshot.projects if project.ref.name in names)

    def clusters(self) -> Object:
        state: Json = {"status": "Successful", "message": "", "attemptedAt": "2026-03-02T09:00:00Z"}
        known: list[Json] = [{"server": IN_CLUSTER, "name": "in-cluster", "connectionState": state}]
        for setting in self.snapshot.settings:
            if result := cluster_secret_data(setting.body):
                known.append({**result, "connectionState": state, "config": {"tlsClientConfig": {}}})
        return {"metadata": {}, "items": [*known, *self.more_clusters]}

    def repositories(self) -> Object:
        repos = {text(dig(app, "spec", "source", "repoURL")) for app in self.apps.values()}
        rows: list[Json] = [
            {"repo": repo, "type": "git", "connectionState": {"status": "Successful", "message": ""}}
            for repo in sorted(repos)
        ]
        return {"metadata": {}, "items": [*rows, *self.more_repositories]}

    # --- Applications ------------------------------------------------------------------------------

    def applications(self, *, name: str, namespace: str, projects: list[str], selector: str) -> Object:
        apps = [
            app
            for app_key, app in sorted(self.apps.items())
            if (not name or app_key.endswith(f"/{name}"))
            and (not namespace or app_key.startswith(f"{namespace}/"))
            and (not projects or text(dig(app, "spec", "project")) in projects)
            and _fits(fields(dig(app, "metadata", "labels")), selector)
        ]
        return {"metadata": {"resourceVersion": "77"}, **_listed(apps)}

    def application_set(self, name: str, namespace: str) -> Object | None:
        key = Key("argoproj.io", "ApplicationSet", namespace, name)
        body = self._by_key.get(key)
        return _untyped(copy_object(body)) if body is not None else None

    def application(self, app_key: str) -> Object | None:
        """One Application with the health of its rows from the tree, which a list does not have."""
        app = self.apps.get(app_key)
        if app is None:
            return None
        app = copy_object(app)
        health = {
            _key(fields(node)): fields(node).get("health") for node in items(self.tree(app_key)["nodes"])
        }
        if dig(app, "status", "resourceHealthSource") == "appTree":
            for raw in items(dig(app, "status", "resources")):
                row = fields(raw)
                if result := health.get(_key(row)):
                    row["health"] = result
        return _untyped(app)

    def tree(self, app_key: str) -> Object:
        if app_key not in self._trees:
            self._trees[app_key] = self._tree(app_key)
        return self._trees[app_key]

    def _tree(self, app_key: str) -> Object:
        nodes: dict[str, Json] = {}
        waiting = [*self._managed(app_key), *(hook for hook in self._hooks(app_key))]
        for target, live in waiting:
            if live is None:
                nodes[str(ref_of(target or {}).key)] = self._absent(app_key, target or {})
            else:
                self._add(live, nodes)
        return {"nodes": list(nodes.values()), "hosts": [], "shardsCount": "1"}

    def _add(self, body: Object, nodes: dict[str, Json]) -> None:
        uid = text(dig(body, "metadata", "uid"))
        if uid in nodes:
            return
        nodes[uid] = self._node(body)
        for child in self._children.get(uid, ()):
            self._add(child, nodes)

    @cached_property
    def _children(self) -> dict[str, list[Object]]:
        result: dict[str, list[Object]] = {}
        for child in self.live:
            for owner in self._owners(child):
                result.setdefault(text(fields(owner).get("uid")), []).append(child)
        return result

    def _owners(self, body: Object) -> list[Json]:
        """As they are written, and for the claims of a StatefulSet as Argo CD infers it (`references.go`)."""
        ref = ref_of(body)
        result = list(items(dig(body, "metadata", "ownerReferences")))
        if ref.kind != "PersistentVolumeClaim" or result:
            return result
        for live_object in self.live:
            owner = ref_of(live_object)
            if owner.kind != "StatefulSet" or owner.namespace != ref.namespace:
                continue
            for template in items(dig(live_object, "spec", "volumeClaimTemplates")):
                name = f"{text(dig(template, 'metadata', 'name'))}-{owner.name}-"
                if ref.name.startswith(name) and ref.name.removeprefix(name).isdecimal():
                    uid: Json = text(dig(live_object, "metadata", "uid"))
                    result.append({**_identity(live_object), "apiVersion": "apps/v1", "uid": uid})
        return result

    def _node(self, body: Object) -> Object:
        verdict = health_of(body, self._settings.overrides, now=self._now)
        health: Json = None
        if verdict is not None:
            health = {
                "status": str(verdict.code or "Healthy"),
                **({"message": verdict.message} if verdict.message else {}),
            }
        parents: list[Json] = [
            {**_identity(fields(owner)), "uid": fields(owner).get("uid"), "namespace": ref_of(body).namespace}
            for owner in self._owners(body)
        ]
        node: Object = {
            **_identity(body),
            "uid": text(dig(body, "metadata", "uid")),
            "resourceVersion": text(dig(body, "metadata", "resourceVersion")),
            "createdAt": text(dig(body, "metadata", "creationTimestamp")),
        }
        if parents:
            node["parentRefs"] = parents
        if health:
            node["health"] = health
        return node

    def _absent(self, app_key: str, target: Object) -> Object:
        home = text(dig(self.apps[app_key], "spec", "destination", "namespace"))
        identity = _identity(target)
        return {**identity, "namespace": identity.get("namespace") or home, "health": {"status": "Missing"}}

    def managed_resources(self, app_key: str) -> Object:
        rows: list[Json] = []
        for target, live in self._managed(app_key):
            target, live = self._hidden(target, live)
            identity = _identity(target or live or {})
            rows.append(
                {
                    **{name: value for name, value in identity.items() if name != "version" and value},
                    "targetState": json.dumps(target),
                    "liveState": json.dumps(live),
                    "normalizedLiveState": json.dumps(live),
                    "predictedLiveState": json.dumps(target),
                }
            )
        return {"items": rows}

    def _hidden(self, target: Object | None, live: Object | None) -> tuple[Object | None, Object | None]:
        return _hidden(target, live) if self.hides else (target, live)

    def manifests(self, app_key: str) -> Object:
        desired = [
            self._hidden(desired_object.body, None)[0]
            for desired_object in self.snapshot.desired.get(app_key, ())
        ]
        return {"manifests": [json.dumps(desired_object) for desired_object in desired]}

    def resource(self, app_key: str, query: dict[str, str]) -> Object | None:
        for raw in items(self.tree(app_key)["nodes"]):
            node = fields(raw)
            expected = (
                query.get("group", ""),
                query["kind"],
                query.get("namespace", ""),
                query["resourceName"],
            )
            if node.get("uid") and tuple(_key(node)) == expected:
                result = next(
                    live_object
                    for live_object in self.live
                    if dig(live_object, "metadata", "uid") == node["uid"]
                )
                return {"manifest": json.dumps(self._hidden(None, result)[1])}
        return None

    def events(self, app_key: str, query: dict[str, str]) -> Object:
        name, uid = query.get("resourceName", ""), query.get("resourceUID", "")
        if not name:
            app = self.apps[app_key]
            name, uid = text(dig(app, "metadata", "name")), text(dig(app, "metadata", "uid"))
        result: list[Object] = []
        for event in self.snapshot.events:
            about = fields(event.body.get("involvedObject") or event.body.get("regarding"))
            if about.get("name") == name and text(about.get("uid")) in ("", uid):
                result.append(event.body)
        return {"metadata": {}, **_listed(result)}

    def logs(self, pod: str, query: dict[str, str]) -> bytes:
        """A stream of entries, an error in place of a line, and the last one empty."""
        previous = query.get("previous") == "true"
        lines: list[Object] = []
        for log in self.snapshot.logs:
            if (log.pod, log.container, log.previous) == (pod, query.get("container"), previous):
                most = int(query.get("tailLines", "1000"))
                lines = [{"content": line, "podName": pod, "last": False} for line in log.lines[-most:]]
                break
        else:
            message = f'previous terminated container "{query.get("container")}" in pod "{pod}" not found'
            lines = [
                {"content": message, "podName": "", "last": False, "timeStampStr": "0001-01-01T00:00:00Z"}
            ]
        lines.append({"content": "", "podName": "", "last": True})
        return b"".join(json.dumps({"result": line}).encode() + b"\n" for line in lines)

    # --- pairs ---------------------------------------------------------------------------------------

    def _managed(self, app_key: str) -> Iterator[tuple[Object | None, Object | None]]:
        """Each row of the Application, with its two sides; the hooks among them are filtered out."""
        home = text(dig(self.apps[app_key], "spec", "destination", "namespace"))
        targets: dict[Key, Object] = {}
        for desired_object in self.snapshot.desired.get(app_key, ()):
            if not is_hook(desired_object.body):
                targets[desired_object.key] = desired_object.body
                targets.setdefault(
                    desired_object.key._replace(namespace=desired_object.key.namespace or home),
                    desired_object.body,
                )
        for raw in items(dig(self.apps[app_key], "status", "resources")):
            key = _key(fields(raw))
            target = targets.get(key) or targets.get(key._replace(namespace=""))
            live = self._by_key.get(key)
            if (target is None and live is None) or fields(raw).get("hook"):
                continue
            if target is not None and key.namespace and not dig(target, "metadata", "namespace"):
                meta: Json = {**fields(target["metadata"]), "namespace": key.namespace}
                target = {**target, "metadata": meta}
            yield target, live

    def _hooks(self, app_key: str) -> Iterator[tuple[Object, Object]]:
        """Live hooks: in the tree, but not among the managed resources."""
        home = text(dig(self.apps[app_key], "spec", "destination", "namespace"))
        for desired_object in self.snapshot.desired.get(app_key, ()):
            key = desired_object.key._replace(namespace=desired_object.key.namespace or home)
            live = self._by_key.get(key)
            if is_hook(desired_object.body) and live is not None:
                yield desired_object.body, live


def _as_sent(override: Object) -> Object:
    """Rules travel as YAML inside a text, zero values not at all (`ResourceOverride.MarshalJSON`)."""
    sent: Object = {}
    for name, value in override.items():
        if name in ("ignoreDifferences", "ignoreResourceUpdates"):
            sent[name] = yaml.dump(value)
        elif value:
            sent[name] = value
    return sent


def _hidden(target: Object | None, live: Object | None) -> tuple[Object | None, Object | None]:
    """A Secret's values as plus signs: more of them for each distinct value of a key (`HideSecretData`)."""
    sides = [copy_object(item) if item is not None else None for item in (target, live)]
    if not any(side is not None and side.get("kind") == "Secret" for side in sides):
        return target, live
    values_by_key: dict[str, list[Json]] = {}
    for side in sides:
        if side is None:
            continue
        data = {**fields(side.get("data")), **fields(side.pop("stringData", None))}
        for key, value in data.items():
            values = values_by_key.setdefault(key, [])
            if value not in values:
                values.append(value)
            data[key] = "+" * (8 + 4 * values.index(value))
        if data:
            side["data"] = data
        notes = fields(dig(side, "metadata", "annotations"))
        if "kubectl.kubernetes.io/last-applied-configuration" in notes:
            notes["kubectl.kubernetes.io/last-applied-configuration"] = "++++++++"
    return sides[0], sides[1]


def _listed(bodies: Iterable[Object]) -> Object:
    return {"items": [_untyped(body) for body in bodies] or None}


def _untyped(body: Object) -> Object:
    return {name: value for name, value in body.items() if name not in ("kind", "apiVersion")}


def _identity(body: Object) -> Object:
    ref = ref_of(body)
    name = ref.name or text(body.get("name"))
    identity = {"group": ref.group, "version": ref.version, "kind": ref.kind}
    return {**{k: v for k, v in identity.items() if v}, "namespace": ref.namespace, "name": name}


def _key(row: Object) -> Key:
    parts = (text(row.get(name)) for name in ("group", "kind", "namespace", "name"))
    return Key(*parts)


def _fits(labels: Object, selector: str) -> bool:
    expected = (item.partition("=") for item in selector.split(",") if item)
    return all(labels.get(name) == value for name, _, value in expected)
