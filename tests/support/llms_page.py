"""docs/_site/llms.txt: every page with its subject, for programs that read documentation; written from index.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs/index.md"
PAGE = ROOT / "docs/_site/llms.txt"

_LINK = re.compile(r"\[([^\]]+)\]\((\S+)\.md\)")


def page(current: str = "") -> str:
    """Write the file from the home page.

    Args:
        current: The file as it is; nothing of it stays.
    """
    title, _, rest = INDEX.read_text(encoding="utf-8").partition("\n")
    summary, *parts = re.split(r"^## (.+)$", rest, flags=re.MULTILINE)
    lines = [title, "", f"> {' '.join(summary.split())}"]
    for heading, items in zip(parts[::2], parts[1::2], strict=True):
        lines += ["", f"## {heading}", ""]
        for item in re.split(r"^- ", items, flags=re.MULTILINE)[1:]:
            lines.append(f"- {_LINK.sub(_link_page, ' '.join(item.split()))}")
    return "\n".join([*lines, ""])


def _link_page(link: re.Match[str]) -> str:
    """Link a page as the site has it, whose root is the repository."""
    path = (INDEX.parent / link[2]).resolve().relative_to(ROOT)
    return f"[{link[1]}]({path}.html)"
