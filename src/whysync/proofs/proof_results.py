"""The results of a proof: proven, likely, not run or rejected."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.diagnosis.fix import Proof, ProofKind, ProofStatus

ROUNDS: Final = 3
"""A fix holds if the problem is gone in so many rounds."""


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """The fix does not help, so it is not offered."""

    why: str
    trace: tuple[str, ...] = ()


def not_run(kind: ProofKind, why: str) -> Proof:
    return Proof(status=ProofStatus.NOT_RUN, kind=kind, why=why)


def proven(rounds: int, trace: tuple[str, ...], why: str = "") -> Proof:
    return Proof(status=ProofStatus.PROVEN, kind=ProofKind.HOLDS, rounds=rounds, why=why, trace=trace)


def likely(gap: str, trace: tuple[str, ...]) -> Proof:
    return Proof(
        status=ProofStatus.LIKELY,
        kind=ProofKind.FACTS_MISSING,
        rounds=ROUNDS,
        why=f"not known: {gap}",
        trace=trace,
    )
