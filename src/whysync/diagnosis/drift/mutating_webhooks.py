"""The mutating webhook that is called for an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.json_tree import Json, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def mutating_webhook(case: Case, ref: Ref) -> tuple[Manifest, str] | None:
    """The first configuration with a webhook for the kind, and the pointer to that webhook."""
    for configuration in case.live_of_kind("MutatingWebhookConfiguration"):
        for index, raw in enumerate(items(configuration.body.get("webhooks"))):
            if any(_covers(fields(rule), ref) for rule in items(fields(raw).get("rules"))):
                return configuration, f"/webhooks/{index}"
    return None


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
