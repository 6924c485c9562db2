"""Whoever leaves waits a moment for what is on the wire, and no longer than that."""

from __future__ import annotations

import asyncio

import pytest

from tests.clock import steady_time
from tests.facts.http.faulty import FakeRequest, FakeResponse, faulty_server, json_response
from whysync.facts.http import errors
from whysync.facts.http.client import Client, InFlight


def test_a_client_leaves_when_the_other_questions_have_ended() -> None:
    """One of two is refused: the other one gets its answer, and its connection is closed in order."""

    def answering(request: FakeRequest) -> FakeResponse:
        return (
            json_response({}, 403)
            if request.target == "/refused"
            else FakeResponse(body=b'"slow"', how="late")
        )

    async def talk() -> object:
        async with faulty_server(answering) as server:
            client = Client(server.url)
            slow = asyncio.ensure_future(client.json("/slow"))
            with pytest.raises(errors.HttpError):
                async with client:
                    await asyncio.gather(client.json("/refused"), slow)
            return await slow

    assert asyncio.run(talk()) == "slow"


def test_it_does_not_wait_for_ever() -> None:
    async def talk() -> float:
        ways = InFlight()
        began = steady_time.monotonic()
        with ways.request():
            await ways.settled(0.01)
        await ways.settled(5)
        return steady_time.monotonic() - began

    assert 0.01 <= asyncio.run(talk()) < 1
