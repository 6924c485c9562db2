"""A cluster with one namespace, and short ways to talk to it."""

from __future__ import annotations

import pytest

from tests.kubernetes.apiserver.talk import Talk


@pytest.fixture
def talk() -> Talk:
    return Talk()
