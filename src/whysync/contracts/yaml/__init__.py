"""YAML read exactly as the Kubernetes API server reads it, and written so that it reads back the same.

No library follows its scalar rules, so resolver and constructor are our own, on the events of libyaml.
Nothing but JSON values ever comes out.
"""

from __future__ import annotations

from whysync.contracts.yaml.position import position
from whysync.contracts.yaml.problems import Invalid, Limits
from whysync.contracts.yaml.reading import Broken, Document, documents, load
from whysync.contracts.yaml.writing import dump

__all__ = ["Broken", "Document", "Invalid", "Limits", "documents", "dump", "load", "position"]
