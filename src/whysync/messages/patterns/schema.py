"""Manifests that the API server or kubectl cannot decode: unknown fields, wrong types, bad base64."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName
from whysync.messages.field_paths import pointer_of
from whysync.messages.pattern import Context, Pattern, compiled, group_text


class SchemaProblem(StrEnum):
    UNKNOWN_FIELD = "unknown-field"
    DUPLICATE_FIELD = "duplicate-field"
    TYPE = "type"
    REQUIRED = "required"
    UNSUPPORTED = "unsupported-value"
    INVALID = "invalid-value"
    FORBIDDEN = "forbidden"
    DUPLICATE = "duplicate-value"
    TOO_LONG = "too-long"
    TOO_MANY = "too-many"
    NAME = "name"
    NOT_FOUND = "not-found"
    OPTIONS = "options"
    OTHER = "other"


class SchemaInvalid(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    field: str = ""
    pointer: str = ""
    problem: SchemaProblem = SchemaProblem.OTHER
    value: str = ""
    detail: str = ""


class SecretEncoding(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    detail: str = ""


def _subject(text: str) -> ObjectName:
    """`Deployment in version "v1" cannot be handled as a Deployment`: the kind is all it tells."""
    match = compiled(r'(?P<kind>[A-Z]\w{1,62}) in version "[^"]{1,63}" cannot be handled').search(text[:2000])
    return ObjectName(kind=group_text(match, "kind")) if match else NO_OBJECT_NAME


def strict(match: re.Match[str], context: Context) -> tuple[Failure, ...]:
    """`strict decoding error: unknown field "a", duplicate field "b"`: each is a failure of its own."""
    found = compiled(r'(?P<what>unknown|duplicate) field "(?P<path>[^"]{1,300})"').finditer(
        context.text[match.start() : match.start() + 8000]
    )
    return tuple(
        SchemaInvalid(
            text=context.text,
            resource=_subject(context.text),
            field=one["path"],
            pointer=pointer_of(one["path"]),
            problem=SchemaProblem.UNKNOWN_FIELD
            if one["what"] == "unknown"
            else SchemaProblem.DUPLICATE_FIELD,
        )
        for one in list(found)[:50]
    )


def validation(match: re.Match[str], context: Context) -> tuple[Failure, ...]:
    """kubectl's client-side validation: `ValidationError(Deployment.spec): unknown field "x" in io.k8s.…`."""
    return tuple(_validation(match_, context) for match_ in list(match.re.finditer(context.text[:8192]))[:50])


def _validation(match: re.Match[str], context: Context) -> Failure:
    kind, _, path = group_text(match, "path").partition(".")
    detail = group_text(match, "detail")
    field, problem = path, SchemaProblem.OTHER
    if unknown := compiled(r'unknown field "([^"]{1,200})"').search(detail):
        field, problem = f"{path}.{unknown[1]}".lstrip("."), SchemaProblem.UNKNOWN_FIELD
    elif missing := compiled(r'missing required field "([^"]{1,200})"').search(detail):
        field, problem = f"{path}.{missing[1]}".lstrip("."), SchemaProblem.REQUIRED
    elif "invalid type" in detail:
        problem = SchemaProblem.TYPE
    return SchemaInvalid(
        text=context.text,
        resource=ObjectName(kind=kind.rpartition(".")[2]),
        field=field,
        pointer=pointer_of(field),
        problem=problem,
        detail=detail,
    )


def wrong_type(match: re.Match[str], context: Context) -> Failure:
    """Go names the struct, then the path without indexes: no pointer can be told from it."""
    return SchemaInvalid(
        text=context.text,
        resource=_subject(context.text),
        field=group_text(match, "path"),
        problem=SchemaProblem.TYPE,
        value=group_text(match, "got"),
        detail=match[0],
    )


def other(match: re.Match[str], context: Context, problem: SchemaProblem = SchemaProblem.OTHER) -> Failure:
    field = group_text(match, "path")
    return SchemaInvalid(
        text=context.text,
        resource=_subject(context.text),
        field=field,
        pointer=pointer_of(field),
        problem=problem,
        detail=match[0].strip(),
    )


def encoding(match: re.Match[str], context: Context) -> Failure:
    return SecretEncoding(text=context.text, resource=_subject(context.text), detail=match[0])


TABLE: tuple[Pattern, ...] = (
    Pattern("illegal base64 data", r"illegal base64 data at input byte \d+", encoding),
    Pattern("strict decoding error", r"strict decoding error: ", strict),
    Pattern(
        "ValidationError(",
        r"ValidationError\((?P<path>[^)]{1,300})\): (?P<detail>[^;,\n]{1,1000})",
        validation,
    ),
    Pattern(
        "cannot unmarshal",
        r"cannot unmarshal (?P<got>\w{1,40})(?: [\w.\"-]{1,100})? into Go struct field "
        r"(?P<struct>\w{0,100})\.(?P<path>[\w.]{1,300}) of type "
        r"(?P<want>[\w.\[\]*]{1,100})",
        wrong_type,
    ),
    Pattern(
        'unknown field "',
        r'unknown field "(?P<path>[^"]{1,300})"',
        lambda m, c: other(m, c, SchemaProblem.UNKNOWN_FIELD),
    ),
    Pattern("error validating data", r"error validating data: .*", other),
    Pattern("expects string or", r"expects string or .*", lambda m, c: other(m, c, SchemaProblem.TYPE)),
    Pattern(
        "cannot convert", r"cannot convert \w{1,20} to \w{1,20}", lambda m, c: other(m, c, SchemaProblem.TYPE)
    ),
    Pattern(
        "quantities must match the regular expression",
        r"quantities must match .*",
        lambda m, c: other(m, c, SchemaProblem.TYPE),
    ),
    Pattern(
        "must be nil",
        r"(?P<path>metadata\.managedFields) must be nil",
        lambda m, c: other(m, c, SchemaProblem.FORBIDDEN),
    ),
    Pattern(
        "--force cannot be used with",
        r"--force cannot be used with --server-side.*",
        lambda m, c: other(m, c, SchemaProblem.OPTIONS),
    ),
    Pattern("lowercase RFC 1123", r"a lowercase RFC 1123 .*", lambda m, c: other(m, c, SchemaProblem.NAME)),
    Pattern(
        "does not match the namespace",
        r"the namespace from the provided object \"[^\"]{0,253}\" does not match the namespace .*",
        lambda m, c: other(m, c, SchemaProblem.INVALID),
    ),
    Pattern("is invalid: patch: Invalid value", r"patch: Invalid value: .*", other),
    Pattern("unable to decode", r"unable to decode .*", other),
    Pattern(
        "cannot restore slice from",
        r"cannot restore slice from .*|cannot restore struct from: .*",
        lambda m, c: other(m, c, SchemaProblem.TYPE),
    ),
    Pattern(
        "does not contain declared merge key", r"map: .{0,300} does not contain declared merge key: .*", other
    ),
    Pattern("The order in patch list", r"The order in patch list:.*", other),
    Pattern("cannot be handled as a", r"cannot be handled as a .*", other),
)
