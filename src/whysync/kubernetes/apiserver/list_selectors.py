"""`labelSelector` and `fieldSelector` in the URL of a list or deletecollection request.

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

Predicate: TypeAlias = Callable[[Object], bool]

_COMMON_FIELDS: Final = ("metadata.name", "metadata.namespace")
_FIELDS_BY_KIND: Final = {
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


def predicate_of_url(path: str, resource: Resource) -> Predicate | None:
    """The predicate of the selectors in the URL; `None` if there are none. Raises `Refused`."""
    query = parse_qs(path.partition("?")[2]) if "?" in path else {}
    predicates = [
        *(predicate for text in query.get("labelSelector", ()) for predicate in _label_predicates(text)),
        *(
            predicate
            for text in query.get("fieldSelector", ())
            for predicate in _field_predicates(text, resource)
        ),
    ]
    return (lambda obj: all(predicate(obj) for predicate in predicates)) if predicates else None


def _label_predicates(selector: str) -> list[Predicate]:
    requirements: list[Predicate] = []
    at = 0
    while at < len(selector):
        part = _REQUIREMENT.match(selector, at)
        if part is None:
            raise bad_request(f"unable to parse requirement: found '{selector[at:]}', expected: identifier")
        requirements.append(_label_predicate(part))
        at = part.end()
    return requirements


def _label_predicate(part: re.Match[str]) -> Predicate:
    if part["absent"]:
        return lambda obj: part["absent"] not in _labels_of(obj)
    if part["there"]:
        return lambda obj: part["there"] in _labels_of(obj)
    if part["set"]:
        values = {value.strip() for value in part["values"].split(",")}
        if part["how"] == "in":
            return lambda obj: _labels_of(obj).get(part["set"]) in values
        return lambda obj: _labels_of(obj).get(part["set"]) not in values
    if part["sign"] == "!=":
        return lambda obj: _labels_of(obj).get(part["key"]) != part["value"]
    return lambda obj: _labels_of(obj).get(part["key"]) == part["value"]


def _labels_of(obj: Object) -> Object:
    return fields(fields(obj.get("metadata")).get("labels"))


def _field_predicates(selector: str, resource: Resource) -> list[Predicate]:
    requirements: list[Predicate] = []
    for part in selector.split(","):
        if not part:
            continue
        key, sign, value = _split(part)
        known = (
            _COMMON_FIELDS if resource.custom else (*_COMMON_FIELDS, *_FIELDS_BY_KIND.get(resource.kind, ()))
        )
        if key not in known:
            if resource.kind in _FIELDS_BY_KIND and not resource.custom:
                raise bad_request(f"field label not supported: {key}")
            supported = ", ".join(f'"{field_name}"' for field_name in _COMMON_FIELDS)
            raise bad_request(f'"{key}" is not a known field selector: only {supported}')
        requirements.append(_field_predicate(key, value, equal=sign != "!="))
    return requirements


def _split(part: str) -> tuple[str, str, str]:
    for sign in ("!=", "==", "="):
        key, separator, value = part.partition(sign)
        if separator:
            return key, sign, value
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def _field_predicate(key: str, value: str, *, equal: bool) -> Predicate:
    steps = key.split(".")

    def predicate(obj: Object) -> bool:
        actual = dig(obj, *steps)
        written = "" if actual is None or isinstance(actual, Missing) else actual
        if isinstance(written, bool):
            written = "true" if written else "false"
        return (str(written) == value) is equal

    return predicate
