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
Fix what the message names, in the ApplicationSet. If a parameter is missing, add it where the generator reads
its parameters: the file in Git, the element of the list, the label of the cluster. The app is then updated.

## When it is something else
The set has no error and the app waits for its rollout step.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.freshness import ApplicationSetError, failing_application_set
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import APPLICATION_SET_FAILED
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.application_sets import ApplicationSetFailed
from whysync.queries.commands import argocd_namespace, kubectl, on_object, with_comment
from whysync.queries.generator_parameters import ParameterSource, sources_without
from whysync.queries.group_failures import grouped

CONTROLLER_PODS = "app.kubernetes.io/name=argocd-applicationset-controller"


@rule(cause="appset-error", since="0.1")
def application_set_error(case: Case) -> Iterator[Finding]:
    yield from _reported(case)
    troubled = failing_application_set(case)
    if troubled is not None:
        yield finding_of_error(case, troubled, subject=f"{troubled.manifest.ref}, which creates this app,")


def finding_of_error(case: Case, troubled: ApplicationSetError, *, subject: str) -> Finding:
    """The error of a set, as the cause of its own state or of that of one of its apps."""
    message = troubled.message.strip() or troubled.reason
    owner = troubled.manifest
    parameter = _missing_parameter(message)
    sources = sources_without(owner, parameter) if parameter else ()
    why = f"{sources[0].lacks} has no {parameter}, which its template uses" if len(sources) == 1 else message
    return Finding(
        about=owner.ref,
        explains=(APPLICATION_SET_FAILED,),
        confidence=Confidence.HIGH,
        verdict=f"{subject} fails: {why}",
        root=message or None,
        evidence=(
            cite(owner, troubled.pointer, says="its controller reports an error"),
            *(
                (cite(owner, "/spec/generators", says="where the parameters of the template come from"),)
                if sources
                else ()
            ),
        ),
        fixes=(
            *(_give(source, parameter) for source in sources),
            Fix.run(
                *(() if sources else _look(case, owner.ref)),
                with_comment(on_object("edit", owner.ref), "or its manifest, if it is in Git"),
                title=f"Or correct its template, if {parameter} is not what it should use"
                if sources
                else f"Correct the generators or the template of {owner.ref}",
                risk="the template applies to every app that it generates"
                if sources
                else "a change of its generators can create or delete Applications",
            ),
        ),
    )


def _missing_parameter(message: str) -> str:
    failure = understand(message).first(ApplicationSetFailed)
    return failure.missing_parameter if failure is not None else ""


def _give(source: ParameterSource, parameter: str) -> Fix:
    return Fix.run(
        *source.steps,
        title=f"Give the template its parameter: {source.lacks} has no {parameter}",
        risk=source.risk,
    )


def _look(case: Case, owner: Ref) -> tuple[str, ...]:
    logs = kubectl("logs", "-l", CONTROLLER_PODS, "--tail=100", namespace=argocd_namespace(case))
    return (on_object("describe", owner), with_comment(logs, "the error of its generators or template"))


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
