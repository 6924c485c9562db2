"""Prove the fixes of a diagnosis in a simulation of its Case; fixes that do not help are rejected."""

from __future__ import annotations

import logging
import time
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from whysync.deadline import Deadline
from whysync.diagnosis.finding import Finding, RejectedFix
from whysync.diagnosis.fix import Fix, Proof, ProofKind
from whysync.diagnosis.report import AppReport
from whysync.kubernetes.timeline import NeverSettles
from whysync.proofs.proof_results import Rejected, not_run
from whysync.proofs.required_facts import NotSimulated, needs_simulation, require_facts

if TYPE_CHECKING:  # imported only if a fix is simulated
    from whysync.proofs.fix_verifier import FixVerifier

log = logging.getLogger(__name__)
_NO_DEADLINE: Final = Deadline()
_MAX_WORK: Final = 400
"""Limit for one app in runs and resources, so that results do not depend on the machine."""
_MAX_SECONDS: Final = 20.0
"""Processor time for one app in seconds; only unusually large simulations reach it."""


def prove(report: AppReport, deadline: Deadline = _NO_DEADLINE) -> AppReport:
    """The report with a proof for each fix; rejected fixes are listed apart. Never raises.

    No simulation starts after the deadline.
    """
    prover = _Prover(report, deadline)
    return replace(report, findings=tuple(prover.proven(finding) for finding in report.findings))


class _Prover:
    def __init__(self, report: AppReport, deadline: Deadline) -> None:
        self._deadline = deadline
        self._case = report.case
        self._cpu_limit = time.process_time() + _MAX_SECONDS
        self._not_simulated = ""

    @cached_property
    def _verifier(self) -> FixVerifier:
        from whysync.proofs.fix_verifier import FixVerifier

        return FixVerifier(self._case)

    def proven(self, finding: Finding) -> Finding:
        if not finding.fixes:
            return finding
        if finding.caused_by:
            return _with_proof(
                finding, not_run(ProofKind.OTHER_CAUSE, "it follows from another finding: fix that one first")
            )
        fixes: list[Fix] = []
        rejected: list[RejectedFix] = []
        for fix in finding.fixes:
            result = self._verified(finding, fix)
            if isinstance(result, Rejected):
                rejected.append(RejectedFix(title=fix.title, why=result.why))
            else:
                fixes.append(replace(fix, proof=result))
        return replace(finding, fixes=tuple(fixes), rejected_fixes=tuple(rejected))

    def _verified(self, finding: Finding, fix: Fix) -> Proof | Rejected:
        if self._not_simulated:
            return not_run(ProofKind.FACTS_MISSING, self._not_simulated)
        if self._deadline.is_over:
            return not_run(ProofKind.OUT_OF_TIME, "not simulated: --timeout was exceeded")
        try:
            if needs_simulation(self._case, finding):
                require_facts(self._case)
            if self._verifier.work >= _MAX_WORK or time.process_time() > self._cpu_limit:
                return not_run(
                    ProofKind.OUT_OF_TIME, "not simulated: other fixes used up the time limit of this app"
                )
            return self._verifier.verify(finding, fix)
        except NotSimulated as problem:
            self._not_simulated = problem.gap.why
            return not_run(ProofKind.FACTS_MISSING, self._not_simulated)
        except NeverSettles as problem:
            return not_run(ProofKind.SIMULATION_FAILED, f"the simulation does not settle ({problem})")
        except Exception as problem:  # a diagnosis without proofs is better than none
            log.debug("the proof of %r for %s failed", fix.title, self._case.app.name, exc_info=True)
            return not_run(
                ProofKind.SIMULATION_FAILED,
                f"the simulation failed ({type(problem).__name__}: {problem})",
            )


def _with_proof(finding: Finding, proof: Proof) -> Finding:
    return replace(finding, fixes=tuple(replace(fix, proof=proof) for fix in finding.fixes))
