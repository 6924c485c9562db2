"""The mutating webhook that is called for an object, and the policy that mutates one of its fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.validation.selectors import selects

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def mutating_webhook(case: Case, ref: Ref) -> tuple[Manifest, str] | None:
    """The first webhook or policy that mutates the object: its configuration, and the pointer to it there."""
    for configuration in case.live_of_kind("MutatingWebhookConfiguration"):
        for index, raw in enumerate(items(configuration.body.get("webhooks"))):
            webhook = fields(raw)
            if _is_selected(case, webhook, ref, rules="rules"):
                return configuration, f"/webhooks/{index}"
    for policy in case.live_of_kind("MutatingAdmissionPolicy"):
        constraints = fields(policy.spec.get("matchConstraints"))
        if _is_selected(case, constraints, ref, rules="resourceRules"):
            return policy, "/spec/matchConstraints"
    return None


def mutating_policy(case: Case, ref: Ref, pointer: str) -> tuple[Manifest, str] | None:
    """The policy that mutates this field of the object, and the pointer to what it writes.

    Webhooks of policy engines match every kind, so what an engine changes is only in its policies.
    """
    parts = [part for part in split(pointer) if not part.isdecimal()]
    key = re.compile(rf"(?<![\w-]){re.escape(parts[-1])}(?![\w-])") if parts else None
    for policy, at, match, mutation in _policies(case):
        if key is not None and match(case, ref) and key.search(json.dumps(mutation)):
            return policy, at
    return None


def _policies(case: Case) -> Iterator[tuple[Manifest, str, Callable[[Case, Ref], bool], Json]]:
    for policy in case.live_of_kind("ClusterPolicy", "Policy"):
        for index, raw in enumerate(items(policy.spec.get("rules"))):
            rule = fields(raw)
            if policy.ref.group == "kyverno.io" and rule.get("mutate"):
                yield policy, f"/spec/rules/{index}/mutate", _kyverno(policy, rule), rule.get("mutate")
    for policy in case.live_of_kind("Assign", "AssignMetadata", "ModifySet", "AssignImage"):
        if policy.ref.group == "mutations.gatekeeper.sh":
            mutation: Json = [policy.spec.get("location"), policy.ref.kind == "AssignImage" and "image"]
            yield policy, "/spec/location", _gatekeeper(policy), mutation
    for policy in case.live_of_kind("MutatingAdmissionPolicy", "MutatingPolicy"):
        match = fields(policy.spec.get("matchConstraints"))
        # the policies of Kyverno and of Kubernetes have one form
        yield policy, "/spec/mutations", _constrained(match), policy.spec.get("mutations")


def _kyverno(policy: Manifest, rule: Object) -> Callable[[Case, Ref], bool]:
    """By kind and namespace; what a rule excludes or requires besides is not read."""
    matched = fields(rule.get("match"))
    entries = [*items(matched.get("any")), *items(matched.get("all")), matched]
    resources = [fields(fields(entry).get("resources")) for entry in entries]

    def selects_object(_: Case, ref: Ref) -> bool:
        if policy.ref.namespace not in ("", ref.namespace):
            return False
        return any(
            any(fnmatchcase(ref.kind, text(kind).rpartition("/")[2]) for kind in items(part.get("kinds")))
            and _in_namespaces(ref, items(part.get("namespaces")))
            for part in resources
        )

    return selects_object


def _gatekeeper(policy: Manifest) -> Callable[[Case, Ref], bool]:
    """`applyTo` names the kinds; AssignMetadata, which has none, applies to what `match` selects."""
    match = fields(policy.spec.get("match"))
    applied = items(policy.spec.get("applyTo"))
    kinds = [
        *(text(kind) for entry in applied for kind in items(dig(entry, "kinds"))),
        *(
            text(kind)
            for entry in items(match.get("kinds"))
            for kind in items(dig(entry, "kinds"))
            if not applied
        ),
    ]

    def selects_object(_: Case, ref: Ref) -> bool:
        excluded = items(match.get("excludedNamespaces"))
        if excluded and _in_namespaces(ref, excluded):
            return False
        return (ref.kind in kinds or "*" in kinds or not kinds) and _in_namespaces(
            ref, items(match.get("namespaces"))
        )

    return selects_object


def _in_namespaces(ref: Ref, patterns: list[Json]) -> bool:
    return not patterns or any(fnmatchcase(ref.namespace, text(pattern)) for pattern in patterns)


def _constrained(match: Object) -> Callable[[Case, Ref], bool]:
    return lambda case, ref: _is_selected(case, match, ref, rules="resourceRules")


def _is_selected(case: Case, match: Object, ref: Ref, *, rules: str) -> bool:
    """By kind, namespace and labels; match conditions and a namespace that is not known may select it."""
    if not any(_covers(fields(rule), ref) for rule in items(match.get(rules))):
        return False
    namespace = case.live_named("Namespace", "", ref.namespace) if ref.namespace else None
    if namespace is not None and not selects(match.get("namespaceSelector"), dict(namespace.labels)):
        return False
    live = case.live_of(ref.key)
    return live is None or selects(match.get("objectSelector"), dict(live.labels))


def _covers(rule: dict[str, Json], ref: Ref) -> bool:
    groups = [text(api_group) for api_group in items(rule.get("apiGroups"))]
    resources = [text(resource) for resource in items(rule.get("resources"))]
    in_group = "*" in groups or ref.group in groups
    return in_group and any(
        resource in ("*", "*/*") or resource in _plurals(ref.kind) for resource in resources
    )


def _plurals(kind: str) -> tuple[str, ...]:
    """Possible resource names of a kind, by the rules of English plurals."""
    word = kind.lower()
    return (f"{word}s", f"{word}es", f"{word[:-1]}ies", word)
