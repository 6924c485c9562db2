"""`<Kind> "<name>" is invalid: <field errors>`: errors of the validation in the API server, one per field.

Kubernetes builds them with `field.Error`: a path, one of a dozen types, the value, a detail. Several errors
are in brackets. An immutable field, an annotation that is too long and a missing resource version are field
errors as well and get failure types of their own here.
"""

from __future__ import annotations

import re

from whysync.kubernetes.api.stateful_sets import MUTABLE_FIELDS
from whysync.messages.failure import Failure, ObjectName
from whysync.messages.field_paths import pointer_of
from whysync.messages.object_names import invalid_object
from whysync.messages.pattern import Context, Pattern, compiled, quoted
from whysync.messages.patterns.apply import (
    AnnotationTooLong,
    ConflictModified,
    FinalizerStuck,
    ImmutableField,
    SizeLimit,
    TooLarge,
)
from whysync.messages.patterns.pods import DependencyMissing
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem, yaml_type

_TYPES = (
    r"Required value|Invalid value|Unsupported value|Forbidden|Duplicate value|Too long|Too many|Too few|"
    r"Not found|Internal error|Too short"
)
_PATH = r"(?:[A-Za-z_][\w-]{0,79}|<nil>|\[\])(?:\.[\w/<>-]{1,100}|\[[^\]\s]{0,200}\]){0,24}"
_ERROR = rf"(?<![\w.\]])(?P<path>{_PATH}): (?P<type>{_TYPES})(?::? (?P<rest>.*))?"
_BARE_ERROR = rf"^(?P<path>)(?P<type>{_TYPES}): (?P<rest>.*)"
_NEXT = rf", (?=(?:{_PATH}): (?:{_TYPES}))"

_ANNOTATIONS_LIMIT = "262144"  # the only limit of this size: all annotations together
_IMMUTABLE = (
    "immutable",
    "may not change once set",
    "may not be changed",
    "cannot be changed",
    "can't be changed",
    "cannot change",
    "can not be changed",
    "may not change fields other than",
    "field can not be less than",
    "cannot be modified",
    "can not be modified",
)
# Fields for which `Invalid value` of a well-formed value means that it was changed.
_IMMUTABLE_FIELDS = {
    "Deployment": ("spec.selector",),
    "DaemonSet": ("spec.selector",),
    "ReplicaSet": ("spec.selector",),
    "Job": ("spec.selector", "spec.template"),
    "Service": ("spec.clusterIP",),
}
_LEFT_OUT = re.compile(r"\.\.\.|…")
_PROBLEMS = {
    "Required value": SchemaProblem.REQUIRED,
    "Invalid value": SchemaProblem.INVALID,
    "Unsupported value": SchemaProblem.UNSUPPORTED,
    "Forbidden": SchemaProblem.FORBIDDEN,
    "Duplicate value": SchemaProblem.DUPLICATE,
    "Too long": SchemaProblem.TOO_LONG,
    "Too many": SchemaProblem.TOO_MANY,
    "Too few": SchemaProblem.INVALID,
    "Too short": SchemaProblem.INVALID,
    "Not found": SchemaProblem.NOT_FOUND,
    "Internal error": SchemaProblem.OTHER,
}


_OF_TYPE = (
    r"must be of type|expected \w+, got|unrecognized type: "
    r"|cannot (?:convert|restore) |cannot unmarshal \w+ into"
)


def field_errors(match: re.Match[str], context: Context) -> tuple[Failure, ...]:
    resource = invalid_object(match, context)
    errors = context.text[match.start() :].strip()
    pieces = (
        compiled(_NEXT).split(errors.rstrip("]"))
        if context.text[match.start() - 1 : match.start()] == "["
        else [errors]
    )
    failures: list[Failure] = []
    for piece in pieces[:50]:
        if error := compiled(_ERROR).search(piece):
            text = context.text if len(pieces) == 1 else piece
            failures.append(_field_error(error, text, resource))
    if resource.kind == "Job" and _is_replaced_job(failures):
        failures.append(_immutable("spec.template", "", context.text, resource))
    # The more exact failure first: the others are often its consequences.
    failures.sort(key=lambda failure: isinstance(failure, SchemaInvalid))
    return tuple(failures)


