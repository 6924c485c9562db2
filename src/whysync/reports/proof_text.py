"""How a fix came off on the model: a mark beside it, the gap below it, the timeline where it is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.sentences import counted
from whysync.reports.terminal import Terminal, one_line


def mark_of(fix: Fix, terminal: Terminal) -> str:
    """`✓ proven`, `~ likely`; nothing where it was not tried. A destructive fix is marked as such."""
    if fix.destroys:
        return "destructive"
    match fix.proof.status:
        case ProofStatus.PROVEN:
            return f"{terminal.mark('good')} proven"
        case ProofStatus.LIKELY:
            return f"{terminal.mark('wait')} likely"
        case ProofStatus.NOT_RUN:
            return ""


def notes_of(fix: Fix, *, everything: bool) -> Iterator[str]:
    """What a proof hangs on, or why there is none; the latter only where all is wanted."""
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


def in_a_sentence(fix: Fix) -> str:
    """For pages and files."""
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
    """Why no fix of many apps was tried: said once for all of them."""
    told = [
        {
            fix.proof.why if fix.proof.status is ProofStatus.NOT_RUN else ""
            for finding in app.findings
            for fix in finding.fixes
        }
        for app in apps
    ]
    reasons = set[str]().union(*told)
    many = sum(1 for one in told if one) > 1
    why = reasons.pop() if many and len(reasons) == 1 else ""
    return f"fixes were not tried on a model: {why}" if why else ""
