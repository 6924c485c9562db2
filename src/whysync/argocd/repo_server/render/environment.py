"""The build environment (`ARGOCD_APP_NAME`, …) and its substitution."""

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
    """Replaces `$NAME` and `${NAME}`, unknown names by an empty string, and `$$` by `$`.

    Mirrors `Env.Envsubst` and Go's `os.Expand`, including its handling of bad syntax.
    """
    if "$" not in text:
        return text
    pieces: list[str] = []
    start = position = 0
    while position < len(text):
        if text[position] != "$" or position + 1 >= len(text):
            position += 1
            continue
        pieces.append(text[start:position])
        name, width = _name(text[position + 1 :])
        if name == "$":
            pieces.append("$")
        elif name:
            pieces.append(env.get(name, ""))
        elif not width:
            pieces.append("$")  # not followed by a name
        position += 1 + width
        start = position
    return "".join(pieces) + text[start:]


def _name(rest: str) -> tuple[str, int]:
    """The name of a variable and its length in the text; an empty name means bad syntax."""
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
