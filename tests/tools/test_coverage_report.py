"""What `make coverage` prints at the end."""

from __future__ import annotations

from tools.coverage_report import SHOWN, File, Summary, text


def file(*, lines: int, branches: int, statements: int = 20) -> File:
    return {
        "summary": Summary(
            num_statements=statements, covered_lines=lines, num_branches=10, covered_branches=branches
        )
    }


def test_the_least_covered_modules_come_first_and_the_total_last() -> None:
    files = {
        "many.py": file(lines=20, branches=10),
        "branches.py": file(lines=20, branches=1),
        "few.py": file(lines=5, branches=0),
        "tiny.py": file(lines=0, branches=0, statements=3),
    }
    totals = Summary(num_statements=60, covered_lines=45, num_branches=30, covered_branches=15)
    lines = text({"files": files, "totals": totals}).splitlines()
    assert lines[0] == "The 3 least covered modules:"
    assert [line.split() for line in lines[2:]] == [
        ["25.0%", "0.0%", "20", "few.py"],
        ["100.0%", "10.0%", "20", "branches.py"],
        ["100.0%", "100.0%", "20", "many.py"],
        ["75.0%", "50.0%", "60", "total"],
    ]


def test_not_more_than_fifteen_are_named() -> None:
    files = {f"{number}.py": file(lines=number, branches=0) for number in range(20)}
    totals = Summary(num_statements=1, covered_lines=1, num_branches=0, covered_branches=0)
    assert len(text({"files": files, "totals": totals}).splitlines()) == SHOWN + 3
