"""Viewers who see the same share one rendering, and nobody sees a page that is older than what they know."""

from __future__ import annotations

import threading

from whysync.web.http import Response
from whysync.web.page_cache import PageCache


class _Site:
    """A page that shows the version of the fleet, and counts its renderings."""

    def __init__(self) -> None:
        self.version = 0
        self.now = 100.0
        self.rendered = 0
        self.slept: list[float] = []
        self.cache = PageCache(lambda: self.version, clock=lambda: self.now, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def get(self, key: str = "/", *, after: int = 0) -> str:
        return self.cache.get(key, self._render, after=after).body.decode()

    def _render(self) -> Response:
        self.rendered += 1
        return Response(body=f"version {self.version}".encode())


def test_a_page_is_rendered_once_until_something_changes() -> None:
    site = _Site()
    assert [site.get() for _ in range(5)] == ["version 0"] * 5
    assert site.rendered == 1
    site.now += 1
    site.version = 7
    assert site.get() == "version 7"
    assert (site.rendered, site.slept) == (2, [])


def test_a_new_viewer_gets_a_page_of_this_second() -> None:
    site = _Site()
    site.get()
    site.version = 7
    site.now += 0.5
    assert (site.get(), site.slept) == ("version 0", []), "its stream of events continues from there"
    assert site.get(after=7) == "version 7", "a viewer who knows of the change gets it"
    site.version = 8
    assert site.get(after=99) == "version 8", "a version from before a restart, or made up"


def test_new_viewers_do_not_wait_for_the_rendering_of_another_one() -> None:
    site, inside, leave = _Site(), threading.Event(), threading.Event()
    site.get()
    site.version, site.now = 1, site.now + 2

    def slow() -> Response:
        inside.set()
        assert leave.wait(30)
        return Response(body=b"version 1")

    thread = threading.Thread(target=site.cache.get, args=("/", slow), daemon=True)
    thread.start()
    assert inside.wait(30)
    assert site.get() == "version 0"
    leave.set()
    thread.join(30)
    assert site.get() == "version 1"


def test_times_on_a_page_do_not_grow_old() -> None:
    site = _Site()
    site.get()
    site.now += 5
    site.get()
    assert site.rendered == 2


def test_a_fleet_that_changes_all_the_time_is_rendered_ten_times_a_second_at_most() -> None:
    site = _Site()
    start = site.now
    for version in range(50):
        site.version = version
        assert site.get(after=version) == f"version {version}", "a viewer sees the change that made them ask"
    assert site.rendered == 50
    assert site.now - start > 4.8


def test_viewers_with_other_rights_have_other_pages() -> None:
    site = _Site()
    assert (site.get("all"), site.get("team")) == ("version 0", "version 0")
    assert site.rendered == 2


def test_pages_are_forgotten() -> None:
    site = _Site()
    for number in range(100):
        site.get(f"/?q={number}")
    site.get("/?q=0")
    assert site.rendered == 101


def test_those_who_ask_at_the_same_time_share_a_rendering() -> None:
    rendered: list[int] = []
    inside, leave = threading.Event(), threading.Event()

    def render() -> Response:
        rendered.append(1)
        inside.set()
        assert leave.wait(30)
        return Response(body=b"page")

    cache = PageCache(lambda: 1)
    bodies: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: bodies.append(cache.get("/", render).body), daemon=True)
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    assert inside.wait(30)
    leave.set()
    for thread in threads:
        thread.join(30)
    assert (bodies, len(rendered)) == ([b"page"] * 5, 1)
