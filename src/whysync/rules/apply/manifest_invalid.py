"""A field in Git is unknown, misspelled, of the wrong type, missing or not allowed.

## What happens
The API server validates every object against the schema of its kind. Argo CD requests strict validation, so
unknown and duplicate fields are errors too. The object is rejected, and the sync fails until Git is
corrected.

## How whysync knows
The API server names the object, the field and the problem: `unknown field`, `Invalid value`, `Required
value`, `Unsupported value`, `cannot unmarshal`.

## Fix
Correct the field in Git. `kubectl explain` shows what the cluster expects there.

## When it is something else
A value that was valid when the object was created and cannot be changed: immutable-field. A policy that
rejects the object: admission-denied.
"""

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, cite_if, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Missing, fields, items, json_kind
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import ImmutableField
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import app_argument, comment, kubectl, on_object, sync, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.misspelt_fields import similar_field
from whysync.queries.named_objects import find_object, is_unnamed, named_ref, object_text
from whysync.queries.revert import is_reverted_in_git, revert_in_git
from whysync.queries.schema_errors import (
    Mistyped,
    correction_in_git,
    dotted_path,
    merged_with_live,
    mistyped_field,
    other_release_text,
)

_STORED = "/status/storedVersions"
WORDS = {
    SchemaProblem.UNKNOWN_FIELD: "is not in the schema",
    SchemaProblem.DUPLICATE_FIELD: "is set twice",
    SchemaProblem.TYPE: "has the wrong type",
    SchemaProblem.REQUIRED: "is required and missing",
    SchemaProblem.UNSUPPORTED: "is not one of the allowed values",
    SchemaProblem.INVALID: "is invalid",
    SchemaProblem.FORBIDDEN: "must not be set here",
    SchemaProblem.DUPLICATE: "contains the same value twice",
    SchemaProblem.TOO_LONG: "is too long",
    SchemaProblem.TOO_MANY: "has too many entries",
    SchemaProblem.NAME: "is not a valid name",
    SchemaProblem.NOT_FOUND: "refers to something that does not exist",
    SchemaProblem.OPTIONS: "contradicts another sync option",
    SchemaProblem.OTHER: "is invalid",
}
# The API server says what is wrong with the value: the schema adds nothing.
_SAID = frozenset({SchemaProblem.INVALID, SchemaProblem.FORBIDDEN, SchemaProblem.OTHER})
_SHORT = 80
_MERGED = "does Git declare it so? Fields that only the live object has are merged with Git's"
# Problems for which the API server gives a reason; for the others, the text above is the reason.
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
        if any(isinstance(other, ImmutableField) for other in group.message.failures):
            continue  # immutable_field_changed: the others follow from the same change
        ref = named_ref(case, failure.resource, group.ref)
        desired = case.desired_of(ref.key)
        mistyped = mistyped_field(failure, desired)
        field = mistyped.pointer if mistyped else failure.pointer or None
        corrected = correction_in_git(failure, desired, mistyped)
        if not corrected and len(group.resources) == 1 and is_reverted_in_git(case, ref, group.explains):
            corrected = "the change was reverted in Git"
        if not corrected and _is_node_port(failure) and _has_another_port(failure, desired):
            corrected = f"Git no longer declares node port {failure.value}"
        verdict = (
            _of_type(ref, group, desired, mistyped)
            if mistyped and desired
            else _verdict(case, ref, group, desired)
        )
        yield Finding(
            about=ref,
            field=None if is_unnamed(case, ref) else field,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=verdict,
            root=None if mistyped else one_line(failure.detail) or None,
            evidence=(
                *group.cited(
                    says="Argo CD's validation rejects the object before it is sent"
                    if failure.before_request
                    else "the API server rejects the object"
                ),
                *cite_if(desired, field, says="the field in Git"),
                *_holders(case, ref, failure),
            ),
            fixes=tuple(_fixes(case, ref, failure, desired, mistyped)),
            already_fixed=sync_again(case, corrected, "Sync again: Git is corrected", when=bool(corrected)),
        )


