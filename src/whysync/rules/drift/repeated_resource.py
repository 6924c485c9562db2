"""One Application renders the same object more than once.

## What happens
Two files, two charts, or a chart and its subchart render the same object. Argo CD uses the last one and
warns. Which one is last can change, and changes of the others are never applied.

## How whysync knows
Argo CD's `RepeatedResourceWarning` names the object and how often it appeared.

## Fix
Render it once: disable the CRDs or the resource in one of the charts, delete one of the files, or use
different names or namespaces.

## When it is something else
If two Applications declare the same object, Argo CD reports `SharedResourceWarning`.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.drift.raw_difference import differences
from whysync.diagnosis.sentences import listed
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import DuplicateResource
from whysync.queries.commands import app_argument, comment, named, with_comment
from whysync.queries.named_objects import named_ref

# Objects of different kinds often have the same name. The fields of each manifest are printed in order.
_NAMES = '/^[a-z]/ {top=$1} /^kind:/ {kind=$2} top=="metadata:" && kind==k && /^  name:/ && $2==n'


@rule(cause="duplicate-resource", since="0.1")
def repeated_resource(case: Case) -> Iterator[Finding]:
    for report in case.failures(DuplicateResource):
        ref = named_ref(case, report.failure.resource, report.ref)
        copies = _copies(case, ref)
        yield Finding(
            about=ref,
            explains=report.symptoms,
            confidence=Confidence.HIGH,
            verdict=_verdict(ref, report.failure.times or len(copies), copies),
            evidence=(
                report.cite(says="counted by Argo CD"),
                *(
                    cite(
                        copy,
                        pointer,
                        says=("the last one, which is used" if copy is copies[-1] else "an earlier one")
                        + (", does not set it" if isinstance(copy.at(pointer), Missing) else ""),
                    )
                    for pointer in _differing(copies)[:2]
                    for copy in copies[:4]
                ),
            ),
            fixes=(*_delete_first(copies), _find_copies(case, ref, seen=bool(copies))),
        )


def _verdict(ref: Ref, times: int, copies: list[Manifest]) -> str:
    """Without the manifests, the number is Argo CD's: it counts the objects of all sources."""
    if not copies:
        return f"{ref} appears {times} times among the app's resources; the last one wins"
    return f"{ref} is rendered {times} times; the last one wins{_difference(copies)}"


def _copies(case: Case, ref: Ref) -> list[Manifest]:
    """In the order of the source; a manifest without a namespace is in the destination's."""
    keys = {ref.key}
    if ref.namespace == case.destination_namespace:
        keys.add(ref.key._replace(namespace=""))
    return [manifest for manifest in case.desired if manifest.key in keys]


def _differing(copies: list[Manifest]) -> list[str]:
    """Pointers at which the last copy differs from the earlier ones; the name if nothing differs."""
    if len(copies) < 2:
        return ["/metadata/name"] if copies else []
    last = copies[-1]
    pointers = dict.fromkeys(
        difference.pointer for before in copies[:-1] for difference in differences(before.body, last.body)
    )
    return list(pointers) or ["/metadata/name"]


def _difference(copies: list[Manifest]) -> str:
    pointers = [pointer for pointer in _differing(copies) if pointer != "/metadata/name"]
    return f", and they differ at {listed(pointers)}" if pointers else ""


def _delete_first(copies: list[Manifest]) -> Iterator[Fix]:
    """The first of two copies has no effect: Argo CD uses the last one."""
    if len(copies) == 2:
        same = _differing(copies) == ["/metadata/name"]
        yield Fix.drop(
            copies[0].ref,
            title="Delete one of the two identical manifests"
            if same
            else "Delete the first manifest, which has no effect",
            risk="" if same else "it may contain intended changes: compare both first",
        )


def _find_copies(case: Case, ref: Ref, *, seen: bool) -> Fix:
    once = "if it prints one, the warning is out of date: argocd app get --hard-refresh counts again"
    return Fix.run(
        with_comment(
            f"argocd app manifests {app_argument(case)} --source git"
            f" | awk -v k={quote(ref.kind)} -v n={quote(ref.name)} {quote(_NAMES)}",
            f"one line for each {ref.kind} of this name",
        ),
        *(() if seen else (comment(once),)),
        with_comment(
            f"grep -rlE {quote(f'^kind: {ref.kind} *$')} . | xargs grep -nE {quote(named(ref.name))}",
            f"in the source: of the {ref.kind} manifests, keep one",
        ),
        title="Find the copies in the source and keep one",
    )
