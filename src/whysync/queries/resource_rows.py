"""Rows of the Application's resource list, as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis.evidence import Evidence, cite

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def row_evidence(case: Case, row: ResourceRow, *, says: str) -> Evidence:
    index = case.app.status.resources.index(row)
    return cite(case.application, f"/status/resources/{index}", says=says)
