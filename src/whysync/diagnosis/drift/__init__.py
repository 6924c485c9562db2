"""Differing fields of an Application's resources, and what made each of them differ."""

from whysync.diagnosis.drift.drifts import SERVER_FIELDS, Drift, HiddenBy, drifts_of, per_map_entry

__all__ = ["SERVER_FIELDS", "Drift", "HiddenBy", "drifts_of", "per_map_entry"]
