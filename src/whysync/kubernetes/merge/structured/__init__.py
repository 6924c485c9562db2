"""Typed values and field sets: how server-side apply sees objects.

Mirrors structured-merge-diff v6.4, the library inside the API server and Argo CD. An `Atom` says what a
value may be, a `FieldSet` which fields somebody owns (as `managedFields` has them), and the functions here
check, merge, compare and prune values by their types.
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
