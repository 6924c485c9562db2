"""The repository in an error is the one that a person registers, not the request that Git sends."""

from __future__ import annotations

import pytest

from whysync.messages.parse import understand
from whysync.messages.patterns.git import RepoUnreachable


@pytest.mark.parametrize("request_path", ["", "/info/refs?service=git-upload-pack", "/git-upload-pack"])
def test_the_path_of_the_request_is_left_out(request_path: str) -> None:
    url = f"https://git.example.com/team/deploy{request_path}"
    text = f'rpc error: code = Unknown desc = Get "{url}": dial tcp 203.0.113.3:443: i/o timeout'
    (failure,) = understand(text).failures
    assert isinstance(failure, RepoUnreachable)
    assert failure.url == "https://git.example.com/team/deploy"
