"""Unique values in place of the placeholders of `places`, and where each of them was put."""

from __future__ import annotations

import hashlib
import random
import re
import string

_PLACEHOLDER = re.compile(
    r"@(?:(?P<name>[a-z]+)=)?(?P<kind>(?:az|hex|up|num|mix)\d+|words)@|@(?P<again>[a-z]+)@|@@"
)
_ALPHABETS = {
    "az": string.ascii_letters,
    "up": string.ascii_uppercase + string.digits,
    "num": string.digits,
    "mix": string.ascii_letters + string.digits,
}
_WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "inlet", "jetty")


class Mint:
    """Gives out values; `places` says where each one is."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self._named: dict[str, str] = {}

    def filled(self, template: str, location: str) -> str:
        """The template with a new value for each placeholder."""

        def value(placeholder: re.Match[str]) -> str:
            if placeholder["again"]:
                return self._named[placeholder["again"]]
            secret = self._made(placeholder["kind"] or "")
            self.places[secret] = f"{location}: {template.strip()[:120]}"
            if placeholder["name"]:
                self._named[placeholder["name"]] = secret
            return secret

        return _PLACEHOLDER.sub(value, template)

    def _made(self, kind: str) -> str:
        number = len(self.places)
        if not kind:
            return f"Qz{number:04}Kx9VwTr"
        seeded = random.Random(number)
        if kind == "words":
            return " ".join(seeded.sample(_WORDS, 5))
        letters, length = re.fullmatch(r"([a-z]+)(\d+)", kind).groups()  # pyright: ignore[reportOptionalMemberAccess]
        if letters == "hex":
            return hashlib.sha256(str(number).encode()).hexdigest()[: int(length)]
        if letters == "num":
            return "8" + "".join(seeded.choices(_ALPHABETS[letters], k=int(length) - 1))
        # Both cases and, where there are some, digits: no value is a word by chance.
        pairs = [("q", "Z"), ("Q", "7")][letters != "az"] if letters != "up" else ("Q", "7")
        return "".join(pairs) + "".join(seeded.choices(_ALPHABETS[letters], k=int(length) - 2))
