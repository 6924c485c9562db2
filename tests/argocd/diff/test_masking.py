"""Secrets as Argo CD shows them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.unreached.secret_masking import mask_secrets
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import LAST_APPLIED, last_applied


def secret(data: Json, **annotations: Json) -> Object:
    meta: Object = {"name": "s", "annotations": {**annotations}} if annotations else {"name": "s"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}


def data_of(obj: Object | None) -> Json:
    assert obj is not None
    return obj.get("data")


def test_equal_values_get_equal_marks_within_a_key() -> None:
    target, live = mask_secrets(secret({"a": "MQ==", "b": "MQ=="}), secret({"a": "MQ==", "b": "Mg=="}))
    assert data_of(target) == {"a": "+" * 8, "b": "+" * 8}
    assert data_of(live) == {"a": "+" * 8, "b": "+" * 12}


def test_string_data_is_folded_first() -> None:
    target: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "stringData": {"a": "x"}}
    masked, live = mask_secrets(target, secret({"a": "eA=="}))
    assert data_of(masked) == data_of(live) == {"a": "+" * 8}
    assert masked is not None
    assert "stringData" not in masked


def test_what_was_applied_last_is_masked_too() -> None:
    applied = json.dumps(secret({"a": "b2xk"}))
    _, live = mask_secrets(None, secret({"a": "bmV3"}, **{LAST_APPLIED: applied}))
    assert live is not None
    assert data_of(last_applied(live)) == {"a": "+" * 12}


@pytest.mark.parametrize("broken", ["{", "secret", ""])
def test_what_cannot_be_read_is_hidden_whole(broken: str) -> None:
    _, live = mask_secrets(None, secret({}, **{LAST_APPLIED: broken}))
    assert live is not None
    assert fields(fields(live["metadata"])["annotations"]) == {LAST_APPLIED: "+" * 8}


def test_annotations_can_be_hidden() -> None:
    target, live = mask_secrets(
        secret({}, token="a", other="o"), secret({}, token="b"), hide_annotations=["token"]
    )
    assert target is not None
    assert live is not None
    assert fields(target["metadata"])["annotations"] == {"token": "+" * 8, "other": "o"}
    assert fields(live["metadata"])["annotations"] == {"token": "+" * 12}


def test_odd_data() -> None:
    assert mask_secrets(None, secret(None)) == (None, secret(None))
    assert mask_secrets(None, None) == (None, None)
    with pytest.raises(DiffError):
        mask_secrets(secret("text"), secret({"a": "MQ=="}))


values = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["MQ==", "Mg==", "<masked 1>"]), max_size=3)


@given(values, values, values)
def test_no_value_shows_and_equality_does(
    desired_data: dict[str, str], live_data: dict[str, str], applied_data: dict[str, str]
) -> None:
    live = secret({**live_data}, **{LAST_APPLIED: json.dumps(secret({**applied_data}))})
    masked, masked_live = mask_secrets(secret({**desired_data}), live)
    text = json.dumps([masked, masked_live])
    assert "MQ==" not in text
    assert "Mg==" not in text
    assert "masked" not in text
    for key in desired_data.keys() & live_data.keys():
        left, right = fields(data_of(masked))[key], fields(data_of(masked_live))[key]
        assert (desired_data[key] == live_data[key]) == (left == right)
