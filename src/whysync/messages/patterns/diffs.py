"""Errors of structured-merge and server-side diffs, and of the schemas that they need."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName, Unknown
from whysync.messages.field_paths import pointer_of
from whysync.messages.object_names import named_object
from whysync.messages.pattern import Context, Pattern, compiled, distinct, fill, group_text
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem
from whysync.messages.wrappers import LayerKind


class DiffSide(StrEnum):
    LIVE = "live"
    CONFIG = "config"
    UNKNOWN = ""


class DiffProblem(StrEnum):
    UNDECLARED = "undeclared"
    DUPLICATE_KEY = "duplicate-key"
    TYPE = "type"
    OMITS_KEY = "omits-key"
    NO_SCHEMA = "no-schema"
    REJECTED = "rejected"  # the dry run of a server-side diff was rejected: see `inner`
    OTHER = "other"


class DiffSchemaError(Failure, frozen=True, kw_only=True):
    """`fields` as in the text (`.spec.x`); `pointers` of those that do not select a list element by key.

    `before_diff`: an ignore rule with `managedFieldsManagers` failed, before any strategy compared.
    """

    side: DiffSide = DiffSide.UNKNOWN
    problem: DiffProblem = DiffProblem.OTHER
    fields: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    resource: ObjectName = NO_OBJECT_NAME
    inner: Failure | None = None
    before_diff: bool = False
    detail: str = ""

    @property
    def omitted_key(self) -> str:
        """The field of the list's key that an element lacks."""
        match = compiled(r'omits key field "(?P<key>[^"\n]{1,100})"').search(self.detail[:6000])
        return group_text(match, "key") if match else ""


class OpenApiError(Failure, frozen=True, kw_only=True):
    group_version: str = ""
    detail: str = ""


class IgnoreRuleInvalid(Failure, frozen=True, kw_only=True):
    """An `ignoreDifferences` entry that cannot be compiled: it fails the comparison of the whole app."""

    expression: str = ""
    detail: str = ""


_FIELD = r"(?P<field>\.[\w.\-]{1,200}(?:\[[^\]\n]{0,200}\][\w.\-]{0,200}){0,12})"


_TYPED = (
    r"(?P<intro>error building typed value from (?:live|config) resource|"
    r"error creating typed(?:Live|Config)|failed to create typed (?:patch|live|new|"
    r"old) object(?: \((?P<object>[^)]{0,300})\))?): (?P<detail>.*)"
)
_SCHEMA_PROBLEMS = {
    DiffProblem.UNDECLARED: SchemaProblem.UNKNOWN_FIELD,
    DiffProblem.DUPLICATE_KEY: SchemaProblem.DUPLICATE,
    DiffProblem.TYPE: SchemaProblem.TYPE,
}


def typed_value(match: re.Match[str], context: Context) -> Failure | tuple[Failure, ...]:
    """Errors of structured-merge-diff; outside of a comparison, of the API server about what is applied."""
    error = _typed_error(match, context)
    problem = _SCHEMA_PROBLEMS.get(error.problem)
    named = compiled(r"(?P<namespace>[^/]*)/(?P<name>[^;]+); (?P<gv>[^,]+), Kind=(?P<kind>\w+)").match(
        group_text(match, "object")
    )
    if named is None or problem is None or not error.fields or context.within(*_COMPARING):
        return error
    resource = ObjectName(
        kind=named["kind"],
        group=named["gv"].rpartition("/")[0],
        namespace=named["namespace"],
        name=named["name"],
    )
    return tuple(
        SchemaInvalid(
            text=error.text,
            resource=resource,
            field=field.removeprefix("."),
            pointer=pointer_of(field),
            problem=problem,
            detail="" if problem is SchemaProblem.UNKNOWN_FIELD else error.detail,
        )
        for field in error.fields
    )


_COMPARING = (
    LayerKind.COMPARISON_ERROR,
    LayerKind.COMPARE_STATES,
    LayerKind.DIFF,
    LayerKind.NORMALIZE,
)


def _typed_error(match: re.Match[str], context: Context) -> DiffSchemaError:
    """One error per field; several are listed under `errors:`."""
    intro = group_text(match, "intro")
    detail = group_text(match, "detail")
    if "live" in intro.lower():
        side = DiffSide.LIVE
    elif "config" in intro.lower() or "patch" in intro or "target" in intro:
        side = DiffSide.CONFIG
    else:
        side = DiffSide.UNKNOWN
    fields = distinct(compiled(rf"(?:^|[\s:]){_FIELD}: ").findall(detail[:6000]))
    return DiffSchemaError(
        text=context.text,
        side=side,
        problem=problem_of(detail),
        fields=fields,
        pointers=distinct(pointer_of(field) for field in fields),
        resource=_resource(match, context),
        before_diff=context.within(LayerKind.NORMALIZE),
        detail=detail,
    )


def problem_of(detail: str) -> DiffProblem:
    if "field not declared in schema" in detail:
        return DiffProblem.UNDECLARED
    if "duplicate entries for key" in detail:
        return DiffProblem.DUPLICATE_KEY
    if "omits key field" in detail:
        return DiffProblem.OMITS_KEY
    if "parseableType" in detail or "no corresponding type" in detail:
        return DiffProblem.NO_SCHEMA
    if compiled(r"expected .{1,60}, got|error decoding from json|schema error").search(detail[:4000]):
        return DiffProblem.TYPE
    return DiffProblem.OTHER


