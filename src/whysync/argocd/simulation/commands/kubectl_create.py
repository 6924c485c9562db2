"""`kubectl create KIND NAME …`: objects that are created without a file."""

from __future__ import annotations

import base64

from whysync.argocd.simulation.commands.command_line import Command
from whysync.json_tree import Object


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
