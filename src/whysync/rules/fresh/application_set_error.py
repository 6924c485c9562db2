"""The ApplicationSet that creates this app reports an error.

## What happens
The app belongs to an ApplicationSet, which writes its spec. When a generator, a template or a Git request
fails there, the set stops: changes to the template are not applied, new apps are not created, old ones are
not removed. The app itself may be Healthy and out of date.

## How whysync knows
The app's ApplicationSet is in the facts and has the condition `ErrorOccurred`, with the reason and message of
the ApplicationSet controller.

## Fix
Fix what the message names, in the ApplicationSet. The app is then updated.

## When it is something else
The set has no error and the app waits for its rollout step.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.freshness import failing_application_set
from whysync.diagnosis.symptom import APPLICATION_SET_FAILED
from whysync.queries.commands import on_object


@rule(cause="appset-error", since="0.1")
def application_set_error(case: Case) -> Iterator[Finding]:
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
                on_object("edit", troubled.manifest.ref),
                title="Fix what the message names, in the ApplicationSet",
            ),
        ),
    )
