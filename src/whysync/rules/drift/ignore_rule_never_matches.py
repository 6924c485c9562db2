"""An `ignoreDifferences` rule is meant for this object, and does not match it.

## What happens
Somebody wrote a rule so that a difference should not count, and the app is OutOfSync all the same. Argo CD
says nothing about a rule that matches no object or no field: a wrong group (`core` instead of an empty one,
a group with its version), a kind in the wrong case, a pointer with `[0]`, a slash that is not written `~1`,
a jq expression that fails, or a rule that names no field at all.

## How whysync knows
It applies the rules as Argo CD does, and looks at the ones that left the difference standing: one that was
nearly right for this object is named, with what is wrong in it. A rule may also take away all that is in a
map and leave the empty map, which Git does not have. And where a rule should hide all that differs and a row
is OutOfSync all the same, that is said: the comparison is older, or this Argo CD does not apply the rule.

## Fix
Correct that rule; the corrected text is given. With self-heal or auto-sync add
`RespectIgnoreDifferences=true`, or a sync will still write the field.

## When it is something else
A rule about another object, or about another field of this one, is simply another rule.
"""

from collections.abc import Iterator

from whysync.argocd.ignore_differences import MistakeKind, Rule, RuleMistake, application_rules, explain_miss
from whysync.diagnosis import Add, Case, Confidence, Edit, Finding, Fix, Set, SymptomKind, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import hard_refresh, kubectl, with_comment
from whysync.queries.hidden_drift import emptied_by_ignoring, hidden_by_ignoring

_KEYS = {MistakeKind.GROUP: "group", MistakeKind.KIND: "kind"}


@rule(cause="ignore-rule-miss", since="0.1")
def ignore_rule_never_matches(case: Case) -> Iterator[Finding]:
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    if not rules:
        return
    told: dict[tuple[int, Ref], list[SymptomId]] = {}
    misses: dict[tuple[int, Ref], RuleMistake] = {}
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.DIFFERS or symptom.ref is None:
            continue
        nearest = _nearest(case, rules, symptom.ref)
        if nearest is not None:
            written, miss = nearest
            told.setdefault((written.position, symptom.ref), []).append(symptom.id)
            misses[written.position, symptom.ref] = miss
    for (position, ref), symptoms in told.items():
        miss = misses[position, ref]
        at = f"/spec/ignoreDifferences/{position}"
        yield Finding(
            about=ref,
            explains=tuple(symptoms),
            confidence=Confidence.HIGH,
            verdict=f"the ignore rule for {ref} does not match: {miss.text}",
            evidence=(cite(case.application, at, says=miss.text),),
            fixes=tuple(_fixes(case, at, miss)),
        )
    yield from _without_effect(case)


def _without_effect(case: Case) -> Iterator[Finding]:
    """By all that is known it matches, and Argo CD shows the row OutOfSync all the same."""
    refs: set[Ref] = set()
    for shell in emptied_by_ignoring(case):
        symptom = SymptomId.differs(shell.key)
        if symptom not in case.symptom_ids or shell.live.ref in refs or shell.rule is None:
            continue
        refs.add(shell.live.ref)
        at = f"/spec/ignoreDifferences/{shell.rule.position}"
        yield Finding(
            about=shell.live.ref,
            field=shell.pointer,
            explains=(symptom,),
            confidence=Confidence.MEDIUM,
            verdict=f"the ignore rule for {shell.live.ref} empties {shell.pointer} and leaves the empty"
            " shell, which Git does not have: that still counts as a difference",
            evidence=(
                cite(case.application, at, says="this rule takes away what is inside"),
                cite(shell.live, shell.pointer, says="all of it is ignored"),
                cite(shell.desired, shell.pointer, says="Git does not have it at all"),
            ),
            fixes=(
                Fix.application(
                    case.application.ref,
                    Add(pointer=f"{at}/jsonPointers", value=shell.pointer),
                    title=f"Ignore {shell.pointer} as a whole",
                    risk="other changes in it will not be seen any more",
                ),
            ),
        )
    for hidden in hidden_by_ignoring(case, status="OutOfSync"):
        symptom = SymptomId.differs(hidden.key)
        if symptom not in case.symptom_ids or hidden.live.ref in refs or hidden.rule is None:
            continue
        refs.add(hidden.live.ref)
        at = f"/spec/ignoreDifferences/{hidden.rule.position}"
        yield Finding(
            about=hidden.live.ref,
            explains=(symptom,),
            confidence=Confidence.LOW,
            verdict=f"the ignore rule for {hidden.live.ref} should hide {hidden.pointer}, and Argo CD shows"
            " it OutOfSync all the same: it compared before the rule was there, or does not apply it",
            evidence=(
                cite(case.application, at, says="this rule matches the object"),
                cite(hidden.live, hidden.pointer, says="what differs, and should not count"),
                cite(case.application, "/status/reconciledAt", says="when Argo CD compared"),
            ),
            fixes=(
                Fix.run(
                    hard_refresh(case),
                    title="Compare anew; if it stays, name the field itself (jsonPointers) in the rule",
                ),
            ),
        )


def _nearest(case: Case, rules: tuple[Rule, ...], ref: Ref) -> tuple[Rule, RuleMistake] | None:
    """The rule that was most likely meant for this object."""
    live = case.live_of(ref.key) or case.desired_of(ref.key) or _bare(ref)
    differing = [drift.pointer for drift in case.drifts if drift.ref.key == live.key]
    near: list[tuple[Rule, RuleMistake]] = []
    for written in rules:
        miss = explain_miss(written, live.body, differing)
        if miss is None:
            return None  # this one works
        tellable = differing or miss.kind in (MistakeKind.GROUP, MistakeKind.KIND, MistakeKind.NAMES_NO_FIELD)
        if miss.near and miss.kind is not MistakeKind.ELSEWHERE and tellable and _is_about(written, ref):
            near.append((written, miss))
    return near[0] if near else None


def _is_about(written: Rule, ref: Ref) -> bool:
    same = written.kind.lower() in (ref.kind.lower(), f"{ref.kind.lower()}s", "*")
    return same and (written.names_a_field or written.mismatch(ref) is None)


def _bare(ref: Ref) -> Manifest:
    """An object of which only the name is known."""
    meta: Object = {"name": ref.name}
    if ref.namespace:
        meta["namespace"] = ref.namespace
    api_version = f"{ref.group}/{ref.version or 'v1'}" if ref.group else ref.version or "v1"
    return Manifest({"apiVersion": api_version, "kind": ref.kind, "metadata": meta}, role=Role.LIVE)


def _fixes(case: Case, at: str, miss: RuleMistake) -> Iterator[Fix]:
    edit: Edit | None = None
    key = _KEYS.get(miss.kind)
    if key is not None and (miss.suggestion or key == "group"):
        edit = Set(pointer=f"{at}/{key}", value=miss.suggestion)
    elif miss.suggestion and miss.selector:
        for list_name in ("jsonPointers", "jqPathExpressions", "managedFieldsManagers"):
            known = case.application.at(f"{at}/{list_name}")
            if isinstance(known, list) and miss.selector in known:
                edit = Set(pointer=f"{at}/{list_name}/{known.index(miss.selector)}", value=miss.suggestion)
    if edit is not None:
        yield Fix.application(case.application.ref, edit, title=f"Correct the rule: {miss.text}")
    else:
        yield Fix.run(
            with_comment(kubectl("edit", "application", case.app.name, namespace=case.app.namespace), at),
            title=f"Correct the rule: {miss.text}",
        )
