"""A live field differs from Git, but Argo CD reports the resource as Synced.

## What happens
A three-way diff compares only what Git declares. A manual change of a field that Git never set (an extra
key of a ConfigMap, a label, `suspend: true`) or that an ignore rule names is not shown. It is lost when the
cluster is rebuilt from Git. A difference that an ignore rule hides on purpose is not reported here; `-o wide`
lists it. A rule that hides a whole top-level field of every object of a kind is reported.

## How whysync knows
The resource is Synced, the live object has a value that Git does not have, and managedFields name kubectl
or a console as its writer, or another manager whose fields server-side apply does not remove; or Git
declares another value than the one that Argo CD itself wrote, and no newer commit waits: a server-side diff
can leave out such a field together with what webhooks changed. Without managedFields: no default, known
controller or recorded state of a program explains the field.

## Fix
Commit the value to Git, or remove it from the cluster. Server-side diff shows more of these differences
than a three-way diff.

## When it is something else
Defaults of the API server, status and fields written by controllers are not drift, and are not reported.
"""

import json
from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Evidence, Fact, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.mechanism import applies_server_side
from whysync.diagnosis.drift.schemas import crd_of
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.json_tree import Missing, fields, text
from whysync.kubernetes.api.pointer import index_of, split
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER
from whysync.queries.commands import app_argument, comment, hard_refresh, on_object, sync, with_comment
from whysync.queries.hidden_drift import (
    BY_HAND,
    CO_OWNERS,
    HiddenDifference,
    hidden_by_ignoring,
    is_broad,
    undetected,
)

_OFF = {"/spec/suspend": "suspended", "/spec/paused": "paused"}


