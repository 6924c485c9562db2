"""The mutating webhook that is called for an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
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
