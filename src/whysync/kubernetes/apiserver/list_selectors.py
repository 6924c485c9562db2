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
    position = 0
    while position < len(selector):
        requirement = _REQUIREMENT.match(selector, position)
        if requirement is None:
            raise bad_request(
                f"unable to parse requirement: found '{selector[position:]}', expected: identifier"
            )
        requirements.append(_label_predicate(requirement))
        position = requirement.end()
    return requirements


def _label_predicate(requirement: re.Match[str]) -> Predicate:
    if requirement["absent"]:
        return lambda obj: requirement["absent"] not in _labels_of(obj)
    if requirement["there"]:
        return lambda obj: requirement["there"] in _labels_of(obj)
    if requirement["set"]:
        values = {value.strip() for value in requirement["values"].split(",")}
        if requirement["how"] == "in":
            return lambda obj: _labels_of(obj).get(requirement["set"]) in values
        return lambda obj: _labels_of(obj).get(requirement["set"]) not in values
    if requirement["sign"] == "!=":
        return lambda obj: _labels_of(obj).get(requirement["key"]) != requirement["value"]
    return lambda obj: _labels_of(obj).get(requirement["key"]) == requirement["value"]


def _labels_of(obj: Object) -> Object:
    return fields(fields(obj.get("metadata")).get("labels"))


def _field_predicates(selector: str, resource: Resource) -> list[Predicate]:
    requirements: list[Predicate] = []
    for term in selector.split(","):
        if not term:
            continue
        key, sign, value = _split(term)
        supported_fields = (
            _COMMON_FIELDS if resource.custom else (*_COMMON_FIELDS, *_FIELDS_BY_KIND.get(resource.kind, ()))
        )
        if key not in supported_fields:
            if resource.kind in _FIELDS_BY_KIND and not resource.custom:
                raise bad_request(f"field label not supported: {key}")
            supported = ", ".join(f'"{field_name}"' for field_name in _COMMON_FIELDS)
            raise bad_request(f'"{key}" is not a known field selector: only {supported}')
        requirements.append(_field_predicate(key, value, equal=sign != "!="))
    return requirements


def _split(term: str) -> tuple[str, str, str]:
    for sign in ("!=", "==", "="):
        key, separator, value = term.partition(sign)
        if separator:
            return key, sign, value
    raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


def _field_predicate(key: str, value: str, *, equal: bool) -> Predicate:
    steps = key.split(".")

    def predicate(obj: Object) -> bool:
        actual = dig(obj, *steps)
        written = "" if actual is None or isinstance(actual, Missing) else actual
        if isinstance(written, bool):
            written = "true" if written else "false"
        return (str(written) == value) is equal

    return predicate