@rule(cause="undetected-drift", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def undetected_drift(case: Case) -> Iterator[Finding]:
    by_object: dict[str, list[HiddenDifference]] = {}
    hidden = (
        difference
        for difference in hidden_by_ignoring(case)
        if difference.writer and difference.writer.kind in BY_HAND
    )
    for undetected_difference in (*hidden, *undetected(case)):
        known = by_object.setdefault(str(undetected_difference.key), [])
        if all(other.pointer != undetected_difference.pointer for other in known):
            known.append(undetected_difference)
    contradiction = APP_DIFFERS in case.symptom_ids
    for group in by_object.values():
        first = group[0]
        names = ", ".join(difference.pointer for difference in group[:3])
        by_argocd = _is_of_argocd(first) and not isinstance(first.difference.desired_value, Missing)
        co_owned = first.writer is not None and first.writer.kind in CO_OWNERS
        origin = _origin(case, first)
        why = _hidden_by(first)
        yield Finding(
            about=first.live.ref,
            field=first.pointer,
            writer=first.writer,
            explains=(APP_DIFFERS,) if contradiction else (),
            severity=Severity.WARNING if contradiction else Severity.INFO,
            confidence=_confidence(first),
            verdict=f"{_meaning(group) or f'{names} of {first.live.ref}'} {_verb(group)} {origin}, but {why}",
            evidence=tuple(_cited(group)),
            fixes=(_apply_again(case, first.live.ref),)
            if by_argocd
            else (_release(first),)
            if co_owned
            else (
                *_narrow(first),
                *_commit(group),
                *_restore(case, group),
                *_remove(group),
                *_separate(group),
            ),
        )


def _meaning(group: list[HiddenDifference]) -> str:
    """What the live value does, if it turns the object off."""
    for hidden in group:
        word = _OFF.get(hidden.pointer)
        if word is not None and hidden.difference.live_value is True and not group[1:]:
            return f"{hidden.live.ref} is {word}: {hidden.pointer}"
    return ""


def _verb(group: list[HiddenDifference]) -> str:
    writer = group[0].writer
    if writer is not None and writer.kind not in CO_OWNERS and not _is_of_argocd(group[0]):
        return "was" if len(group) == 1 else "were"
    return "is" if len(group) == 1 else "are"


def _hidden_by(hidden: HiddenDifference) -> str:
    if hidden.rule is None:
        return "Argo CD's diff does not show it"
    if is_broad(hidden.rule, hidden.pointer):
        everywhere = f"/{split(hidden.pointer)[0]} of every {hidden.live.ref.kind}"
        return f"{hidden.rule.origin} hides {everywhere}, and so commits that change it"
    return f"{hidden.rule.origin} hides it"


def _is_of_argocd(hidden: HiddenDifference) -> bool:
    return hidden.writer is not None and hidden.writer.kind is WriterKind.ARGOCD


def _origin(case: Case, hidden: HiddenDifference) -> str:
    """How the live object differs: the recorded writer, else possible origins."""
    writer = hidden.writer
    if _is_of_argocd(hidden) and isinstance(hidden.difference.desired_value, Missing):
        return "only in the cluster: a client-side apply of Argo CD owns it, so a server-side apply keeps it"
    if _is_of_argocd(hidden):
        return "still as an earlier sync wrote it, not as in Git"
    if writer is not None and writer.kind in CO_OWNERS:
        kept = (
            ", or Git declared it before and server-side apply keeps what another manager owns"
            if applies_server_side(case, hidden.desired)
            else ""
        )
        return f"only in the cluster, where {writer.manager} owns it (it added it{kept})"
    if writer is not None:
        return f"written with {phrase(writer)}"
    if isinstance(hidden.difference.live_value, Missing):
        return "merged with another entry of the same key, and not in the cluster"
    if not isinstance(hidden.difference.desired_value, Missing):
        return "different in the cluster"
    if hidden.pointer == LAST_APPLIED_POINTER:
        return "a stale copy written by client-side apply, which server-side apply does not update"
    if is_builtin(hidden.live.ref):
        who = "a person or a program"
    elif crd_of(case, hidden.live.ref) is None:
        who = "a person, its operator or a default of its CRD"
    else:
        who = "a person or its operator"
    return f"only in the cluster ({who} added it, or Git declared it before)"


def _confidence(hidden: HiddenDifference) -> Confidence:
    if hidden.writer is not None and hidden.writer.kind in CO_OWNERS:
        return Confidence.LOW
    if hidden.writer is not None or hidden.rule is not None:
        return Confidence.HIGH
    return Confidence.MEDIUM if is_builtin(hidden.live.ref) else Confidence.LOW


def _release(hidden: HiddenDifference) -> Fix:
    """Git's history decides whether it was declared; only an edit removes it from both managers."""
    value = fields(hidden.difference.live_value if isinstance(hidden.difference.live_value, dict) else None)
    words = text(value.get("name")) or split(hidden.pointer)[-1]
    return Fix.run(
        with_comment(f"git log --oneline -S {quote(words)}", "did Git declare it before?"),
        with_comment(on_object("edit", hidden.live.ref), "if it did: remove it by hand"),
        title="Find out whether Git declared it; if it did, remove it from the cluster",
        risk="the Pods are replaced; if the other manager needs it, it adds it again",
    )


def _apply_again(case: Case, ref: Ref) -> Fix:
    return Fix.run(
        hard_refresh(case),
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        with_comment(
            f"argocd app diff {app_argument(case)}", "still none? Compare with IncludeMutationWebhook=true"
        ),
        title="Refresh, and sync this resource: a sync applies what the diff does not show",
    )


def _restore(case: Case, group: list[HiddenDifference]) -> Iterator[Fix]:
    """A sync writes what Git declares, also where the diff does not show that it differs."""
    differs = any(
        not isinstance(hidden.difference.desired_value, Missing)
        and not isinstance(hidden.difference.live_value, Missing)
        for hidden in group
    )
    if differs and group[0].rule is None:
        yield _apply_again(case, group[0].live.ref)


def _narrow(hidden: HiddenDifference) -> Iterator[Fix]:
    if hidden.rule is not None and is_broad(hidden.rule, hidden.pointer):
        yield Fix.run(
            comment(
                f"{hidden.rule.origin}: add name: for the {hidden.live.ref.kind} it is meant for, or name "
                "single fields; the next sync then writes Git's values to the others"
            ),
            title="Restrict the ignore rule to the object or the fields it is meant for",
        )


def _commit(group: list[HiddenDifference]) -> Iterator[Fix]:
    values = [
        Set(pointer=hidden.pointer, value=hidden.difference.live_value)
        for hidden in group
        if hidden.pointer != LAST_APPLIED_POINTER and not isinstance(hidden.difference.live_value, Missing)
    ]
    if values:
        yield Fix.change(group[0].live.ref, *values, title="The live value is right: commit it to Git")


def _remove(group: list[HiddenDifference]) -> Iterator[Fix]:
    """A sync does not do it: Argo CD sees no difference. Git's values may be masked: only what Git lacks."""
    extra = [hidden.pointer for hidden in group if isinstance(hidden.difference.desired_value, Missing)]
    ref = group[0].live.ref
    if extra == [LAST_APPLIED_POINTER]:
        yield Fix.run(
            on_object("annotate", ref, "kubectl.kubernetes.io/last-applied-configuration-"),
            title="Remove the annotation: Argo CD does not read it with server-side apply",
            risk="whoever still uses kubectl apply without --server-side needs it to remove fields",
        )
        return
    if extra and _has_index(extra):
        yield Fix.run(
            with_comment(on_object("edit", ref), f"remove {', '.join(extra[:3])}"),
            title="Git is right: remove it from the cluster by hand, because a sync does not",
            risk="the change may be part of incident response: ask first",
            destroys=tuple(f"the live value at {pointer}" for pointer in extra),
        )
        return
    if not extra:
        return
    patch = json.dumps([{"op": "remove", "path": pointer} for pointer in extra])
    yield Fix.run(
        on_object("patch", group[0].live.ref, "--type", "json", "-p", patch),
        title="Git is right: remove it from the cluster",
        risk="the change may be part of incident response: ask first",
        destroys=tuple(f"the live value at {pointer}" for pointer in extra),
    )


def _has_index(pointers: list[str]) -> bool:
    """An element of a list may have another position when the command runs."""
    return any(index_of(part) is not None for pointer in pointers for part in split(pointer))


def _separate(group: list[HiddenDifference]) -> Iterator[Fix]:
    merged = [hidden.pointer for hidden in group if isinstance(hidden.difference.live_value, Missing)]
    if merged:
        yield Fix.run(
            comment(f"{', '.join(merged)}: use another key, or remove the entry; commit"),
            title="Give each entry of the list in Git a key of its own",
        )


def _cited(group: list[HiddenDifference]) -> Iterator[Evidence]:
    for hidden in group[:5]:
        yield cite(hidden.live, hidden.pointer, says="live value")
        declared = not isinstance(hidden.desired.at(hidden.pointer), Missing)
        yield cite(
            hidden.desired, hidden.pointer, says="declared in Git" if declared else "not declared in Git"
        )
