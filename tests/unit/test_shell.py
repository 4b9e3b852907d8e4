"""Command lines are read well enough to say what they do to files."""

from __future__ import annotations

import pytest

from foldmark.shell import read_command


def test_quoted_text_and_here_documents_are_no_commands() -> None:
    assert read_command("echo 'rm -rf / && curl -X POST x'").role == "runs"
    assert read_command("python - <<'EOF'\nrm = 'git push'\nEOF").one_shot is False


def test_files_read_and_written_are_named_once() -> None:
    assert read_command("cat a.py b.py").paths == ("a.py", "b.py")
    assert read_command("cd src && cat a.py && sed -i s/x/y/ a.py").paths == ("src/a.py",)
    assert read_command("cat > 'my file.txt' <<'EOF'\nhello\nEOF").paths == ("my file.txt",)


def test_the_printed_range_tells_windows_of_a_file_apart() -> None:
    assert read_command("cat a.py").part == ""
    assert read_command("sed -n 1,20p a.py").part == "1,20p"
    assert read_command("cat a.py | head -20").part == "head -20"


def test_settings_and_wrappers_in_front_are_passed_over() -> None:
    assert read_command("FOO=1 timeout 60 uv run pytest -q").role == "runs"
    assert read_command("sudo cat /etc/hosts").paths == ("/etc/hosts",)


@pytest.mark.parametrize(
    "line", ["", "   ", "|||", "'", '"', "<<EOF", "cd", "> ", "a" * 50_000, "\x00", "cat '\x000\x00'", "cat \x007\x00"]
)
def test_odd_lines_are_no_errors(line: str) -> None:
    assert read_command(line).role in ("reads", "writes", "runs", "searches")
