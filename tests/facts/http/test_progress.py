"""Progress is reported while a server is silent, and not after it answered."""

from __future__ import annotations

import asyncio

from whysync.facts.http.progress import report_waiting


def test_it_is_reported_until_the_answer_comes() -> None:
    result: list[str] = []

    async def wait() -> None:
        several = asyncio.Event()

        def progress(name: str, _: int) -> None:
            result.append(name)
            if len(result) == 3:
                several.set()

        async with report_waiting(progress, "Argo CD", every=0.001):
            await several.wait()
        result.append("answer")
        await asyncio.sleep(0.01)

    asyncio.run(wait())
    assert result == ["Argo CD (no response yet)"] * 3 + ["answer"]
