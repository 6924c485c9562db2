"""Argo CD cannot compute the difference: an object does not fit the schema it compares with.

## What happens
With server-side apply Argo CD compares by the cluster's schema. A field that the schema does not
declare, a list with two elements of one key, or a value of the wrong type stops the comparison of
the whole Application. Typical: a CRD was updated and live objects still have old fields; a field is
misspelt in Git; Argo CD is older than the cluster; two ports or variables of one name.

## How whysync knows
`error calculating structured merge diff`, with the side (Git or live) and the field; whysync looks
which object has that field. A server-side diff that was turned down carries the API server's own
refusal inside: then that is the cause.

## Fix
Correct the field in Git. Where the live object has it, or Argo CD's schema is out of date, let the
API server compare (`ServerSideDiff=true`), or restart the controller so that it reads the schema
anew.

## When it is something else
The API server refuses the object at the sync: schema-invalid.
"""

from collections.abc import Iterator

from whysync.argocd import hooks
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.drift.schemas import builtin_has_field
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.diffs import DiffProblem, DiffSchemaError, DiffSide
from whysync.queries.commands import CONTROLLER, comment, hard_refresh, restart
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

COMPARE = "/metadata/annotations/argocd.argoproj.io~1compare-options"
SERVER_SIDE = "ServerSideDiff=true"
PROBLEMS = {
    DiffProblem.UNDECLARED: "the schema does not declare it",
    DiffProblem.DUPLICATE_KEY: "two elements of the list have the same key",
    DiffProblem.TYPE: "its value has the wrong type",
    DiffProblem.OMITS_KEY: "an element of the list lacks its key",
    DiffProblem.NO_SCHEMA: "there is no schema for the kind",
    DiffProblem.REJECTED: "the API server turned the trial run down",
    DiffProblem.OTHER: "it does not fit",
}


@rule(cause="diff-schema-error", since="0.1")
def diff_schema_error(case: Case) -> Iterator[Finding]:
    for group in grouped(case, DiffSchemaError, by=lambda f: (f.side, f.problem, f.fields, f.resource)):
        failure = group.failure
        holder = _holder(case, failure)
        ref = _placed(case, holder) if holder else named_ref(case, failure.resource, group.ref)
        switched = hooks.has_option(case.application.body, hooks.COMPARE_OPTIONS, SERVER_SIDE)
        pointer = failure.pointers[0] if failure.pointers else None
        gone = failure.side is DiffSide.CONFIG and holder is None and bool(case.desired)
        yield Finding(
            about=case.application.ref if switched or gone else ref,
            field=None if switched or gone else pointer or COMPARE,
            explains=group.explains,
            because=group.explains if failure.inner is not None else (),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if failure.inner is None else Confidence.MEDIUM,
            verdict=_verdict(failure, holder),
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="the comparison stops here"), *_cited(holder, pointer)),
            fixes=tuple(_fixes(case, failure, holder, pointer, switched=switched)),
        )


def _verdict(failure: DiffSchemaError, holder: Manifest | None) -> str:
    side = {DiffSide.LIVE: "live", DiffSide.CONFIG: "Git's", DiffSide.UNTOLD: "an"}[failure.side]
    where = f"{side} {holder.ref}" if holder else f"{side} object"
    names = ", ".join(failure.fields[:3]) or "a field"
    return f"{names} of {where} stops the comparison: {PROBLEMS[failure.problem]}"


def _holder(case: Case, failure: DiffSchemaError) -> Manifest | None:
    """The one object of that side which has the field; the text mostly does not name it."""
    if not failure.pointers:
        return None
    side = case.index.snapshot.live if failure.side is DiffSide.LIVE else case.desired
    wanted = failure.resource.name
    having = [
        manifest
        for manifest in side
        if not isinstance(manifest.at(failure.pointers[0]), Missing)
        and (not wanted or manifest.ref.name == wanted)
        and (failure.side is not DiffSide.LIVE or manifest.key in case.rows)
    ]
    return having[0] if len(having) == 1 else None


def _placed(case: Case, holder: Manifest) -> Ref:
    """With its namespace, which Git may leave out."""
    live = case.live_of(holder.key) or case.live_of(holder.key._replace(namespace=case.destination_namespace))
    return live.ref if live is not None else holder.ref


def _cited(holder: Manifest | None, pointer: str | None) -> Iterator[Evidence]:
    if holder is not None and pointer:
        yield cite(holder, pointer, says="the field, where it was found")


def _fixes(
    case: Case, failure: DiffSchemaError, holder: Manifest | None, pointer: str | None, *, switched: bool
) -> Iterator[Fix]:
    again = hard_refresh(case)
    mendable = failure.problem in (DiffProblem.UNDECLARED, DiffProblem.TYPE)
    if failure.side is DiffSide.CONFIG and failure.problem is DiffProblem.UNDECLARED and holder and pointer:
        yield Fix.remove(
            holder.ref, pointer, title="Take the field out of Git: the cluster's schema does not know it"
        )
        if builtin_has_field(holder.ref, pointer) is False:
            return  # no Kubernetes knows it: nobody's schema is out of date
    elif failure.side is DiffSide.CONFIG and failure.problem in (
        DiffProblem.DUPLICATE_KEY,
        DiffProblem.OMITS_KEY,
    ):
        yield Fix.run(
            comment(
                f"{', '.join(failure.fields)}: give each element of the list a key of its own, and commit"
            ),
            again,
            title="Correct the list in Git",
        )
    if not switched and (mendable or failure.problem is not DiffProblem.REJECTED) and failure.inner is None:
        known = hooks.options(case.application.body, hooks.COMPARE_OPTIONS)
        yield Fix.application(
            case.application.ref,
            Set(pointer=COMPARE, value=",".join((*known, SERVER_SIDE))),
            title="Let the API server compare, which needs no schema in Argo CD",
            risk="each comparison asks the API server once per object",
        )
    yield Fix.run(
        restart(case, CONTROLLER),
        again,
        title="Make Argo CD read the cluster's schemas anew (after an upgrade of a CRD or of the cluster)",
        risk="Applications are not reconciled for a minute or two",
    )