def _is_replaced_job(failures: list[Failure]) -> bool:
    """Does the API server miss the selector, and the labels that belong to it?

    It generates both for a new Job only, so this is an update of a Job, whose template is immutable.
    """
    fields = {failure.field for failure in failures if isinstance(failure, SchemaInvalid)}
    return "spec.selector" in fields and any(field.startswith("spec.template") for field in fields)


def _field_error(error: re.Match[str], text: str, resource: ObjectName) -> Failure:
    path, rest = error["path"], (error["rest"] or "").strip()
    kind = error["type"].capitalize()  # a folded text has it in any case
    is_patch = path == "patch"  # the request body, not a field of that name
    path = "" if path in ("<nil>", "[]") or is_patch else path  # the whole object
    lower = rest.lower()
    limit = compiled(r"(\d{4,9})").search(rest)
    of_annotations = limit is not None and limit[1] == _ANNOTATIONS_LIMIT
    if kind == "Too long" and (path == "metadata.annotations" or (not path and of_annotations)):
        return AnnotationTooLong(text=text, resource=resource, limit=int(limit[1]) if limit else 262144)
    if path == "metadata.finalizers" and kind == "Forbidden":
        names = quoted(rest)
        return FinalizerStuck(text=text, resource=resource, finalizer=names[-1] if names else "", detail=rest)
    if path == "metadata.resourceVersion" and ("must be specified for an update" in rest or not rest):
        return ConflictModified(text=text, resource=resource, detail=rest)
    if rest.startswith("updates to ") or any(phrase in lower for phrase in _IMMUTABLE):
        return _immutable(path, rest, text, resource)
    if (kind == "Too long" and path in ("", "data")) or "must have at most 1048576 bytes" in rest:
        return TooLarge(text=text, limit_of=SizeLimit.OBJECT, limit=1048576, resource=resource)
    if kind == "Not found" and (missing := _missing(path, rest, text, resource)):
        return missing
    problem = _PROBLEMS[kind]
    value, detail = _value_and_detail(rest) if kind not in ("Required value", "Forbidden") else ("", rest)
    is_cut = not detail or _ends_in_value(rest)
    if kind == "Invalid value" and is_cut and path in _IMMUTABLE_FIELDS.get(resource.kind, ()):
        return _immutable(path, rest, text, resource)  # the text was cut off inside the value
    if kind == "Invalid value" and compiled(_OF_TYPE).search(rest):
        problem = SchemaProblem.TYPE
        # Go names the struct, then the path without indexes.
        inside = compiled(r"Go struct field \w{0,100}\.([\w.]{1,300}) of type").search(rest)
        path = inside[1] if inside and is_patch else path
        converted = compiled(r"cannot convert (\w{1,20}) to (\w{1,20})").search(rest) or compiled(
            r"cannot unmarshal (\w{1,20}) into Go struct field [\w.]{1,400} of type (\w{1,60})"
        ).search(rest)
        if converted:
            return SchemaInvalid(
                text=text,
                resource=resource,
                field=path,
                pointer="" if is_patch else pointer_of(path),
                problem=problem,
                value=yaml_type(converted[1]),
                want=converted[2],
                detail=detail,
            )
    elif path == "metadata.name" or "RFC 1123" in rest or "RFC 1035" in rest:
        problem = SchemaProblem.NAME
    return SchemaInvalid(
        text=text,
        resource=resource,
        field=path,
        pointer="" if is_patch else pointer_of(path),
        problem=problem,
        value="" if is_patch else value,
        detail=detail,
    )


