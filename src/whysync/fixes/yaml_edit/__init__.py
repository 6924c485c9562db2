"""Change values in a YAML or JSON text and keep everything else as written."""

from __future__ import annotations

from whysync.fixes.yaml_edit.editing import Rewriting, Uneditable, rewritten
from whysync.fixes.yaml_edit.nodes import Node, unreadable_nodes, written_documents

__all__ = ["Node", "Rewriting", "Uneditable", "rewritten", "unreadable_nodes", "written_documents"]
