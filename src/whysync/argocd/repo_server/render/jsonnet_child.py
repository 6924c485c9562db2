"""Child process: evaluates one Jsonnet file; the request on stdin and the response on stdout are JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, cast


def main() -> int:
    sys.path += json.loads(sys.argv[1])
    try:
        import _gojsonnet  # pyright: ignore[reportMissingImports] - an extra
    except ImportError:
        return 3
    engine = cast("Any", _gojsonnet)
    request = cast("dict[str, Any]", json.loads(sys.stdin.buffer.read()))
    root = os.path.realpath(request["root"])
    missing: list[str] = []

    def find_import(folder: str, name: str) -> tuple[str, bytes]:
        """Finds an import next to the importing file, then in the search path from its end."""
        for search_folder in (folder, *reversed(request["search"])):
            full = os.path.realpath(os.path.join(search_folder, name))
            if not full.startswith(root + os.sep) or not os.path.isfile(full):
                continue
            with open(full, "rb") as file:
                return full, file.read()
        missing.append(name)
        raise RuntimeError("missing")

    def given(which: str, *, code: bool) -> dict[str, str]:
        return {
            variable["name"]: variable["value"] for variable in request[which] if variable["code"] is code
        }

    try:
        output = engine.evaluate_file(
            request["file"],
            ext_vars=given("external", code=False),
            ext_codes=given("external", code=True),
            tla_vars=given("arguments", code=False),
            tla_codes=given("arguments", code=True),
            import_callback=find_import,
        )
        response = {"json": output}
    except (RuntimeError, UnicodeDecodeError, SystemError) as problem:
        response = {"problem": _not_found(missing[-1]) if missing else str(problem)}
    sys.stdout.write(json.dumps(response))
    return 0


def _not_found(name: str) -> str:
    """The engine's message, which has stray bytes appended if a callback fails."""
    return (
        f"RUNTIME ERROR: couldn't open import {json.dumps(name)}: "
        "no match locally or in the Jsonnet library paths"
    )


if __name__ == "__main__":
    sys.exit(main())
