"""Manifests that the API server or kubectl cannot decode: unknown fields, wrong types, bad base64."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName
from whysync.messages.field_paths import pointer_of
from whysync.messages.object_names import named_object
from whysync.messages.pattern import Builder, Context, Pattern, compiled, fill, group_text


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
    want: str = ""
    """The type that the schema declares, as Go names it: `string`, `int32`."""
    detail: str = ""

    @property
    def before_request(self) -> bool:
        """Did Argo CD's own validation reject the object, before it was sent to the API server?"""
        return "error validating data: ValidationError(" in self.text


class SecretEncoding(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    detail: str = ""


def _subject(_match: re.Match[str], context: Context) -> ObjectName:
    """The object of `Deployment in version "v1" cannot be handled as a Deployment`, which has only a kind."""
    match = compiled(r'(?P<kind>[A-Z]\w{1,62}) in version "[^"]{1,63}" cannot be handled').search(
        context.text[:2000]
    )
    return named_object(match) if match else NO_OBJECT_NAME


def strict(match: re.Match[str], context: Context) -> tuple[Failure, ...]:
    """`strict decoding error: unknown field "a", duplicate field "b"`: one failure for each field."""
    errors = compiled(r'(?P<problem>unknown|duplicate) field "(?P<path>[^"]{1,300})"').finditer(
        context.text[match.start() : match.start() + 8000]
    )
    return tuple(
        SchemaInvalid(
            text=context.text,
            resource=_subject(match, context),
            field=error["path"],
            pointer=pointer_of(error["path"]),
            problem=SchemaProblem(f"{error['problem']}-field"),
        )
        for error in list(errors)[:50]
    )


def validation(match: re.Match[str], context: Context) -> tuple[Failure, ...]:
    """kubectl's client-side validation: `ValidationError(Deployment.spec): unknown field "x" in io.k8s.…`."""
    errors = list(match.re.finditer(context.text[:8192]))[:50]
    return tuple(_validation(error, context) for error in errors)


def _validation(match: re.Match[str], context: Context) -> Failure:
    kind, _, path = group_text(match, "path").partition(".")
    detail = group_text(match, "detail").removesuffix("]")  # the end of a list of errors
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


def yaml_type(go_type: str) -> str:
    """`int64` is a number in YAML; other types of Go have the same names."""
    return "number" if go_type.startswith(("int", "uint", "float")) else go_type


def invalid(problem: SchemaProblem = SchemaProblem.OTHER) -> Builder:
    return fill(
        SchemaInvalid,
        whole="detail",
        problem=problem,
        pointer=lambda match, _: pointer_of(group_text(match, "field")),
        resource=_subject,
    )


TABLE: tuple[Pattern, ...] = (
    Pattern(
        "illegal base64 data",
        r"illegal base64 data at input byte \d+",
        fill(SecretEncoding, whole="detail", resource=_subject),
    ),
    Pattern("strict decoding error", r"strict decoding error: ", strict),
    Pattern(
        "ValidationError(",
        r"ValidationError\((?P<path>[^)]{1,300})\): (?P<detail>[^;,\n]{1,1000})",
        validation,
    ),
    Pattern(
        "the namespace of the provided object does not match",
        r"the namespace of the provided object does not match the namespace sent on the request",
        fill(
            SchemaInvalid,
            whole="detail",
            problem=SchemaProblem.INVALID,
            field="metadata.namespace",
            pointer="/metadata/namespace",
        ),
    ),
    # A name that the API server generates suits hooks, which are created each time; apply needs a name.
    Pattern(
        "generate name",
        r"cannot use generate name with apply",
        fill(
            SchemaInvalid,
            whole="detail",
            problem=SchemaProblem.INVALID,
            field="metadata.generateName",
            pointer="/metadata/generateName",
        ),
    ),
    # Go prints the path without indexes: it is not a JSON pointer.
    Pattern(
        "cannot unmarshal",
        r"cannot unmarshal (?P<value>\w{1,40})(?: [\w.\"-]{1,100})? into Go struct field "
        r"(?P<struct>\w{0,100})\.(?P<field>[\w.]{1,300}) of type "
        r"(?P<want>[\w.\[\]*]{1,100})",
        fill(SchemaInvalid, whole="detail", problem=SchemaProblem.TYPE, resource=_subject),
    ),
    # The decoder of older clients of Kubernetes names each type on the way to the value.
    Pattern(
        " byte of ...|",
        r"(?:\w{1,60}\.)?(?P<struct>\w{1,100})\.(?P<field>\w{1,100}): (?:\[\]\S{1,100}: )?"
        r"(?P<want>[\w ]{1,60}): .{1,120}?, error found in #\d{1,9} byte of \.\.\.\|.*",
        fill(SchemaInvalid, whole="detail", problem=SchemaProblem.TYPE, resource=_subject),
    ),
    Pattern(
        'unknown field "',
        r'unknown field "(?P<field>[^"]{1,300})"',
        invalid(SchemaProblem.UNKNOWN_FIELD),
    ),
    # The API server's check against the schema of a CRD.
    Pattern(
        " in body ",
        r"(?P<field>[\w.\[\]/-]{1,300}) in body is required",
        invalid(SchemaProblem.REQUIRED),
    ),
    Pattern(
        " in body ",
        r"(?P<field>[\w.\[\]/-]{1,300}) in body must be of type .*",
        invalid(SchemaProblem.TYPE),
    ),
    Pattern(
        " in body ",
        r"(?P<field>[\w.\[\]/-]{1,300}) in body (?:should|must|is a forbidden|can't) .*",
        invalid(SchemaProblem.INVALID),
    ),
    Pattern("error validating data", r"error validating data: .*", invalid()),
    Pattern("expects string or", r"expects string or .*", invalid(SchemaProblem.TYPE)),
    Pattern(
        "cannot convert",
        r"cannot convert (?P<value>\w{1,20}) to (?P<want>\w{1,20})",
        fill(
            SchemaInvalid,
            whole="detail",
            problem=SchemaProblem.TYPE,
            value=lambda match, _: yaml_type(group_text(match, "value")),
            resource=_subject,
        ),
    ),
    Pattern(
        "quantities must match the regular expression",
        r"quantities must match .*",
        invalid(SchemaProblem.TYPE),
    ),
    Pattern(
        "must be nil",
        r"(?P<field>metadata\.managedFields) must be nil",
        invalid(SchemaProblem.FORBIDDEN),
    ),
    Pattern(
        "--force cannot be used with",
        r"--force cannot be used with --server-side.*",
        invalid(SchemaProblem.OPTIONS),
    ),
    Pattern("lowercase RFC 1123", r"a lowercase RFC 1123 .*", invalid(SchemaProblem.NAME)),
    Pattern(
        "does not match the namespace",
        r"the namespace from the provided object \"[^\"]{0,253}\" does not match the namespace .*",
        invalid(SchemaProblem.INVALID),
    ),
    Pattern("is invalid: patch: Invalid value", r"patch: Invalid value: .*", invalid()),
    Pattern("unable to decode", r"unable to decode .*", invalid()),
    Pattern(
        "in the data (",
        r"the API version in the data \([^)]{1,253}\) does not match the expected API version .*",
        invalid(SchemaProblem.INVALID),
    ),
    Pattern("resource name may not be empty", r"resource name may not be empty", invalid()),
    Pattern(
        "cannot restore slice from",
        r"cannot restore slice from .*|cannot restore struct from: .*",
        invalid(SchemaProblem.TYPE),
    ),
    Pattern(
        "does not contain declared merge key",
        r"map: .{0,300} does not contain declared merge key: .*",
        invalid(),
    ),
    Pattern("The order in patch list", r"The order in patch list:.*", invalid()),
    Pattern("cannot be handled as a", r"cannot be handled as a .*", invalid()),
)
