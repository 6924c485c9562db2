"""A line of Argo CD's policy, proven by asking again: the very request that was refused."""

from __future__ import annotations

from whysync.argocd.rbac import Asker, Request, decide, read_policy
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, Proof, ProofKind
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.text import object_of
from whysync.json_tree import Object, fields
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.proofs.verdicts import Rejected, not_run, proven


def denied_in(case: Case, finding: Finding) -> ArgocdDenied | None:
    """The refused request that the finding is about."""
    told = set(finding.explains)
    return next(
        (failure.failure for failure in case.failures(ArgocdDenied) if not told.isdisjoint(failure.symptoms)),
        None,
    )


def asked_again(case: Case, denied: ArgocdDenied, fix: Fix) -> Proof | Rejected:
    """Only a line of policy is tried: what else a person does to a policy is not told as data."""
    config = case.settings("argocd-rbac-cm")
    if not fix.line:
        return not_run(ProofKind.READ_ONLY, "it changes nothing: it only looks")
    if config is None:
        return not_run(ProofKind.FACTS_MISSING, "argocd-rbac-cm is not among the facts")
    if not denied.subject:
        return not_run(ProofKind.FACTS_MISSING, "who asked is not told")
    after = policy_edit(fix.line, case)
    target = object_of(after, case)
    assert target is not None
    asked = f"{denied.subject}: {denied.resource}, {denied.action}, {denied.object}"
    before, then = (_allowed(case, body, denied) for body in (config.body, edited(target.body, after.edits)))
    if before:
        return not_run(ProofKind.NOTHING_TO_FIX, "the policy at hand allows it already")
    if not then:
        return Rejected(why=f"with that line Argo CD still refuses {asked}")
    trace = ("without the fix", f"  {asked}: refused", "with the fix", f"  {asked}: allowed")
    return proven(rounds=1, trace=trace)


def _allowed(case: Case, config: Object, denied: ArgocdDenied) -> bool:
    data = {key: value for key, value in fields(config.get("data")).items() if isinstance(value, str)}
    request = Request(resource=denied.resource, action=denied.action, object=denied.object)
    projects = {case.app.project: case.project} if case.project is not None else {}
    return decide(read_policy(data), Asker(subject=denied.subject, is_token=True), request, projects).allowed
