"""A Lua health check fails or returns an invalid result.

## What happens
Argo CD runs a Lua script to assess a custom resource. The script stops with an error (often it reads a field
that is not there yet, such as `obj.status.phase` before there is a status), or returns no valid health. The
resource is Unknown, and in some versions the whole comparison fails.

## How whysync knows
The Lua error with its line, as Argo CD reports it, and, for scripts in `argocd-cm`, their key.

## Fix
Correct the script so that it checks for absent fields first, then refresh. If the script and the object are
in the facts, whysync proposes the check after running the script with it on the object. `whysync health` runs
a script on an object without a cluster. Override a script that Argo CD ships with your own. Argo CD opens
only Lua's base and table libraries and a part of os: a script that uses `string` or `math` needs
`resource.customizations.useOpenLibs.GROUP_KIND: "true"` in argocd-cm, or has to do without.

## When it is something else
A resource without any script has no health at all, and does not count.
"""

import json
from collections.abc import Iterator

from whysync.argocd.health.assess import assess
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, FixKind, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.json_tree import fields, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.schema import kinds
from whysync.messages.failure import ObjectName
from whysync.messages.patterns.argocd import HealthScriptError, ScriptProblem
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import argocd_namespace, comment, hard_refresh, kubectl, on_object
from whysync.queries.lua_guards import with_nil_checks
from whysync.queries.named_objects import named_ref

_KEY = "resource.customizations.health."
_OPEN_LIBS = "resource.customizations.useOpenLibs."
_MEANINGS = {
    ScriptProblem.LIBRARY: " (Argo CD's Lua has no string, math or io library)",
    ScriptProblem.NIL: " (the object lacks a field that the script reads)",
    ScriptProblem.NOT_A_TABLE: " (the script reads a field of a plain value)",
}
_CORRECTIONS = {
    ScriptProblem.LIBRARY: "rewrite it without functions of string, math and io",
    ScriptProblem.NIL: "check for absent fields first: if obj.status ~= nil and obj.status.phase ~= nil then",
    ScriptProblem.NOT_A_TABLE: 'check the type first: if type(value) == "table" then',
    ScriptProblem.NOT_A_FUNCTION: "it calls what is not a function: often a misspelled name",
    ScriptProblem.RESULT: "return a table with status (Healthy, Progressing, Degraded, Suspended, Missing or"
    " Unknown) and message",
}


