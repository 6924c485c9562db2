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

from collections import Counter
from collections.abc import Iterator
from shlex import quote

from whysync.contracts.ref import Ref
from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.commands import app_argument
from whysync.diagnosis.resources import named_ref
from whysync.semantics.messages import DuplicateResource


@rule(cause="duplicate-resource", since="0.1")
def declared_twice(case: Case) -> Iterator[Finding]:
    counted = Counter(manifest.key for manifest in case.desired)
    for report in case.failures(DuplicateResource):
        ref = named_ref(case, report.failure.resource, report.ref)
        copies = [manifest for manifest in case.desired if manifest.key == ref.key]
        yield Finding(
            about=ref,
            explains=report.symptoms,
            confidence=Confidence.HIGH,
            verdict=f"{ref} is rendered {report.failure.times or counted[ref.key]} times; the last one wins",
            evidence=(
                report.cite(says="Argo CD counted them"),
                *(cite(copy, "/metadata/name", says=f"one of them, in {copy.origin}") for copy in copies),
            ),
            fixes=(_find_it(case, ref),),
        )


def _find_it(case: Case, ref: Ref) -> Fix:
    return Fix.run(
        f"argocd app manifests {app_argument(case)} --source git | grep -c {quote(f'name: {ref.name}')}",
        f"grep -rn {quote(f'name: {ref.name}')} .     # in the source: keep one of them",
        title="Find both in the source and keep one",
    )
