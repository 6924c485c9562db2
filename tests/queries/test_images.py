"""Another tag of an image: of the same name whatever the port, ready, and plain which one."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Object
from whysync.queries.images import running_tag


def pod(number: int, image: str, *, ready: bool = True) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": "elsewhere"},
        "status": {"containerStatuses": [{"name": "main", "image": image, "ready": ready}]},
    }


@pytest.mark.parametrize(
    ("image", "running", "expected"),
    [
        ("shop:1.0", ["shop:v1.0"], "shop:v1.0"),
        ("shop:1.0", ["shop:1.0"], None),
        ("shop:1.0", ["store:1.0", "a/shop:2.0"], None),
        ("shop:1.10", ["shop:1.9", "shop:1.1"], "shop:1.1"),
        ("shop:1.10", ["shop:7", "shop:9"], None),
        ("shop", ["shop:2", "shop:3"], None),
        ("host:5000/a/shop:1", ["host:5000/a/shop:2"], "host:5000/a/shop:2"),
        ("host:5000/a/shop", ["host:5001/a/shop"], None),
        ("shop@sha256:aa", ["shop:2"], "shop:2"),
        ("", ["shop:2"], None),
    ],
)
def test_which_one_may_be_meant(image: str, running: list[str], expected: str | None) -> None:
    result = running_tag(
        case_of(application(), *(pod(number, pod_image) for number, pod_image in enumerate(running))), image
    )
    assert (result[0] if result else None) == expected


def test_one_that_is_not_ready_does_not_run() -> None:
    assert running_tag(case_of(application(), pod(1, "shop:2", ready=False)), "shop:1") is None
