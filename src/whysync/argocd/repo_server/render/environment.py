"""The build environment: `ARGOCD_APP_NAME` and its like, and what they replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SPECIAL: Final = frozenset("*#$@!?-0123456789")


def build_environment(
    *, app_name: str, namespace: str, project: str, commit: str, repo: str, path: str, target_revision: str
) -> dict[str, str]:
    """Mirrors `newEnv` of the repo-server, Argo CD 3.6."""
    return {
        "ARGOCD_APP_NAME": app_name,
        "ARGOCD_APP_NAMESPACE": namespace,
        "ARGOCD_APP_PROJECT_NAME": project,
        "ARGOCD_APP_REVISION": commit,
        "ARGOCD_APP_REVISION_SHORT": commit[:7],
        "ARGOCD_APP_REVISION_SHORT_8": commit[:8],
        "ARGOCD_APP_SOURCE_REPO_URL": repo,
        "ARGOCD_APP_SOURCE_PATH": path,
        "ARGOCD_APP_SOURCE_TARGET_REVISION": target_revision,
    }


def substituted(text: str, env: Mapping[str, str]) -> str:
    """`$NAME` and `${NAME}` replaced, unknown ones by nothing; `$$` is a dollar.

    Mirrors `Env.Envsubst` and, below it, Go's `os.Expand` with its ways of eating what is no name.
    """
    if "$" not in text:
        return text
    parts: list[str] = []
    start = at = 0
    while at < len(text):
        if text[at] != "$" or at + 1 >= len(text):
            at += 1
            continue
        parts.append(text[start:at])
        name, width = _name(text[at + 1 :])
        if name == "$":
            parts.append("$")
        elif name:
            parts.append(env.get(name, ""))
        elif not width:
            parts.append("$")  # a dollar before something that is no name stays
        at += 1 + width
        start = at
    return "".join(parts) + text[start:]


def _name(rest: str) -> tuple[str, int]:
    """The name of a variable, and how many characters it takes; without a name these are bad syntax."""
    if rest[0] == "{":
        if len(rest) > 2 and rest[1] in _SPECIAL and rest[2] == "}":
            return rest[1], 3
        end = rest.find("}", 1)
        if end == 1:
            return "", 2
        return ("", 1) if end < 0 else (rest[1:end], end + 1)
    if rest[0] in _SPECIAL:
        return rest[0], 1
    width = 0
    while width < len(rest) and (rest[width] == "_" or (rest[width].isascii() and rest[width].isalnum())):
        width += 1
    return rest[:width], width
