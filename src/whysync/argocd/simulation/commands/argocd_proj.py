"""`argocd proj …`: what a project permits is widened."""

from __future__ import annotations

from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.simulation.commands.actor import Outcome
from whysync.argocd.simulation.commands.command_line import Command
from whysync.json_tree import Json, Object, fields, items


def run_proj(command: Command, argocd: ApplicationController, user: str, groups: tuple[str, ...]) -> Outcome:
    """Raises `Denied` for those who may not change the project."""
    words = list(command.words)
    deed = words.pop(0) if command.verb == "windows" else ""
    name = words[0] if words else ""
    project = argocd.context.projects.get(name)
    if project is None:
        return f'rpc error: code = NotFound desc = appprojects.argoproj.io "{name}" not found', True
    argocd.server.update_project(name, user=user, groups=groups)
    spec = fields(project.get("spec"))
    match command.verb, tuple(words[1:]):
        case "add-source", (url,):
            changed = _added(spec, "sourceRepos", url)
        case "add-destination", (server, namespace):
            changed = _added(spec, "destinations", {"server": server, "namespace": namespace})
        case "allow-cluster-resource", (group, kind):
            changed = _added(spec, "clusterResourceWhitelist", {"group": group, "kind": kind})
        case "allow-namespace-resource", (group, kind):
            changed = _allowed(spec, group, kind)
        case "windows", (id,) if deed == "enable-manual-sync" and id.isdecimal():
            changed = _manual(spec, int(id))
        case _:
            return f"proj {command.verb} lacks something", True
    argocd.set_project({**project, "spec": changed})
    for app, body in argocd.applications.items():
        if fields(body.get("spec")).get("project") == name:
            argocd.refresh(app)
    return "", False


def _added(spec: Object, place: str, value: Json) -> Object:
    known = items(spec.get(place))
    return {**spec, place: known if value in known else [*known, value]}


def _allowed(spec: Object, group: str, kind: str) -> Object:
    """A blacklist that names it forbids it; a whitelist has to name it, where there is one."""
    wanted: Object = {"group": group, "kind": kind}
    black = [entry for entry in items(spec.get("namespaceResourceBlacklist")) if entry != wanted]
    changed: Object = {**spec, "namespaceResourceBlacklist": black}
    if "namespaceResourceWhitelist" in spec:
        return _added(changed, "namespaceResourceWhitelist", wanted)
    return changed


def _manual(spec: Object, id: int) -> Object:
    windows: list[Json] = [
        {**fields(window), "manualSync": True} if number == id else window
        for number, window in enumerate(items(spec.get("syncWindows")))
    ]
    return {**spec, "syncWindows": windows}
