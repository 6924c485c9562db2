"""Mistakes in `ignoreDifferences` rules that are meant for an object but do not match it."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.ignore_differences import MistakeKind, Rule, RuleMistake, explain_miss
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Edit, Fix, Set
from whysync.diagnosis.sentences import counted
from whysync.json_tree import Object, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.queries.commands import kubectl, with_comment

_BROAD = frozenset(
    {"/metadata", "/metadata/annotations", "/metadata/labels", "/spec", "/spec/template", "/data"}
)
_KEYS = {MistakeKind.GROUP: "group", MistakeKind.KIND: "kind"}


def nearest_miss(case: Case, rules: tuple[Rule, ...], ref: Ref) -> tuple[Rule, RuleMistake] | None:
    """The rule that is most likely meant for this object, and its mistake."""
    live = case.live_of(ref.key) or case.desired_of(ref.key) or _bare(ref)
    differing = [drift.pointer for drift in case.drifts if drift.ref.key == live.key]
    near: list[tuple[Rule, RuleMistake]] = []
    for ignore_rule in rules:
        miss = explain_miss(ignore_rule, live.body, differing)
        if miss is None:
            return None  # this rule works
        provable = differing or miss.kind in (MistakeKind.GROUP, MistakeKind.KIND, MistakeKind.NAMES_NO_FIELD)
        if miss.near and miss.kind is not MistakeKind.ELSEWHERE and provable and _is_about(ignore_rule, ref):
            near.append((ignore_rule, miss))
    return near[0] if near else None


def _is_about(ignore_rule: Rule, ref: Ref) -> bool:
    same = ignore_rule.kind.lower() in (ref.kind.lower(), f"{ref.kind.lower()}s", "*")
    return same and (ignore_rule.names_a_field or ignore_rule.mismatch(ref) is None)


def _bare(ref: Ref) -> Manifest:
    """An object of which only the identity is known."""
    meta: Object = {"name": ref.name}
    if ref.namespace:
        meta["namespace"] = ref.namespace
    api_version = f"{ref.group}/{ref.version or 'v1'}" if ref.group else ref.version or "v1"
    return Manifest({"apiVersion": api_version, "kind": ref.kind, "metadata": meta}, role=Role.LIVE)


def correction(case: Case, pointer: str, miss: RuleMistake) -> Fix:
    """The edit of the rule at `pointer`, or the command to edit it if the right value is not known."""
    title = f"Correct the rule: {miss.text}"
    edit = _edit(case, pointer, miss)
    if edit is not None:
        others = tuple(_same_mistake(case, pointer, miss))
        if others:
            title += f"; the same holds for {counted(len(others), 'other rule')}"
        return Fix.application(case.application.ref, edit, *others, title=title, risk=_risk(case, pointer))
    command = kubectl("edit", "application", case.app.name, namespace=case.app.namespace)
    return Fix.run(with_comment(command, pointer), title=title)


def _same_mistake(case: Case, pointer: str, miss: RuleMistake) -> Iterator[Edit]:
    """Other rules without a group whose kind is in one group only, so that they never match either."""
    if miss.kind is not MistakeKind.GROUP or case.application.at(f"{pointer}/group"):
        return
    for position, other in enumerate(case.app.spec.ignore_differences):
        groups = {resource.group for resource in built_in().values() if resource.kind == other.kind}
        at = f"/spec/ignoreDifferences/{position}"
        if at != pointer and not other.group and len(groups) == 1 and (group := groups.pop()):
            yield Set(pointer=f"{at}/group", value=group)


def _risk(case: Case, pointer: str) -> str:
    """A sync writes what a rule ignores; a rule that never matched may name a whole part of the object."""
    broad = [
        text(selector)
        for name in ("jsonPointers", "jqPathExpressions")
        for selector in items(case.application.at(f"{pointer}/{name}"))
        if text(selector).replace(".", "/").rstrip("/") in _BROAD
    ]
    risks: list[str] = []
    if not case.has_sync_option("RespectIgnoreDifferences=true"):
        risks.append(
            "only the diff ignores it: a sync still writes Git's value, unless RespectIgnoreDifferences=true"
            " is set"
        )
    if broad:
        risks.append(
            f"the rule then ignores everything below {', '.join(broad)}, also changes that matter:"
            " name the fields instead"
        )
    return "; ".join(risks)


def _edit(case: Case, pointer: str, miss: RuleMistake) -> Edit | None:
    key = _KEYS.get(miss.kind)
    if key is not None and (miss.suggestion or key == "group"):
        return Set(pointer=f"{pointer}/{key}", value=miss.suggestion)
    if miss.suggestion and miss.selector:
        for name in ("managedFieldsManagers", "jqPathExpressions", "jsonPointers"):
            selectors = case.application.at(f"{pointer}/{name}")
            if isinstance(selectors, list) and miss.selector in selectors:
                index = selectors.index(miss.selector)
                return Set(pointer=f"{pointer}/{name}/{index}", value=miss.suggestion)
    return None
