"""manage.py import_graph and import_posts: their output, reports and errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from tests.support.management import run_command

pytestmark = pytest.mark.usefixtures("here")


def graph(folder: Path, text: str = "1\t2\n1\t1\noops\n2\t1\n") -> Path:
    path = folder / "graph.tsv"
    path.write_text(text)
    return path


def posts(folder: Path) -> Path:
    rows = [
        {"id": "1", "author": "Ann", "created_at": "2014-01-01T00:00:00Z", "text": "a &amp; b"},
        {"id": "2", "author": "Ann", "created_at": "1998-01-01T00:00:00Z", "text": "too early"},
        {"id": "3", "author": "Ann", "created_at": "2014-01-01T00:00:00Z", "text": "x" * 20},
    ]
    path = folder / "posts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_the_edges_of_a_graph_are_counted_and_invalid_lines_are_reported(tmp_path: Path) -> None:
    report = tmp_path / "report"
    said = run_command("import_graph", graph(tmp_path), "--report", report)
    assert said.splitlines() == [
        "line 3: columns",
        "self_loop: 1",
        "follows: 2",
        "standing: 0",
        "accounts: 2",
        "refused: 1",
        "  columns: 1",
    ]
    assert report.read_text() == "3\tcolumns\n"
    assert "line 3: columns" in run_command("import_graph", graph(tmp_path), verbosity=2)
    assert run_command("import_graph", graph(tmp_path), verbosity=0) == ""


def test_twenty_refused_lines_are_printed_and_the_others_counted(tmp_path: Path) -> None:
    file, report = graph(tmp_path, "1\t2\n" + "oops\n" * 25), tmp_path / "report"
    said = run_command("import_graph", file)
    assert "line 2: columns\n" in said
    assert said.count("line ") == 20
    assert said.endswith("5 more refused lines: --report FILE keeps them all, --verbosity 2 shows them.\n")
    assert run_command("import_graph", file, verbosity=2).count("line ") == 25
    assert f"5 more refused lines: {report} has them all" in run_command("import_graph", file, "--report", report)
    assert len(report.read_text().splitlines()) == 25


def test_refused_posts_are_counted_by_reason(tmp_path: Path) -> None:
    said = run_command("import_posts", posts(tmp_path), "--unescape", "--max-length", 10)
    assert "posts: 1\n" in said
    assert said.endswith("refused: 2\n  before_2000: 1\n  text_too_long: 1\n")
    assert "standing: 1" in run_command("import_posts", posts(tmp_path), "--max-length", 10)


def test_the_output_names_a_dry_run(tmp_path: Path) -> None:
    said = run_command("import_posts", posts(tmp_path), "--dry-run")
    assert "Dry run: nothing was written.\nposts: 2\n" in said
    assert "posts: 2" in run_command("import_posts", posts(tmp_path))


def test_times_can_be_moved_for_a_demonstration(tmp_path: Path) -> None:
    assert "before_2000" not in run_command("import_posts", posts(tmp_path), "--shift-to-now", "--dry-run")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["import_graph", "absent"], "absent"),
        (["import_graph", "GRAPH", "--handle-prefix", "é"], "--handle-prefix"),
        (["import_posts", "POSTS", "--max-length", "0"], "--max-length"),
        (["import_posts", "POSTS", "--assign-to-graph"], "run import_graph first"),
        (["import_graph", "BROKEN"], "BROKEN"),
    ],
)
def test_an_error_is_one_line(tmp_path: Path, words: list[str], complaint: str) -> None:
    broken = tmp_path / "BROKEN"
    broken.write_bytes(b"\x1f\x8b\x08\x00 this is no gzip")
    files = {"GRAPH": graph(tmp_path), "POSTS": posts(tmp_path), "BROKEN": broken}
    with pytest.raises(CommandError, match=complaint) as caught:
        run_command(*(files.get(word, word) for word in words))
    assert "\n" not in str(caught.value)


def test_the_error_of_an_unreachable_store_is_one_line(tmp_path: Path, settings: Any) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    with pytest.raises(CommandError, match="The store cannot be used"):
        run_command("import_graph", graph(tmp_path))
