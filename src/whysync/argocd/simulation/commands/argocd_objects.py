"""`kubectl` on Applications, AppProjects and Argo CD's ConfigMaps, which the simulated Argo CD stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.simulation.commands.actor import Actor, Outcome
from whysync.argocd.simulation.commands.command_line import Command
from whysync.argocd.simulation.commands.kinds import is_application
from whysync.argocd.simulation.commands.kubectl_output import DONE, pairs_of
from whysync.argocd.simulation.commands.merge import merged
from whysync.json_tree import Json, Object, copy_object, fields
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.merge.json_patch import apply_json_patch

_CONFIG_MAPS: Final = ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
_PROJECTS: Final = ("appproject", "appprojects", "appproject.argoproj.io", "appprojects.argoproj.io")


def is_argocd_object(kind: str, name: str, command: Command, argocd: ApplicationController) -> bool:
    if is_application(kind) or kind.lower() in _PROJECTS:
        return True
    in_argocd_namespace = command.flag("--namespace") == argocd.context.namespace
    return in_argocd_namespace and kind.lower() in ("configmap", "configmaps", "cm") and name in _CONFIG_MAPS


def run_on_argocd_object(
    command: Command,
    kind: str,
    name: str,
    arguments: tuple[str, ...],
    by: Actor,
    argocd: ApplicationController,
) -> Outcome:
    try:
        return _run(command, kind, name, arguments, by, argocd)
    except Refused as problem:
        return f"Error from server ({problem.reason}): {problem.message}", True


def _run(
    command: Command,
    kind: str,
    name: str,
    arguments: tuple[str, ...],
    by: Actor,
    argocd: ApplicationController,
) -> Outcome:
    if is_application(kind):
        return _run_on_application(command, name, arguments, by, argocd)
    context = argocd.context
    stored = context.projects if kind.lower() in _PROJECTS else context.config_maps
    plural = "appprojects.argoproj.io" if kind.lower() in _PROJECTS else "configmaps"
    existing = stored.get(name)
    if existing is None:
        return f'Error from server (NotFound): {plural} "{name}" not found', True
    if command.verb == "delete" and kind.lower() in _PROJECTS:
        argocd.drop_project(name)  # kubectl does not check whether Applications still use it
        return f"{plural}/{name} deleted", False
    change = _change(command, arguments, by)
    if change is None:
        return f"kubectl {command.verb} is not supported for objects of Argo CD", True
    if kind.lower() in _PROJECTS:
        argocd.set_project(change(existing))
    else:
        argocd.set_config_map(change(existing))
    return f"{plural}/{name} {DONE[command.verb]}", False


def _run_on_application(
    command: Command, name: str, arguments: tuple[str, ...], by: Actor, argocd: ApplicationController
) -> Outcome:
    app = f"{command.flag('--namespace', argocd.context.namespace)}/{name}"
    if app not in argocd.applications:
        return f'Error from server (NotFound): applications.argoproj.io "{name}" not found', True
    if command.verb == "delete":
        argocd.delete(app)
        return f"application/{name} deleted", False
    change = _change(command, arguments, by)
    if change is None:
        return f"kubectl {command.verb} is not supported for Applications", True
    argocd.edit(app, change)
    return f"application/{name} {DONE[command.verb]}", False


def _change(command: Command, arguments: tuple[str, ...], by: Actor) -> Callable[[Object], Object] | None:
    """`None` for a command that does not apply to these objects."""
    match command.verb:
        case "annotate" | "label":
            metadata_field = "annotations" if command.verb == "annotate" else "labels"
            patch: Json = {"metadata": {metadata_field: pairs_of(arguments)}}
        case "patch" | "edit":
            patch = json.loads(command.flag("--patch", "{}")) if not by.input else by.input[0]
            if isinstance(patch, list):
                return lambda body: apply_json_patch(copy_object(body), patch)
        case _:
            return None
    return lambda body: fields(merged(body, patch))
