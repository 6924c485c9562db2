"""`kubectl` as users run it; each verb writes with the field manager that kubectl uses for it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from typing import Final

from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.simulation.commands.actor import (
    Actor,
    Outcome,
    is_application,
    merged,
    patch_verb,
    served_kind,
)
from whysync.argocd.simulation.commands.command_line import Command
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request, ServedKind
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.kubectl.client_side_apply import client_side_apply
from whysync.kubernetes.merge.json_patch import apply_json_patch

_ROLLOUT = {"restart": "restarted", "pause": "paused", "resume": "resumed"}


class Kubectl:
    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server

    @property
    def now(self) -> datetime:
        return self._api_server.clock.now

    def run(self, command: Command, by: Actor, argocd: ApplicationController) -> Outcome:
        if command.has("--filename"):
            outcomes = [self._run_on_manifest(command, document) for document in by.input]
            return "; ".join(message for message, _ in outcomes), any(failed for _, failed in outcomes)
        if command.verb == "create":
            obj = object_to_create(command)
            return (
                self._run_on_manifest(command, obj) if obj is not None else ("error: must specify -f", True)
            )
        if command.verb == "rollout":
            return self._rollout(command, argocd)
        arguments = command.words[1:] if command.verb == "set" else command.words
        kind, name, remaining = target_of(arguments)
        if is_argocd_object(kind, name, command, argocd):
            return run_on_argocd_object(command, kind, name, remaining, by, argocd)
        served = served_kind(self._api_server, kind)
        if served is None:
            return f'error: the server doesn\'t have a resource type "{kind}"', True
        namespace = command.flag("--namespace", "default") if served.namespaced else ""
        answer = self._run_on_object(command, by, served, served.path(namespace, name), remaining)
        label = f"{served.plural}/{name}"
        if not answer.ok:
            is_ignored = answer.code == 404 and command.has("--ignore-not-found")
            return ("", False) if is_ignored else (_error_text(answer), True)
        return f"{label} {DONE[command.verb]}", False

    def _rollout(self, command: Command, argocd: ApplicationController) -> Outcome:
        """`restart` annotates the Pod template; `pause` and `resume` set `paused`.

        Argo CD's own workloads are skipped: the simulated cluster does not have them.
        """
        action, *arguments = command.words
        if action not in _ROLLOUT:
            return f'error: unknown command "rollout {action}"', True
        targets = (
            [arguments] if arguments and "/" not in arguments[0] else [[argument] for argument in arguments]
        )
        for target in targets:
            kind, name, _ = target_of(tuple(target))
            namespace = command.flag("--namespace", "default")
            if namespace == argocd.context.namespace and name.startswith("argocd-"):
                continue
            served = served_kind(self._api_server, kind)
            if served is None:
                return f'error: the server doesn\'t have a resource type "{kind}"', True
            stamp: Object = {"kubectl.kubernetes.io/restartedAt": self._api_server.clock.stamp()}
            patch: Json = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
            if action != "restart":
                patch = {"spec": {"paused": True if action == "pause" else None}}
            answer = self._strategic(served, served.path(namespace, name), patch, "kubectl-rollout")
            if not answer.ok:
                return _error_text(answer), True
        return _ROLLOUT[action], False

    def create(self, obj: Object, *, manager: str = "kubectl-create") -> Outcome:
        """Creates an object of the initial state."""
        served = _kind_of_object(self._api_server, obj)
        if served is None:
            return f'no matches for kind "{text(obj.get("kind"))}"', True
        namespace = text(dig(obj, "metadata", "namespace"))
        answer = self._api_server.send(
            Request(verb="create", path=served.collection(namespace), body=obj, manager=manager)
        )
        return ("", False) if answer.ok else (_error_text(answer), True)

    def _resolve_owner_uids(self, obj: Object, namespace: str) -> None:
        """Adds the uid to owner references that lack it."""
        for raw in items(dig(obj, "metadata", "ownerReferences")):
            owner = fields(raw)
            served = _kind_of_object(self._api_server, owner)
            if owner.get("uid") or served is None:
                continue
            path = served.path(namespace if served.namespaced else "", text(owner.get("name")))
            answer = self._api_server.send(Request(verb="get", path=path))
            owner["uid"] = text(dig(answer.body, "metadata", "uid")) if answer.ok and answer.body else ""

    def _run_on_manifest(self, command: Command, obj: Object) -> Outcome:
        obj = copy_object(obj)
        served = _kind_of_object(self._api_server, obj)
        name = text(dig(obj, "metadata", "name"))
        if served is None:
            missing_kind = f'"{text(obj.get("kind"))}" in version "{text(obj.get("apiVersion"))}"'
            return (
                f'error: resource mapping not found for name: "{name}": no matches for kind {missing_kind}',
                True,
            )
        namespace = ""
        if served.namespaced:
            meta = fields(obj.get("metadata"))
            namespace = text(meta.get("namespace")) or command.flag("--namespace", "default")
            obj["metadata"] = {**meta, "namespace": namespace}
            self._resolve_owner_uids(obj, namespace)
        path, collection = served.path(namespace, name), served.collection(namespace)
        manager = command.flag("--field-manager")
        match command.verb:
            case "apply" if command.has("--server-side"):
                answer = self._api_server.send(
                    Request(
                        verb="ssa",
                        path=path,
                        body=obj,
                        manager=manager or "kubectl",
                        force=command.has("--force-conflicts"),
                    )
                )
                outcome = "serverside-applied"
            case "apply":
                applied = client_side_apply(
                    self._api_server,
                    obj,
                    collection=collection,
                    manager=manager or "kubectl-client-side-apply",
                )
                answer, outcome = applied.answer, applied.outcome
            case "create":
                answer = self._api_server.send(
                    Request(verb="create", path=collection, body=obj, manager=manager or "kubectl-create")
                )
                outcome = "created"
            case "replace":
                answer = self._api_server.send(
                    Request(verb="update", path=path, body=obj, manager=manager or "kubectl-replace")
                )
                outcome = "replaced"
            case _:
                answer = self._api_server.send(Request(verb="delete", path=path))
                outcome = "deleted"
        if not answer.ok:
            return _error_text(answer), True
        return f"{served.plural}/{name} {outcome}", False

    def _run_on_object(
        self, command: Command, by: Actor, served: ServedKind, path: str, arguments: tuple[str, ...]
    ) -> Answer:
        manager = command.flag("--field-manager")
        match command.verb:
            case "delete":
                is_orphaning = command.flag("--cascade") in ("orphan", "false")
                delete_options: Json = {"propagationPolicy": "Orphan" if is_orphaning else "Background"}
                return self._api_server.send(Request(verb="delete", path=path, body=delete_options))
            case "scale":
                scale: Json = {"spec": {"replicas": int(command.flag("--replicas", "1"))}}
                return self._merge(f"{path}/scale", scale, manager or "kubectl")
            case "annotate" | "label":
                metadata_field = "annotations" if command.verb == "annotate" else "labels"
                changed: Json = {"metadata": {metadata_field: pairs_of(arguments)}}
                return self._merge(path, changed, manager or f"kubectl-{command.verb}")
            case "set":
                return self._set_image(path, arguments, manager or "kubectl-set")
            case "edit":
                change: Json = dict(by.input[0]) if by.input else {}
                return self._strategic(served, path, change, manager or "kubectl-edit")
            case _:
                patch: Json = json.loads(command.flag("--patch"))
                return self._patch(command, served, path, patch, manager or "kubectl-patch")

    def _patch(self, command: Command, served: ServedKind, path: str, patch: Json, manager: str) -> Answer:
        if command.has("--subresource"):
            path = f"{path}/{command.flag('--subresource')}"
        match command.flag("--type"):
            case "json":
                return self._api_server.send(
                    Request(verb="json-patch", path=path, body=patch, manager=manager)
                )
            case "merge":
                return self._merge(path, patch, manager)
            case _:
                return self._strategic(served, path, patch, manager)

    def _strategic(self, served: ServedKind, path: str, patch: Json, manager: str) -> Answer:
        return self._api_server.send(Request(verb=patch_verb(served), path=path, body=patch, manager=manager))

    def _merge(self, path: str, patch: Json, manager: str) -> Answer:
        return self._api_server.send(Request(verb="merge-patch", path=path, body=patch, manager=manager))

    def _set_image(self, path: str, pairs: tuple[str, ...], manager: str) -> Answer:
        containers: list[Json] = [
            {"name": name, "image": image} for name, _, image in (pair.partition("=") for pair in pairs)
        ]
        patch: Json = {"spec": {"template": {"spec": {"containers": containers}}}}
        return self._api_server.send(Request(verb="strategic-patch", path=path, body=patch, manager=manager))


def _kind_of_object(api_server: ApiServer, obj: Object) -> ServedKind | None:
    version, kind = text(obj.get("apiVersion")), text(obj.get("kind"))
    return next(
        (served for served in api_server.kinds() if (served.api_version, served.kind) == (version, kind)),
        None,
    )


def _error_text(answer: Answer) -> str:
    reason = text(dig(answer.body, "reason")) if answer.body else ""
    message = text(dig(answer.body, "message")) if answer.body else answer.text.strip()
    return f"Error from server ({reason}): {message}" if reason else f"Error from server: {message}"


def object_to_create(command: Command) -> Object | None:
    """The object without its namespace, or `None` if the kind needs a file."""
    match command.words:
        case ("namespace" | "ns", name):
            return _object("Namespace", name)
        case ("serviceaccount" | "sa", name):
            return _object("ServiceAccount", name)
        case ("configmap" | "cm", name):
            return {**_object("ConfigMap", name), "data": dict(_literals(command))}
        case ("secret", "generic", name):
            data: Object = {
                key: base64.b64encode(value.encode()).decode() for key, value in _literals(command).items()
            }
            return {**_object("Secret", name), "type": "Opaque", "data": data}
        case _:
            return None


def _object(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def _literals(command: Command) -> dict[str, str]:
    pairs = (literal.partition("=") for literal in command.flags.get("--from-literal", ()))
    return {key: value for key, _, value in pairs}


# `kubectl` on Applications, AppProjects and Argo CD's ConfigMaps, which the simulated Argo CD stores.


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


# Arguments of a `kubectl` command line, and the verbs that it prints.


DONE: Final = {
    "delete": "deleted", "scale": "scaled", "annotate": "annotated", "label": "labeled",
    "set": "image updated", "edit": "edited", "patch": "patched",
}  # fmt: skip


def target_of(arguments: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    """Kind, name and the remaining arguments of `deployment/web …` or `deployment web …`."""
    if not arguments:
        return "", "", ()
    kind, slash, name = arguments[0].partition("/")
    if slash:
        return kind, name, arguments[1:]
    return kind, arguments[1] if len(arguments) > 1 else "", arguments[2:]


def pairs_of(arguments: tuple[str, ...]) -> Object:
    """Changes of labels or annotations: `key=value` sets a key, `key-` removes it (`None`)."""
    pairs: Object = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        pairs[key if equals else key.removesuffix("-")] = value if equals else None
    return pairs
