"""The store answers from its indexes what a look at everything would say, and cleaning up follows changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kubernetes.apiserver.talk import Talk, config_map, deployment, message_of
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import ObjectKey, Store, owners_of

KINDS = (("", "configmaps"), ("apps", "deployments"))
places = st.tuples(st.sampled_from(KINDS), st.sampled_from(["", "a", "b"]), st.sampled_from("xyz"))
steps = st.lists(
    st.tuples(places, st.sampled_from(["put", "drop"]), st.sampled_from(["", "u1", "u2"]), st.booleans()),
    max_size=25,
)


def owned_object(uid: str, owner: str, *, leaving: bool) -> Object:
    meta: Object = {"uid": uid}
    if owner:
        meta["ownerReferences"] = [{"uid": owner}]
    if leaving:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": meta}


@settings(max_examples=150)
@given(steps)
def test_indexes_agree_with_a_full_scan(done: list[tuple[ObjectKey, str, str, bool]]) -> None:
    store, plain = Store(), dict[ObjectKey, Object]()
    for object_key, action, owner, leaving in done:
        if action == "put":
            plain[object_key] = store.put(
                object_key,
                owned_object("u1" if object_key[2] == "x" else object_key[2], owner, leaving=leaving),
            )
        else:
            store.drop(object_key)
            plain.pop(object_key, None)
    assert store.everything() == sorted(plain.items(), key=lambda entry: entry[0])
    for kind in KINDS:
        for space in ("", "a", "b"):
            expected = sorted(
                object_key for object_key in plain if object_key[0] == kind and space in ("", object_key[1])
            )
            assert [object_key for object_key, _ in store.within(kind, space)] == expected
        leaving = sorted(
            object_key
            for object_key, obj in plain.items()
            if object_key[0] == kind and "deletionTimestamp" in fields(obj["metadata"])
        )
        assert store.terminating(kind) == leaving
    for uid in ("u1", "u2"):
        assert store.owned_by(uid) == sorted(
            object_key for object_key, obj in plain.items() if uid in owners_of(obj)
        )
    for space in ("", "a"):
        assert store.in_namespace(space) == sorted(
            object_key for object_key in plain if object_key[1] == space
        )
    assert [change.revision for change in store.journal] == sorted({c.revision for c in store.journal})


def owned(name: str, owner: Object) -> Object:
    reference: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": text(dig(owner, "metadata", "name")),
        "uid": text(dig(owner, "metadata", "uid")),
    }
    return {**config_map(name), "metadata": {"name": name, "ownerReferences": [reference]}}


def test_a_chain_of_owners_goes_in_one_settling(talk: Talk) -> None:
    last = talk.create(config_map("c0")).body or {}
    for number in range(1, 6):
        last = talk.create(owned(f"c{number}", last)).body or {}
    assert talk.api_server.settle() is False
    talk.delete(config_map("c0"))
    assert talk.api_server.settle() is True
    assert talk.api_server.settle() is False
    assert [talk.get(config_map(f"c{number}")).code for number in range(6)] == [404] * 6


def test_what_was_loaded_with_an_owner_elsewhere_stays(talk: Talk) -> None:
    loaded = owned("kept", {"metadata": {"name": "operator", "uid": "not-collected"}})
    fields(loaded["metadata"])["namespace"] = "shop"
    talk.api_server.load([loaded])
    talk.api_server.settle()
    assert talk.get(loaded).code == 200
    operator: Object = {
        **config_map("operator"),
        "metadata": {"name": "operator", "namespace": "shop", "uid": "late"},
    }
    follower = owned("follower", operator)
    fields(follower["metadata"])["namespace"] = "shop"
    talk.api_server.load([follower])
    talk.api_server.load([operator])
    talk.delete(config_map("operator"))
    talk.api_server.settle()
    assert talk.get(follower).code == 404
    made_here = owned("orphan", {"metadata": {"name": "gone", "uid": "never-was"}})
    assert talk.create(made_here).code == 201
    talk.api_server.settle()
    assert talk.get(made_here).code == 404


def test_a_claim_in_use_waits_for_its_pod(talk: Talk) -> None:
    claim: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    volume: Json = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]},
    }
    claims = "/api/v1/namespaces/shop/persistentvolumeclaims"
    assert talk.api_server.send(Request(verb="create", path=claims, body=claim)).code == 201
    assert talk.create(pod).code == 201
    talk.api_server.send(Request(verb="delete", path=f"{claims}/data"))
    talk.api_server.settle()
    assert talk.api_server.send(Request(verb="get", path=f"{claims}/data")).code == 200
    talk.delete(pod)
    talk.api_server.settle()
    assert talk.api_server.send(Request(verb="get", path=f"{claims}/data")).code == 404


def test_a_controllers_write_is_owned_and_in_the_journal(talk: Talk) -> None:
    body = talk.create(deployment()).body or {}
    object_key: ObjectKey = (("apps", "deployments"), "shop", "web")
    stored = talk.api_server.keep_status(
        object_key, {**body, "status": {"replicas": 1}}, manager="kube-controller-manager"
    )
    assert talk.get(deployment()).body == stored
    entry = dig(stored, "metadata", "managedFields", 1)
    assert (dig(entry, "manager"), dig(entry, "subresource")) == ("kube-controller-manager", "status")
    assert talk.api_server.store.journal[-1].obj is stored


def test_addresses_and_ports_come_free_again(talk: Talk) -> None:
    def service(name: str, **spec: Json) -> Object:
        ports: Json = [{"port": 80, "nodePort": 30500}]
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"type": "NodePort", "ports": ports, **spec},
        }

    assert talk.create(service("a", clusterIP="10.96.9.9")).code == 201
    assert "provided IP is already allocated" in message_of(talk.create(service("b", clusterIP="10.96.9.9")))
    assert "provided port is already allocated" in message_of(talk.create(service("b")))
    talk.delete(service("a"))
    assert talk.create(service("b", clusterIP="10.96.9.9")).code == 201


def played() -> str:
    """A short life of a cluster, as text."""
    model = ApiServer()
    talk = Talk()
    talk.api_server = model
    talk.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for name in ("b", "a", "c"):
        talk.apply({**deployment(name), "metadata": {"name": name, "labels": {"x": "1", "y": "2"}}}, "argo")
        talk.patch(deployment(name), {"spec": {"replicas": 4}}, kind="strategic-patch")
        talk.apply(deployment(name, replicas=1), "other")
    talk.delete(deployment("a"))
    model.settle()
    talk.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    model.settle()
    return json.dumps([[c.revision, c.type, c.object_key, c.obj] for c in model.store.journal])


def test_the_same_bytes_whatever_the_seed_of_hashes() -> None:
    code = "from tests.kubernetes.apiserver.test_store import played; print(played())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "77")
    }
    assert outputs == {played()}


@given(st.lists(st.integers(1, 40), max_size=6), st.integers(0, 3))
def test_ids_that_were_loaded_are_never_given_again(numbers: list[int], nameless: int) -> None:
    """What one model made, another goes on from: objects without an id must not get one of theirs."""
    loaded: list[Object] = [config_map(f"new-{number}") for number in range(nameless)]
    for number in numbers:
        obj = config_map(f"old-{number}")
        fields(obj["metadata"])["uid"] = f"{number:08x}-0000-4000-8000-{number:012x}"
        owner: Json = [{"uid": f"{number + 1:08x}-0000-4000-8000-{number + 1:012x}"}]
        fields(obj["metadata"])["ownerReferences"] = owner
        loaded.append(obj)
    model = ApiServer()
    model.load(loaded)
    known = [text(dig(obj, "metadata", "uid")) for obj in model.objects() if obj.get("kind") == "ConfigMap"]
    assert len(set(known)) == len(set(numbers)) + nameless
    assert model.store.uid() not in {*known, *(uid for item in loaded for uid in owners_of(item))}


def test_ids_that_no_model_made_change_nothing() -> None:
    store = Store()
    for odd in ("", "x", "zzzzzzzz-0000-4000-8000-000000000001", "ffffffff-0000-4000-8000-0000ffffffff"):
        store.reserve_uid(odd)
    assert store.uid() == Store().uid()
