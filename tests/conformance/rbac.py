"""rbac.jsonl: access control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec.structs import replace

from tests.conformance.checks import contains, lacks_fragments, mismatch
from tests.conformance.unreached.rbac_can import can, is_group_subject, request_problem
from tests.conformance.unreached.rbac_tokens import token_problem
from whysync.argocd import rbac
from whysync.argocd.api.project import AppProject
from whysync.argocd.rbac.policy import scopes_of
from whysync.golang.glob import glob_match
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.api.decode import decode


def integrity_problem(policy: rbac.Policy) -> str | None:
    """Roles that somebody has and no line mentions.

    Mirrors `CheckUserDefinedRoleReferentialIntegrity`, which only warns.
    """
    spoken_of = {line.subject for line in policy.permissions}
    roles = dict.fromkeys(grant.role for grant in policy.grants)
    empty = [role for role in roles if spoken_of.isdisjoint(policy.roles_of(role))]
    return f"user defined roles not found in policies: {','.join(empty)}" if empty else None


def policy_csv(data: Mapping[str, str]) -> str:
    return "".join(data[key] if key == "policy.csv" else f"\n{data[key]}" for key in rbac.policy_keys(data))


def check(record: Object) -> list[str]:
    return _OPS[text(record["op"])](record, fields(record["expect"]))


def _texts(value: Json) -> dict[str, str]:
    return {key: text(item) for key, item in fields(value).items()}


def _policy(record: Object) -> rbac.Policy:
    """Built-in lines come as text in the vectors: then they stand for our own."""
    data = _texts(record.get("config_map_data")) or {
        "policy.csv": text(record.get("user_policy")),
        "policy.default": text(record.get("default_role")),
        "policy.matchMode": text(record.get("match_mode")),
    }
    policy = rbac.read_policy(data, builtin=False)
    return policy.with_lines(rbac.read_lines(text(record.get("builtin_policy")), "built-in"))


def _projects(record: Object) -> dict[str, AppProject]:
    result = (decode(fields(project), AppProject)[0] for project in items(record.get("projects")))
    return {project.metadata.name: project for project in result if project is not None}


def _enforce(record: Object, expect: Object) -> list[str]:
    policy = replace(_policy(record), is_enforced=record.get("enforcement_enabled") is not False)
    claims = record.get("claims")
    if isinstance(claims, dict):
        # no request gets to the policy with a token that its project does not know
        tokens = [token_problem(claims, fields(project)) for project in items(record.get("projects"))]
        if tokens and None not in tokens:
            return mismatch("allow", expect["allow"], False)
        asker = rbac.asker_of(claims, [text(scope) for scope in items(record.get("scopes"))])
    else:
        asker = rbac.Asker(subject=text(record["subject"]))
    request = rbac.Request(
        resource=text(record["resource"]), action=text(record["action"]), object=text(record["object"])
    )
    runtime = tuple(rbac.read_lines(text(record.get("runtime_policy")), "runtime"))
    if not any(isinstance(line, rbac.BadLine) for line in runtime):  # with a bad line, none applies
        policy = policy.with_lines(runtime)
    decision = rbac.decide(policy, asker, request, _projects(record))
    return mismatch("allow", expect["allow"], decision.allowed)


def _can(record: Object, expect: Object) -> list[str]:
    policy = _policy(record)
    result = can(
        policy,
        text(record["subject"]),
        text(record["action"]),
        text(record["resource"]),
        text(record["object"]),
    )
    failures = mismatch("allow", expect["allow"], result.decision.allowed)
    if "default_role" in expect:
        failures += mismatch("default_role", expect["default_role"], policy.default_role)
    if "warning_contains" in expect and expect["warning_contains"] is None:
        failures += mismatch("warning", None, result.warning)
    elif "warning_contains" in expect:
        failures += lacks_fragments("warning", expect["warning_contains"], result.warning)
    return failures


def _enforce_error(record: Object, expect: Object) -> list[str]:
    result = rbac.denial_text(
        [text(argument) for argument in items(record["arguments"])], record.get("subject")
    )
    if "error" in expect:
        return mismatch("error", expect["error"], result)
    start = text(expect["error_starts_with"])
    if not result.startswith(start):
        return [f"error: expected to start with {start!r}, got {result!r}"]
    issued = datetime.fromisoformat(result.removeprefix(start)).timestamp()
    return mismatch("iat", integer(expect["iat_is_rfc3339_of_unix"]), issued)


def _compose(record: Object, expect: Object) -> list[str]:
    result = policy_csv(_texts(record["config_map_data"]))
    failures = lacks_fragments("policy", expect["contains"], result)
    return failures + mismatch("start", True, result.startswith(text(expect["starts_with"])))


def _validate(record: Object, expect: Object) -> list[str]:
    problem = rbac.policy_problem(text(record["policy"]))
    failures = mismatch("valid", expect["valid"], problem is None)
    if "warnings" in expect:
        policy = rbac.read_policy({"policy.csv": text(record["policy"])}, builtin=False)
        warning = integrity_problem(policy)
        failures += mismatch("warnings", expect["warnings"], [] if warning is None else [warning])
    return failures


def _line(record: Object, expect: Object) -> list[str]:
    line = rbac.read_line(text(record["line"]), rbac.Origin(name="policy.csv", line=1))
    return mismatch("valid", expect["valid"], not isinstance(line, rbac.BadLine))


def _resource_action(record: Object, expect: Object) -> list[str]:
    problem = request_problem(text(record["resource"]), text(record["action"]))
    return mismatch("valid", expect["valid"], problem is None)


def _group_subject(record: Object, expect: Object) -> list[str]:
    return mismatch("is_group", expect["is_group"], is_group_subject(text(record["subject"])))


def _scopes(record: Object, expect: Object) -> list[str]:
    configured = record["configured"]
    scopes = scopes_of("" if configured is None else f"[{', '.join(map(str, items(configured)))}]")
    return [] if contains(list(scopes), expect["scopes"]) else [f"scopes: got {scopes}"]


def _project_from_request(record: Object, expect: Object) -> list[str]:
    names = [text(name) for name in items(record["known_projects"])]
    known = {
        name: project
        for name in names
        if (project := decode({"metadata": {"name": name}}, AppProject)[0]) is not None
    }
    request = rbac.Request(
        resource=text(record["resource"]), action=text(record["action"]), object=text(record["object"])
    )
    result = rbac.project_of(request, known)
    return mismatch("project", expect["project"], None if result is None else result.metadata.name)


def _glob(record: Object, expect: Object) -> list[str]:
    return mismatch("match", expect["match"], glob_match(text(record["pattern"]), text(record["value"])))


_OPS: dict[str, Callable[[Object, Object], list[str]]] = {
    "enforce": _enforce,
    "cli-can": _can,
    "enforce-error": _enforce_error,
    "compose-policy": _compose,
    "validate-policy": _validate,
    "policy-line": _line,
    "validate-resource-action": _resource_action,
    "is-group-subject": _group_subject,
    "scopes": _scopes,
    "project-from-request": _project_from_request,
    "glob-match": _glob,
}