def dry_run_rejected(match: re.Match[str], context: Context) -> Failure:
    detail = group_text(match, "detail")
    match_of_types = compiled(_TYPED).search(detail)
    inner = context.read(detail) if match_of_types is None else _typed_error(match_of_types, context)
    typed = inner if isinstance(inner, DiffSchemaError) else None
    return DiffSchemaError(
        text=context.text,
        side=typed.side if typed else DiffSide.UNKNOWN,
        problem=typed.problem if typed else DiffProblem.REJECTED,
        fields=typed.fields if typed else (),
        pointers=typed.pointers if typed else (),
        resource=named_object(match),
        inner=None if inner is None or isinstance(inner, (Unknown, DiffSchemaError)) else inner,
        detail=detail,
    )


def _resource(_match: re.Match[str], context: Context) -> ObjectName:
    match = compiled(r"for resource:? (?P<kind>[A-Z]\w{1,62})/(?P<name>[\w.:-]{1,253})").search(
        context.text[:4000]
    )
    return named_object(match) if match else NO_OBJECT_NAME


bare_field = fill(
    DiffSchemaError,
    whole="detail",
    problem=lambda _, context: problem_of(context.text),
    fields=lambda match, _: distinct([group_text(match, "field")]),
    pointers=lambda match, _: distinct([pointer_of(group_text(match, "field"))]),
    resource=_resource,
)

openapi = fill(OpenApiError, whole="detail")


def diff_error(match: re.Match[str], context: Context) -> Failure | None:
    if not context.within(LayerKind.DIFF, LayerKind.NORMALIZE, LayerKind.COMPARE_STATES):
        return None
    return DiffSchemaError(
        text=context.text,
        problem=problem_of(match[0]),
        resource=_resource(match, context),
        detail=match[0],
    )


def type_unknown(match: re.Match[str], context: Context) -> Failure | None:
    """Argo CD, or its kubectl, has no Go type for a stable version of a built-in kind: it is too old."""
    group, _, version = group_text(match, "gv").rpartition("/")
    is_builtin = ("." not in group or group.endswith(".k8s.io")) and not group.endswith(".x-k8s.io")
    if not is_builtin or not version[1:].isdecimal() or not context.within(LayerKind.COMPARISON_ERROR):
        return None
    return DiffSchemaError(
        text=context.text,
        problem=DiffProblem.NO_SCHEMA,
        resource=ObjectName(kind=group_text(match, "kind"), group=group),
        detail=match[0],
    )


FIRST: tuple[Pattern, ...] = (
    Pattern(
        "is registered for version",
        r'no kind "(?P<kind>[^"]{1,100})" is registered for version "(?P<gv>[^"]{0,253})".*',
        type_unknown,
    ),
    Pattern(
        "server side apply in dryrun mode",
        r"error running server side apply in dryrun mode for resource "
        r"(?P<kind>\w{1,63})/(?P<name>[\w.:-]{1,253}): (?P<detail>.*)",
        dry_run_rejected,
    ),
    Pattern(
        "typed",
        _TYPED,
        typed_value,
    ),
    Pattern("field not declared in schema", rf"(?:{_FIELD}: )?field not declared in schema", bare_field),
    Pattern("duplicate entries for key", rf"(?:{_FIELD}: )?duplicate entries for key", bare_field),
    Pattern(
        "omits key field",
        rf"(?:{_FIELD}: )?(?:element \d+: )?associative list with keys has an element that omits key field",
        bare_field,
    ),
    Pattern(
        "failed to create diff normalizer",
        r"failed to create diff normalizer: (?P<detail>.*)",
        fill(IgnoreRuleInvalid),
    ),
)

OPENAPI: tuple[Pattern, ...] = (
    Pattern(
        "unable to retrieve the complete list of server APIs",
        r"unable to retrieve the complete list of server APIs: (?P<group_version>[\w./-]{1,253})?.*",
        openapi,
    ),
    Pattern("failed to download openapi", r"failed to download openapi.*", openapi),
    Pattern("error getting openapi", r"error getting openapi (?:resources|schema|data).*", openapi),
    Pattern("GVK parser", r"failed to create GVK parser.*", openapi),
    Pattern("gvk parser", r"error creating gvk parser.*", openapi),
    Pattern("openapi schema", r"(?:warning|error) loading openapi schema.*", openapi),
    Pattern("open api schema", r"failed to load open ?[aA][pP][iI] ?[sS]chema.*", openapi),
    Pattern("openAPISchema", r"failed to load openAPISchema.*", openapi),
    Pattern("/openapi/v", r"/openapi/v[23].*", openapi),
    Pattern("gnostic", r"gnostic.*", openapi),
    Pattern("SchemaError(", r"SchemaError\(.*", openapi),
    Pattern("duplicated entries for path", r".*duplicated entries for path.*", openapi),
)

TABLE: tuple[Pattern, ...] = (
    Pattern("parseableType", r"unable to resolve parseableType.*", diff_error),
    Pattern(
        "managed",
        r"error decoding managed fields:.*|no managed fields found for manager.*|"
        r"must have the managedFields.*",
        diff_error,
    ),
    Pattern("", r"^.+", diff_error),
)
