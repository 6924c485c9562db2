"""What a trial of a fix comes to, beside a proof."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from whysync.diagnosis.fix import Proof, ProofStatus
from whysync.diagnosis.report import AppReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """It does not help: it is not offered."""

    why: str
    trace: tuple[str, ...] = ()


def not_run(why: str) -> Proof:
    return Proof(status=ProofStatus.NOT_RUN, why=why)


def not_proven(report: AppReport, why: str) -> AppReport:
    """The report in which each fix says why nobody tried it."""
    return replace(
        report,
        findings=tuple(
            replace(finding, fixes=tuple(replace(fix, proof=not_run(why)) for fix in finding.fixes))
            for finding in report.findings
        ),
    )
