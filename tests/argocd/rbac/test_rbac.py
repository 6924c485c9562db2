"""Argo CD's permissions: reading lines, who decides, and which line would help."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.rbac import integrity_problem
from tests.conformance.unreached.rbac_can import can, request_problem
from tests.conformance.unreached.rbac_tokens import token_problem
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.api.application import Metadata
from whysync.argocd.api.project import AppProject, ProjectRole, ProjectSpec
from whysync.argocd.rbac import (
    Asker,
    BadLine,
    Grant,
    Origin,
    Permission,
    Policy,
    PolicyPart,
    Reason,
    Request,
    asker_of,
    decide,
    denial_text,
    explain,
    policy_problem,
    project_lines,
    read_line,
    read_lines,
    read_policy,
)
from whysync.argocd.rbac.policy import quoted, split_csv
from whysync.json_tree import Object

HERE = Origin(name="policy.csv", line=1)
SYNC = Request(resource="applications", action="sync", object="shop/web")
GET = Request(resource="applications", action="get", object="shop/web")


def policy(*lines: str, **data: str) -> Policy:
    keys = {"default": "policy.default", "mode": "policy.matchMode", "scopes": "scopes"}
    settings = {keys[key]: value for key, value in data.items()}
    return read_policy({"policy.csv": "\n".join(lines), **settings})


def user(name: str, *groups: str) -> Asker:
    return Asker(subject=name, groups=groups, is_token=True)


def shop(*policies: str, groups: tuple[str, ...] = ()) -> dict[str, AppProject]:
    role = ProjectRole(name="ci", policies=policies, groups=groups)
    return {"shop": AppProject(metadata=Metadata(name="shop"), spec=ProjectSpec(roles=(role,)))}


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("p, a, b", ["p", "a", "b"]),
        ("p,a ,b", ["p", "a ", "b"]),
        ('g, "team, one", x', ["g", "team, one", "x"]),
        ('g, "say ""hi""", x', ["g", 'say "hi"', "x"]),
        ("g,,", ["g", "", ""]),
    ],
)
def test_fields_of_a_line(line: str, tokens: list[str]) -> None:
    assert split_csv(line) == tokens


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("p, a, b, c, d", "invalid RBAC policy: p, a, b, c, d"),
        ("g, a, b, c", "invalid RBAC policy: g, a, b, c"),
        ("x, a", "invalid RBAC policy: x, a"),
        ('p, a"b, c', 'bare " in non-quoted field'),
        ('p, "a"b, c', 'extraneous or missing " in quoted-field'),
        ('p, "a', 'extraneous or missing " in quoted-field'),
    ],
)
def test_lines_that_argocd_refuses(line: str, problem: str) -> None:
    result = read_line(line, HERE)
    assert isinstance(result, BadLine)
    assert problem in result.problem
    assert (policy_problem(line) or "").startswith("policy syntax error")


def test_lines_without_a_meaning() -> None:
    assert [read_line(line, HERE) for line in ("", "  ", "# p, a", "e, whatever")] == [None] * 4


def test_one_bad_line_spoils_the_whole_policy_and_is_named() -> None:
    broken = policy("p, alice, applications, sync, */*, allow", "p, oops")
    decision = decide(broken, user("alice"), SYNC)
    assert (decision.allowed, decision.reason) == (False, Reason.INVALID_POLICY)
    assert decision.bad_line is not None
    assert str(decision.bad_line.origin) == "policy.csv:2"


def test_what_is_granted_from_the_start() -> None:
    plain = policy()
    assert decide(plain, user("admin"), SYNC).allowed
    assert not decide(plain, user("alice"), GET).allowed
    assert decide(policy(default="role:readonly"), user("alice"), GET).reason is Reason.DEFAULT_ROLE
    assert not decide(policy(default="role:readonly"), user("alice"), SYNC).allowed
    deep = Request(resource="applications", action="delete/apps/Deployment/ns/x", object="shop/ns/web")
    assert decide(plain, user("admin"), deep).allowed
    hooks = Request(resource="extensions", action="invoke", object="metrics")
    assert not decide(plain, user("admin"), hooks).allowed


