"""Compare a desired and a live object as Argo CD 3.6 does.

    diff(desired: Object | None, live: Object | None, options: DiffOptions = …) -> DiffResult

`DiffResult` has `modified`, `way` (how it was compared), `normalized_live`, `predicted_live` and `changes`,
a tuple of `FieldChange` (`pointer`, `path`, `desired`, `live`, `kind`). `DiffOptions` carries the
`strategy` (see `strategy_for`), the `normalizer` with ignore rules, and what the strategies need besides.
`DiffError` is raised where Argo CD cannot compare either; its text is Argo CD's. `mask_secrets` hides the
values of Secrets as Argo CD shows them.
"""

from __future__ import annotations

from whysync.semantics.diff.changes import ChangeKind, FieldChange, apply_changes, changes_between
from whysync.semantics.diff.compare import diff
from whysync.semantics.diff.compare_options import DiffOptions
from whysync.semantics.diff.errors import DiffError
from whysync.semantics.diff.last_applied import LAST_APPLIED, last_applied
from whysync.semantics.diff.masking import mask_secrets
from whysync.semantics.diff.normalize import Normalizer, normalize
from whysync.semantics.diff.remarshal import remarshal
from whysync.semantics.diff.result import DiffResult
from whysync.semantics.diff.strategy import Strategy, ignores_mutation_webhooks, strategy_for

__all__ = [
    "LAST_APPLIED",
    "ChangeKind",
    "DiffError",
    "DiffOptions",
    "DiffResult",
    "FieldChange",
    "Normalizer",
    "Strategy",
    "apply_changes",
    "changes_between",
    "diff",
    "ignores_mutation_webhooks",
    "last_applied",
    "mask_secrets",
    "normalize",
    "remarshal",
    "strategy_for",
]
