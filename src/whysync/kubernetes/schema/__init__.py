"""What the built-in kinds of Kubernetes 1.36 look like: fields, types, how their lists merge.

`type_of("apps/v1", "Deployment")` gives the type of a kind, `None` for a custom resource. A `Type` knows
its struct, a `Struct` its fields, a `Field` how it is written, left out, patched and merged. The tables in
`data/` are written by `tools/schemas.py` and read one API group at a time, when a kind of it is first met.
"""

from __future__ import annotations

from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.kubernetes.schema.types import Field, Struct, Type, kinds, type_named, type_of

__all__ = [
    "BadQuantity",
    "Field",
    "Struct",
    "Type",
    "canonical_quantity",
    "kinds",
    "type_named",
    "type_of",
]
