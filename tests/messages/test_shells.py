"""Errors of commands that a shell runs, as plugins do: they are the command's, not the plugin's."""

from __future__ import annotations

import pytest

from whysync.messages.failure import Failure
from whysync.messages.parse import understand
from whysync.messages.patterns.git import RepoAuthFailed
from whysync.messages.patterns.helm import HelmDependency
from whysync.messages.patterns.manifests import PluginFailed

RPC = "ComparisonError: Failed to load target state: rpc error: code = Unknown desc = "
FORBIDDEN = (
    'Error: looks like "https://charts.example.com" is not a valid chart repository or cannot be reached: '
    "failed to fetch https://charts.example.com/index.yaml : 403 Forbidden"
)


@pytest.mark.parametrize(
    ("command", "error", "failure"),
    [
        ("sh -c helm dependency build", FORBIDDEN, RepoAuthFailed),
        ('bash -ec "helm dependency build && helm template ."', FORBIDDEN, RepoAuthFailed),
        ('/bin/sh -c "./render.sh"', FORBIDDEN, PluginFailed),
        ("sh -c helm dependency build", "the moon is in the wrong phase", HelmDependency),
        ("sh -c helm dependency build; ./x.sh", "the moon is in the wrong phase", PluginFailed),
    ],
)
def test_the_command_that_failed(command: str, error: str, failure: type[Failure]) -> None:
    found = understand(f"{RPC}`{command}` failed exit status 1: {error}").failures
    assert [type(one) for one in found] == [failure]
