"""Which objects a list, a watch or a mass deletion is about: `labelSelector` and `fieldSelector` of the URL.

Mirrors apimachinery `labels.Parse` and `fields.ParseSelector`, Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias
from urllib.parse import parse_qs

from whysync.json_tree import Missing, Object, dig, fields
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.status_errors import bad_request

Choice: TypeAlias = Callable[[Object], bool]

_ALWAYS: Final = ("metadata.name", "metadata.namespace")
_MORE: Final = {
    "Pod": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
            "status.phase", "status.podIP", "status.nominatedNodeName"),
    "Node": ("spec.unschedulable",),
    "Namespace": ("status.phase",),
    "Secret": ("type",),
    "Event": ("involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid",
              "involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.resourceVersion",
              "reason", "reportingComponent", "source", "type"),
    "Job": ("status.successful",),
    "Service": ("spec.clusterIP", "spec.type"),
    "ReplicaSet": ("status.replicas",),
    "ReplicationController": ("status.replicas",),
}  # fmt: skip
_REQUIREMENT: Final = re.compile(
    r"\s*(?:!\s*(?P<absent>[\w./-]+)"
    r"|(?P<set>[\w./-]+)\s+(?P<how>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<key>[\w./-]+)\s*(?P<sign>!=|==|=)\s*(?P<value>[\w.-]*)"
    r"|(?P<there>[\w./-]+))\s*(?:,|$)"
)


def chosen_by(path: str, resource: Resource) -> Choice | None:
    """`None` where the URL chooses nothing: then all are meant. Raises `Refused`."""
    query = parse_qs(path.partition("?")[2]) if "?" in path else {}
    choices = [
        *(choice for text in query.get("labelSelector", ()) for choice in _labels(text)),
        *(choice for text in query.get("fieldSelector", ()) for choice in _fields(text, resource)),
    ]
    return (lambda obj: all(choice(obj) for choice in choices)) if choices else None


def _labels(selector: str) -> list[Choice]:
    requirements: list[Choice] = []
    at = 0
    while at < len(selector):
        part = _REQUIREMENT.match(selector, at)
        if part is None:
            raise bad_request(f"unable to parse requirement: found '{selector[at:]}', expected: identifier")
        requirements.append(_requirement(part))
        at = part.end()
    return requirements


def _requirement(part: re.Match[str]) -> Choice:
    if part["absent"]:
        return lambda obj: part["absent"] not in _of(obj)
    if part["there"]:
        return lambda obj: part["there"] in _of(obj)
    if part["set"]:
        values = {value.strip() for value in part["values"].split(",")}
        if part["how"] == "in":
            return lambda obj: _of(obj).get(part["set"]) in values
        return lambda obj: _of(obj).get(part["set"]) not in values
    if part["sign"] == "!=":
        return lambda obj: _of(obj).get(part["key"]) != part["value"]
    return lambda obj: _of(obj).get(part["key"]) == part["value"]


def _of(obj: Object) -> Object:
    return fields(fields(obj.get("metadata")).get("labels"))


def _fields(selector: str, resource: Resource) -> list[Choice]:
    requirements: list[Choice] = []
    for part in selector.split(","):
        if not part:
            continue
        key, sign, value = _split(part)
        known = _ALWAYS if resource.custom else (*_ALWAYS, *_MORE.get(resource.kind, ()))
        if key not in known:
            if resource.kind in _MORE and not resource.custom:
                raise bad_request(f"field label not supported: {key}")
            supported = ", ".join(f'"{field_name}"' for field_name in _ALWAYS)
            raise bad_request(f'"{key}" is not a known field selector: only {supported}')
        requirements.append(_field(key, value, wanted=sign != "!="))
    return requirements


def _split(part: str) -> tuple[str, str, str]:
    for sign in ("!=", "==", "="):
        key, separator, value = part.partition(sign)
        if separator:
            return key, sign, value
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def _field(key: str, value: str, *, wanted: bool) -> Choice:
    steps = key.split(".")

    def choice(obj: Object) -> bool:
        actual = dig(obj, *steps)
        written = "" if actual is None or isinstance(actual, Missing) else actual
        if isinstance(written, bool):
            written = "true" if written else "false"
        return (str(written) == value) is wanted

    return choice
