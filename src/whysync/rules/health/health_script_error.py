"""A health check written in Lua fails or answers nonsense.

## What happens
Argo CD runs a Lua script to judge a custom resource. The script stops with an error (often it reads a field
that is not there yet, such as `obj.status.phase` before there is a status), or returns what is no health.
The resource is Unknown, and in some versions the whole comparison fails.

## How whysync knows
The Lua error with its line in Argo CD's own words, and, for scripts of `argocd-cm`, the key they stand under.

## Fix
Correct the script so that it checks for absent fields first; then refresh. Where the script and the object
are at hand, whysync proposes the check, and has run the script with it on the object. `whysync health` runs
it on an object without a cluster. If it is a script that Argo CD ships, override it with your own.

## When it is something else
A resource without any script has no health at all, and does not count.
"""

from collections.abc import Iterator

from whysync.argocd.health.assess import assess
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, FixKind, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.json_tree import fields, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.messages.failure import Named
from whysync.messages.patterns.argocd import HealthScriptError
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import comment, kubectl
from whysync.queries.lua_guards import with_nil_checks
from whysync.queries.named_objects import named_ref

_KEY = "resource.customizations.health."


@rule(cause="health-script-error", since="0.1")
def health_script_error(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    for report in case.failures(HealthScriptError):
        failure = report.failure
        named = Named(kind=failure.kind, name=failure.name, namespace=failure.namespace)
        ref = named_ref(case, named, report.ref)
        explains = tuple(dict.fromkeys((*report.symptoms, *symptoms_about(case, ref))))
        if not explained.isdisjoint(explains):
            continue  # the condition and the row say the same
        explained.update(explains)
        line = f" at line {failure.line}" if failure.line else ""
        live = case.live_of(ref.key)
        yield Finding(
            about=ref,
            explains=explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the health check of {ref.kind} fails{line}: {failure.detail or failure.text}",
            root=failure.detail or failure.text,
            evidence=(
                report.cite(says="the Lua error, as Argo CD reports it"),
                *_script_at(case, ref),
            ),
            fixes=(*_guarded(case, ref, live), _by_hand(case, ref)),
            already_fixed=refresh_again(
                case,
                live is not None and _runs_now(case, live),
                "the script of the settings runs well on it by now",
                "Let Argo CD look again",
            ),
        )


def _runs_now(case: Case, live: Manifest) -> bool:
    if not any(_KEY in key for key in _settings_data(case)):
        return False
    assessment = assess(live.body, case.argocd.overrides)
    return assessment is not None and assessment.error is None


def _settings_data(case: Case) -> dict[str, str]:
    settings = case.settings("argocd-cm")
    data = fields(settings.body.get("data")) if settings is not None else {}
    return {key: text(value) for key, value in data.items()}


def _name_of(ref: Ref) -> str:
    return f"{_KEY}{ref.group}_{ref.kind}" if ref.group else f"{_KEY}{ref.kind}"


def _script_at(case: Case, ref: Ref) -> Iterator[Evidence]:
    settings = case.settings("argocd-cm")
    if settings is not None and _name_of(ref) in _settings_data(case):
        yield cite(settings, join(("data", _name_of(ref))), says="the script")


def _guarded(case: Case, ref: Ref, live: Manifest | None) -> Iterator[Fix]:
    """The script with a question for what this object lacks, where it runs on it then."""
    settings, script = case.settings("argocd-cm"), _settings_data(case).get(_name_of(ref), "")
    fixed = with_nil_checks(script, live) if live is not None and script else None
    if settings is None or fixed is None:
        return
    checked, verdict = fixed
    yield Fix(
        title=f"Let the script ask first whether the field is there; on {ref.name} it says {verdict.code}",
        kind=FixKind.SETTINGS,
        target=settings.ref,
        edits=(Set(pointer=join(("data", _name_of(ref))), value=checked),),
        risk="it holds for all resources of this kind",
    )


def _by_hand(case: Case, ref: Ref) -> Fix:
    return Fix.run(
        kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=case.app.namespace)
        + " > argocd-cm.yaml",
        comment(f"correct {_name_of(ref)}: check absent fields first"),
        "whysync health OBJECT.yaml --settings argocd-cm.yaml",
        title="Correct the script, and try it on the object without a cluster",
    )
