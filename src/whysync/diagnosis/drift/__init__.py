"""Differing fields of an Application's resources, and what made each of them differ."""

from whysync.diagnosis.drift.drifts import Drift, HiddenBy, drifts_of, per_map_entry

__all__ = ["Drift", "HiddenBy", "drifts_of", "per_map_entry"]
