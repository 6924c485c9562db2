"""Server-side apply on the model: who owns what, and what happens when two want the same field."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.kubernetes.apiserver.talk import Talk, deployment, message_of
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.server import ApiServer

PATH = "/api/v1/namespaces/shop/configmaps/cm"
keys = st.sampled_from(["a", "b", "c", "d"])
data = st.dictionaries(keys, st.sampled_from(["1", "2"]), min_size=1, max_size=4)


def cluster() -> ApiServer:
    model = ApiServer()
    body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert model.send(Request(verb="create", path="/api/v1/namespaces", body=body)).code == 201
    return model


def apply(model: ApiServer, manager: str, values: dict[str, str], *, force: bool = False) -> Answer:
    given_data: Json = dict(values)
    body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": given_data}
    return model.send(Request(verb="ssa", path=PATH, body=body, manager=manager, force=force))


def owned(answer: Answer, manager: str) -> set[str]:
    meta = fields((answer.body or {}).get("metadata"))
    for entry in items(meta.get("managedFields")):
        if fields(entry).get("manager") == manager:
            return {key[2:] for key in fields(fields(fields(entry).get("fieldsV1")).get("f:data"))}
    return set()


@given(data)
def test_applying_twice_changes_nothing(values: dict[str, str]) -> None:
    model = cluster()
    first = apply(model, "a", values)
    model.clock.advance(60)
    assert apply(model, "a", values).body == first.body


@given(data, data)
def test_a_manager_owns_exactly_what_it_said_last(first: dict[str, str], second: dict[str, str]) -> None:
    model = cluster()
    apply(model, "a", first)
    answer = apply(model, "a", second)
    assert fields((answer.body or {}).get("data")) == second
    assert owned(answer, "a") == set(second)


@given(data, data)
def test_conflicts_are_the_fields_that_both_want_otherwise(
    mine: dict[str, str], other: dict[str, str]
) -> None:
    model = cluster()
    apply(model, "a", mine)
    answer = apply(model, "b", other)
    fought = {key for key in mine.keys() & other.keys() if mine[key] != other[key]}
    assert answer.ok is not bool(fought)
    forced = apply(model, "b", other, force=True)
    assert fields((forced.body or {}).get("data")) == {**mine, **other}
    assert owned(forced, "a") == set(mine) - fought
    assert owned(forced, "b") == set(other)


def test_a_conflict_names_manager_and_field() -> None:
    model = cluster()
    apply(model, "a", {"x": "1"})
    answer = apply(model, "b", {"x": "2"})
    assert answer.code == 409
    assert text((answer.body or {}).get("message")) == (
        'Apply failed with 1 conflict: conflict with "a": .data.x'
    )


def test_a_whole_float_is_an_integer_for_apply_and_strategic_patches(talk: Talk) -> None:
    body = deployment()
    fields(body["spec"])["replicas"] = 2.0
    applied = talk.apply(body, "argocd-controller")
    assert applied.code == 201, message_of(applied)
    patched = talk.patch(deployment(), {"spec": {"replicas": 4.0}}, kind="strategic-patch")
    assert patched.code == 200, message_of(patched)
    assert dig(patched.body or {}, "spec", "replicas") == 4
    fields(body["spec"])["replicas"] = 2.5
    refused = talk.apply(body, "argocd-controller", force=True)
    assert message_of(refused).endswith("cannot convert float64 to int32")


SCALE = "/apis/apps/v1/namespaces/shop/deployments/web/scale"


def scale(model: ApiServer, replicas: Json, *, manager: str = "hpa", force: bool = False) -> Answer:
    body: Object = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas},
    }
    return model.send(Request(verb="ssa", path=SCALE, body=body, manager=manager, force=force))


def test_a_scale_is_applied_and_owns_the_replicas(talk: Talk) -> None:
    model = talk.api_server
    talk.create(deployment("web", replicas=2))
    assert message_of(scale(model, 3)).endswith('conflict with "client" using autoscaling/v1: .spec.replicas')
    forced = scale(model, 3, force=True)
    assert (forced.code, dig(forced.body, "kind"), dig(forced.body, "spec", "replicas")) == (200, "Scale", 3)
    other = scale(model, 4, manager="other")
    assert message_of(other).endswith('conflict with "hpa" with subresource "scale": .spec.replicas')
    live = model.send(Request(verb="get", path=SCALE.removesuffix("/scale")))
    assert dig(live.body, "spec", "replicas") == 3
    claims = [fields(entry) for entry in items(dig(live.body, "metadata", "managedFields"))]
    (claim,) = [claim for claim in claims if claim.get("manager") == "hpa"]
    assert (claim["subresource"], claim["fieldsV1"]) == ("scale", {"f:spec": {"f:replicas": {}}})


def test_a_scale_that_is_none(talk: Talk) -> None:
    model = talk.api_server
    talk.create(deployment("web", replicas=2))
    assert ".spec.replicas: expected numeric" in message_of(scale(model, "3"))
    assert "must be greater than or equal to 0" in message_of(scale(model, -1, force=True))
    body: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    refused = model.send(Request(verb="ssa", path=SCALE, body=body, manager="hpa"))
    assert refused.code == 400