@rule(cause="health-script-error", since="0.1")
def health_script_error(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    for report in case.failures(HealthScriptError):
        failure = report.failure
        named = ObjectName(kind=failure.kind, name=failure.name, namespace=failure.namespace)
        ref = named_ref(case, named, report.ref)
        explains = tuple(dict.fromkeys((*report.symptoms, *symptoms_about(case, ref))))
        if not explained.isdisjoint(explains):
            continue  # the condition and the row report the same error
        explained.update(explains)
        line = f" at line {failure.line}" if failure.line else ""
        is_named = bool(failure.kind) or ref.key != case.application.key
        whose = f"the health check of {ref}" if is_named else "a health check in Lua"
        live = case.live_of(ref.key)
        yield Finding(
            about=ref,
            explains=explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{whose} fails{line}: {failure.detail or failure.text}"
            + _MEANINGS.get(failure.problem, ""),
            root=failure.detail or failure.text,
            evidence=(
                report.cite(says="the Lua error, as Argo CD reports it"),
                *_script_at(case, ref),
            ),
            fixes=(*_with_nil_checks(case, ref, live), *_corrections(case, ref, failure))
            if is_named
            else (_find_script(case, failure),),
            already_fixed=refresh_again(
                case,
                "the script in argocd-cm runs on it without an error now",
                "Refresh",
                when=live is not None and _runs_now(case, live),
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


def _shown_name(ref: Ref) -> str:
    """The key for a person; a message names the kind without its API group."""
    return _name_of(ref) if ref.group or ref.kind in kinds()["v1"] else f"{_KEY}GROUP_{ref.kind}"


def _script_at(case: Case, ref: Ref) -> Iterator[Evidence]:
    settings = case.settings("argocd-cm")
    if settings is not None and _name_of(ref) in _settings_data(case):
        yield cite(settings, join(("data", _name_of(ref))), says="the health script")


def _with_nil_checks(case: Case, ref: Ref, live: Manifest | None) -> Iterator[Fix]:
    """The script with checks for absent fields, if it then runs on this object."""
    settings, script = case.settings("argocd-cm"), _settings_data(case).get(_name_of(ref), "")
    fixed = with_nil_checks(script, live) if live is not None and script else None
    if settings is None or fixed is None:
        return
    checked, verdict = fixed
    yield Fix(
        title=f"Check for the absent field in the script; for {ref.name} it then returns {verdict.code}",
        kind=FixKind.SETTINGS,
        target=settings.ref,
        edits=(Set(pointer=join(("data", _name_of(ref))), value=checked),),
        risk="applies to all resources of this kind",
    )


def _find_script(case: Case, failure: HealthScriptError) -> Fix:
    """The message names no kind. A script that is not in argocd-cm is one of Argo CD's own.

    The log line is that of `setApplicationHealth`, Argo CD 3.6, which does not contain the word Lua.
    """
    namespace = argocd_namespace(case)
    libraries = failure.problem is ScriptProblem.LIBRARY
    return Fix.run(
        kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=namespace)
        + " | grep customizations.health",
        kubectl("logs", "-l", "app.kubernetes.io/name=argocd-application-controller", namespace=namespace)
        + " --tail=2000 | grep 'failed to get resource health'",
        comment(f"in that script: {_CORRECTIONS.get(failure.problem, 'correct the line of the error')}"),
        *(
            (comment(f'or open the libraries: in argocd-cm {_OPEN_LIBS}GROUP_KIND: "true"'),)
            if libraries
            else ()
        ),
        title="Find the kind in the controller's log, then correct its script in argocd-cm;"
        " if it is not there, the script is a built-in one: upgrade Argo CD, or override it in argocd-cm",
    )


def _corrections(case: Case, ref: Ref, failure: HealthScriptError) -> Iterator[Fix]:
    yield _correct_manually(case, ref, failure)
    if failure.problem is ScriptProblem.LIBRARY:
        setting = _shown_name(ref).replace(_KEY, _OPEN_LIBS)
        yield Fix.run(
            kubectl(
                *("patch", "configmap", "argocd-cm", "--type=merge", "-p"),
                json.dumps({"data": {setting: "true"}}),
                namespace=argocd_namespace(case),
            ),
            hard_refresh(case),
            title=f"Or open Lua's standard libraries for {ref.kind}: {setting}",
            risk="the script can then also read files of the controller: only for scripts that you trust",
        )


def _correct_manually(case: Case, ref: Ref, failure: HealthScriptError) -> Fix:
    """Argo CD ships scripts for many kinds: what is not in argocd-cm is one of those."""
    is_own = _name_of(ref) in _settings_data(case)
    namespace = argocd_namespace(case)
    return Fix.run(
        kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=namespace) + " > argocd-cm.yaml",
        comment(
            f"correct {_shown_name(ref)}: {_CORRECTIONS.get(failure.problem, 'see the line of the error')}"
        ),
        *(
            ()
            if is_own
            else (
                comment("no such key? then the script is built in: upgrade Argo CD, or add your own there"),
            )
        ),
        on_object("get", ref, "-o", "yaml") + " > object.yaml",
        "whysync health object.yaml --settings argocd-cm.yaml",
        kubectl("apply", "-f", "argocd-cm.yaml", namespace=namespace),
        hard_refresh(case),
        title="Correct the script, test it on the object without a cluster, then apply it"
        if is_own
        else "Correct the script in argocd-cm, or override the built-in one there; test it, then apply it",
        risk="the script applies to all objects of the kind, and argocd-cm to all Applications",
    )
