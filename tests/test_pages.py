"""Pages of the documentation that are to be followed are followed: their commands run and show what they say."""

from pathlib import Path

import pytest

from support.documents import follow, matches, steps

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_tutorial_can_be_followed(tmp_path):
    follow(DOCS / "tutorial.md", tmp_path)


# The follower itself


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```console\n$ echo a\nb\n```", "the page says"),
        ("```console\n$ echo a; echo b\na\n```", "the page says"),
        ("```console\n$ false\n```", "ends with 1, not 0"),
        ("```console\n$ true  # exit code 3\n```", "ends with 0, not 3"),
        ("```bash\nexit 4\n```", "the shell ended"),
        ("```python\nassert 1 > 2\n```", "ends with 1, not 0"),
        ("```pycon\n>>> 1 + 1\n3\n```", "ends with 1, not 0"),
        ("```\necho a\n```", "no language"),
        ("```pyhton\n1\n```", "pyhton"),
    ],
)
def test_a_page_that_is_wrong_is_found(tmp_path, block, complaint):
    with pytest.raises(AssertionError, match=complaint):
        follow(_page(tmp_path, f"# Page\n\n{block}\n"), tmp_path)


def test_one_shell_runs_all_of_a_page(tmp_path):
    files = "```bash\nmkdir a\ncd a\nexport SAID=yes\n```\n\n"
    text = files + "```console\n$ echo $SAID \\\n    $(basename $PWD)\nyes a\n$ cat\n```\n"
    assert len(follow(_page(tmp_path, text), tmp_path)) == 3


def test_what_is_only_shown_is_no_step():
    assert list(steps("```text\npip install x\n```\n\n```yaml\na: 1\n```\n")) == []


def test_dots_stand_for_what_may_differ():
    assert matches("a ... d\n...\nend", "\na b c d\n1\n2\nend   \n\n")
    assert matches("...\nend", "end")
    assert not matches("a\nend", "a\n1\nend")
    assert not matches("a.c", "abc")
