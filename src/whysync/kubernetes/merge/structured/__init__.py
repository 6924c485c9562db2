"""Typed values and field sets of server-side apply.

Mirrors structured-merge-diff v6.4, the library inside the API server and Argo CD. An `Atom` is the type of
a value, a `FieldSet` a set of owned fields (as in `managedFields`), and the functions validate, merge,
compare and prune values by their types.
"""

from __future__ import annotations

from whysync.kubernetes.merge.structured.apply import Manager, applied, decode_managers
from whysync.kubernetes.merge.structured.compare import Comparison, compare
from whysync.kubernetes.merge.structured.fieldset import FieldSet
from whysync.kubernetes.merge.structured.merge import merge, remove_items
from whysync.kubernetes.merge.structured.schema import DEDUCED, Atom, Schemas, atom_of
from whysync.kubernetes.merge.structured.walk import TypeErrors, field_set, validate

__all__ = [
    "DEDUCED",
    "Atom",
    "Comparison",
    "FieldSet",
    "Manager",
    "Schemas",
    "TypeErrors",
    "applied",
    "atom_of",
    "compare",
    "decode_managers",
    "field_set",
    "merge",
    "remove_items",
    "validate",
]
