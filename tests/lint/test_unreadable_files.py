"""Encrypted files are checked for what is readable; templates are left out, with one note per folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from whysync.lint.lint import lint
from whysync.lint.outcome import Outcome

SOPS = """\
sops:
  age: [{recipient: age1example, enc: secret}]
  lastmodified: "2026-01-01T00:00:00Z"
  mac: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
  version: 3.9.0
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: web}
data:
  token: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
stringData:
  user: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
"""
SEALED = """\
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: web}
spec:
  encryptedData: {token: AgBy3i4OJSWK}
"""
ALL_VALUES = """\
apiVersion: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
kind: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
metadata: {name: "ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]"}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ENC[AES256_GCM,data:x,iv:y,tag:z,type:int]
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""
LIST = "apiVersion: v1\nkind: List\nitems:\n- " + SECRET.replace("\n", "\n  ").rstrip(" ")
VAULT = """\
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData:
  a: !vault |
    $ANSIBLE_VAULT;1.1;AES256
    6138
"""


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def linted(files: dict[str, str | bytes], *paths: str) -> Outcome:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return lint(paths or ["."])[0]


def seen(outcome: Outcome) -> list[tuple[str, int, str | None]]:
    return [(finding.rule, finding.line, finding.field) for finding in outcome.findings]


@pytest.mark.parametrize(
    "content",
    [
        SECRET + SOPS,
        f"{SECRET}{SOPS}---\n{SECRET.replace('web', 'api')}{SOPS}",
        ALL_VALUES + SOPS,
        DEPLOYMENT + SOPS,
        LIST + SOPS,
    ],
    ids=["secret", "two documents", "all values", "a number", "list"],
)
def test_values_encrypted_with_sops_are_not_errors(content: str) -> None:
    outcome = linted({"a.yaml": content})
    assert seen(outcome) == []
    assert [note.why for note in outcome.notes] == [
        "1 file encrypted with SOPS: only what is readable is checked"
    ]


def test_json_of_sops_is_readable_too() -> None:
    outcome = linted(
        {
            "a.json": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},'
            '"data":{"a":"ENC[x,type:str]"},"sops":{"mac":"ENC[x,type:str]"}}'
        }
    )
    assert seen(outcome) == []


def test_readable_fields_of_an_encrypted_file_are_checked() -> None:
    outcome = linted({"a.yaml": SECRET.replace("stringData", "stringdata") + SOPS})
    assert seen(outcome) == [("unknown_field", 6, "/stringdata")]


def test_a_field_named_sops_is_not_always_encryption() -> None:
    outcome = linted(
        {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nsops: {enabled: true}\n"}
    )
    assert seen(outcome) == [("unknown_field", 4, "/sops")]


@pytest.mark.parametrize(
    ("content", "program"),
    [
        (b"\0GITCRYPT\0\x01\x02\xff\xfe", "git-crypt"),
        (b"$ANSIBLE_VAULT;1.1;AES256\n613862\n", "Ansible Vault"),
        (VAULT.encode(), "Ansible Vault"),
        (b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n", "age"),
    ],
    ids=["git-crypt", "ansible-vault", "vault value", "age"],
)
def test_encrypted_files_are_a_note_even_if_they_are_named(content: bytes, program: str) -> None:
    outcome = linted({"a.yaml": content}, "a.yaml")
    assert seen(outcome) == []
    assert [note.why for note in outcome.notes if "encrypted" in note.why] == [
        f"1 file encrypted with {program}: only what is readable is checked"
    ]


def test_a_sealed_secret_is_an_ordinary_object() -> None:
    outcome = linted({"a.yaml": SEALED})
    assert seen(outcome) == []
    assert outcome.objects == 1


@pytest.mark.parametrize(
    "line",
    ["<ISSUER_ANNOTATION>", "a: b: ##NAME##", "${EXTRA}", "{{ .extra }}", "@@EXTRA@@"],
)
def test_templates_are_one_note_per_folder(line: str) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{line}\ndata: {{}}\n"
    outcome = linted({"t/a.yaml": text, "t/b.yaml": text, "u/a.yaml": text})
    assert seen(outcome) == []
    assert [(note.path, note.why) for note in outcome.notes] == [
        ("t", "2 templates, not YAML: not read"),
        ("u/a.yaml", "a template, not YAML: not read"),
    ]


def test_a_placeholder_far_from_the_error_explains_nothing() -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: "${HOME}"\n'
    outcome = linted({"a.yaml": text + "  b: c\n" + "\n" * 8 + "  d: e: f\n"})
    assert [finding.rule for finding in outcome.findings] == ["manifest_yaml_invalid"]


def test_a_placeholder_that_yaml_takes_for_a_comment() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: ##NAME##\nspec: {ports: [{port: 80}]}\n"
    outcome = linted({"a.yaml": text})
    assert seen(outcome) == []
    assert [note.why for note in outcome.notes] == ["a template, not YAML: not read"]
