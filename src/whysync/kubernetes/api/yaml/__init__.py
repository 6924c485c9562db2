"""YAML read exactly as the Kubernetes API server reads it, and written so that it reads back the same.

No library follows its scalar rules, so resolver and constructor are our own, on the events of libyaml.
Nothing but JSON values ever comes out.
"""

from __future__ import annotations

from whysync.kubernetes.api.yaml.dump import dump
from whysync.kubernetes.api.yaml.errors import Invalid, YamlLimits
from whysync.kubernetes.api.yaml.load import Broken, Document, documents, load
from whysync.kubernetes.api.yaml.positions import position

__all__ = ["Broken", "Document", "Invalid", "YamlLimits", "documents", "dump", "load", "position"]
