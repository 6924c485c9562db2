"""The proof of a fix as text: a mark, notes, and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.sentences import counted
from whysync.reports.terminal import Terminal, one_line


class ProofMark(StrEnum):
    """The mark of a fix.

    Proven: in the simulation, the symptom occurs without the fix and does not occur with it.

    Likely: the same, but the result depends on something that is not in the facts.

    Destructive: the fix destroys something, whatever the simulation shows.
    """

    PROVEN = "proven"
    LIKELY = "likely"
    DESTRUCTIVE = "destructive"
    NOT_RUN = "not-run"


def proof_mark(fix: Fix) -> ProofMark:
    """The mark for programs: a fix that destroys something is never called proven."""
    return ProofMark.DESTRUCTIVE if fix.destroys else ProofMark(fix.proof.status.value)


def mark_of(fix: Fix, terminal: Terminal) -> str:
    """`✓ proven`, `~ likely`, or `destructive`; empty if the fix was not simulated."""
    match proof_mark(fix):
        case ProofMark.PROVEN:
            return f"{terminal.mark('good')} proven"
        case ProofMark.LIKELY:
            return f"{terminal.mark('wait')} likely"
        case ProofMark.DESTRUCTIVE:
            return "destructive"
        case ProofMark.NOT_RUN:
            return ""


def notes_of(fix: Fix, *, everything: bool) -> Iterator[str]:
    """What a proof depends on; with `everything`, also why there is none."""
    proof = fix.proof
    if not proof.why:
        return
    match proof.status:
        case ProofStatus.PROVEN | ProofStatus.LIKELY:
            yield one_line(proof.why)
        case ProofStatus.NOT_RUN if everything:
            yield one_line(f"not proven: {proof.why}")
        case ProofStatus.NOT_RUN:
            return


def rejected_in(finding: Finding) -> Iterator[str]:
    yield from (
        one_line(f"{rejected_fix.title}: {rejected_fix.why}") for rejected_fix in finding.rejected_fixes
    )


def proof_sentence(fix: Fix) -> str:
    """The proof in a sentence, for Markdown and patches."""
    proof = fix.proof
    match proof.status:
        case ProofStatus.PROVEN:
            more = f"; {proof.why}" if proof.why else ""
            return f"proven over {counted(proof.rounds, 'round')} on a model of the cluster{more}"
        case ProofStatus.LIKELY:
            return f"likely: it helps on a model of the cluster; {proof.why}"
        case ProofStatus.NOT_RUN:
            return f"not proven: {proof.why}" if proof.why else "not proven"


def unproven_note(apps: tuple[AppReport, ...]) -> str:
    """Why no fix of several apps was simulated, if the reason is the same for all of them."""
    reasons_by_app = [
        {
            fix.proof.why if fix.proof.status is ProofStatus.NOT_RUN else ""
            for finding in app.findings
            for fix in finding.fixes
        }
        for app in apps
    ]
    reasons = set[str]().union(*reasons_by_app)
    several_apps = sum(1 for reasons_of_app in reasons_by_app if reasons_of_app) > 1
    why = reasons.pop() if several_apps and len(reasons) == 1 else ""
    return f"fixes were not simulated: {why}" if why else ""
