"""One repository has many addresses."""

import pytest

from whysync.argocd.repo_server.git_url import repository_path


@pytest.mark.parametrize(
    "url",
    [
        "git@git.example.com:team/shop.git",
        "git.example.com:team/shop",
        "ssh://git@git.example.com:2222/team/shop.git",
        "ssh://git.example.com/team/shop",
        "https://git.example.com/Team/shop.git/",
        "https://me:token@git.example.com:8443/team/shop",
    ],
)
def test_all_addresses_of_a_repository_are_equal(url: str) -> None:
    assert repository_path(url) == "git.example.com/team/shop"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://git.example.com/team/shop-2", "git.example.com/team/shop-2"),
        ("https://other.example.com/team/shop", "other.example.com/team/shop"),
        ("file:///srv/git/shop.git", "/srv/git/shop"),
        ("/srv/git/shop.git", "/srv/git/shop"),
        ("", ""),
    ],
)
def test_others_differ(url: str, path: str) -> None:
    assert repository_path(url) == path
