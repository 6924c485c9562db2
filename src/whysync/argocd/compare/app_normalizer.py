"""Normalization of objects before and during a diff, with the ignore rules of one Application."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whysync.argocd.api.application import IgnoreDifference
from whysync.argocd.ignore_differences import Normalizer, atom_for, with_known_types, without_trusted_changes
from whysync.argocd.settings import KnownTypeField, Overrides, known_type_fields
from whysync.argocd.tracking import INSTANCE_LABEL, normalized_live
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.merge.structured import Schemas


class Normalization(msgspec.Struct, frozen=True, kw_only=True):
    """Called with an object, removes ignored fields and normalizes known types (`DiffOptions.normalizer`)."""

    rules: Normalizer
    known_types: dict[tuple[str, str], tuple[KnownTypeField, ...]] = msgspec.field(
        default_factory=dict[tuple[str, str], tuple[KnownTypeField, ...]]
    )
    tracking_method: str = "annotation"
    label_key: str = INSTANCE_LABEL
    schemas: Schemas | None = None

    @classmethod
    def build(
        cls,
        rules: Iterable[IgnoreDifference],
        overrides: Overrides,
        *,
        tracking_method: str = "annotation",
        label_key: str = INSTANCE_LABEL,
        schemas: Schemas | None = None,
    ) -> Normalization:
        """Raises `BadRule`."""
        return cls(
            rules=Normalizer.build(rules, overrides),
            known_types=known_type_fields(overrides),
            tracking_method=tracking_method,
            label_key=label_key,
            schemas=schemas,
        )

    def __call__(self, obj: Object) -> Object:
        return with_known_types(self.rules.normalize(obj), self.known_types)

    def pre_diff_normalize(self, desired: Object, live: Object) -> tuple[Object, Object]:
        """Both objects as the diff gets them. Mirrors `preDiffNormalize`; raises `MalformedMetadata`."""
        tracked = normalized_live(desired, live, method=self.tracking_method, label_key=self.label_key)
        assert tracked is not None
        managers = self.rules.trusted_managers(ref_of(desired))
        if not managers:
            return desired, tracked
        live, desired = without_trusted_changes(tracked, desired, managers, atom_for(desired, self.schemas))
        return desired, live
