"""An `ignoreDifferences` rule is meant for this object but does not match it.

## What happens
A rule is meant to ignore a difference, but the app is still OutOfSync. Argo CD does not report a rule that
matches no object or no field. Usual mistakes: a wrong group (`core` instead of an empty string, a group
with its version), a kind in the wrong case, a pointer with `[0]`, a slash that is not escaped as `~1`, a jq
expression that fails, or a rule that names no field.

## How whysync knows
whysync applies the rules as Argo CD does. If a rule nearly matches the object, the finding names its
mistake. A rule may also remove all entries of a map and leave the empty map, which Git does not have; or it
has a condition that holds for one of the two objects only, and removes the field from that one. If a
rule hides all differences but the resource is OutOfSync, the comparison is older than the rule, or this
version of Argo CD does not apply it.

## Fix
Correct the rule as shown. With auto-sync or self-heal also set `RespectIgnoreDifferences=true`; otherwise a
sync still writes the field.

## When it is something else
A rule for another object, or for another field of this object, is not a mistake.
"""

import json
import re
from collections.abc import Iterator

from whysync.argocd.ignore_differences import Rule, RuleMistake, application_rules
from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Mechanism, SymptomKind, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import comment, hard_refresh, kubectl
from whysync.queries.hidden_drift import emptied_by_ignoring, hidden_by_ignoring
from whysync.queries.ignore_rule_mistakes import correction, nearest_miss


@rule(cause="ignore-rule-miss", since="0.1")
def ignore_rule_never_matches(case: Case) -> Iterator[Finding]:
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    if not rules:
        return
    explained: dict[tuple[int, Ref], list[SymptomId]] = {}
    misses: dict[tuple[int, Ref], RuleMistake] = {}
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.DIFFERS or symptom.ref is None:
            continue
        nearest = nearest_miss(case, rules, symptom.ref)
        if nearest is not None:
            ignore_rule, miss = nearest
            explained.setdefault((ignore_rule.position, symptom.ref), []).append(symptom.id)
            misses[ignore_rule.position, symptom.ref] = miss
    for (position, ref), symptoms in explained.items():
        miss = misses[position, ref]
        pointer = f"/spec/ignoreDifferences/{position}"
        yield Finding(
            about=ref,
            explains=tuple(symptoms),
            confidence=Confidence.HIGH,
            verdict=f"the ignore rule for {ref} does not match: {miss.text}",
            evidence=(cite(case.application, pointer, says=miss.text),),
            fixes=(correction(case, pointer, miss),),
        )
    yield from _matching_one_side(case, rules)
    yield from _matching_but_without_effect(case)


def _matching_one_side(case: Case, rules: tuple[Rule, ...]) -> Iterator[Finding]:
    """Rules that remove a field from the live object and not from the desired one, or the other way round."""
    for drifts in case.drifts_by_object(Mechanism.IGNORED_ON_ONE_SIDE):
        first = drifts[0]
        matching = next((r for r in rules if r.expressions and r.mismatch(first.ref) is None), None)
        if matching is None:
            continue
        removed, kept = ("live", "desired") if first.only_git else ("desired", "live")
        at = f"/spec/ignoreDifferences/{matching.position}"
        yield Finding(
            about=first.ref,
            field=first.pointer,
            explains=tuple(drift.symptom for drift in drifts),
            confidence=Confidence.HIGH,
            verdict=f"the ignore rule for {first.ref} removes {first.pointer} from the {removed} object only:"
            f" its condition does not hold for the {kept} one, so equal values count as a difference",
            evidence=(
                cite(case.application, f"{at}/jqPathExpressions", says="depends on another field"),
                cite(first.live, first.pointer, says="live value, the same as in Git"),
            ),
            fixes=(
                Fix.run(
                    kubectl("edit", "application", case.app.name, namespace=case.app.namespace)
                    + f"     # {at}/jqPathExpressions",
                    title="Let the rule name the field without a condition, or with one that holds on both"
                    " sides",
                    risk="the field is then ignored all the time",
                ),
            ),
        )


def _jq_path(pointer: str) -> str:
    """`.spec.template.metadata.annotations` of a JSON pointer."""
    return "".join(
        f".{name}" if re.fullmatch(r"[A-Za-z_]\w*", name) else f".[{json.dumps(name)}]"
        for name in split(pointer)
    )


def _matching_but_without_effect(case: Case) -> Iterator[Finding]:
    """Rules that match the object, although Argo CD reports it as OutOfSync."""
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
            verdict=f"the ignore rule for {shell.live.ref} removes everything inside {shell.pointer}, but not"
            " the empty field itself, which is not in Git and still counts as a difference",
            evidence=(
                cite(case.application, at, says="ignores everything inside the field"),
                cite(shell.live, shell.pointer, says="live value, all of it ignored"),
                cite(shell.desired, shell.pointer, says="not declared in Git"),
            ),
            fixes=(
                Fix.application(
                    case.application.ref,
                    Add(
                        pointer=f"{at}/jqPathExpressions",
                        value=f"{_jq_path(shell.pointer)} | select(length == 0)",
                    ),
                    title=f"Also ignore {shell.pointer} if it is empty",
                ),
                Fix.run(
                    comment(f"declare one entry of your own in {shell.pointer} of {shell.live.ref}; commit"),
                    title="Or keep the field in Git with an entry of your own, so that it is on both sides",
                    risk="the Pods restart once" if "/template/" in shell.pointer else "",
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
            verdict=f"the ignore rule for {hidden.live.ref} matches {hidden.pointer}, but Argo CD reports it"
            " as OutOfSync: it compared before the rule existed, or does not apply it",
            evidence=(
                cite(case.application, at, says="matches the object"),
                cite(hidden.live, hidden.pointer, says="the only difference, which the rule ignores"),
                cite(case.application, "/status/reconciledAt", says="last comparison"),
            ),
            fixes=(
                Fix.run(
                    hard_refresh(case),
                    title="Hard refresh; if it stays OutOfSync, name the field in the rule (jsonPointers)",
                ),
            ),
        )
