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

from whysync.contracts.manifest import Manifest
from whysync.contracts.ref import Ref
from whysync.contracts.tree import Missing
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import kubectl, sync
from whysync.diagnosis.grouped import Grouped, grouped
from whysync.diagnosis.resources import named_ref
from whysync.diagnosis.words import one_line
from whysync.semantics.messages import SchemaInvalid, SchemaProblem

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


@rule(cause="schema-invalid", since="0.1")
def manifest_breaks_schema(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SchemaInvalid, by=lambda f: (f.resource, f.field, f.problem)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired = case.desired_of(ref.key)
        field = failure.pointer or None
        removed = _is_removed(failure, desired)
        yield Finding(
            about=case.application.ref if removed else ref,
            field=field,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(ref, group) + ("; Git does not have the field any more" if removed else ""),
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="the API server refuses the object"),
                *((cite(desired, field, says="the field in Git"),) if desired and field else ()),
            ),
            fixes=tuple(_fixes(case, ref, failure, desired, removed=removed)),
        )


def _verdict(ref: Ref, group: Grouped[SchemaInvalid]) -> str:
    failure = group.failure
    value = f" ({failure.value})" if failure.value and len(failure.value) < 80 else ""
    said = f": {one_line(failure.detail)}" if failure.detail and not failure.field else ""
    return f"{ref}{group.others}: {failure.field or 'a field'}{value}: {WORDS[failure.problem]}{said}"


def _is_removed(failure: SchemaInvalid, desired: Manifest | None) -> bool:
    return (
        failure.problem is SchemaProblem.UNKNOWN_FIELD
        and bool(failure.pointer)
        and desired is not None
        and isinstance(desired.at(failure.pointer), Missing)
    )


def _fixes(
    case: Case, ref: Ref, failure: SchemaInvalid, desired: Manifest | None, *, removed: bool
) -> Iterator[Fix]:
    if removed:
        yield Fix.run(sync(case), title="Sync again: the field has been removed")
        return
    unknown = failure.problem is SchemaProblem.UNKNOWN_FIELD
    if unknown and failure.pointer and desired is not None:
        yield Fix.remove(
            ref, failure.pointer, title="Take the field out (or correct its name: see kubectl explain)"
        )
    parts = [part for part in failure.field.replace("[", ".").split(".") if part and "]" not in part]
    above = parts[:-1] if unknown else parts
    path = ".".join((ref.kind.lower(), *above))
    version = f"--api-version={desired.ref.api_version}" if desired is not None else ""
    yield Fix.run(
        kubectl("explain", path, *((version,) if version else ())) + "   # what the cluster expects there",
        sync(case),
        title="Correct the field in Git, then sync",
    )
