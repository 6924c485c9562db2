"""Fixes of an Application that an ApplicationSet generates: the set's controller reverts other changes.

Mirrors `DefaultPolicy` and `CreateOrUpdate` of Argo CD 3.6: spec, labels, annotations and finalizers of the
Application become those of the template again, unless the policy does not update or the set ignores a field.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from whysync.argocd.tracking.method import owner_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import within
from whysync.queries.commands import comment, words_of

_WITHOUT_UPDATES = frozenset({"create-only", "create-delete"})
_POLICY = "applicationsetcontroller.policy"
_POLICY_OVERRIDE = "applicationsetcontroller.enable.policy.override"
_CHANGING_VERBS = frozenset({"set", "unset", "edit", "patch", "add-source", "remove-source"})
_CHANGING_KUBECTL_VERBS = frozenset({"patch", "edit", "annotate", "label"})
_APPLICATION_NAMES = frozenset({"application", "applications", "app", "apps"})
# Not part of the template: requests to Argo CD, and finalizers of an Application that is being deleted.
_NOT_REVERTED = ("argocd.argoproj.io/refresh", '"operation"', '"finalizers"')
_PARAMETER = re.compile(r"{{-?\s*\.?([\w.-]+)\s*(?:\|[^}]*)?-?}}")
"""A parameter in a template, as `{{.name}}`, `{{name}}` or `{{ .name | quote }}`."""


def application_set_of(case: Case, fix: Fix | None = None) -> str:
    """The ApplicationSet that generates the Application and reverts changes to it; empty if none does."""
    owners = case.app.metadata.owner_references
    name = next((owner.name for owner in owners if owner.kind == "ApplicationSet"), "")
    generator = case.live_named("ApplicationSet", case.app.namespace, name) if name else None
    if generator is None:
        return name
    is_kept = not _updates(case, generator) or (fix is not None and _is_ignored(fix, case, generator))
    return "" if is_kept else name


def parent_of(case: Case) -> str:
    """The app of apps that applies this Application, by its tracking mark; empty if there is none."""
    settings = case.argocd
    instance = owner_of(
        case.application.body, method=settings.tracking_method, label_key=settings.instance_label_key
    )
    owner = instance.rpartition("_")[2]
    return "" if owner == case.app.name else owner


def _updates(case: Case, generator: Manifest) -> bool:
    parameters = case.settings("argocd-cmd-params-cm")
    data = fields(parameters.body.get("data")) if parameters is not None else {}
    policy, own = text(data.get(_POLICY)), generator.at("/spec/syncPolicy/applicationsSync")
    may_override = not policy or text(data.get(_POLICY_OVERRIDE)) == "true"
    return (own if may_override and isinstance(own, str) else policy) not in _WITHOUT_UPDATES


def _is_ignored(fix: Fix, case: Case, generator: Manifest) -> bool:
    """Are all changed fields among those that the set ignores? jq expressions are not evaluated."""
    rules = map(fields, items(generator.spec.get("ignoreApplicationDifferences")))
    mine = (rule for rule in rules if text(rule.get("name")) in ("", case.app.name))
    ignored = [text(pointer) for rule in mine for pointer in items(rule.get("jsonPointers"))]
    return bool(fix.edits) and all(any(within(edit.pointer, path) for path in ignored) for edit in fix.edits)


def place_in_set(case: Case, fix: Fix, owner: str) -> str:
    """Where the set declares the changed fields: its template, or a value of a generator that it inserts."""
    template = f"spec.template of ApplicationSet {owner}"
    generator = case.live_named("ApplicationSet", case.app.namespace, owner)
    if generator is None:
        return template
    declared = (generator.at(f"/spec/template{edit.pointer}") for edit in fix.edits)
    inserted = [name for value in declared if isinstance(value, str) for name in _PARAMETER.findall(value)]
    if not inserted:
        return template
    names = " and ".join(dict.fromkeys(inserted))
    element = _element(generator, case.app.name)
    return f"{element or 'the generator'} of ApplicationSet {owner}, value {names} ({template} inserts it)"


def _element(generator: Manifest, name: str) -> str:
    """The element of a list generator that generates the app of this name; empty if none is known to."""
    template = text(generator.at("/spec/template/metadata/name"))
    for number, source in enumerate(map(fields, items(generator.spec.get("generators")))):
        for index, element in enumerate(map(fields, items(fields(source.get("list")).get("elements")))):
            if _inserted(template, element) == name:
                return f"spec.generators[{number}].list.elements[{index}]"
    return ""


def _inserted(template: str, element: Object) -> str:
    return _PARAMETER.sub(lambda match: text(element.get(match[1])), template)


def for_generated_app(fix: Fix, case: Case) -> Fix:
    """Change the template instead of the Application, and warn that it has other Applications too.

    An Application that another one applies is changed where that one reads it.
    """
    changed = [command for command in fix.commands if _changes_application(command, case)]
    if fix.kind is not FixKind.APPLICATION and not changed:
        return fix
    owner = application_set_of(case, fix)
    parent = "" if owner else parent_of(case)
    if not owner and not parent:
        return fix
    if owner:
        place = f"change spec.template of ApplicationSet {owner}, which reverts this:"
        warning = f"the template of ApplicationSet {owner} applies to every app that it generates"
    else:
        place = f"change it in the source of app {parent}, which reverts this:"
        warning = (
            f"app {parent} applies this Application, and its next sync reverts a change in the cluster:"
            f" change it in the source of {parent}"
        )
    commands = (comment(f"{place} {c}") if c in changed else c for c in fix.commands)
    return replace(fix, commands=tuple(commands), risk=f"{warning}; {fix.risk}" if fix.risk else warning)


def _changes_application(command: str, case: Case) -> bool:
    """Does the command change this Application, such as `argocd app set` and `kubectl patch application`?"""
    words = words_of(command)
    if case.app.name not in {word.rpartition("/")[2] for word in words}:
        return False
    if words[:2] == ["argocd", "app"]:
        return words[2] in _CHANGING_VERBS
    kinds = {word.partition("/")[0].partition(".")[0].lower() for word in words[1:]}
    changes = words[0] == "kubectl" and bool(_CHANGING_KUBECTL_VERBS.intersection(words))
    return changes and bool(kinds & _APPLICATION_NAMES) and not any(mark in command for mark in _NOT_REVERTED)
