"""An object that was never in Git looks like the app's own.

## What happens
Argo CD counts every live object that bears the app's tracking mark. Operators and controllers copy labels
and annotations from an object of the app to objects that they make themselves: with label tracking above
all, these then look as if they had been removed from Git. Pruning deletes them, and their maker makes them
again: the app never rests.

## How whysync knows
The row requires pruning, no sign shows that Argo CD applied the object, and it names its maker: an owner,
managedFields, a label or annotation that names a claim, an owner or an origin. Without such a mark its kind
or its name may show it: a claim of a StatefulSet, a generated name. Marks and names alone leave a second
reading, which is stated.

## Fix
`argocd.argoproj.io/compare-options: IgnoreExtraneous` on the object, through its maker where it can set
annotations: it does not count for the sync status any more (its health still does). Annotation
tracking ends the whole class. Or exclude the kind in `resource.exclusions`.

## When it is something else
An object that Argo CD itself once applied was removed from Git: that is a prune that is due.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.queries.commands import on_object
from whysync.queries.creators import creator_of
from whysync.queries.drift import annotation_tracking
from whysync.queries.resource_rows import row_evidence

IGNORE = "argocd.argoproj.io/compare-options=IgnoreExtraneous"


@rule(cause="extraneous", since="0.1")
def created_by_another_controller(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        symptom = SymptomId.extra(row.key)
        if symptom not in case.symptom_ids:
            continue
        maker = creator_of(case, row)
        if maker is None:
            continue
        by_label = case.argocd.tracking_method != "annotation"
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.HIGH if maker.certain else Confidence.MEDIUM,
            verdict=f"{row.ref} was never in Git: {maker.reason}"
            if maker.certain
            else f"{row.ref} was most likely never in Git: {maker.reason}; or it was removed from Git and has"
            " not been pruned",
            evidence=(row_evidence(case, row, says="Argo CD would prune it"), *maker.evidence),
            fixes=(
                Fix.run(
                    on_object("annotate", row.ref, IGNORE),
                    title="Let it not count: IgnoreExtraneous, best set by what makes it",
                    risk="its health still counts; what makes it may drop the annotation",
                ),
                *(
                    (annotation_tracking(case, title="Track by annotation: copied labels then mean nothing"),)
                    if by_label
                    else ()
                ),
            ),
        )
