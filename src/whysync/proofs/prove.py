"""Tries the fixes of a diagnosis on the world of its Case; what does not help there is not offered."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from whysync.deadline import Deadline
from whysync.diagnosis.finding import Finding, RejectedFix
from whysync.diagnosis.fix import Fix, Proof, ProofKind
from whysync.diagnosis.report import AppReport
from whysync.kubernetes.controllers.controller_manager import ControllersNeverSettle
from whysync.kubernetes.timeline import TimelineNeverSettles
from whysync.proofs.proof_results import Rejected, not_run
from whysync.proofs.simulated_case import NotSimulated
from whysync.proofs.verdict import FixVerifier

log = logging.getLogger(__name__)
_NO_DEADLINE: Final = Deadline()
_MOST_WORK: Final = 400
"""For one app, in runs times resources: the same facts give the same answer on every machine."""
_LONGEST: Final = 20.0
"""Seconds of processor time for one app; only a world that is far larger than usual comes near it."""


def prove(report: AppReport, deadline: Deadline = _NO_DEADLINE) -> AppReport:
    """The report with the proof of each fix; what is refuted is among the rejected ones. Never raises.

    Nothing new is tried after the deadline.
    """
    prover = _Prover(report, deadline)
    return replace(report, findings=tuple(prover.proven(finding) for finding in report.findings))


class _Prover:
    def __init__(self, report: AppReport, deadline: Deadline) -> None:
        self._deadline = deadline
        self._judge = FixVerifier(report.case)
        self._name = report.case.app.name
        self._busy_until = time.process_time() + _LONGEST
        self._hopeless = ""

    def proven(self, finding: Finding) -> Finding:
        if not finding.fixes:
            return finding
        if finding.caused_by:
            return _with_proof(
                finding, not_run(ProofKind.OTHER_CAUSE, "it follows from another cause: mend that one")
            )
        fixes: list[Fix] = []
        rejected: list[RejectedFix] = []
        for fix in finding.fixes:
            found = self._tried(finding, fix)
            if isinstance(found, Rejected):
                rejected.append(RejectedFix(title=fix.title, why=found.why))
            else:
                fixes.append(replace(fix, proof=found))
        return replace(finding, fixes=_ranked(fixes), rejected_fixes=tuple(rejected))

    def _tried(self, finding: Finding, fix: Fix) -> Proof | Rejected:
        if self._hopeless:
            return not_run(ProofKind.FACTS_MISSING, self._hopeless)
        if self._deadline.is_over:
            return not_run(ProofKind.OUT_OF_TIME, "not simulated: --timeout was exceeded")
        if self._judge.work >= _MOST_WORK or time.process_time() > self._busy_until:
            return not_run(ProofKind.OUT_OF_TIME, "others before it took the time there is")
        try:
            return self._judge.verify(finding, fix)
        except NotSimulated as problem:
            self._hopeless = f"{problem.gap.what} is not known: {problem.gap.why}"
            return not_run(ProofKind.FACTS_MISSING, self._hopeless)
        except (TimelineNeverSettles, ControllersNeverSettle) as problem:
            return not_run(ProofKind.SIMULATION_FAILED, f"the model never comes to rest ({problem})")
        except Exception as problem:  # a diagnosis without a proof is better than none
            log.debug("the proof of %r for %s failed", fix.title, self._name, exc_info=True)
            return not_run(
                ProofKind.SIMULATION_FAILED,
                f"it could not be tried on the model ({type(problem).__name__}: {problem})",
            )


def _with_proof(finding: Finding, proof: Proof) -> Finding:
    return replace(finding, fixes=tuple(replace(fix, proof=proof) for fix in finding.fixes))


def _ranked(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """As the rule gave them; it knows best what is wanted."""
    return tuple(fixes)