@needs_shared
def test_the_built_in_lines_are_those_of_argocd() -> None:
    with (CONFORMANCE / "rbac.jsonl").open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    recorded = next(record["builtin_policy"] for record in records if record["id"] == "rbac/builtin-allow-1")
    theirs = {str(line) for line in read_lines(recorded, "built-in")}
    assert theirs == {str(line) for line in (*policy().permissions, *policy().grants)}


def test_the_deciding_line_and_the_way_to_it() -> None:
    known = policy(
        "p, role:dev, applications, sync, shop/*, allow", "g, role:lead, role:dev", "g, alice, role:lead"
    )
    decision = decide(known, user("alice"), SYNC)
    assert decision.answer is not None
    assert decision.answer.line is not None
    assert str(decision.answer.line) == "p, role:dev, applications, sync, shop/*, allow"
    assert [str(grant) for grant in decision.answer.over] == ["g, alice, role:lead", "g, role:lead, role:dev"]


def test_a_deny_beats_every_allow_of_the_same_subject() -> None:
    known = policy("p, alice, applications, *, */*, allow", "p, alice, applications, sync, shop/*, deny")
    decision = decide(known, user("alice"), SYNC)
    assert decision.reason is Reason.DENIED
    assert decision.answer is not None
    assert decision.answer.line is not None
    assert decision.answer.line.origin.line == 2


def test_a_deny_holds_neither_against_the_default_role_nor_against_a_group() -> None:
    deny, allow = "p, alice, applications, get, */*, deny", "p, role:dev, applications, sync, */*, allow"
    assert decide(policy(deny, default="role:readonly"), user("alice"), GET).allowed
    known = policy("p, alice, applications, sync, */*, deny", allow, "g, team, role:dev")
    assert decide(known, user("alice", "team"), SYNC).reason is Reason.GROUP


def test_a_group_without_a_g_line_is_never_asked() -> None:
    known = policy("p, org:team, applications, sync, */*, allow")
    assert not decide(known, user("alice", "org:team"), SYNC).allowed
    answer = can(known, "org:team", "sync", "app", "shop/web")
    assert answer.decision.allowed
    assert "org:team" in (answer.warning or "")


def test_roles_go_ten_steps_and_round_in_circles() -> None:
    chain = [f"g, r{step}, r{step + 1}" for step in range(12)]
    known = policy("p, r10, applications, sync, */*, allow", "g, r3, r1", *chain)
    assert decide(known, user("r0"), SYNC).allowed
    assert not decide(policy("p, r11, applications, sync, */*, allow", *chain), user("r0"), SYNC).allowed


def test_regular_expressions_match_anywhere_and_a_broken_one_refuses() -> None:
    known = policy("p, alice, app, sync, ^shop/w, allow", mode="regex")
    assert decide(known, user("alice"), SYNC).allowed
    for pattern in ("(", "shop(?=/)", r"(a)\1", "a++"):
        lines = ("p, alice, app, sync, .*, allow", f"p, alice, app, sync, {pattern}, allow")
        assert decide(policy(*lines, mode="regex"), user("alice"), SYNC).reason is Reason.BROKEN_PATTERN


def test_roles_of_a_project() -> None:
    projects = shop("p, proj:shop:ci, applications, sync, shop/*, allow", groups=("builders",))
    token = user("proj:shop:ci")
    assert decide(policy(), token, SYNC, projects).allowed
    assert decide(policy(), user("bob", "builders"), SYNC, projects).reason is Reason.GROUP
    see = Request(resource="projects", action="get", object="shop")
    assert decide(policy(), token, see, projects).allowed
    foreign = decide(policy(), user("proj:other:ci"), SYNC, projects)
    assert (foreign.allowed, foreign.reason) == (False, Reason.FOREIGN_PROJECT)


def test_a_project_with_a_line_that_cannot_be_read_grants_nothing() -> None:
    projects = shop("p, proj:shop:ci, applications, sync, shop/*, allow", "p, oops")
    assert project_lines(projects["shop"]) == ()
    assert not decide(policy(), user("proj:shop:ci"), SYNC, projects).allowed


