"""Lists and discovery that never end: an error within the limits, and what was read before it is kept."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from tests.facts.http.faulty import FakeRequest, FakeResponse, json_response
from tests.facts.kubernetes_api.fake_api import FakeApi
from tests.facts.kubernetes_api.reading import QUICK, read
from tests.facts.kubernetes_api.world import world
from whysync.errors import SourceError
from whysync.facts.selection import Selection
from whysync.json_tree import Json

LIMITS = replace(QUICK, list_pages=20, list_restarts=4, discovery_requests=50)
Listing = Callable[[str, int], FakeResponse]
"""The answer to the continue token of the request that has this number."""


def page(token: str, *names: str) -> FakeResponse:
    result: list[Json] = [{"metadata": {"name": name, "namespace": "argocd"}} for name in names]
    return json_response({"kind": "List", "metadata": {"continue": token}, "items": result})


def gone(token: str) -> FakeResponse:
    return json_response(
        {"kind": "Status", "message": "too old", "code": 410, "metadata": {"continue": token}}, 410
    )


ENDLESS: dict[str, tuple[Listing, str]] = {
    "the same token": (lambda _, number: page("again", f"a{number}"), "the same continue token twice"),
    "two tokens in turn": (lambda _, number: page(f"t{number % 2}"), "the same continue token twice"),
    "another token each time": (lambda _, number: page(f"t{number}", f"a{number}"), "more than 20 pages"),
    "pages without objects": (lambda _, number: page(f"t{number}"), "more than 20 pages"),
    "410 with an offer each time": (lambda _, number: gone(f"t{number}"), "too old"),
    "410 with the same offer": (lambda _, __: gone("again"), "too old"),
    "410 without an offer": (lambda _, __: gone(""), "too old"),
    "410 every other time": (
        lambda _, number: gone(f"t{number}") if number % 2 else page(f"t{number}", f"a{number}"),
        "too old",
    ),
}


@pytest.mark.parametrize(("listing", "expected"), ENDLESS.values(), ids=ENDLESS.keys())
def test_a_list_of_applications_that_does_not_end(listing: Listing, expected: str) -> None:
    targets: list[str] = []
    api = FakeApi(world())

    def answering(request: FakeRequest) -> FakeResponse:
        url = urlsplit(request.target)
        if not url.path.endswith("/applications"):
            return api(request)
        targets.append(request.target)
        token = parse_qs(url.query).get("continue", [""])[0]
        return listing(token, len(targets))

    with pytest.raises(SourceError) as caught:
        read(answering, limits=LIMITS)
    assert expected in f"{caught.value.what} {caught.value.why}"
    assert caught.value.next
    assert len(targets) <= 20


def test_another_list_that_does_not_end_is_a_gap() -> None:
    api = FakeApi(world())

    def answering(request: FakeRequest) -> FakeResponse:
        return page("again", "x") if "/pods" in request.target else api(request)

    snapshot = read(answering, Selection(names=("argocd/api",)), limits=LIMITS)
    assert snapshot.applications
    assert any("the same continue token twice" in gap.why for gap in snapshot.gaps)


def test_discovery_that_does_not_end() -> None:
    groups: list[Json] = [{"name": f"g{n}.example.com", "versions": [{"version": "v1"}]} for n in range(60)]

    def answering(request: FakeRequest) -> FakeResponse:
        return json_response(
            {"groups": groups} if request.target == "/apis" else {"versions": ["v1"], "resources": []}
        )

    with pytest.raises(SourceError, match="60 API versions"):
        read(answering, limits=LIMITS)
