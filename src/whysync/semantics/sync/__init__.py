"""What a sync does with one object: how it is written, and whether it is pruned.

In which order it goes through them is in `semantics/hooks`.
"""

from whysync.semantics.sync.options import (
    ApplyMethod,
    OptionSource,
    Propagation,
    PruneFate,
    SyncOptions,
    Writing,
    needs_migration,
    prune_fate,
    pruning_required,
    skips_missing_kind,
    uses_server_side_apply,
    writing_of,
)

__all__ = [
    "ApplyMethod",
    "OptionSource",
    "Propagation",
    "PruneFate",
    "SyncOptions",
    "Writing",
    "needs_migration",
    "prune_fate",
    "pruning_required",
    "skips_missing_kind",
    "uses_server_side_apply",
    "writing_of",
]
