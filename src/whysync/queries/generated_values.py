"""Values that the source generates in one rendering: a CA and its certificate, a password and its hash.

They fit each other only if they come from the same rendering, so a fix covers all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptoms import is_gone, needs_pruning
from whysync.kubernetes.api.ref import Key
from whysync.queries.drift import field_names

GENERATED_FIELDS: Final = {
    "Secret": ("/data",),
    "ValidatingWebhookConfiguration": (".webhooks[]?.clientConfig.caBundle",),
    "MutatingWebhookConfiguration": (".webhooks[]?.clientConfig.caBundle",),
    "APIService": ("/spec/caBundle",),
}
"""Kinds that usually contain generated values, and the fields that contain them: pointers or jq paths."""
_MOST_OBJECTS = 3


def by_object(drifts: Sequence[Drift]) -> dict[Key, list[Drift]]:
    groups: dict[Key, list[Drift]] = {}
    for drift in drifts:
        groups.setdefault(drift.ref.key, []).append(drift)
    return groups


def counterparts_not_provided(case: Case) -> tuple[ResourceRow, ...]:
    """Rows of such kinds that are OutOfSync too, and whose differing fields are not in the facts."""
    known = {drift.key for drift in case.drifts}
    return tuple(
        row
        for row in case.app.status.resources
        if row.kind in GENERATED_FIELDS
        and row.status == "OutOfSync"
        and row.key not in known
        and not needs_pruning(case, row)
        and not is_gone(case, row)
    )


def values_and_objects(drifts: Sequence[Drift]) -> str:
    """`caBundle of ValidatingWebhookConfiguration shop, tls.crt, tls.key of Secret web/shop`."""
    objects = list(by_object(drifts).values())
    texts = [f"{field_names(fields)} of {fields[0].ref}" for fields in objects[:_MOST_OBJECTS]]
    return " and ".join(texts) + and_more(len(objects) - _MOST_OBJECTS)


def content_of(drifts: Sequence[Drift]) -> Drift | None:
    """The drift that shows the generated value itself: in a Secret, else in a ConfigMap."""
    contents = [drift for drift in drifts if is_content(drift)]
    return next((drift for drift in contents if drift.ref.kind == "Secret"), next(iter(contents), None))


def is_content(drift: Drift) -> bool:
    """Is it a value of a Secret or ConfigMap, which a person or a program may also change?"""
    return drift.ref.kind in ("Secret", "ConfigMap")
