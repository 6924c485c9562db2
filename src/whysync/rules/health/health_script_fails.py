"""A health check written in Lua fails or answers nonsense.

## What happens
Argo CD runs a Lua script to judge a custom resource. The script stops with an error (often it reads a field
that is not there yet, such as `obj.status.phase` before there is a status), or returns what is no health.
The resource is Unknown, and in some versions the whole comparison fails.

## How whysync knows
The Lua error with its line in Argo CD's own words, and, for scripts of `argocd-cm`, the key they stand under.

## Fix
Correct the script so that it checks for absent fields first; then refresh. `whysync health` runs it on an
object without a cluster. If it is a script that Argo CD ships, override it with your own.

## When it is something else
A resource without any script has no health at all, and does not count.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.commands import kubectl, remark
from whysync.diagnosis.resources import named_ref
from whysync.semantics.messages import HealthScriptError, Named


@rule(cause="health-script-error", since="0.1")
def health_script_fails(case: Case) -> Iterator[Finding]:
    for report in case.failures(HealthScriptError):
        failure = report.failure
        named = Named(kind=failure.kind, name=failure.name, namespace=failure.namespace)
        ref = named_ref(case, named, report.ref)
        line = f" at line {failure.line}" if failure.line else ""
        kind = f"{ref.group}_{ref.kind}" if ref.group else ref.kind
        yield Finding(
            about=ref,
            explains=report.symptoms,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the health check of {ref.kind} fails{line}: {failure.detail or failure.text}",
            root=failure.detail or failure.text,
            evidence=(report.cite(says="the Lua error, as Argo CD reports it"),),
            fixes=(
                Fix.run(
                    kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=case.app.namespace)
                    + " > argocd-cm.yaml",
                    remark(f"correct resource.customizations.health.{kind}: check absent fields first"),
                    "whysync health OBJECT.yaml --settings argocd-cm.yaml",
                    title="Correct the script, and try it on the object without a cluster",
                ),
            ),
        )
