"""The pull request of a job of GitHub Actions: which commit it starts from, and a comment on it.

pull_request.py base                  prints the commit; nothing where the event has none
pull_request.py comment REPORT.md     writes it; there is one comment, which is written anew each time
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text

MARK: Final = "<!-- whysync -->"
"""By it the comment is known again; readers do not see it."""
LONGEST: Final = 65_536
_MORE: Final = "\n\nThere is no room for the rest here: see the summary of the job.\n"
_MOST_PAGES: Final = 30


def base_of(event: Object) -> str:
    """Of a push it is the commit before; the first one of a branch comes from nowhere, written as zeros."""
    found = text(dig(event, "pull_request", "base", "sha")) or text(event.get("before"))
    return found if found.strip("0") else ""


def body_of(report: str) -> str:
    whole = f"{MARK}\n{report}"
    if len(whole) <= LONGEST:
        return whole
    return f"{whole[: LONGEST - len(_MORE)].rpartition(chr(10))[0]}{_MORE}"


def comment(event: Object, report: str) -> None:
    number = integer(dig(event, "pull_request", "number"))
    if not number:
        return
    body: Object = {"body": body_of(report)}
    there = _written_before(number)
    if there:
        _asked("PATCH", f"issues/comments/{there}", body)
    else:
        _asked("POST", f"issues/{number}/comments", body)


def _written_before(number: int) -> int:
    for page in range(1, _MOST_PAGES + 1):
        found = items(_asked("GET", f"issues/{number}/comments?per_page=100&page={page}"))
        for one in map(fields, found):
            if text(one.get("body")).startswith(MARK):
                return integer(one.get("id"))
        if len(found) < 100:
            break
    return 0


def _asked(method: str, path: str, given: Object | None = None) -> Json:
    """One request to GitHub's API."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    request = urllib.request.Request(
        f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        data=json.dumps(given).encode() if given is not None else None,
        method=method,
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main(arguments: list[str]) -> None:
    event = fields(json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8")))
    match arguments:
        case ["base"]:
            sys.stdout.write(base_of(event))
        case ["comment", path]:
            comment(event, Path(path).read_text(encoding="utf-8"))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as problem:  # a pull request from a fork may not be written to
        sys.exit(f"whysync: {problem}")
