"""The same object is rendered more than once by one Application.

## What happens
Two files, two charts, or a chart and its subchart produce the same object. Argo CD keeps the last one
and warns. Which one is last can change, and the other version's changes silently never arrive.

## How whysync knows
Argo CD's `RepeatedResourceWarning` names the object and how often it appeared; or the desired set
itself holds it twice.

## Fix
Render it once: switch off the CRDs or the resource in one of the charts, delete one of the files, or give
them different names or namespaces.

## When it is something else
Two *Applications* that declare one object are told by `SharedResourceWarning`.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.drift.raw_difference import differences
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import DuplicateResource
from whysync.queries.commands import app_argument
from whysync.queries.named_objects import named_ref


@rule(cause="duplicate-resource", since="0.1")
def repeated_resource(case: Case) -> Iterator[Finding]:
    for report in case.failures(DuplicateResource):
        ref = named_ref(case, report.failure.resource, report.ref)
        copies = _copies(case, ref)
        yield Finding(
            about=ref,
            explains=report.symptoms,
            confidence=Confidence.HIGH,
            verdict=f"{ref} is rendered {report.failure.times or len(copies)} times; the last one wins"
            + _difference(copies),
            evidence=(
                report.cite(says="Argo CD counted them"),
                *(
                    cite(copy, pointer, says="the last one" if copy is copies[-1] else "one before it")
                    for pointer in _differing(copies)[:2]
                    for copy in copies[:4]
                ),
            ),
            fixes=(*_let_go(copies), _find_it(case, ref)),
        )


def _copies(case: Case, ref: Ref) -> list[Manifest]:
    """In the order of the source; what has no namespace of its own lies in the destination's."""
    keys = {ref.key}
    if ref.namespace == case.destination_namespace:
        keys.add(ref.key._replace(namespace=""))
    return [manifest for manifest in case.desired if manifest.key in keys]


def _differing(copies: list[Manifest]) -> list[str]:
    """Where the last one says something else than those before it; the name, where none does."""
    if len(copies) < 2:
        return ["/metadata/name"] if copies else []
    last = copies[-1]
    result = dict.fromkeys(
        difference.pointer for before in copies[:-1] for difference in differences(before.body, last.body)
    )
    return list(result) or ["/metadata/name"]


def _difference(copies: list[Manifest]) -> str:
    result = [pointer for pointer in _differing(copies) if pointer != "/metadata/name"]
    if not result:
        return ""
    more = f" and {len(result) - 3} more" if len(result) > 3 else ""
    return f", and they differ at {', '.join(result[:3])}{more}"


def _let_go(copies: list[Manifest]) -> Iterator[Fix]:
    """The first of two: the cluster has never seen it, as the last one is what counts."""
    if len(copies) == 2:
        same = _differing(copies) == ["/metadata/name"]
        yield Fix.drop(
            copies[0].ref,
            title="Delete one of the two, which say the same"
            if same
            else "Delete the first one, which has no effect",
            risk="" if same else "what it alone says was perhaps meant: look at both",
        )


def _find_it(case: Case, ref: Ref) -> Fix:
    return Fix.run(
        f"argocd app manifests {app_argument(case)} --source git | grep -c {quote(f'name: {ref.name}')}",
        f"grep -rn {quote(f'name: {ref.name}')} .     # in the source: keep one of them",
        title="Find both in the source and keep one",
    )