def _immutable(path: str, rest: str, text: str, resource: ObjectName) -> Failure:
    allowed: tuple[str, ...] = ()
    field, old = path, ""
    if "fields other than" in rest or "immutable after creation except" in rest:
        listed = re.split(r"fields other than|except", rest, maxsplit=1)[1]
        listed = re.split(r" are forbidden|for bound claims|\n|\s[-+{]", listed, maxsplit=1)[0]
        allowed = quoted(listed) or tuple(
            name for name in re.split(r",\s*|\s+and\s+|\s+", listed.strip()) if name and len(name) < 100
        )
    of_set = "updates to statefulset spec" in rest
    if of_set and _LEFT_OUT.search(rest):  # a person or a log shortened the list
        allowed = MUTABLE_FIELDS
    if of_set and not resource:
        resource = ObjectName(kind="StatefulSet", group="apps")
    value, detail = _value_and_detail(rest)
    new = value
    # A PersistentVolumeClaim appends a Go diff: `- "StorageClassName": "a", + "StorageClassName": null`.
    side = r'\s*"?(\w{1,63})"?:\s*([^\n+,]{1,200}),?\s*'
    changed = compiled(rf"-{side}\+{side}").search(rest)
    if changed and changed[1] == changed[3]:
        field = f"{path}.{changed[1][0].lower()}{changed[1][1:]}"
        old, new = changed[2].strip(), changed[4].strip()
    return ImmutableField(
        text=text,
        resource=resource,
        field=field,
        pointer=pointer_of(field),
        old=old,
        new=new,
        allowed=allowed,
        detail=detail,
    )


def _value_and_detail(rest: str) -> tuple[str, str]:
    """Split `"x": must be y` into value and detail; a Go value (`v1.LabelSelector{…}`) may contain colons."""
    if rest.startswith('"'):
        end = compiled(r'(?<!\\)"(?:: |$)').search(rest, 1)
        if end:
            return rest[1 : end.start()], rest[end.end() :].strip()
    head, separator, tail = rest.rpartition(": ")
    return (head, tail.strip()) if separator else ("", rest)


def _ends_in_value(rest: str) -> bool:
    """Is the text cut off inside the value, before the reason? Go values have braces and colons."""
    return ": " not in rest or rest.count("{") > rest.count("}")


def _missing(path: str, rest: str, text: str, resource: ObjectName) -> Failure | None:
    kinds = {
        "secret": "Secret",
        "configMap": "ConfigMap",
        "serviceAccount": "ServiceAccount",
        "storageClass": "StorageClass",
    }
    for name, kind in kinds.items():
        if name.lower() in path.lower():
            names = quoted(rest)
            return DependencyMissing(
                text=text, kind=kind, name=names[0] if names else "", referrer=str(resource)
            )
    return None


def statefulset(match: re.Match[str], context: Context) -> Failure:
    return _immutable("spec", match[0].strip(), context.text, invalid_object(match, context))


def immutable(match: re.Match[str], context: Context) -> Failure:
    """`<path> is immutable` or `field is immutable`, the messages of webhooks and CEL rules."""
    detail = match[0].strip()
    field = compiled(rf"(?P<path>{_PATH}): (?:field|value) is immutable").search(detail) or compiled(
        rf"(?:field )?[`'\"]?(?P<path>\.?{_PATH})[`'\"]? (?:field )?is immutable"
    ).search(detail)
    path = (field["path"].lstrip(".") if field else "").removesuffix(":")
    path = "" if path.lower() in ("field", "value", "it", "which", "object", "this") else path
    return ImmutableField(
        text=context.text,
        resource=invalid_object(match, context),
        field=path,
        pointer=pointer_of(path),
        detail=detail,
    )


TABLE: tuple[Pattern, ...] = (
    *(Pattern(f": {kind}", _ERROR, field_errors) for kind in _PROBLEMS),
    Pattern(": ", _BARE_ERROR, lambda m, c: _field_error(m, c.text, invalid_object(m, c))),
    Pattern("updates to statefulset spec", r"updates to statefulset spec.*", statefulset),
    Pattern("is immutable", r".*", immutable),
    Pattern("cannot change roleRef", r".*", immutable),
)
