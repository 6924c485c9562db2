"""The ApplicationSet that creates this app reports an error.

## What happens
The app belongs to an ApplicationSet, which writes its spec. When a generator, a template or a Git request
fails there, the set stops: changes to the template are not applied, new apps are not created, old ones are
not removed. The app itself may be Healthy and out of date.

## How whysync knows
The app's ApplicationSet is in the facts and has the condition `ErrorOccurred`, with the reason and message of
the ApplicationSet controller. Or that controller reports it in its log: a generator, a request to a Git host,
a template, two Applications with the same name.

## Fix
Fix what the message names, in the ApplicationSet. The app is then updated.

## When it is something else
The set has no error and the app waits for its rollout step.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.freshness import failing_application_set
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import APPLICATION_SET_FAILED
from whysync.messages.patterns.application_sets import ApplicationSetFailed
from whysync.queries.commands import argocd_namespace, kubectl, on_object, with_comment
from whysync.queries.group_failures import grouped

CONTROLLER_PODS = "app.kubernetes.io/name=argocd-applicationset-controller"


@rule(cause="appset-error", since="0.1")
def application_set_error(case: Case) -> Iterator[Finding]:
    yield from _reported(case)
    troubled = failing_application_set(case)
    if troubled is None:
        return
    message = troubled.message.strip() or troubled.reason
    yield Finding(
        about=troubled.manifest.ref,
        explains=(APPLICATION_SET_FAILED,),
        confidence=Confidence.HIGH,
        verdict=f"{troubled.manifest.ref}, which creates this app, fails: {message}",
        root=message or None,
        evidence=(cite(troubled.manifest, troubled.pointer, says="its controller reports an error"),),
        fixes=(
            Fix.run(
                on_object("describe", troubled.manifest.ref),
                with_comment(
                    kubectl("logs", "-l", CONTROLLER_PODS, "--tail=100", namespace=argocd_namespace(case)),
                    "the error of its generators or template",
                ),
                with_comment(on_object("edit", troubled.manifest.ref), "or its manifest, if it is in Git"),
                title=f"Correct the generators or the template of {troubled.manifest.ref}",
                risk="a change of its generators can create or delete Applications",
            ),
        ),
    )


def _reported(case: Case) -> Iterator[Finding]:
    """The errors of the ApplicationSet controller; its log has them also for sets that made no app yet."""
    namespace = argocd_namespace(case)
    logs = ("logs", "-l", CONTROLLER_PODS, "--tail=100")
    for group in grouped(case, ApplicationSetFailed, by=lambda failure: (failure.name, failure.detail)):
        name, detail = group.failure.name, one_line(group.failure.detail)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            confidence=Confidence.HIGH,
            verdict=f"{f'ApplicationSet {name}' if name else 'an ApplicationSet'} fails: {detail}",
            root=detail or None,
            evidence=group.cited(says="error of the ApplicationSet controller"),
            fixes=(
                Fix.run(
                    kubectl("describe", "applicationset", *((name,) if name else ()), namespace=namespace),
                    kubectl(*logs, namespace=namespace),
                    title=f"Correct {f'ApplicationSet {name}' if name else 'the ApplicationSet'}, or what its"
                    " generator reads",
                    risk="a change of its generators can create or delete Applications",
                ),
            ),
        )
