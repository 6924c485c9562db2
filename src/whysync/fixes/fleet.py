"""One fix for all apps that share a cause, tried on each of them before it is offered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from whysync.argocd.settings.overrides import ResourceOverride
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Add, Fix, FixKind, Set
from whysync.diagnosis.report import AppReport, Group
from whysync.diagnosis.rule import Rule, diagnosis_rules
from whysync.diagnosis.runner import group_key, groups_of, run_rules
from whysync.fixes.case_after_fix import compared_again, with_settings_of
from whysync.fixes.edit import edited
from whysync.fixes.patches import object_of
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.yaml import dump
from whysync.queries.commands import argocd_namespace, comment
from whysync.queries.ignore_rules import RESPECT

_IGNORE = "/spec/ignoreDifferences"
_PATHS = ("jsonPointers", "jqPathExpressions", "managedFieldsManagers")
# With more apps than this, the group is too large to read.
_MAX_PATHS = 20


def groups_with_fixes(reports: Iterable[AppReport]) -> tuple[Group, ...]:
    """Groups of apps with a common cause, each with one fix for all of them if there is one."""
    reports = tuple(reports)
    by_name = {report.case.qualified_name: report for report in reports}
    return tuple(_with_fix(group, by_name) for group in groups_of(reports))


def _with_fix(group: Group, by_name: Mapping[str, AppReport]) -> Group:
    members = [by_name[name] for name in group.apps]
    if len(members) < 2:
        return group
    for fix in (_same_settings(members), _ignored_everywhere(members)):
        if fix is not None and _helps_all(fix, members):
            return msgspec.structs.replace(group, fix=fix, checked=True)
    return msgspec.structs.replace(group, fix=_same_commands(members))


# --- fixes that every app is offered -------------------------------------------------------------------


def _same_settings(members: list[AppReport]) -> Fix | None:
    """A change of Argo CD's own settings that fixes one of the apps may fix all."""
    for fix in _first(members[0]).fixes:
        if fix.kind is FixKind.SETTINGS and all(_offers(other, fix) for other in members[1:]):
            return fix
    return None


def _offers(report: AppReport, fix: Fix) -> bool:
    """Is it the same change? Titles and risks may differ from app to app."""
    return any((fix.target, fix.edits) == (other.target, other.edits) for other in _first(report).fixes)


def _same_commands(members: list[AppReport]) -> Fix | None:
    """Commands that do not name the app (a credential, a restart) run once; the others once per app."""
    for number, fix in enumerate(_first(members[0]).fixes):
        others = [_first(other).fixes[number : number + 1] for other in members[1:]]
        alike = all(other and other[0].title == fix.title for other in others)
        if not fix.commands or fix.destroys or not alike:
            continue
        common = [c for c in fix.commands if all(c in other[0].commands for other in others)]
        rest = [command for command in fix.commands if command not in common]
        if common and not all(command.startswith("#") for command in common):
            then = (comment(f"then for each of the {len(members)} apps: {rest[0]}"),) if rest else ()
            return msgspec.structs.replace(fix, commands=(*common, *then))
    return None


# --- ignored for all apps, in argocd-cm ----------------------------------------------------------------


def _ignored_everywhere(members: list[AppReport]) -> Fix | None:
    """One ignore rule in argocd-cm for the kind, if each app is offered an ignore rule for the same field."""
    rules: dict[tuple[str, str], dict[str, list[Json]]] = {}
    for report in members:
        ignore_rules = [rule for finding in _alike(report) for rule in _ignore_rules(finding)]
        if not ignore_rules:
            return None
        for rule in ignore_rules:
            paths_by_field = rules.setdefault((text(rule.get("group")), text(rule.get("kind"))), {})
            for name in _PATHS:
                paths = paths_by_field.setdefault(name, [])
                paths += [path for path in items(rule.get(name)) if path not in paths]
    if sum(len(paths) for rule in rules.values() for paths in rule.values()) > _MAX_PATHS:
        return None
    case = members[0].case
    edits = tuple(_setting(case, group, kind, rule) for (group, kind), rule in sorted(rules.items()))
    path_names = sorted({str(path) for rule in rules.values() for paths in rule.values() for path in paths})
    kinds = " and ".join(sorted(kind for _, kind in rules))
    return Fix(
        title=f"Ignore {', '.join(path_names)} of every {kinds}, for all apps, in argocd-cm",
        kind=FixKind.SETTINGS,
        target=_argocd_cm(case),
        edits=edits,
        risk=_risk(members),
    )


def _ignore_rules(finding: Finding) -> Iterator[Object]:
    for fix in finding.fixes:
        for edit in fix.edits:
            if fix.kind is FixKind.APPLICATION and isinstance(edit, Add) and edit.pointer == _IGNORE:
                yield fields(edit.value)
                return


def _setting(case: Case, group: str, kind: str, rule: Mapping[str, list[Json]]) -> Set:
    """The current setting of that kind, under any of its keys, with the new paths appended."""
    override = case.argocd.overrides.get(f"{group}/{kind}" if group else kind, ResourceOverride())
    present = override.ignore_differences.as_json()
    rule_value: Object = {}
    for name in _PATHS:
        paths = items(present.get(name))
        paths = [*paths, *(path for path in rule.get(name, []) if path not in paths)]
        if paths:
            rule_value[name] = paths
    key = f"resource.customizations.ignoreDifferences.{f'{group}_' if group else ''}{kind}"
    return Set(pointer=join(("data", key)), value=dump(rule_value))


def _argocd_cm(case: Case) -> Ref:
    config_map = case.settings("argocd-cm")
    if config_map is not None:
        return config_map.ref
    return Ref(version="v1", kind="ConfigMap", namespace=argocd_namespace(case), name="argocd-cm")


def _risk(members: list[AppReport]) -> str:
    risks = ["drift in this field is no longer reported, in any app"]
    overwritten = [report for report in members if _sync_writes_it(report)]
    if overwritten:
        risks.append(
            f"in {len(overwritten)} of them Git sets the field: a sync still writes it there,"
            f" unless the app has {RESPECT}"
        )
    if members[0].case.settings("argocd-cm") is None:
        risks.append("argocd-cm is not in the facts: if it already has this key, add to its value")
    return "; ".join(risks)


def _sync_writes_it(report: AppReport) -> bool:
    edits = [edit for finding in _alike(report) for fix in finding.fixes for edit in fix.edits]
    return any(isinstance(edit, Add) and edit.value == RESPECT for edit in edits)


# --- try the fix ---------------------------------------------------------------------------------------


def _helps_all(fix: Fix, members: list[AppReport]) -> bool:
    """Does another diagnosis with the new settings no longer find the cause in any of the apps?"""
    case = members[0].case
    target = object_of(fix, case)
    rule = next((rule for rule in diagnosis_rules() if rule.id == _first(members[0]).rule), None)
    if target is None or rule is None:
        return False
    world = with_settings_of(case.index, target.with_body(edited(target.body, fix.edits)))
    return all(
        _no_longer_fires(rule, compared_again(Case(world, report.case.application, report.case.app)), report)
        for report in members
    )


def _no_longer_fires(rule: Rule[Case], case: Case, report: AppReport) -> bool:
    before = {(finding.about, finding.field) for finding in _alike(report)}
    run = run_rules((rule,), case)
    return not run.crashed and not any((finding.about, finding.field) in before for finding in run.findings)


def _first(report: AppReport) -> Finding:
    assert report.first is not None
    return report.first


def _alike(report: AppReport) -> list[Finding]:
    """All findings of the app with the group's cause."""
    key = group_key(_first(report))
    return [finding for finding in report.findings if group_key(finding) == key]
