"""No secret that goes in comes out, equal ones stay equal, and what a diagnosis needs stays readable."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clock import processor_seconds
from whysync.argocd.api.git_head import Head
from whysync.facts.bundle import read_bundle
from whysync.facts.masking import Masker, is_mask, mask_snapshot
from whysync.facts.masking.secret_names import Secrecy, secrecy_of
from whysync.facts.snapshot import Extra, Gap, GapKind, Snapshot
from whysync.json_tree import Json, Object, copy_object, fields
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest, Role

SECRET = "s3cr3t-V4lue!x"


def b64(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def secret(name: str = "creds", **parts: Json) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}, **parts}


def masked(body: Object, masker: Masker | None = None) -> Object:
    return (masker or Masker()).mask_object(copy_object(body))


def live(*bodies: Object) -> tuple[Manifest, ...]:
    return tuple(Manifest(body, role=Role.LIVE, origin=f"live/{n}.yaml") for n, body in enumerate(bodies))


def everything(snapshot: Snapshot) -> str:
    """All text in a Snapshot."""
    groups = (snapshot.applications, snapshot.projects, snapshot.settings, snapshot.live, snapshot.events)
    manifests = [item for group in (*groups, *snapshot.desired.values()) for item in group]
    bodies = json.dumps([manifest.body for manifest in manifests], ensure_ascii=False)
    return "\n".join([bodies, *(manifest.origin for manifest in manifests), repr(snapshot)])


def test_secret_data_and_string_data_of_the_same_bytes_are_equal() -> None:
    body = secret(
        data={"a": b64(SECRET), "b": b64("other-value-1"), "empty": "", "odd": "not base64!"},
        stringData={"a": SECRET, "c": "not base64!", "null": None},
    )
    assert masked(body) | {"metadata": {}} == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {},
        "data": {"a": "<masked 1>", "b": "<masked 2>", "empty": "", "odd": "<masked 3>"},
        "stringData": {"a": "<masked 1>", "c": "<masked 3>", "null": None},
    }


def test_marks_say_nothing_of_length_or_content() -> None:
    marks = {str(masked(secret(stringData={"a": "x" * n}))["stringData"]) for n in (1, 8, 500)}
    assert marks == {"{'a': '<masked 1>'}"}


def test_secrets_of_a_wrong_shape_are_masked_whole() -> None:
    assert masked(secret(data="plain"))["data"] == "<masked 1>"
    assert masked(secret(data=[SECRET]))["data"] == "<masked 1>"
    assert masked(secret(data={"a": {"b": SECRET}, "n": 12345}))["data"] == {
        "a": "<masked 1>",
        "n": "<masked 2>",
    }


def test_last_applied_of_a_secret() -> None:
    inner = json.dumps({"kind": "Secret", "data": {"a": b64(SECRET)}, "stringData": {"b": "x"}})
    body = secret(data={"a": b64(SECRET)})
    body["metadata"] = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": inner}}
    text = json.dumps(masked(body))
    assert text.count("<masked 1>") == 2
    assert b64(SECRET) not in text
    body["metadata"] = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": f"{{{inner}"}}
    assert SECRET not in json.dumps(masked(body))
    assert b64(SECRET) not in json.dumps(masked(body))


def test_last_applied_of_another_kind_keeps_all_but_the_secret() -> None:
    env: list[Json] = [{"name": "DB_PASSWORD", "value": "tiger"}, {"name": "MODE", "value": "fast"}]
    inner = json.dumps({"kind": "Deployment", "spec": {"containers": [{"env": env}]}})
    body: Object = {
        "kind": "Deployment",
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": inner}},
        "spec": {"containers": [{"env": [*env]}]},
    }
    text = json.dumps(masked(body))
    assert "tiger" not in text
    assert "fast" in text
    assert text.count("<masked 1>") == 2


def test_what_argocd_masked_stays_as_it_is() -> None:
    body = secret(data={"a": "++++++++", "b": "++++++++++++"})
    assert masked(body)["data"] == {"a": "++++++++", "b": "++++++++++++"}


def test_masking_twice_is_masking_once() -> None:
    body = secret(data={"a": b64(SECRET)}, stringData={"b": "postgres://u:pw1234@db/x"})
    once = masked(body)
    assert masked(once) == once


def test_repository_secrets_keep_what_is_no_credential() -> None:
    body = secret(
        stringData={"url": "https://git.example.com/x.git", "password": SECRET, "type": "git"},
        data={"url": b64("https://user:hunter22@git.example.com/x.git"), "name": b64("x")},
    )
    body["metadata"] = {"labels": {"argocd.argoproj.io/secret-type": "repository"}}
    result = masked(body)
    plain, data = result["stringData"], result["data"]
    assert isinstance(plain, dict)
    assert plain["url"] == "https://git.example.com/x.git"
    assert plain["type"] == "git"
    assert is_mask(str(plain["password"]))
    assert isinstance(data, dict)
    assert is_mask(str(data["url"]))
    assert data["name"] == b64("x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "https://bob:hunter2@git.example.com/x.git: 401",
            "https://bob:<masked 1>@git.example.com/x.git: 401",
        ),
        ("postgres://app:p@ss:w0rd@db:5432/x", "postgres://app:<masked 1>@db:5432/x"),
        ("https://0123456789abcdef0123@github.com/x", "https://<masked 1>@github.com/x"),
        ("GET /x?access_token=abc123&y=1", "GET /x?access_token=<masked 1>&y=1"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer <masked 1>"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic <masked 1>"),
        ("bad ghp_0123456789abcdefghijABCDEFGHIJ012345 here", "bad <masked 1> here"),
        ("glpat-abcdefghij0123456789", "<masked 1>"),
        ("key AKIAIOSFODNN7EXAMPLE no", "key <masked 1> no"),
        ("xoxb-1234567890-abcdefghij", "<masked 1>"),
        ("t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF end", "t <masked 1> end"),
        ("user=app password=tiger host=db", "user=app password=<masked 1> host=db"),
        ("run --db-password=tiger1 now", "run --db-password=<masked 1> now"),
        ("run --token T0kenValue99 now", "run --token <masked 1> now"),
        ('{"password":"a\\"b","x":1}', '{"password":"<masked 1>","x":1}'),
        ('msg="{\\"apiToken\\":\\"abcdefgh1\\"}"', 'msg="{\\"apiToken\\":\\"<masked 1>\\"}"'),
        ("{'password': 'tiger'}", "{'password': '<masked 1>'}"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
            "a\n<masked 1>\nb",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "<masked 1>"),
        ("curl -u admin:tiger https://x", "curl -u admin:<masked 1> https://x"),
        ("mysql -h db -ptiger shop", "mysql -h db -p<masked 1> shop"),
        ("sshpass -p tiger ssh host", "sshpass -p <masked 1> ssh host"),
        ("//npm.example.com/:_authToken=abcdefgh1", "//npm.example.com/:_authToken=<masked 1>"),
        ("https://hooks.slack.com/services/T0/B0/abc", "https://hooks.slack.com/services/<masked 1>"),
        ("error: 'token: abcdefgh1' is bad", "error: 'token: <masked 1>' is bad"),
        ("login failed, password: tiger!", "login failed, password: <masked 1>"),
        ("the password Tiger-2026 was refused", "the password <masked 1> was refused"),
        ("yaml: unknown anchor 'T1ger' referenced", "yaml: unknown anchor '<masked 1>' referenced"),
        (
            'spec.password: Invalid value: "tiger": too short',
            'spec.password: Invalid value: "<masked 1>": too short',
        ),
        (
            'Secret "a" is invalid: data[x]: Invalid value: "tiger"',
            'Secret "a" is invalid: data[x]: Invalid value: "<masked 1>"',
        ),
        (
            'Secret: error found in #2 byte of ...|a":12|..., bigger context ...|"data":{"a":12,"b":"tig|...',
            'Secret: error found in #2 byte of ...|…|..., bigger context ...|…"data":…"a":…"b":|...',
        ),
        ('log: {"kind":"Secret","data":{"a":"dGln"}}', 'log: {"kind":"Secret","data":{<masked 1>}}'),
    ],
)
def test_secrets_by_their_shape(text: str, expected: str) -> None:
    assert Masker().masked_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://git.example.com/team/deploy.git",
        "ssh://git@github.com/team/x.git",
        "git@github.com:team/x.git",
        "https://myorg@dev.azure.com/myorg/x",
        'secret "db-credentials" not found',
        "couldn't find key password in Secret shop/db-credentials",
        "registry.example.com/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544",
        "web:apps/Deployment:shop/web",
        "rpc error: code = Unknown desc = authentication required",
        "invalid token: must not be empty",
        "token=invalid",
        "error: --password must be set",
        'MountVolume.SetUp failed for volume "token" : secret "x" not found',
        "Bearer authentication is required",
        "field is immutable: spec.selector",
        "connection refused to 10.0.1.45:5432",
        "SyntaxError: Unexpected token: name (foo1234)",
        "yaml: unknown anchor 'default_labels' referenced",
        "password: authentication failed",
        'password authentication failed for user "app2"',
        "docker run -u 1000:1000 x",
        'spec.ports[0].nodePort: Invalid value: "99999": not in range',
        'Deployment.apps "web" is invalid: data.x: Invalid value: "y"',
        "Secret token: missing",
        "error validating: kind: Secret, namespace shop",
    ],
)
def test_what_a_diagnosis_needs_is_left_alone(text: str) -> None:
    assert Masker().masked_text(text) == text


@pytest.mark.parametrize(
    ("name", "secrecy"),
    [
        ("DB_PASSWORD", Secrecy.SURE),
        ("adminPassword", Secrecy.SURE),
        ("db.password", Secrecy.SURE),
        ("API_KEY", Secrecy.SURE),
        ("apiKey", Secrecy.SURE),
        ("cookieKey", Secrecy.SURE),
        ("clientSecret", Secrecy.SURE),
        ("SECRET_KEY_BASE64", Secrecy.SURE),
        ("GITHUB_TOKEN_2", Secrecy.SURE),
        ("secretKey", Secrecy.MAYBE),
        ("existingSecret", Secrecy.MAYBE),
        ("secretName", Secrecy.NONE),
        ("PASSWORD_FILE", Secrecy.NONE),
        ("TOKEN_URL", Secrecy.NONE),
        ("tokenExpirationSeconds", Secrecy.NONE),
        ("checksum/secret", Secrecy.NONE),
        ("publicKey", Secrecy.NONE),
        ("bypass", Secrecy.NONE),
        ("", Secrecy.NONE),
    ],
)
def test_names(name: str, secrecy: Secrecy) -> None:
    assert secrecy_of(name) is secrecy


def test_names_in_pod_specs() -> None:
    body: Object = {
        "kind": "Pod",
        "spec": {
            "containers": [
                {
                    "env": [
                        {"name": "DB_PASSWORD", "value": "tiger"},
                        {"name": "API_TOKEN", "value": "$(OTHER)"},
                        {"name": "USE_PASSWORD", "value": "true"},
                        {
                            "name": "X_SECRET",
                            "valueFrom": {"secretKeyRef": {"name": "db-credentials", "key": "password"}},
                        },
                    ],
                    "args": ["--password", "tiger", "--user", "bob", "--token=abcdefgh"],
                }
            ],
            "imagePullSecrets": [{"name": "pull-secret"}],
            "automountServiceAccountToken": True,
        },
    }
    copy = copy_object(body)
    text = json.dumps(copy).replace("tiger", "<masked 1>").replace("abcdefgh", "<masked 2>")
    assert masked(body) == json.loads(text)


def test_helm_values_in_all_their_places() -> None:
    helm: Object = {
        "values": "image: web\ndb:\n  password: tiger\n  existingSecret: db-creds\n",
        "valuesObject": {"auth": {"password": "tiger", "rootPassword": 12345}},
        "parameters": [{"name": "db.password", "value": "tiger"}, {"name": "replicas", "value": "3"}],
    }
    body: Object = {
        "kind": "Application",
        "spec": {"source": {"helm": copy_object(helm)}},
        "status": {"history": [{"source": {"helm": copy_object(helm)}}]},
    }
    result = masked(body)
    text = json.dumps(result)
    assert "tiger" not in text
    assert "12345" not in text
    assert text.count("db-creds") == 2
    assert text.count('"value": "3"') == 2
    broken = masked({"kind": "Application", "spec": {"source": {"helm": {"values": "password: {{ x"}}}})
    assert broken["spec"] == {"source": {"helm": {"values": "<masked 1>"}}}


def test_values_of_plugins_and_patches() -> None:
    patch = "- {op: replace, path: /data/db-password, value: tiger}\n- {op: add, path: /x, value: kept}\n"
    env = "- op: add\n  path: /env/-\n  value: {name: DB_PASSWORD, value: tiger}\n"
    manifest = "kind: Secret\nstringData:\n  any: tiger\n"
    body: Object = {
        "kind": "Application",
        "metadata": {"annotations": {"copy": json.dumps({"kind": "Secret", "stringData": {"any": "tiger"}})}},
        "spec": {
            "source": {
                "kustomize": {
                    "patches": [
                        {"patch": patch},
                        {"patch": env},
                        {"patch": manifest},
                        {"patch": "- path: /x\n  value: tiger", "target": {"kind": "Secret"}},
                    ]
                },
                "plugin": {
                    "parameters": [
                        {"name": "db-password", "string": "tiger"},
                        {"name": "tokens", "array": ["tiger"]},
                        {"name": "passwords", "map": {"any": "tiger"}},
                        {"name": "mode", "string": "fast", "map": {"a": "b"}},
                    ]
                },
            }
        },
        "operation": {"sync": {"manifests": ['{"kind":"Secret","stringData":{"any":"tiger"}}']}},
        "template": {"stringData": {"any": "tiger"}},
    }
    text = json.dumps(masked(body))
    assert "tiger" not in text
    for unmasked in ("kept", "fast", "/data/db-password", "DB_PASSWORD"):
        assert unmasked in text


def test_a_yaml_problem_does_not_quote_the_value(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "kind: Secret\nstringData:\n  pw: *Tiger\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    )
    assert "Tiger" not in everything(read_bundle([tmp_path]))


def test_config_maps() -> None:
    body: Object = {
        "kind": "ConfigMap",
        "data": {
            "LOG_LEVEL": "debug",
            "DB_PASSWORD": "tiger",
            "app.yaml": "db:\n  host: db\n  password: tiger\n",
            "app.properties": "db.url=jdbc:x\ndb.password=tiger\n[x\n",
            "app.ini": "[db]\npassword = tiger\nuser = bob\n",
            "manifest.yaml": f"kind: Secret\ndata:\n  a: {b64(SECRET)}\n",
        },
    }
    text = json.dumps(masked(body))
    assert "tiger" not in text
    assert b64(SECRET) not in text
    for unmasked in ("debug", "host: db", "jdbc:x", "user = bob", "kind: Secret"):
        assert unmasked in text


def test_sensitive_annotations_of_the_settings() -> None:
    cm: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm"},
        "data": {"resource.sensitive.mask.annotations": "example.com/a, example.com/b"},
    }
    item: Object = {
        "kind": "Service",
        "metadata": {"annotations": {"example.com/a": "x", "example.com/c": "y"}},
    }
    result = mask_snapshot(Snapshot(settings=(Manifest(cm, role=Role.SETTINGS),), live=live(item)))
    assert result.live[0].annotations == {"example.com/a": "<masked 1>", "example.com/c": "y"}


def test_a_known_secret_is_found_again_everywhere() -> None:
    config: Object = {
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"x": f"a {SECRET} b", SECRET: "k"},
    }
    lines = ("one", f"login {SECRET}!", b64(SECRET))
    result = mask_snapshot(
        Snapshot(
            live=live(config, secret(data={"a": b64(SECRET)})),
            logs=(Log(namespace="n", pod="p", container="c", lines=lines),),
            gaps=(Gap(kind=GapKind.UNREADABLE, what="x", why=f"got {SECRET}"),),
            heads=(Head(repo=f"https://x:{SECRET}@git/x", revision="main", commit="abc"),),
            facts=(Extra(name="f", body={"message": json.dumps({"v": SECRET})}, origin=SECRET),),
            unknown=(f"{SECRET}.txt",),
        )
    )
    assert SECRET not in everything(result)
    assert b64(SECRET).rstrip("=") not in everything(result)
    assert result.live[0].body["data"] == {"x": "a <masked 1> b", "<masked 1>": "k"}
    assert result.logs[0].lines[:2] == ("one", "login <masked 1>!")


@pytest.mark.parametrize(
    "value",
    [
        "kJhGfDsAqWeRtYuIoPzXcVbN",
        "kJhGfDsA",
        "qwjfkslahgnvbtyrueiwoq",
        "8471935027164953",
        "amber birch cedar dune ember",
    ],
)
def test_known_values_of_one_kind_of_letter_are_found_again(value: str) -> None:
    event: Object = {"kind": "Event", "metadata": {"name": "e"}, "message": f"login with {value} failed"}
    result = mask_snapshot(Snapshot(live=live(event, secret(stringData={"x": value}))))
    assert result.live[0].body["message"] == "login with <masked 1> failed"


@pytest.mark.parametrize("value", ["postgres", "Production", "PostgreSQL", "tiger", "20261116", "eu-west-1"])
def test_words_of_a_secret_stay_readable_elsewhere(value: str) -> None:
    event: Object = {"kind": "Event", "metadata": {"name": "e"}, "message": f"login with {value} failed"}
    result = mask_snapshot(Snapshot(live=live(event, secret(stringData={"x": value}))))
    assert result.live[0].body["message"] == f"login with {value} failed"


def test_a_refused_variable_is_compared_with_known_values() -> None:
    pod: Object = {"kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"env": [{"name": "DB_PASSWORD", "value": "tiger"}]}]}
    text = 'spec.containers[0].env[{}].value: Invalid value: "{}": bad'
    for value, expected in (("tiger", "<masked 1>"), ("debug", "debug")):
        event: Object = {"kind": "Event", "metadata": {"name": "e"}, "message": text.format(0, value)}
        result = mask_snapshot(Snapshot(live=live(event, copy_object(pod))))
        assert result.live[0].body["message"] == text.format(0, expected)


def test_names_are_not_eaten() -> None:
    service: Object = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "orders-db-primary", "namespace": "production"},
        "status": {"message": "orders-db-primary.production.svc:5432 postgres refused orders-db-primary-0"},
    }
    values = [
        "orders-db-primary",
        "production",
        "postgres",
        "orders-db-primary.production.svc:5432",
        "20261116",
    ]
    result = mask_snapshot(Snapshot(live=live(service, secret(stringData={v: v for v in values}))))
    assert result.live[0].body == service


def test_credentials_inside_a_docker_config_are_known() -> None:
    config = json.dumps(
        {"auths": {"r.example.com": {"password": "Dock3r-Pass", "auth": b64("u:Dock3r-Pass")}}}
    )
    event: Object = {"kind": "Event", "metadata": {"name": "e"}, "message": "login with Dock3r-Pass failed"}
    result = mask_snapshot(Snapshot(live=live(event, secret(data={".dockerconfigjson": b64(config)}))))
    assert "Dock3r-Pass" not in everything(result)


def test_regions_are_no_secrets() -> None:
    node: Object = {"kind": "Node", "metadata": {"name": "n"}, "spec": {"zone": "eu-central-1"}}
    result = mask_snapshot(Snapshot(live=live(node, secret(stringData={"REGION": "eu-central-1"}))))
    assert result.live[0].body["spec"] == {"zone": "eu-central-1"}


def test_a_bundle_keeps_no_secret_in_any_part(tmp_path: Path) -> None:
    files = {
        "applications/a.yaml": (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\n"
            f"spec: {{source: {{repoURL: 'https://u:{SECRET}@git/x'}}, destination: {{}}}}\n"
            f"status: {{conditions: [{{type: ComparisonError, message: 'bad {SECRET}'}}]}}\n"
        ),
        "desired/a/s.json": json.dumps(secret(stringData={"pw": SECRET})),
        "live/s.json": json.dumps(secret(data={"pw": b64(SECRET)})),
        "live/broken.yaml": f"kind: Secret\nstringData: {{pw: '{SECRET}'\n",
        "live/tagged.yaml": f"v: !!int {SECRET}\n",
        f"live/{SECRET}.txt": "",
        "logs/shop/p/c.log": f"password is {SECRET}\n",
        "facts/managed.json": json.dumps(
            {"items": [{"liveState": json.dumps(secret("m", stringData={"pw": SECRET})), "targetState": "{"}]}
        ),
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    bundle = read_bundle([tmp_path])
    text = everything(bundle)
    assert SECRET not in text
    assert b64(SECRET) not in text
    assert bundle.desired["argocd/a"][0].body["stringData"] == bundle.live[-1].body["data"]
    assert len(bundle.gaps) == 3


def test_marks_of_an_earlier_run_do_not_mix(tmp_path: Path) -> None:
    def write(name: str, value: str) -> Path:
        body = secret(name, stringData={"a": value, "b": f"new-{name}-Value9"})
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(body))
        return path

    first, second = write("one", "<masked 7>"), write("two", "<masked 7>")
    bundle = read_bundle([first, second])
    marks = [mark for at in (0, 1) for mark in _marks(bundle, at, "stringData")]
    assert marks[0] == "<masked 7>"
    assert len(set(marks)) == 4
    assert all(map(is_mask, marks))


VALUES = (
    st.text(alphabet="abcXYZ0189-_!$%&/=+.:\\\"'\n é", min_size=9, max_size=30)
    .filter(
        lambda value: (
            any(c.isdigit() for c in value) and any(c in "XYZ" for c in value) and value.strip() == value
        )
    )
    .map(lambda value: f"Q7{value}q")
)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_no_secret_comes_out(values: list[str]) -> None:
    first = values[0]
    other: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "annotations": {"note": f"<{values[-1]}>"}},
        "data": {"k": first, "url": f"https://u:{first}@host/x", "j": json.dumps({"v": first})},
    }
    bodies = (
        other,
        secret(data={f"k{n}": b64(value) for n, value in enumerate(values)}),
        secret("two", stringData={f"k{n}": value for n, value in enumerate(values)}),
    )
    snapshot = Snapshot(
        live=live(*(copy_object(body) for body in bodies)),
        logs=(Log(namespace="n", pod="p", container="c", lines=tuple(f"x {first} y".split("\n"))),),
        gaps=(Gap(kind=GapKind.UNREADABLE, what=first, why=first),),
    )
    result = mask_snapshot(snapshot)
    text = everything(result)
    for value in values:
        for form in (value, json.dumps(value)[1:-1], repr(value)[1:-1], b64(value).rstrip("=")):
            assert form not in text
    assert list(_marks(result, 1, "data")) == list(_marks(result, 2, "stringData"))
    assert len(set(_marks(result, 1, "data"))) == len(set(values))
    before = everything(result)
    assert everything(mask_snapshot(result)) == before


def _marks(result: Snapshot, at: int, field: str) -> list[str]:
    values = result.live[at].body[field]
    assert isinstance(values, dict)
    return [str(value) for value in values.values()]


JSON_VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["kind", "data", "stringData", "metadata", "annotations", "name", "value", "helm", "values"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["kind", "data", "metadata", "spec", "password"]), JSON_VALUES))
def test_any_object_can_be_masked(body: Object) -> None:
    body["kind"] = "Secret" if "data" in body else body.get("kind")
    once = masked(body)
    assert masked(once) == once


@pytest.mark.parametrize(
    "piece", ["Secret error found in #1 byte of ...|", "login x ", "a[0].b value: password "]
)
def test_hostile_text_does_not_cost_more_than_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert processor_seconds(lambda: Masker().masked_text(text)) < 4


def test_hidden_keys_keep_their_places() -> None:
    names = [f"S3cret-{n:03}-Value" for n in range(20)]
    config: Object = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}
    config["data"] = {"first": "1", **dict.fromkeys(names, "x"), "last": "2"}
    result = mask_snapshot(Snapshot(live=live(config, secret(stringData={n: n for n in names}))))
    assert list(fields(result.live[0].body["data"])) == [
        "first",
        *(f"<masked {n}>" for n in range(1, 21)),
        "last",
    ]