def _verdict(case: Case, ref: Ref, group: FailureGroup[SchemaInvalid], desired: Manifest | None) -> str:
    failure = group.failure
    what = object_text(case, ref, failure.resource.kind)
    is_plain = bool(failure.value) and len(failure.value) < 80 and failure.value[0] not in "{["
    value = f" ({failure.value})" if is_plain else ""
    if failure.pointer.startswith(_STORED):
        return f"{what}: Git removes version {failure.value}, in which objects are or were stored"
    merged = merged_with_live(failure, desired, case.live_of(ref.key))
    if merged:
        return f"{what}{group.others}: {failure.field}{value}: {merged}"
    release = other_release_text(failure, desired)
    reason = f": {release}" if release else ""
    if not reason and failure.problem is SchemaProblem.UNKNOWN_FIELD and failure.pointer:
        similar = similar_field(case, ref, failure.pointer)
        reason = f" {WORDS[failure.problem]}, probably {similar} is meant" if similar else ""
    reason = reason or f" {WORDS[failure.problem]}"
    if failure.problem is SchemaProblem.TYPE and failure.want and failure.value:
        quoted = ": quote it" if failure.want == "string" and failure.value in ("number", "bool") else ""
        return (
            f"{what}{group.others}: {failure.field or 'a field'} has type {failure.value}, but must have type"
            f" {failure.want}{quoted}"
        )
    if failure.detail and (failure.problem in REASONED or not failure.field):
        reason = f"{reason}: {one_line(failure.detail)}"
    if is_unnamed(case, ref):
        return f"{failure.field or 'a field'}{value}{reason}, in {what}"
    return f"{what}{group.others}: {failure.field or 'a field'}{value}{reason}"


def _of_type(ref: Ref, group: FailureGroup[SchemaInvalid], desired: Manifest, mistyped: Mistyped) -> str:
    value = desired.at(mistyped.pointer)
    is_scalar = isinstance(value, (str, int, float))
    written = msgspec.json.encode(value).decode() if is_scalar else ""
    actual = written if 0 < len(written) < 80 else f"a value of type {json_kind(value)}"
    return (
        f"{ref}{group.others}: {dotted_path(mistyped.pointer)} must be"
        f" {mistyped.expected_text}, but Git has {actual}"
    )


def _is_node_port(failure: SchemaInvalid) -> bool:
    return failure.field.endswith(".nodePort") and failure.value.isdecimal()


def _has_another_port(failure: SchemaInvalid, desired: Manifest | None) -> bool:
    return desired is not None and bool(failure.pointer) and str(desired.at(failure.pointer)) != failure.value


def _holders(case: Case, ref: Ref, failure: SchemaInvalid) -> Iterator[Evidence]:
    if _is_node_port(failure):
        for service, pointer in _services_with(case, ref, failure.value)[:3]:
            yield cite(service, pointer, says="this Service has the port")


def _services_with(case: Case, ref: Ref, port: str) -> list[tuple[Manifest, str]]:
    """Other Services of the facts that have the node port, each with the pointer to it."""
    return [
        (service, f"/spec/ports/{index}/nodePort")
        for service in case.live_of_kind("Service")
        if service.ref.key != ref.key
        for index, item in enumerate(items(service.spec.get("ports")))
        if str(fields(item).get("nodePort")) == port
    ]


def _other_node_port(case: Case, ref: Ref, failure: SchemaInvalid, desired: Manifest | None) -> Iterator[Fix]:
    """The port belongs to another Service, or is not in the range of the cluster."""
    if desired is not None and failure.pointer and not isinstance(desired.at(failure.pointer), Missing):
        yield Fix.remove(
            ref,
            failure.pointer,
            title="Remove nodePort: Kubernetes then chooses a free port",
            risk="who calls the node at this port (a load balancer, a firewall) needs the new one",
        )
    holders = _services_with(case, ref, failure.value)
    columns = "NAMESPACE:.metadata.namespace,NAME:.metadata.name,NODEPORTS:.spec.ports[*].nodePort"
    yield Fix.run(
        *(on_object("get", service.ref) for service, _ in holders[:3]),
        *(
            ()
            if holders
            else (
                kubectl("get", "svc", "-A", "-o", f"custom-columns={columns}")
                + f" | grep -w {failure.value}",
            )
        ),
        comment(f"set another nodePort (default range 30000-32767) of {ref} in Git, or remove it; commit"),
        sync(case),
        title=f"Choose another port in Git, or release it at {holders[0][0].ref}"
        if holders
        else f"Find the Service that has port {failure.value}, and choose another port in Git",
    )


def _explain(path: str, version: str) -> str:
    return with_comment(
        kubectl("explain", path, *((version,) if version else ())), "what the cluster expects there"
    )


def _rewritten_namespace(case: Case, ref: Ref) -> Fix:
    """Argo CD sends each object to the namespace that it has, so it was changed on its way.

    Mirrors gitops-engine `ResourceOperations`, Argo CD 3.6. The items of a List are sent one by one.
    """
    webhooks = kubectl("get", "mutatingwebhookconfigurations", "-o", "yaml")
    kind = "its kind" if is_unnamed(case, ref) else ref.kind
    return Fix.run(
        *find_object(case, ref),
        with_comment(f"{webhooks} | grep -nE 'name:|resources:|operations:'", f"rules for {kind}"),
        comment(
            "exclude the namespace from the webhook that rewrites metadata.namespace, or correct it; then"
        ),
        sync(case),
        title="Find the mutating webhook or policy that rewrites metadata.namespace, then sync",
        risk="what else the webhook adds is missing from excluded objects",
    )


