"""`argocd app`, `argocd proj` and `argocd cluster`: requests to Argo CD's API server, which may deny them."""

from __future__ import annotations

from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.server.server import Denied
from whysync.argocd.simulation.commands.actor import Actor, Outcome, merged
from whysync.argocd.simulation.commands.command_line import Command
from whysync.argocd.sync.app_request import APPROVED
from whysync.json_tree import Json, Object, fields, items

_SOURCE_FIELDS = {"--path": "path", "--repo": "repoURL", "--revision": "targetRevision"}
_DESTINATION_FIELDS = {"--dest-namespace": "namespace", "--dest-server": "server", "--dest-name": "name"}


def run_argocd(command: Command, by: Actor, argocd: ApplicationController) -> Outcome:
    """The output of the command, and whether it failed. `wait` returns at once: commands take no time."""
    user = by.user or "admin"
    try:
        if command.noun == "proj":
            return run_proj(command, argocd, user, by.groups)
        if command.noun == "cluster":
            return _set_cluster(command, argocd)
        name = command.words[0]
        app = name if "/" in name else f"{argocd.context.namespace}/{name}"
        if app not in argocd.applications:
            return "rpc error: code = PermissionDenied desc = permission denied", True
        match command.verb:
            case "sync":
                argocd.request_sync(app, _operation(command), user=user, groups=by.groups)
                return "", False
            case "terminate-op":
                argocd.terminate(app, user=user, groups=by.groups)
                return f"Application '{name}' operation terminating", False
            case "get":
                argocd.server.get(app, user=user, groups=by.groups)
                hard = command.has("--hard-refresh")
                if hard or command.has("--refresh"):
                    argocd.refresh(app, hard=hard)
                return "", False
            case "delete":
                propagation = command.flag("--propagation-policy", "foreground")
                is_orphaned = command.flag("--cascade") == "false"
                argocd.server.prepare_deletion(
                    app, None if is_orphaned else propagation, user=user, groups=by.groups
                )
                argocd.delete(app)
                return f"application '{name}' deleted", False
            case "wait":
                return "", False
            case "confirm-deletion":
                argocd.server.update(app, user=user, groups=by.groups)
                return _confirm_deletion(name, app, argocd), False
            case _:
                argocd.server.update(app, user=user, groups=by.groups)
                return _set(command, app, argocd)
    except Denied as refusal:
        return str(refusal), True


def _set_cluster(command: Command, argocd: ApplicationController) -> Outcome:
    """`argocd cluster set NAME --namespace a --namespace b`: replaces the list of namespaces."""
    name, namespaces = command.words[0], command.flags.get("--namespace", ())
    candidates = (
        destination
        for destination in argocd.context.destinations.values()
        if name in (destination.name, destination.server)
    )
    matching = next(candidates, None)
    if matching is None or not namespaces:
        return f'rpc error: code = NotFound desc = cluster "{name}" not found', True
    argocd.context.set_namespaces(matching, namespaces)
    for app in argocd.applications:
        argocd.refresh(app)
    return f"Cluster '{name}' updated.", False


def _operation(command: Command) -> Object:
    """The operation that the CLI requests; the API server adds the defaults."""
    sync: Object = {}
    if command.has("--revision"):
        sync["revision"] = command.flag("--revision")
    for flag, key in (("--prune", "prune"), ("--dry-run", "dryRun")):
        if command.has(flag):
            sync[key] = True
    options: list[Json] = list(command.flags.get("--sync-option", ()))
    if command.has("--replace"):
        options.append("Replace=true")
    if command.has("--server-side"):
        options.append("ServerSideApply=true")
    if command.has("--apply-out-of-sync-only"):
        options.append("ApplyOutOfSyncOnly=true")
    if options:
        sync["syncOptions"] = options
    strategy = "apply" if command.flag("--strategy") == "apply" else "hook"
    if command.has("--force") or command.has("--strategy"):
        sync["syncStrategy"] = {strategy: {"force": command.has("--force")}}
    resources = [_resource(argument) for argument in command.flags.get("--resource", ())]
    if resources:
        sync["resources"] = resources
    operation: Object = {"sync": sync}
    if command.has("--retry-limit"):
        operation["retry"] = {"limit": int(command.flag("--retry-limit", "0"))}
    return operation


def _resource(argument: str) -> Json:
    """`apps:Deployment:web` or `apps:Deployment:shop/web`."""
    group, _, rest = argument.partition(":")
    kind, _, qualified_name = rest.partition(":")
    namespace, _, name = qualified_name.rpartition("/")
    resource: Object = {"kind": kind, "name": name}
    if group:
        resource["group"] = group
    if namespace:
        resource["namespace"] = namespace
    return resource


def _confirm_deletion(name: str, app: str, argocd: ApplicationController) -> str:
    """Adds the approval annotation with the current time, as the CLI does."""
    now = go_time(argocd.context.clock.now)
    argocd.edit(app, lambda body: fields(merged(body, {"metadata": {"annotations": {APPROVED: now}}})))
    return f"Application '{name}' updated successfully"


def _set(command: Command, app: str, argocd: ApplicationController) -> Outcome:
    argocd.edit(app, lambda body: {**body, "spec": _changed_spec(fields(body.get("spec")), command)})
    return "", False


def _changed_spec(spec: Object, command: Command) -> Object:
    changed: Object = {"syncPolicy": _changed_sync_policy(fields(spec.get("syncPolicy")), command)}
    if command.has("--project"):
        changed["project"] = command.flag("--project")
    destination: Object = {
        key: command.flag(flag) for flag, key in _DESTINATION_FIELDS.items() if command.has(flag)
    }
    if "server" in destination:
        destination["name"] = None
    elif "name" in destination:
        destination["server"] = None
    if destination:
        changed["destination"] = destination
    source: Object = {key: command.flag(flag) for flag, key in _SOURCE_FIELDS.items() if command.has(flag)}
    sources = [fields(source) for source in items(spec.get("sources"))]
    position = int(command.flag("--source-position", "1")) - 1
    if source and sources and position < len(sources):
        changed["sources"] = [
            {**other_source, **source} if index == position else other_source
            for index, other_source in enumerate(sources)
        ]
    elif source:
        changed["source"] = source
    return fields(merged(spec, changed))


def _changed_sync_policy(before: Object, command: Command) -> Object:
    policy: Object = {}
    match command.flag("--sync-policy"):
        case "none":
            policy["automated"] = None
        case "automated" | "auto":
            policy["automated"] = {
                "prune": command.has("--auto-prune"),
                "selfHeal": command.has("--self-heal"),
            }
        case _:
            pass
    options = [*items(before.get("syncOptions")), *command.flags.get("--sync-option", ())]
    return {**policy, **({"syncOptions": options} if options else {})}


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
