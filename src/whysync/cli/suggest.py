"""A parser that raises instead of exiting, and knows which flag is meant by a misspelt one."""

from __future__ import annotations

import argparse
from typing import cast

from whysync.errors import UsageError

_UNKNOWN = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    verb: str = ""
    """Which one was asked for: argparse complains of its unknown flags at the top."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (argparse exits here; we raise)
        asked = self.verbs().get(self.verb) if message.startswith(_UNKNOWN) else None
        alike = _alike(message.removeprefix(_UNKNOWN), asked) if asked is not None else ""
        raise UsageError(
            what=message,
            why=f"did you mean {alike}?" if alike else "",
            next=f"{(asked or self).prog} --help shows what it takes",
        )

    def verbs(self) -> dict[str, argparse.ArgumentParser]:
        """Each verb's own parser: for the docs, and for completion."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]  (no public way)
                return dict(cast("dict[str, argparse.ArgumentParser]", action.choices))
        return {}


def _alike(unknown: str, asked: argparse.ArgumentParser) -> str:
    from difflib import get_close_matches

    flags = [flag for flag in asked._option_string_actions if flag.startswith("--")]  # pyright: ignore[reportPrivateUsage]  (no public way)
    told = (word.partition("=")[0] for word in unknown.split() if word.startswith("--"))
    return next((found[0] for word in told if (found := get_close_matches(word, flags, n=1, cutoff=0.8))), "")
