"""Promises of the code base that no other tool keeps: purity of rules, the public names, the demo's words."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

import whysync
from tests.situations import ROOT
from tools.new_rule import MODULE
from whysync.diagnosis.rule import AnyRule, registry
from whysync.diagnosis.symptom import Side, SymptomKind
from whysync.reports.diagnose_json import schema

SOURCE = ROOT / "src/whysync"
PURE = sorted(
    [
        *SOURCE.glob("rules/**/*.py"),
        *SOURCE.glob("diagnosis/*.py"),
        *SOURCE.glob("queries/*.py"),
        *SOURCE.glob("fixes/*.py"),
    ]
)
OUTSIDE = {
    "os",
    "sys",
    "time",
    "random",
    "subprocess",
    "socket",
    "pathlib",
    "tempfile",
    "secrets",
    "uuid",
}


def imports_of(path: Path) -> set[str]:
    result: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            result.add(node.module)
    return result


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rules_and_diagnosis_have_no_clock_no_files_and_no_environment(path: Path) -> None:
    assert {name for name in imports_of(path) if name.partition(".")[0] in OUTSIDE} == set()
    calls = {
        f"{node.func.value.id}.{node.func.attr}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
    }
    assert not calls & {"datetime.now", "datetime.utcnow", "date.today", "datetime.today"}


@pytest.mark.parametrize("path", sorted(SOURCE.glob("rules/**/*.py")), ids=lambda path: path.stem)
def test_rules_do_not_know_each_other(path: Path) -> None:
    assert not [name for name in imports_of(path) if name.startswith("whysync.rules")]


@pytest.mark.parametrize("rule", registry(), ids=lambda rule: rule.id)
def test_no_rule_keeps_the_words_of_its_template(rule: AnyRule) -> None:
    template = {line for line in MODULE.splitlines() if line.endswith(".")}
    assert not template & set(rule.docs.splitlines())
    source = SOURCE / "rules" / rule.group / f"{rule.id}.py"
    assert "say here what makes it this cause" not in source.read_text()


def test_rules_with_one_id_have_one_cause() -> None:
    """A rule on files and a rule on an Application for the same mistake share the id."""
    causes: dict[str, set[str]] = {}
    for rule in registry():
        causes.setdefault(rule.id, set()).add(rule.cause)
    assert {id: value for id, value in causes.items() if len(value) > 1} == {}


@pytest.mark.parametrize("rule", registry(), ids=lambda rule: f"{rule.group}/{rule.id}")
def test_every_rule_is_run_by_a_command(rule: AnyRule) -> None:
    assert rule.side is not Side.NONE or rule.layer is not None or rule.topic is not None
    assert rule.title


# They write into a temporary folder of their own, a pipe, or a file that holds nothing (a lock).
_PRIVATE_WRITERS = {
    "files.py",
    "argocd/repo_server/git/command.py",
    "argocd/repo_server/git/repo.py",
    "argocd/repo_server/git/tree.py",
    "facts/http/tls.py",
    "argocd/repo_server/render/helm.py",
    "argocd/repo_server/render/helm_pull.py",
    "argocd/repo_server/render/kustomize.py",
    "processes/forked.py",
}
_WRITING = {
    "write_text",
    "write_bytes",
    "mkstemp",
    "NamedTemporaryFile",
    "unlink",
    "rmtree",
    "replace",
    "rename",
}


def test_only_one_module_writes_and_deletes_files_of_the_user() -> None:
    """All others call `whysync.files`, which is atomic."""
    result: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _writes(node):
                result.add(path.relative_to(SOURCE).as_posix())
    assert result <= _PRIVATE_WRITERS


def _writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("replace", "rename"):
        return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in (
            "os",
            "Path",
            "shutil",
        )
    if name in ("open", "fdopen"):
        flags = [ast.unparse(arg) for arg in (*call.args, *(key.value for key in call.keywords))]
        return any("O_WRONLY" in flag and "devnull" not in flags[0] for flag in flags) or any(
            flag.strip("\"'")[:1] in ("w", "a", "x") and flag.strip("\"'")[1:] in ("", "b", "t", "+", "b+")
            for flag in flags
        )
    return name in _WRITING


def test_public_names() -> None:
    assert whysync.__all__ == ["__version__"]


def test_the_published_schema_is_fresh() -> None:
    published = msgspec.json.decode((ROOT / "docs/report-v1.schema.json").read_bytes())
    assert published == msgspec.json.decode(msgspec.json.encode(schema())), "make docs"


# Packages that read the text of other programs: YAML, command lines, errors of tools and of upstream code.
_READS_TEXT = (
    "messages/",
    "golang/",
    "kubernetes/",
    "argocd/",
    "facts/",
    "lint/",
    "manifests/",
    "fixes/",
    "cli/",
    "lab/",
)
# Other modules that branch on a sentence, and whose text it is. The list may only become shorter.
_TEXT_BRANCHES = {
    "proofs/apply_fix.py": "Argo CD's API error",
    "queries/lua_guards.py": "Lua source",
}


def test_no_code_branches_on_a_sentence() -> None:
    """Sentences are for reading: what code branches on has a kind."""
    names = {
        name
        for path in SOURCE.rglob("*.py")
        if not (name := path.relative_to(SOURCE).as_posix()).startswith(_READS_TEXT)
        and any(map(_branches_on_a_sentence, ast.walk(ast.parse(path.read_text()))))
    }
    assert names == _TEXT_BRANCHES.keys()


def _branches_on_a_sentence(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("startswith", "endswith") and any(map(_is_sentence, node.args))
    if isinstance(node, ast.Compare):
        return any(map(_is_sentence, (node.left, *node.comparators)))
    return False


def _is_sentence(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return " " in text.strip()
        case ast.Tuple(elts=parts) | ast.JoinedStr(values=parts):
            return any(map(_is_sentence, parts))
        case _:
            return False


def test_symptom_ids_are_formatted_in_one_place() -> None:
    ids = tuple(f"{kind}:" for kind in SymptomKind)
    result = {
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for folder in ("diagnosis", "queries", "rules", "proofs")
        for path in (SOURCE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(ids)
        and " " not in node.value
    }
    assert result == set()
