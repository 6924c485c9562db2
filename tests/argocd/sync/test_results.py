"""Results in Argo CD's JSON, there and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.argocd.sync.objects import deployment, thing
from whysync.argocd.sync.results import Result, get_resource_images, result_json, results_from_json
from whysync.json_tree import Object

TEXTS = st.text(max_size=8)


@st.composite
def results(draw: st.DrawFn) -> Result:
    result = [draw(TEXTS) for _ in range(10)]
    return Result(
        group=result[0],
        version=result[1],
        kind=result[2],
        namespace=result[3],
        name=result[4],
        status=result[5],
        message=result[6],
        hook_type=result[7],
        hook_phase=result[8],
        sync_phase=result[9],
        images=tuple(draw(st.lists(TEXTS, max_size=2))),
    )


@given(st.lists(results(), max_size=4))
def test_results_survive_their_json(recorded: list[Result]) -> None:
    assert results_from_json(result_json(item) for item in recorded) == tuple(recorded)


def test_go_leaves_out_what_is_empty_but_the_name() -> None:
    assert result_json(Result(kind="ConfigMap", name="a", status="Synced")) == {
        "group": "",
        "version": "",
        "kind": "ConfigMap",
        "namespace": "",
        "name": "a",
        "status": "Synced",
    }


def test_what_is_no_result_is_passed_over() -> None:
    rows: list[Object] = [{"kind": 5}, {"kind": "ConfigMap", "images": None}, {"images": "x"}]
    assert [item.kind for item in results_from_json(rows)] == ["ConfigMap"]


def test_images_are_those_of_the_containers() -> None:
    assert get_resource_images(deployment("api")) == ("api:1",)
    assert get_resource_images({"spec": {"containers": [{"image": "a"}, {"image": 5}, "?"]}}) == ("a",)
    assert get_resource_images(thing("a")) == ()
