"""`argocd proj …`: commands that permit more in a project."""

from __future__ import annotations

from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.simulation.commands.actor import Outcome
from whysync.argocd.simulation.commands.command_line import Command
from whysync.json_tree import Json, Object, fields, items


def run_proj(command: Command, argocd: ApplicationController, user: str, groups: tuple[str, ...]) -> Outcome:
    """Raises `Denied` if the user may not change the project."""
    arguments = list(command.words)
    subcommand = arguments.pop(0) if command.verb == "windows" else ""
    name = arguments[0] if arguments else ""
    project = argocd.context.projects.get(name)
    if project is None:
        return f'rpc error: code = NotFound desc = appprojects.argoproj.io "{name}" not found', True
    argocd.server.update_project(name, user=user, groups=groups)
    spec = fields(project.get("spec"))
    match command.verb, tuple(arguments[1:]):
        case "add-source", (url,):
            changed = _with_item(spec, "sourceRepos", url)
        case "add-destination", (server, namespace):
            changed = _with_item(spec, "destinations", {"server": server, "namespace": namespace})
        case "allow-cluster-resource", (group, kind):
            changed = _with_item(spec, "clusterResourceWhitelist", {"group": group, "kind": kind})
        case "allow-namespace-resource", (group, kind):
            changed = _with_allowed_kind(spec, group, kind)
        case "windows", (id,) if subcommand == "enable-manual-sync" and id.isdecimal():
            changed = _with_manual_sync(spec, int(id))
        case _:
            return f"proj {command.verb} lacks something", True
    argocd.set_project({**project, "spec": changed})
    for app, body in argocd.applications.items():
        if fields(body.get("spec")).get("project") == name:
            argocd.refresh(app)
    return "", False


def _with_item(spec: Object, field: str, value: Json) -> Object:
    values = items(spec.get(field))
    return {**spec, field: values if value in values else [*values, value]}


def _with_allowed_kind(spec: Object, group: str, kind: str) -> Object:
    """Removes the kind from the blacklist, and adds it to the whitelist if the project has one."""
    group_kind: Object = {"group": group, "kind": kind}
    blacklist = [entry for entry in items(spec.get("namespaceResourceBlacklist")) if entry != group_kind]
    changed: Object = {**spec, "namespaceResourceBlacklist": blacklist}
    if "namespaceResourceWhitelist" in spec:
        return _with_item(changed, "namespaceResourceWhitelist", group_kind)
    return changed


def _with_manual_sync(spec: Object, id: int) -> Object:
    windows: list[Json] = [
        {**fields(window), "manualSync": True} if number == id else window
        for number, window in enumerate(items(spec.get("syncWindows")))
    ]
    return {**spec, "syncWindows": windows}
