"""A field in Git is unknown, misspelt, of the wrong type, missing or not allowed.

## What happens
The API server checks every object against the schema of its kind. Argo CD asks it to be strict, so
that also an unknown or doubled field is an error. The object is refused, and the sync fails until
Git is corrected.

## How whysync knows
The API server names the object, the field and what is wrong: `unknown field`, `Invalid value`,
`Required value`, `Unsupported value`, `cannot unmarshal`.

## Fix
Correct the field in Git. `kubectl explain` shows what the cluster expects there.

## When it is something else
A value that was right when the object was created and may not change: immutable-field. A rule of a
policy: admission-denied.
"""

from collections.abc import Iterator

import msgspec

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Missing, json_kind
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl, sync
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.revert import is_reverted_in_git, revert_in_git
from whysync.queries.schema_errors import (
    Mistyped,
    correction_in_git,
    dotted_path,
    mistyped_field,
    other_release_text,
)

WORDS = {
    SchemaProblem.UNKNOWN_FIELD: "the schema does not know it",
    SchemaProblem.DUPLICATE_FIELD: "it is set twice",
    SchemaProblem.TYPE: "its value has the wrong type",
    SchemaProblem.REQUIRED: "it is required and missing",
    SchemaProblem.UNSUPPORTED: "its value is not one of those that are allowed",
    SchemaProblem.INVALID: "its value is not valid",
    SchemaProblem.FORBIDDEN: "it may not be set here",
    SchemaProblem.DUPLICATE: "the same value appears twice",
    SchemaProblem.TOO_LONG: "it is too long",
    SchemaProblem.TOO_MANY: "it has too many entries",
    SchemaProblem.NAME: "it is not a valid name",
    SchemaProblem.NOT_FOUND: "what it refers to is not there",
    SchemaProblem.OPTIONS: "the options of the sync contradict each other",
    SchemaProblem.OTHER: "it is not valid",
}
# Problems of which the API server gives the reason; for the others, the words above are the reason.
REASONED = frozenset(
    {
        SchemaProblem.INVALID,
        SchemaProblem.FORBIDDEN,
        SchemaProblem.NAME,
        SchemaProblem.REQUIRED,
        SchemaProblem.UNSUPPORTED,
        SchemaProblem.OTHER,
    }
)


@rule(cause="schema-invalid", since="0.1")
def manifest_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SchemaInvalid, by=lambda f: (f.resource, f.field, f.problem)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired = case.desired_of(ref.key)
        mistyped = mistyped_field(failure, desired)
        field = mistyped.pointer if mistyped else failure.pointer or None
        corrected = correction_in_git(failure, desired, mistyped)
        if not corrected and len(group.resources) == 1 and is_reverted_in_git(case, ref, group.explains):
            corrected = "Git says by now what runs"
        verdict = (
            _of_type(ref, group, desired, mistyped) if mistyped and desired else _verdict(ref, group, desired)
        )
        yield Finding(
            about=ref,
            field=field,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=verdict,
            root=None if mistyped else one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="the API server refuses the object"),
                *((cite(desired, field, says="the field in Git"),) if desired and field else ()),
            ),
            fixes=tuple(_fixes(case, ref, failure, desired, mistyped)),
            already_fixed=sync_again(case, bool(corrected), corrected, "Sync again: Git has been corrected"),
        )


def _verdict(ref: Ref, group: FailureGroup[SchemaInvalid], desired: Manifest | None) -> str:
    failure = group.failure
    value = f" ({failure.value})" if failure.value and len(failure.value) < 80 else ""
    reason = other_release_text(failure, desired) or WORDS[failure.problem]
    if failure.detail and (failure.problem in REASONED or not failure.field):
        reason = f"{reason}: {one_line(failure.detail)}"
    return f"{ref}{group.others}: {failure.field or 'a field'}{value}: {reason}"


def _of_type(ref: Ref, group: FailureGroup[SchemaInvalid], desired: Manifest, mistyped: Mistyped) -> str:
    value = desired.at(mistyped.pointer)
    is_scalar = isinstance(value, (str, int, float))
    written = msgspec.json.encode(value).decode() if is_scalar else ""
    actual = written if 0 < len(written) < 80 else f"a value of type {json_kind(value)}"
    return (
        f"{ref}{group.others}: {dotted_path(mistyped.pointer)} must be"
        f" {mistyped.expected_text}, and Git has {actual}"
    )


def _fixes(
    case: Case, ref: Ref, failure: SchemaInvalid, desired: Manifest | None, mistyped: Mistyped | None
) -> Iterator[Fix]:
    unknown = failure.problem is SchemaProblem.UNKNOWN_FIELD
    if unknown and failure.pointer and desired is not None:
        yield Fix.remove(
            ref, failure.pointer, title="Take the field out (or correct its name: see kubectl explain)"
        )
    if mistyped is not None and not isinstance(mistyped.value, Missing):
        yield Fix.change(
            ref,
            Set(pointer=mistyped.pointer, value=mistyped.value),
            title=f"Write it as {mistyped.expected_text}",
        )
    field = dotted_path(mistyped.pointer) if mistyped else failure.field
    parts = [part for part in field.replace("[", ".").split(".") if part and "]" not in part]
    parent = parts[:-1] if unknown else parts
    path = ".".join((ref.kind.lower(), *parent))
    version = f"--api-version={desired.ref.api_version}" if desired is not None else ""
    yield Fix.run(
        kubectl("explain", path, *((version,) if version else ())) + "   # what the cluster expects there",
        sync(case),
        title="Correct the field in Git, then sync",
    )
    revert = revert_in_git(case, ref)
    if revert is not None:
        yield revert
