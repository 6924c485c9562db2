"""`<Kind> "<name>" is invalid: <field errors>`: what validation in the API server says, field by field.

Kubernetes builds these with `field.Error`: a path, one of a dozen fixed types, the value, a detail. One error
stands alone, several stand in brackets. An immutable field, a too long annotation and a missing resource
version are field errors like any other, so they are told apart here.
"""

from __future__ import annotations

import re

from whysync.messages.failure import Failure, ObjectName
from whysync.messages.field_paths import pointer_of
from whysync.messages.object_names import invalid_object
from whysync.messages.pattern import Context, Pattern, compiled, group_text, quoted
from whysync.messages.patterns.apply import (
    AnnotationTooLong,
    ConflictModified,
    FinalizerStuck,
    ImmutableField,
    SizeLimit,
    TooLarge,
)
from whysync.messages.patterns.pods import DependencyMissing
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem

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
# Fields whose only complaint about a well-formed value is that it changed.
_IMMUTABLE_FIELDS = {
    "Deployment": ("spec.selector",),
    "DaemonSet": ("spec.selector",),
    "ReplicaSet": ("spec.selector",),
    "Job": ("spec.selector", "spec.template"),
    "Service": ("spec.clusterIP",),
}
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
    resource = invalid_object(context.text)
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
    # One real cause is often followed by what it entails: the more exact mechanism leads.
    failures.sort(key=lambda failure: isinstance(failure, SchemaInvalid))
    return tuple(failures)


def _field_error(error: re.Match[str], text: str, resource: ObjectName) -> Failure:
    path, rest = error["path"], (error["rest"] or "").strip()
    kind = error["type"].capitalize()  # a folded text has it in any case
    whole = path == "patch"  # what was sent, not a field of that name
    path = "" if path in ("<nil>", "[]") or whole else path  # the object as a whole
    lower = rest.lower()
    limit = compiled(r"(\d{4,9})").search(rest)
    of_annotations = limit is not None and limit[1] == _ANNOTATIONS_LIMIT
    if kind == "Too long" and (path == "metadata.annotations" or (not path and of_annotations)):
        return AnnotationTooLong(text=text, resource=resource, limit=int(limit[1]) if limit else 262144)
    if path == "metadata.finalizers" and kind == "Forbidden":
        names = quoted(rest)
        return FinalizerStuck(text=text, resource=resource, finalizer=names[-1] if names else "", detail=rest)
    if path == "metadata.resourceVersion" and "must be specified for an update" in rest:
        return ConflictModified(text=text, resource=resource, detail=rest)
    if rest.startswith("updates to ") or any(words in lower for words in _IMMUTABLE):
        return _immutable(path, rest, text, resource)
    if (kind == "Too long" and path in ("", "data")) or "must have at most 1048576 bytes" in rest:
        return TooLarge(text=text, limit_of=SizeLimit.OBJECT, limit=1048576, resource=resource)
    if kind == "Not found" and (found := _missing(path, rest, text, resource)):
        return found
    problem = _PROBLEMS[kind]
    value, detail = _value_and_detail(rest) if kind not in ("Required value", "Forbidden") else ("", rest)
    if kind == "Invalid value" and not detail and path in _IMMUTABLE_FIELDS.get(resource.kind, ()):
        return _immutable(path, rest, text, resource)  # the text was cut off inside the value
    if kind == "Invalid value" and compiled(_OF_TYPE).search(rest):
        problem = SchemaProblem.TYPE
        # Go names the struct, then the path without indexes.
        inside = compiled(r"Go struct field \w{0,100}\.([\w.]{1,300}) of type").search(rest)
        path = inside[1] if inside and whole else path
    elif path == "metadata.name" or "RFC 1123" in rest or "RFC 1035" in rest:
        problem = SchemaProblem.NAME
    return SchemaInvalid(
        text=text,
        resource=resource,
        field=path,
        pointer="" if whole else pointer_of(path),
        problem=problem,
        value="" if whole else value,
        detail=detail,
    )


def _immutable(path: str, rest: str, text: str, resource: ObjectName) -> Failure:
    allowed: tuple[str, ...] = ()
    field, old = path, ""
    if "fields other than" in rest or "immutable after creation except" in rest:
        listed = re.split(r"fields other than|except", rest, maxsplit=1)[1]
        listed = re.split(r" are forbidden|for bound claims|\n|\s[-+{]", listed, maxsplit=1)[0]
        allowed = quoted(listed) or tuple(
            word for word in re.split(r",\s*|\s+and\s+|\s+", listed.strip()) if word and len(word) < 100
        )
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
    """`"x": must be y` → value and detail; a Go value (`v1.LabelSelector{…}`) may hold colons itself."""
    if rest.startswith('"'):
        end = compiled(r'(?<!\\)"(?:: |$)').search(rest, 1)
        if end:
            return rest[1 : end.start()], rest[end.end() :].strip()
    head, found, tail = rest.rpartition(": ")
    return (head, tail.strip()) if found else ("", rest)


def _missing(path: str, rest: str, text: str, resource: ObjectName) -> Failure | None:
    kinds = {
        "secret": "Secret",
        "configMap": "ConfigMap",
        "serviceAccount": "ServiceAccount",
        "storageClass": "StorageClass",
    }
    for word, kind in kinds.items():
        if word.lower() in path.lower():
            names = quoted(rest)
            return DependencyMissing(
                text=text, kind=kind, name=names[0] if names else "", referrer=str(resource)
            )
    return None


def statefulset(match: re.Match[str], context: Context) -> Failure:
    return _immutable("spec", group_text(match, "rest"), context.text, invalid_object(context.text))


TABLE: tuple[Pattern, ...] = (
    *(Pattern(f": {kind}", _ERROR, field_errors) for kind in _PROBLEMS),
    Pattern(": ", _BARE_ERROR, lambda m, c: _field_error(m, c.text, invalid_object(c.text))),
    Pattern("updates to statefulset spec", r"(?P<rest>updates to statefulset spec.*)", statefulset),
    Pattern("is immutable", r"(?P<rest>.*)", lambda m, c: _named_immutable(group_text(m, "rest"), c)),
    Pattern(
        "cannot change roleRef", r"(?P<rest>.*)", lambda m, c: _named_immutable(group_text(m, "rest"), c)
    ),
)


def _named_immutable(rest: str, context: Context) -> Failure:
    """`<path> is immutable`, `field is immutable`, as webhooks and CEL rules word it."""
    match = compiled(rf"(?P<path>{_PATH}): (?:field|value) is immutable").search(rest) or compiled(
        rf"(?:field )?[`'\"]?(?P<path>\.?{_PATH})[`'\"]? (?:field )?is immutable"
    ).search(rest)
    path = (match["path"].lstrip(".") if match else "").removesuffix(":")
    path = "" if path.lower() in ("field", "value", "it", "which", "object", "this") else path
    return ImmutableField(
        text=context.text,
        resource=invalid_object(context.text),
        field=path,
        pointer=pointer_of(path),
        detail=rest,
    )
