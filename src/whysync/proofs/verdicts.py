"""What a trial of a fix comes to, beside a proof."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from whysync.diagnosis.fix import Proof, ProofKind, ProofStatus
from whysync.diagnosis.report import AppReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """It does not help: it is not offered."""

    why: str
    trace: tuple[str, ...] = ()


def not_run(kind: ProofKind, why: str) -> Proof:
    return Proof(status=ProofStatus.NOT_RUN, kind=kind, why=why)


def proven(rounds: int, trace: tuple[str, ...], why: str = "") -> Proof:
    return Proof(status=ProofStatus.PROVEN, kind=ProofKind.HOLDS, rounds=rounds, why=why, trace=trace)


def not_proven(report: AppReport, why: str) -> AppReport:
    """The report in which each fix says why nobody tried it."""
    untried = not_run(ProofKind.NOT_TRIED, why)
    return replace(
        report,
        findings=tuple(
            replace(finding, fixes=tuple(replace(fix, proof=untried) for fix in finding.fixes))
            for finding in report.findings
        ),
    )
