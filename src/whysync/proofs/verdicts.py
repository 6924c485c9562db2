"""What a trial of a fix comes to, beside a proof."""

from __future__ import annotations

from dataclasses import dataclass

from whysync.diagnosis.fix import Proof, ProofStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """It does not help: it is not offered."""

    why: str
    trace: tuple[str, ...] = ()


def not_run(why: str) -> Proof:
    return Proof(status=ProofStatus.NOT_RUN, why=why)
