"""`kubectl` in the hands of people: each verb writes with the manager that the real one has."""

from __future__ import annotations

import json
from datetime import datetime

from whysync.argocd.app_controller.controller import ApplicationController
from whysync.argocd.simulation.commands.actor import Actor, Outcome
from whysync.argocd.simulation.commands.argocd_objects import is_argocds, on_argocds
from whysync.argocd.simulation.commands.command_line import Command
from whysync.argocd.simulation.commands.kinds import patch_verb, served_kind
from whysync.argocd.simulation.commands.kubectl_create import made_by
from whysync.argocd.simulation.commands.kubectl_output import DONE, pairs_of, target_of
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request, ServedKind
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.kubectl.client_side_apply import client_side_apply

_ROLLOUT = {"restart": "restarted", "pause": "paused", "resume": "resumed"}


class Terminal:
    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server

    @property
    def now(self) -> datetime:
        return self._api_server.clock.now

    def run(self, command: Command, by: Actor, argocd: ApplicationController) -> Outcome:
        if command.has("--filename"):
            outcomes = [self._file(command, document) for document in by.input]
            return "; ".join(message for message, _ in outcomes), any(failed for _, failed in outcomes)
        if command.verb == "create":
            made = made_by(command)
            return self._file(command, made) if made is not None else ("error: must specify -f", True)
        if command.verb == "rollout":
            return self._rollout(command, argocd)
        words = command.words[1:] if command.verb == "set" else command.words
        kind, name, rest = target_of(words)
        if is_argocds(kind, name, command, argocd):
            return on_argocds(command, kind, name, rest, by, argocd)
        served = served_kind(self._api_server, kind)
        if served is None:
            return f'error: the server doesn\'t have a resource type "{kind}"', True
        space = command.flag("--namespace", "default") if served.namespaced else ""
        answer = self._one(command, by, served, served.path(space, name), rest)
        label = f"{served.plural}/{name}"
        if not answer.ok:
            gone = answer.code == 404 and command.has("--ignore-not-found")
            return ("", False) if gone else (_refusal(answer), True)
        return f"{label} {DONE[command.verb]}", False

    def _rollout(self, command: Command, argocd: ApplicationController) -> Outcome:
        """`restart` marks the template, `pause` and `resume` switch; Argo CD's own parts run elsewhere."""
        deed, *words = command.words
        if deed not in _ROLLOUT:
            return f'error: unknown command "rollout {deed}"', True
        targets = [words] if words and "/" not in words[0] else [[word] for word in words]
        for target in targets:
            kind, name, _ = target_of(tuple(target))
            space = command.flag("--namespace", "default")
            if space == argocd.context.namespace and name.startswith("argocd-"):
                continue
            served = served_kind(self._api_server, kind)
            if served is None:
                return f'error: the server doesn\'t have a resource type "{kind}"', True
            stamp: Object = {"kubectl.kubernetes.io/restartedAt": self._api_server.clock.stamp()}
            patch: Json = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
            if deed != "restart":
                patch = {"spec": {"paused": True if deed == "pause" else None}}
            answer = self._strategic(served, served.path(space, name), patch, "kubectl-rollout")
            if not answer.ok:
                return _refusal(answer), True
        return _ROLLOUT[deed], False

    def create(self, obj: Object, *, manager: str = "kubectl-create") -> Outcome:
        """One object, as it stood before anything happens."""
        served = _served(self._api_server, obj)
        if served is None:
            return f'no matches for kind "{text(obj.get("kind"))}"', True
        space = text(dig(obj, "metadata", "namespace"))
        answer = self._api_server.send(
            Request(verb="create", path=served.collection(space), body=obj, manager=manager)
        )
        return ("", False) if answer.ok else (_refusal(answer), True)

    def _know_owners(self, obj: Object, space: str) -> None:
        """An owner that is named without its uid: who writes such a thing has looked it up before."""
        for raw in items(dig(obj, "metadata", "ownerReferences")):
            owner = fields(raw)
            served = _served(self._api_server, owner)
            if owner.get("uid") or served is None:
                continue
            path = served.path(space if served.namespaced else "", text(owner.get("name")))
            answer = self._api_server.send(Request(verb="get", path=path))
            owner["uid"] = text(dig(answer.body, "metadata", "uid")) if answer.ok and answer.body else ""

    def _file(self, command: Command, obj: Object) -> Outcome:
        obj = copy_object(obj)
        served = _served(self._api_server, obj)
        name = text(dig(obj, "metadata", "name"))
        if served is None:
            wanted = f'"{text(obj.get("kind"))}" in version "{text(obj.get("apiVersion"))}"'
            return f'error: resource mapping not found for name: "{name}": no matches for kind {wanted}', True
        space = ""
        if served.namespaced:
            meta = fields(obj.get("metadata"))
            space = text(meta.get("namespace")) or command.flag("--namespace", "default")
            obj["metadata"] = {**meta, "namespace": space}
            self._know_owners(obj, space)
        path, collection = served.path(space, name), served.collection(space)
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
            return _refusal(answer), True
        return f"{served.plural}/{name} {outcome}", False

    def _one(
        self, command: Command, by: Actor, served: ServedKind, path: str, rest: tuple[str, ...]
    ) -> Answer:
        manager = command.flag("--field-manager")
        match command.verb:
            case "delete":
                spared = command.flag("--cascade") in ("orphan", "false")
                how: Json = {"propagationPolicy": "Orphan" if spared else "Background"}
                return self._api_server.send(Request(verb="delete", path=path, body=how))
            case "scale":
                wanted: Json = {"spec": {"replicas": int(command.flag("--replicas", "1"))}}
                return self._merge(f"{path}/scale", wanted, manager or "kubectl")
            case "annotate" | "label":
                place = "annotations" if command.verb == "annotate" else "labels"
                changed: Json = {"metadata": {place: pairs_of(rest)}}
                return self._merge(path, changed, manager or f"kubectl-{command.verb}")
            case "set":
                return self._set_image(path, rest, manager or "kubectl-set")
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


def _served(api_server: ApiServer, obj: Object) -> ServedKind | None:
    version, kind = text(obj.get("apiVersion")), text(obj.get("kind"))
    return next(
        (served for served in api_server.kinds() if (served.api_version, served.kind) == (version, kind)),
        None,
    )


def _refusal(answer: Answer) -> str:
    reason = text(dig(answer.body, "reason")) if answer.body else ""
    message = text(dig(answer.body, "message")) if answer.body else answer.text.strip()
    return f"Error from server ({reason}): {message}" if reason else f"Error from server: {message}"
