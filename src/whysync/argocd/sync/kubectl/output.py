"""What Argo CD makes of kubectl's output before it shows it.

Mirrors gitops-engine `cleanKubectlOutput` and `handleLogOutput`, Argo CD 3.6.
"""

from __future__ import annotations

import re
from typing import Final

_SOURCE: Final = re.compile(r'\A(error: )?(error validating|error when creating) "\S+": ')
_PATCH: Final = re.compile(r'\Aerror when applying patch:.*\nfor: "\S+": ', re.DOTALL)
_MAP: Final = re.compile(r"map\[.*\]")
_HINT: Final = "; if you choose to ignore these errors, turn validation off with --validate=false"


def cleaned(error: str) -> str:
    """An error without the names of files and the contents of objects, as far as upstream finds them.

    What surprises: `error when patching`, `replacing` and `deleting` stay, with the name of a file that is
    long gone.
    """
    error = _SOURCE.sub("", error.strip())
    error = _MAP.sub("", error)
    error = _PATCH.sub("", error)
    return error.replace(_HINT, "")


def told(out: str, err: str = "") -> str:
    """What kubectl printed, and behind it what it warned of."""
    return ". ".join(part for part in (out.strip(), err.strip()) if part)


def when(doing: str, file: str, error: str) -> str:
    """Mirrors kubectl `AddSourceToErr`."""
    return f'error when {doing} "{file}": {error}'
