"""Typed values and field sets: how server-side apply sees objects.

Mirrors structured-merge-diff v6.4, the library inside the API server and Argo CD. An `Atom` says what a
value may be, a `FieldSet` which fields somebody owns (as `managedFields` has them), and the functions here
check, merge, compare and prune values by their types.
"""

from __future__ import annotations

from whysync.semantics.diff.typed.apply import Manager, applied, decode_managers
from whysync.semantics.diff.typed.compare import Comparison, compare
from whysync.semantics.diff.typed.fieldset import FieldSet
from whysync.semantics.diff.typed.merge import merge
from whysync.semantics.diff.typed.remove import remove_items
from whysync.semantics.diff.typed.schema import DEDUCED, Atom, Schemas, atom_of
from whysync.semantics.diff.typed.walk import TypeErrors, field_set, validate

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
