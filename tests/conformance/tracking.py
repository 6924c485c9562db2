"""tracking.jsonl: which application owns a resource?"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.conformance.checks import failed_checks, mismatch
from whysync.argocd import tracking
from whysync.json_tree import Json, Object, fields, items, text


def is_valid_resource_name(name: str) -> bool:
    return len(name) < 64 and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) is not None


def without_tracking(obj: Object, *, method: str) -> Object:
    """The marks taken off again; always the default label, whatever key is configured."""
    if method != tracking.TrackingMethod.LABEL:
        obj = tracking.without_annotation(
            tracking.without_annotation(obj, tracking.TRACKING_ID), tracking.INSTALLATION_ID
        )
    if method in (tracking.TrackingMethod.LABEL, tracking.TrackingMethod.ANNOTATION_AND_LABEL):
        obj = tracking.without_label(obj, tracking.INSTANCE_LABEL)
    return obj


def parse_qualified_name(name: str, default_namespace: str) -> tuple[str, str]:
    """`namespace/name` → `(name, namespace)`."""
    namespace, separator, rest = name.partition("/")
    return (rest, namespace) if separator else (name, default_namespace)


def parse_instance_name(name: str, default_namespace: str) -> tuple[str, str]:
    """`namespace_name` → `(name, namespace)`."""
    namespace, separator, rest = name.partition("_")
    return (rest, namespace) if separator else (name, default_namespace)


def instance_name_from_qualified(name: str, default_namespace: str) -> str:
    return tracking.instance_name(*parse_qualified_name(name, default_namespace), default_namespace)


def check(record: Object) -> list[str]:
    expect = fields(record["expect"])
    ask = _OPS[text(record["op"])]
    try:
        got = ask(record)
    except (tracking.MalformedMetadata, tracking.LabelTooLong) as problem:
        if expect.get("error") is True:
            return []
        return mismatch("error", expect.get("error", False), str(problem))
    return _mismatches(expect, got)


def _mismatches(expect: Object, got: Object) -> list[str]:
    result: list[str] = []
    for name, value in expect.items():
        if name in ("object", "live", "config"):
            result += failed_checks(got[name], value)
        else:
            result += mismatch(name, value, got.get(name, False))
    return result


def _set(record: Object, obj: Object | None = None) -> Object:
    return tracking.with_tracking(
        fields(record.get("object")) if obj is None else obj,
        app=text(record.get("app")),
        method=text(record.get("method")),
        namespace=text(record.get("namespace")),
        label_key=text(record.get("key")),
        installation_id=text(record.get("installation_id")),
    )


def _owner(record: Object, obj: Object) -> str:
    return tracking.owner_of(
        obj,
        method=text(record.get("method")),
        label_key=text(record.get("key")),
        installation_id=text(record.get("read_installation_id")),
    )


def _set_and_get(record: Object) -> Object:
    marked = _set(record)
    return {"app_name": _owner(record, marked), "object": marked}


def _set_and_remove(record: Object) -> Object:
    return {"object": without_tracking(_set(record), method=text(record.get("remove_method")))}


def _get(record: Object) -> Object:
    return {"app_name": _owner(record, fields(record["object"]))}


def _parse_tracking_id(record: Object) -> Object:
    tree = tracking.TrackingId.parse(text(record["tracking_id"]))
    return {"error": True} if tree is None else {"error": False, "app_name": tree.app, **tree._asdict()}


def _normalize(record: Object) -> Object:
    sides: dict[str, Object] = {}
    for side in ("config", "live"):
        obj = fields(fields(record[side])["object"])
        for call in items(fields(record[side]).get("set")):
            obj = _set(fields(call), obj)
        sides[side] = obj
    live = tracking.normalized_live(
        sides["config"],
        sides["live"],
        method=text(record["method"]),
        label_key=text(record["label_key"]),
    )
    return {"config": sides["config"], "live": live}


def _self_referenced(record: Object) -> Object:
    live, config = record["live"], record["config"]
    referenced = tracking.is_self_referenced(
        fields(live) if live is not None else None,
        fields(config) if config is not None else None,
        app=text(record["app"]),
        method=text(record["method"]),
        installation_id=text(record.get("installation_id")),
    )
    return {"self_referenced": referenced}


def _parsed(parse: Callable[[str, str], tuple[str, str]]) -> Callable[[Object], Object]:
    def ask(record: Object) -> Object:
        name, namespace = parse(text(record["input"]), text(record["implicit_namespace"]))
        return {"app_name": name, "app_namespace": namespace}

    return ask


def _texts(record: Object, *names: str) -> list[str]:
    return [text(record[name]) for name in names]


def _on_object(answer: Callable[[Object, str, str], Json], name: str) -> Callable[[Object], Object]:
    def ask(record: Object) -> Object:
        return {name: answer(fields(record["object"]), text(record["key"]), text(record.get("value")))}

    return ask


_OPS: dict[str, Callable[[Object], Object]] = {
    "set-and-get": _set_and_get,
    "set-and-remove": _set_and_remove,
    "get": _get,
    "truncate-label": lambda record: {"label": tracking.truncated_label(text(record["value"]))},
    "parse-tracking-id": _parse_tracking_id,
    "normalize-tracking": _normalize,
    "self-referenced": _self_referenced,
    "is-old-method": lambda record: dict.fromkeys(
        fields(record["expect"]), tracking.is_label_only(text(record["method"]))
    ),
    "set-instance-label": _on_object(tracking.with_instance_label, "object"),
    "set-instance-annotation": _on_object(tracking.with_annotation, "object"),
    "get-annotation": _on_object(lambda obj, key, _: tracking.annotation_of(obj, key), "value"),
    "get-label": _on_object(lambda obj, key, _: tracking.label_of(obj, key), "value"),
    "remove-label": _on_object(lambda obj, key, _: tracking.without_label(obj, key), "object"),
    "resource-name": lambda record: {"valid": is_valid_resource_name(text(record["name"]))},
    "parse-qualified-name": _parsed(parse_qualified_name),
    "parse-instance-name": _parsed(parse_instance_name),
    "instance-name": lambda record: {
        "instance_name": tracking.instance_name(
            *_texts(record, "app_name", "app_namespace", "default_namespace")
        )
    },
    "instance-name-from-qualified": lambda record: {
        "instance_name": instance_name_from_qualified(*_texts(record, "qualified_name", "default_namespace"))
    },
}
