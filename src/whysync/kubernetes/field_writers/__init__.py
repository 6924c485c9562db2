"""Who wrote a field: read from `metadata.managedFields`, named by what the manager is known to be.

A manager is a program, never a person: `kubectl-edit` says which command was used, not by whom.
"""

from whysync.kubernetes.field_writers.known_managers import WriterKind, kind_of
from whysync.kubernetes.field_writers.ownership import (
    ManagedFieldsIndex,
    Ownership,
    OwnershipState,
    Writer,
    phrase,
    writer_of,
    writers_of,
)

__all__ = [
    "ManagedFieldsIndex",
    "Ownership",
    "OwnershipState",
    "Writer",
    "WriterKind",
    "kind_of",
    "phrase",
    "writer_of",
    "writers_of",
]
