"""The smallest roles, as the docs print them: with exactly these every verb works, with less it says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Ran, Whysync
from tests.facts.argocd_api.scenes import shop
from tests.facts.argocd_api.server import ArgoCD, Fault, at
from tests.facts.kubernetes_api.fake_api import KINDS, FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.kubernetes_api.world import LOGS, thing, world
from tests.situations import ROOT
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml

DOCS = (ROOT / "docs/live.md").read_text()
VERBS = (
    ("diagnose",),
    ("diagnose", "web"),
    ("diagnose", "appset/web"),
    ("list",),
    ("get", "web"),
    ("diff", "web"),
    ("fix", "web"),
    ("audit",),
    ("health", "--app", "web"),
    ("wait", "fine", "--timeout", "5s"),
)


def documented_role() -> list[Object]:
    (block,) = re.findall(r"```yaml\n(apiVersion: rbac.*?)```", DOCS, re.DOTALL)
    return [fields(rule) for rule in items(fields(yaml.load(block)).get("rules"))]


def forbids(rules: list[Object]) -> Callable[[str, str], bool]:
    allowed = {text(resource) for rule in rules for resource in items(rule.get("resources"))}
    return lambda plural, _namespace: plural not in allowed


def objects() -> list[Object]:
    spec: Json = {"generators": []}
    return [*world(), thing("argoproj.io/v1alpha1", "ApplicationSet", "web", "argocd", spec=spec)]


def run(whysync: Whysync, home: Path, rules: list[Object], *arguments: str) -> Ran:
    with serving(FakeApi(objects(), forbidden=forbids(rules), logs=LOGS)) as server:
        source = ("--kubeconfig", str(kubeconfig(home, server.url)), "--argocd-namespace", "argocd")
        return whysync(*arguments, *source)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_works_with_the_role(whysync: Whysync, tmp_path: Path, verb: tuple[str, ...]) -> None:
    ran = run(whysync, tmp_path, documented_role(), *verb)
    # `health` says with 2 that an object, here a Secret, could not be read
    assert ran.code in ((0, 1, 3) if verb[0] != "health" else (0, 1, 2)), ran.err
    assert ran.err == ""


def test_only_what_is_omitted_on_purpose_is_a_gap(whysync: Whysync, tmp_path: Path) -> None:
    ran = run(whysync, tmp_path, documented_role(), "collect", "-o", str(tmp_path / "out"))
    assert ran.code in (0, 3), ran.err
    header = fields(yaml.load((tmp_path / "out/bundle.yaml").read_text()))
    forbidden = [fields(gap) for gap in items(header.get("gaps")) if fields(gap).get("kind") == "forbidden"]
    assert [gap for gap in forbidden if "secret" not in json.dumps(gap).lower()] == []


@pytest.mark.parametrize(
    "plural",
    sorted(
        text(resource)
        for rule in documented_role()
        for resource in items(rule.get("resources"))
        if any(plural == resource for plural, _ in KINDS.values()) and resource != "applications"
    ),
)
def test_without_a_kind_the_answer_says_what_is_missing(
    whysync: Whysync, tmp_path: Path, plural: str
) -> None:
    """The rest is still read; a gap names the kind, and the rule that would allow it."""
    rules: list[Object] = [
        {**rule, "resources": [one for one in items(rule.get("resources")) if one != plural]}
        for rule in documented_role()
    ]
    full = run(whysync, tmp_path, documented_role(), "collect", "-o", str(tmp_path / "full"))
    less = run(whysync, tmp_path, rules, "collect", "-o", str(tmp_path / "less"))
    assert (full.code in (0, 3), less.code in (0, 3)) == (True, True), less.err
    header = fields(yaml.load((tmp_path / "less/bundle.yaml").read_text()))
    gaps = [json.dumps(gap) for gap in items(header.get("gaps"))]
    assert any(plural in gap for gap in gaps) or plural in UNSEEN, gaps


# Kinds whose absence is no gap here: nothing in this world depends on them.
UNSEEN = {"nodes", "persistentvolumes", "applicationsets", "customresourcedefinitions"}


def test_without_applications_the_rule_is_printed(whysync: Whysync, tmp_path: Path) -> None:
    rules = [rule for rule in documented_role() if "applications" not in items(rule.get("resources"))]
    ran = run(whysync, tmp_path, rules, "list")
    assert ran.code == 2
    assert 'apiGroups: ["argoproj.io"], resources: [applications]' in ran.err


# --- Argo CD's API ---------------------------------------------------------------------------------------

_OPEN = r"/api/version|/api/v1/(settings|session/userinfo|account/can-i/.*)"
"""Requests that every account may make."""
_PERMISSIONS = (
    (r"/api/v1/applications/[^/]+/(pods/[^/]+/)?logs", "logs"),
    (r"/api/v1/applications(/.*)?", "applications"),
    (r"/api/v1/applicationsets/.*", "applicationsets"),
    (r"/api/v1/projects(/.*)?", "projects"),
    (r"/api/v1/clusters(/.*)?", "clusters"),
    (r"/api/v1/repositories(/.*)?", "repositories"),
)


def test_the_role_of_argo_cd_permits_every_request(whysync: Whysync, tmp_path: Path) -> None:
    """All are reads, and each needs a permission that the docs list; none is listed for nothing."""
    permitted = set(re.findall(r"^p, role:whysync, (\w+), get, \S+, allow$", DOCS, re.MULTILINE))
    with ArgoCD(shop()) as argocd:
        for verb in (("diagnose",), ("diagnose", "shop"), ("list",), ("get", "shop"), ("diff", "shop"),
                     ("audit",), ("fix", "shop"), ("diagnose", "appset/none")):  # fmt: skip
            whysync(*verb, *at(argocd))
        whysync("collect", *at(argocd), "-o", str(tmp_path / "out"))
        paths = {line.partition("?")[0].rpartition(" ")[2] for line in argocd.log}
    needed: set[str] = set()
    for path in paths:
        if not re.fullmatch(_OPEN, path):
            needed.add(next(resource for pattern, resource in _PERMISSIONS if re.fullmatch(pattern, path)))
    assert needed == permitted


def test_a_missing_permission_of_argo_cd_is_named(whysync: Whysync) -> None:
    for resource in ("projects", "clusters", "repositories"):
        with ArgoCD(shop()) as argocd:
            argocd.fault(f"/api/v1/{resource}", Fault.FORBIDDEN)
            ran = whysync("shop", *at(argocd), "-o", "json")
        gaps = json.dumps(json.loads(ran.out)["apps"][0]["gaps"])
        assert "permission denied" in gaps
        assert resource in gaps or {"projects": "AppProjects"}.get(resource, "") in gaps
