"""The findings of `whysync lint` as annotations."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from whysync.manifests.remark import Outcome, Remark
from whysync.reports.annotations.annotation import Annotation


def lint_rows(outcome: Outcome) -> list[Annotation]:
    """The findings, then those that are suppressed."""
    seen: Counter[tuple[str, ...]] = Counter()
    rows = [_row(remark, seen) for remark in outcome.remarks]
    return rows + [_row(one.remark, seen, suppressed=one.reason) for one in outcome.suppressed]


def _row(remark: Remark, seen: Counter[tuple[str, ...]], *, suppressed: str | None = None) -> Annotation:
    seen[remark.key] += 1
    about = f" {remark.ref}" if remark.ref else ""
    hint = f"\n{remark.hint}" if remark.hint else ""
    return Annotation(
        message=remark.message,
        severity=remark.severity,
        rule=remark.check,
        help=remark.hint,
        title=f"{remark.check}{about} (line {remark.line})",
        file=remark.path,
        line=remark.line,
        fingerprint=_fingerprint(remark, seen[remark.key]),
        skipped=suppressed,
        suite=remark.path,
        failure_type=remark.severity.value,
        details=f"{remark.place}: {remark.message}{hint}",
    )


def _fingerprint(remark: Remark, nth: int) -> str:
    """The line is not part of it; equal findings are numbered."""
    return sha256("\x00".join((*remark.key, str(nth))).encode("utf-8", "replace")).hexdigest()
