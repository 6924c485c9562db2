"""What the texts of an object prove must be what a walk through its tree finds."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.compare import custom_resource, deployment, service, stored
from benchmarks.diagnose import application, config_map, row
from whysync.facts.masking import Masker, text_patterns
from whysync.facts.masking.secret_names import (
    INDICATORS,
    PAT,
    Secrecy,
    may_indicate_secret,
    secrecy_below,
    secrecy_of_path,
)
from whysync.json_tree import Json, Object
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.encoded_json import decoded, texts_in, with_digits_alike

ROOT = Path(__file__).resolve().parents[3]
NAMES = [
    "kind",
    "name",
    "value",
    "data",
    "stringData",
    "password",
    "DB_PASSWORD",
    "secretEnv",
    "env",
    "auth",
    "token",
    "path",
    "patch",
    "helm",
    "values",
    "command",
    "args",
    "string",
    "array",
    "map",
    "default",
    "key",
    "apiVersion",
    "metadata",
    "annotations",
    "labels",
    "spec",
    "properties",
    "op",
    "managedFields",
    "binaryData",
    "release",
    "owner",
    "target",
    "template",
    "templates",
    "pat",
    "PATb",
    "api_key",
    "keyData",
    "Env",
    "privateEnv",
    "secureJsonData",
    "netrc",
    "kubectl.kubernetes.io/last-applied-configuration",
]
VALUES = (
    *("Secret", "ConfigMap", "Deployment", "Fake", "SealedSecret", "SecretStore", "SecretList", "List"),
    *("redis-cli", "-a", "-p", "-u", "--user", "--password", "--token=Xy12ab34cd", "login", "vault", "mysql"),
    *("hunter2-Tr0ub4dor", "s3cr3t-Pa55", "admin:Pa55word1", "https://u:Pa55word@git.example.com/x.git"),
    *("ghp_0123456789abcdefghij0123", "eyJhbGciOiJ9.eyJzdWIiOiIx.aaaaaaaaaa", "plain", "info", "", "a1b2c3"),
    *("password: Tr0ub4dor-1\nlevel: info\n", "level: info\nsize: 3\n", "env.3.value", "/data/password"),
    *('{"password": "Tr0ub4dor-1"}', '{"kind": "Secret", "data": {"a": "YWJjZGVm"}}', "{broken: [", "[1]"),
    *(
        "kind: Secret\ndata:\n  a: YWJjZGVm\n",
        'say "hi" \\ there',
        '\\"',
        "\x01\x02",
        "ü-ß",
        "helm",
        "<masked 3>",
    ),
    *("error found in #3 byte of ...|abc|..., bigger context ...|abc|...", "++++++++", "Bearer abcdef123456"),
)


def is_clean(body: Object) -> bool:
    """The full walk, in which nothing is changed."""
    masker, copied = Masker(), copy.deepcopy(body)
    masker.mask_object(copied)
    return copied == body and not masker.knows_secrets


def is_harmless(body: Object, masker: Masker | None = None) -> bool:
    return (masker or Masker()).is_harmless(body, msgspec.json.encode(body))


texts = st.sampled_from((*VALUES, *NAMES)) | st.text(max_size=12)
values = st.recursive(
    texts | st.integers(0, 99) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | texts, inner, max_size=5)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(NAMES), values, max_size=5)


@settings(max_examples=1500, deadline=None)
@given(objects)
def test_what_is_harmless_is_clean(body: dict[str, Json]) -> None:
    if is_harmless(body):
        assert is_clean(body)


def planted(body: Object, secret: Object) -> Iterator[Object]:
    """The object with something added at each map."""

    def maps(value: Json) -> Iterator[Object]:
        if isinstance(value, dict):
            yield value
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from maps(item)

    for at in range(len(list(maps(body)))):
        changed = copy.deepcopy(body)
        list(maps(changed))[at].update(copy.deepcopy(secret))
        yield changed


ORDINARY = [stored(maker(3), 3) for maker in (deployment, service, config_map, custom_resource)]


def test_ordinary_objects_are_harmless() -> None:
    masker = Masker()
    for body in (*ORDINARY, application("web", [row(body) for body in ORDINARY], broken=True, changed=True)):
        assert is_harmless(body, masker), body["kind"]


@pytest.mark.parametrize(
    "secret",
    [
        {"password": "Tr0ub4dor-1"},
        {"name": "DB_PASSWORD", "value": "Tr0ub4dor-1"},
        {"args": ["--password", "Tr0ub4dor-1"]},
        {"command": ["redis-cli"], "args": ["-a", "Tr0ub4dor-1"]},
        {"kind": "Secret", "data": {"a": "VHIwdWI0ZG9yLTE="}},
        {"note": "https://user:Tr0ub4dor-1@git.example.com"},
        {"secretEnv": {"A": "Tr0ub4dor-1"}},
        {"helm": {"values": "password: Tr0ub4dor-1\n"}},
    ],
    ids=str,
)
def test_a_planted_secret_is_never_harmless(secret: Object) -> None:
    """A text that was harmless elsewhere before does not hide it."""
    masker = Masker()
    for body in ORDINARY:
        assert is_harmless(body, masker)
        for changed in planted(body, secret):
            assert is_clean(changed) or not is_harmless(changed, masker)


def test_objects_of_the_examples() -> None:
    """Real objects with all kinds of secrets, one masker for all as in a bundle."""
    masker, harmless = Masker(), 0
    for file in sorted((ROOT / "examples").rglob("*.yaml")):
        for document in yaml.documents(file.read_bytes()):
            if isinstance(document, yaml.Document) and isinstance(document.body, dict):
                is_known = is_harmless(document.body, masker)
                harmless += is_known
                assert not is_known or is_clean(document.body), file
    assert harmless > 10


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_texts_of_encoded_json(value: Json) -> None:
    def all_texts(item: Json) -> Iterator[str]:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
            for inner in item.values():
                yield from all_texts(inner)
        elif isinstance(item, list):
            for inner in item:
                yield from all_texts(inner)

    try:
        encoded = msgspec.json.encode(value)
    except ValueError:  # half of a surrogate pair
        return
    assert set(map(decoded, texts_in(encoded))) == set(all_texts(value))


@settings(max_examples=1000)
@given(
    st.lists(
        st.sampled_from(
            [
                "pat",
                "secret",
                "Secret",
                "TOKEN",
                "apiKey",
                "key",
                "Data",
                "b",
                "1",
                "base",
                "Env",
                "private",
                "secure",
                "config",
                "auth",
                "PW",
                "PAT",
                ".",
                "/",
                "_",
                "-",
                "x",
                "value",
                "env",
            ]
        ),
        max_size=5,
    ).map("".join)
)
def test_every_name_of_a_secret_has_an_indicator(name: str) -> None:
    if secrecy_of_path(name) is not Secrecy.NONE or secrecy_below(name) is not Secrecy.NONE:
        assert may_indicate_secret(name) or name.rstrip("./[]").endswith("value")


def test_a_secret_of_another_instance_is_found_in_texts_seen_before() -> None:
    masker, encoded = Masker(), msgspec.json.encode({"note": "uses Tr0ub4dor-and-3"})
    masker.mark("An0ther-secret-1")
    masker.finish_first_pass(())
    assert not masker.may_contain_known(encoded)
    masker.mark("Tr0ub4dor-and-3")
    masker.finish_first_pass(())
    assert masker.may_contain_known(encoded)


def test_the_first_look_does_not_distinguish_digits() -> None:
    """So that texts which differ only in their digits are looked at once."""
    for pattern in (*text_patterns.SUSPECT, INDICATORS, PAT):
        rest = re.sub(r"\[0-9(?:[a-z])?\]|\{[0-9,]+\}", "", pattern.pattern)
        assert not re.search(r"[0-9]", rest), rest


@settings(max_examples=500, deadline=None)
@given(st.lists(objects, min_size=1, max_size=3))
def test_files_without_a_text_to_look_at_are_clean(bodies: list[Object]) -> None:
    masker, files = Masker(), [msgspec.json.encode(body) for body in bodies]
    alike = {text for file in files for text in texts_in(with_digits_alike(file))}
    loud = masker.texts_to_look_at(alike, files)
    assert loud is not None
    for body, encoded in zip(bodies, files, strict=True):
        assert is_clean(body) or any(text in encoded for text in loud)


@pytest.mark.parametrize(
    "token", ["ya29.a0AfH6SMBx_Pa55word_x12345", "do1_v1_", "$2y$10$abcdefghijklmnopqrstuv"]
)
def test_formats_with_digits_are_looked_at(token: str) -> None:
    file = msgspec.json.encode({"note": f"it is {token}", "port": "8080"})
    loud = Masker().texts_to_look_at(texts_in(with_digits_alike(file)), [file])
    plain = Masker().texts_to_look_at({b"port 0000"}, [b'{"note": "port 8080"}'])
    assert plain == []
    assert bool(loud) is (not is_clean({"note": f"it is {token}"}))
