"""Prove a line of RBAC policy: the request that Argo CD denied is evaluated with and without it."""

from __future__ import annotations

from whysync.argocd.rbac import Asker, Request, decide, read_policy
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, Proof, ProofKind
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.patches import object_of
from whysync.json_tree import Object, fields
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.proofs.proof_results import Rejected, not_run, proven


def verify_rbac_fix(case: Case, denied: ArgocdDenied, fix: Fix) -> Proof | Rejected:
    """Evaluate the denied request with the policy line of the fix; other changes of a policy are not data."""
    config = case.settings("argocd-rbac-cm")
    if not fix.line:
        return not_run(ProofKind.READ_ONLY, "it changes nothing: it is read-only")
    if config is None:
        return not_run(ProofKind.FACTS_MISSING, "argocd-rbac-cm is not in the facts")
    if not denied.subject:
        return not_run(ProofKind.FACTS_MISSING, "the subject of the request is not known")
    policy_fix = policy_edit(fix.line, case)
    target = object_of(policy_fix, case)
    assert target is not None
    request = f"{denied.subject}: {denied.resource}, {denied.action}, {denied.object}"
    allowed_before = _allowed(case, config.body, denied)
    allowed_after = _allowed(case, edited(target.body, policy_fix.edits), denied)
    if allowed_before:
        return not_run(ProofKind.NOTHING_TO_FIX, "the current policy already allows it")
    if not allowed_after:
        return Rejected(why=f"with that line Argo CD still denies {request}")
    trace = ("without the fix", f"  {request}: denied", "with the fix", f"  {request}: allowed")
    return proven(rounds=1, trace=trace)


def _allowed(case: Case, config: Object, denied: ArgocdDenied) -> bool:
    data = {key: value for key, value in fields(config.get("data")).items() if isinstance(value, str)}
    request = Request(resource=denied.resource, action=denied.action, object=denied.object)
    projects = {case.app.project: case.project} if case.project is not None else {}
    return decide(read_policy(data), Asker(subject=denied.subject, is_token=True), request, projects).allowed
