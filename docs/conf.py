"""The documentation site: `scripts/site`. The pages are the files that GitHub shows, links and all.

The navigation is docs/index.md: its headings are the parts, the links below them the pages.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

from mmconvert import __version__

ROOT = Path(__file__).resolve().parents[1]
HOME = "docs/index"

project = "mmconvert + mmscore"
author = "the mmconvert authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = HOME
include_patterns = [
    "docs/**.md",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "examples/plugin/README.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "**/__pycache__"]
myst_heading_anchors = 4
nitpicky = False
default_role = "code"  # docstrings mark code with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"  # attributes have their types already
napoleon_numpy_docstring = False

highlight_language = "bash"

html_theme = "furo"
html_title = "mmconvert + mmscore"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_site", "tutorial.ipynb"]
html_copy_source = False
html_show_sphinx = False


def navigation(text: str) -> str:
    """Turn the headings and links of the home page into the tables of contents that make the side bar."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    blocks = []
    for caption, links in zip(parts[::2], parts[1::2], strict=True):
        pages = [f"{name} <{page}>" for name, page in re.findall(r"\[([^\]]+)\]\((\S+)\.md\)", links)]
        blocks.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", *pages, "```"]))
    return "\n\n".join(blocks)


def _with_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    if name == HOME:
        source[0] += f"\n\n{navigation(source[0])}\n"


def _with_code_blocks(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Mark the code of docstrings, indented behind a colon and an empty line, as reStructuredText wants it."""
    for number, (line, empty, code) in enumerate(zip(lines, lines[1:], lines[2:], strict=False)):
        if line.endswith(":") and not line.endswith("::") and not empty and code.startswith("    "):
            lines[number] += ":"


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    app.connect("autodoc-process-docstring", _with_code_blocks)
    app.connect("source-read", _with_navigation)
