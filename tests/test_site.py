"""The documentation site: every warning is an error, a broken link or a page that nobody names too."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


def built(source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Build as `scripts/site` does."""
    options = ("--fail-on-warning", "--keep-going", "--quiet", "--conf-dir", source / "docs")
    command = [sys.executable, "-m", "sphinx", *map(str, options), str(source), str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.release
def test_the_site_builds_without_a_warning_and_shows_every_page(tmp_path):
    done = built(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        assert (tmp_path / "site" / page.relative_to(ROOT).with_suffix(".html")).exists()
    assert "docs/index.html" in (tmp_path / "site/index.html").read_text()
    for link in re.findall(r"\]\((\S+)\)", (tmp_path / "site/llms.txt").read_text()):
        assert (tmp_path / "site" / link).exists(), link


def test_what_is_broken_breaks_the_build(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(ROOT / "docs/conf.py", docs)
    for folder in ("_site", "_static"):
        shutil.copytree(ROOT / "docs" / folder, docs / folder)
    links = "[a](gone.md) [b](../src/gone.py) [c](#no-such-heading)"
    (docs / "index.md").write_text(f"# Home\n\n## Part\n\n- [Page](page.md)\n\n{links}\n")
    (docs / "page.md").write_text("# Page\n")
    (docs / "lost.md").write_text("# A page in no table of contents\n")
    done = built(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    for complaint in (
        "'gone.md'",
        "'../src/gone.py'",
        "'no-such-heading'",
        "lost.md: WARNING: document isn't included",
    ):
        assert complaint in done.stderr