def _stored_version(case: Case, ref: Ref, failure: SchemaInvalid) -> Iterator[Fix]:
    """Git removes a version of a CRD in which objects are still stored, or were once.

    The API server removes nothing from `status.storedVersions`; whoever migrates the objects does.
    """
    old = failure.value or "VERSION"
    show = on_object("get", ref, "-o", "jsonpath={.status.storedVersions}")
    patch = '{"status":{"storedVersions":["NEW_VERSION"]}}'
    yield Fix.run(
        comment(f"in Git: keep {old} in spec.versions, with served: false and storage: false; then"),
        sync(case),
        title=f"Keep version {old} in the CRD until its objects are migrated",
    )
    yield Fix.run(
        show,
        with_comment(
            f"kubectl get {ref.name} -A -o json | kubectl replace -f -",
            "stores each object in the new version",
        ),
        on_object("patch", ref, "--subresource=status", "--type=merge", "-p", patch),
        sync(case),
        title=f"Migrate the objects to the storage version, then remove {old} from status.storedVersions",
        risk="objects that are still stored in the removed version can no longer be read: patch only after"
        " every object was replaced; the live CRD must already store the new version",
    )


def _quote_it(failure: SchemaInvalid) -> Iterator[str]:
    """A number or boolean where a string belongs; the message does not name the field."""
    if failure.problem is not SchemaProblem.TYPE or failure.want != "string":
        return
    if failure.field:
        yield comment(f'in {failure.field}: put the value in quotes ("true", "8080"); commit')
    else:
        yield comment(
            "quote the value; typical places: data and stringData of a Secret, data of a ConfigMap, labels,"
        )
        yield comment("annotations, and the values of environment variables; commit")


def _fixes(
    case: Case, ref: Ref, failure: SchemaInvalid, desired: Manifest | None, mistyped: Mistyped | None
) -> Iterator[Fix]:
    if _is_node_port(failure):
        yield from _other_node_port(case, ref, failure, desired)
        return
    if merged_with_live(failure, desired, case.live_of(ref.key)):
        yield from _without_live_element(case, ref)
        return
    if failure.pointer == "/metadata/namespace":
        yield _rewritten_namespace(case, ref)
        return
    if failure.pointer.startswith(_STORED):
        yield from _stored_version(case, ref, failure)
        return
    unknown = failure.problem is SchemaProblem.UNKNOWN_FIELD
    if unknown and failure.pointer and desired is not None:
        yield Fix.remove(
            ref, failure.pointer, title="Remove the field (or correct its name: see kubectl explain)"
        )
    if mistyped is not None and not isinstance(mistyped.value, Missing):
        yield Fix.change(
            ref,
            Set(pointer=mistyped.pointer, value=mistyped.value),
            title=f"Write it as {mistyped.expected_text}",
        )
    else:
        yield _by_hand(case, ref, failure, desired, mistyped)
    revert = revert_in_git(case, ref)
    if revert is not None:
        yield revert


def _without_live_element(case: Case, ref: Ref) -> Iterator[Fix]:
    resource = quote(f"{ref.group}:{ref.kind}:{ref.place}")
    yield Fix.run(
        with_comment(on_object("edit", ref), "give the live element the key that Git has"),
        sync(case, "--resource", resource),
        title="Undo the change of the live element, then sync",
    )
    yield Fix.run(
        sync(case, "--replace", "--resource", resource),
        title="Or replace the live object by what Git declares",
        risk="its Pods may be replaced",
        destroys=(f"fields of {ref} that controllers and people set and Git does not declare",),
    )


def _by_hand(
    case: Case, ref: Ref, failure: SchemaInvalid, desired: Manifest | None, mistyped: Mistyped | None
) -> Fix:
    field = dotted_path(mistyped.pointer) if mistyped else failure.field
    parts = [part for part in field.replace("[", ".").split(".") if part and "]" not in part]
    parent = parts[:-1] if failure.problem is SchemaProblem.UNKNOWN_FIELD else parts
    kind = failure.resource.kind if is_unnamed(case, ref) else ref.kind
    path = ".".join((kind.lower(), *parent))
    version = f"--api-version={desired.ref.api_version}" if desired is not None else ""
    reasoned = bool(failure.detail) and failure.problem in _SAID
    because = f" ({one_line(failure.detail)})" if reasoned and len(failure.detail) < _SHORT else ""
    return Fix.run(
        *find_object(case, ref),
        *((_explain(path, version),) if kind and not reasoned else ()),
        *(
            (with_comment(f"argocd app diff {app_argument(case)}", _MERGED),)
            if reasoned and desired is None and not is_unnamed(case, ref)
            else ()
        ),
        *_quote_it(failure),
        sync(case),
        title=f"Find the object, and correct {field or 'the field'} in Git, then sync"
        if is_unnamed(case, ref)
        else f"Correct {field or 'the field'} of {ref} in Git{because}, then sync",
    )
