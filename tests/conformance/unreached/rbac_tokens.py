"""Is the token of a project role still good? A token that was revoked, or never issued, gets no further.

Mirrors the part of `SessionManager.Parse` on projects and `GetJWTToken`, Argo CD 3.6. This happens when a
request is authenticated, before any policy is asked.
"""

from __future__ import annotations

from whysync.argocd.rbac.decision import asker_of, is_project_subject
from whysync.json_tree import Object, dig, fields, items, text


def token_problem(claims: Object, project: Object) -> str | None:
    """Nothing for other tokens; `project` is the raw AppProject, whose status lists its tokens."""
    subject = asker_of(claims, ()).subject
    if not is_project_subject(subject):
        return None
    name, role = subject.split(":")[1:]
    if name != text(dig(project, "metadata", "name")):
        return f'appproject.argoproj.io "{name}" not found'
    token_id, issued = text(claims.get("jti")), claims.get("iat")
    for token in map(fields, items(dig(project, "status", "jwtTokensByRole", role, "items"))):
        if (token_id and token.get("id") == token_id) or (issued is not None and token.get("iat") == issued):
            return None
    return f"JWT token for role '{role}' issued at '{issued}' does not exist in project '{name}'"