def test_who_a_token_is() -> None:
    claims: Object = {"sub": "opaque", "federated_claims": {"user_id": "bob"}, "groups": ["a", 1]}
    asker = asker_of(claims, ["groups"])

    assert (asker.subject, asker.groups) == ("bob", ("a",))
    assert asker_of({"sub": "x", "email": "x@y"}, ["email"]).groups == ("x@y",)
    assert policy(scopes="[email, groups]").scopes == ("email", "groups")
    assert policy(scopes="{").scopes == ("groups",)


def test_a_token_that_the_project_does_not_list() -> None:
    body: Object = {
        "metadata": {"name": "shop"},
        "status": {"jwtTokensByRole": {"ci": {"items": [{"iat": 5}]}}},
    }
    assert token_problem({"sub": "alice"}, {}) is None
    assert token_problem({"sub": "proj:shop:ci", "iat": 5}, body) is None
    assert "does not exist" in (token_problem({"sub": "proj:shop:ci", "iat": 6}, body) or "")


def test_the_nearest_line_is_ones_own() -> None:
    known = policy(
        "p, role:ops, applications, sync, */*, allow",
        "p, role:dev, applications, sync, test/*, allow",
        "g, alice, role:dev",
    )
    output = explain(known, user("alice"), SYNC)
    assert output.nearest is not None
    assert output.nearest.line.subject == "role:dev"
    assert (output.nearest.misses, output.nearest.is_own) == ((PolicyPart.OBJECT,), True)
    assert str(output.remedy) == "p, alice, applications, sync, shop/web, allow"


def test_no_single_line_helps_against_a_deny() -> None:
    known = policy("p, alice, applications, sync, */*, deny")
    output = explain(known, user("alice"), SYNC)
    assert output.remedy is None
    assert output.decision.reason is Reason.DENIED


def test_a_nameless_token_gets_the_smallest_role_for_its_group() -> None:
    known = policy("p, role:syncer, applications, sync, shop/*, allow")
    output = explain(known, user("", "org:team"), SYNC)
    assert isinstance(output.remedy, Grant)
    assert str(output.remedy) == "g, org:team, role:syncer"


def test_texts_and_requests() -> None:
    assert denial_text(["applications", "sync", "shop/web"], {"sub": "al", "iat": 0}) == (
        "rpc error: code = PermissionDenied desc = permission denied: "
        "applications, sync, shop/web, sub: al, iat: 1970-01-01T00:00:00Z"
    )
    assert request_problem("applications", "action/apps/Deployment/restart") is None
    assert request_problem("logs", "get/x") == "'get/x' is not a valid action for logs"
    assert request_problem("nope", "get") == "'nope' is not a valid resource name"


def test_roles_that_nobody_filled() -> None:
    known = read_policy({"policy.csv": "g, a, role:empty"}, builtin=False)
    assert integrity_problem(known) == "user defined roles not found in policies: role:empty"


@given(
    st.lists(st.text(max_size=12).filter(lambda t: "\n" not in t and t == t.strip()), min_size=5, max_size=5)
)
def test_a_written_line_reads_back(parts: list[str]) -> None:
    line = ", ".join(("p", *map(quoted, parts)))
    result = read_line(line, HERE)
    assert isinstance(result, Permission)
    assert [result.subject, result.resource, result.action, result.object, result.effect] == parts


_WORD = st.text(st.sampled_from('ab/*[]{}?\\," :'), max_size=6)


@given(st.lists(st.text(max_size=40), max_size=4), _WORD, _WORD, _WORD, st.sampled_from(["glob", "regex"]))
def test_what_explain_proposes_works(
    lines: list[str], name: str, action: str, target: str, mode: str
) -> None:
    readable = [line for line in lines if not isinstance(read_line(line, HERE), BadLine) and "\n" not in line]
    known = policy(*readable, mode=mode)
    request = Request(resource="applications", action=action, object=target)
    output = explain(known, user(name), request)
    if output.remedy is not None:
        assert decide(known.with_lines((output.remedy,)), user(name), request).allowed
    elif name and not output.decision.allowed:
        assert output.decision.reason in (Reason.DENIED, Reason.BROKEN_PATTERN)
