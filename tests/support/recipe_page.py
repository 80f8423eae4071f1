"""docs/recipes.md: its last part follows from the recipes; the table and the prose before it are written by hand."""

import ast
import textwrap
from pathlib import Path

from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.parsed import UNPARSED
from mmscore.core.recipe import OWN, Item, Recipe

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/recipes.md"
GROUP = "mmscore.recipes"

BEGIN = "## Recipe by recipe"
_WHY = """\
`scripts/docs` writes this part from the recipes. Each entry contains the rule and its peculiarities, the code that it
reproduces (**parity**), its versions, how it scores blank responses, and the columns that it reads in addition to `id`
and `prediction`."""


def page(current: str) -> str:
    """Bring the page up to date.

    Args:
        current: The page as it stands.
    """
    prose = current.partition(f"\n{BEGIN}\n")[0].rstrip("\n")
    blocks = "\n".join(block(name) for name in find_plugins(GROUP))
    return f"{prose}\n\n{BEGIN}\n\n{_WHY}\n\n{blocks}"


def block(name: str) -> str:
    """Describe one recipe."""
    recipe: Recipe = load(GROUP, name)
    lines = [f"### `{name}`", "", *_wrapped(_sentence(recipe.summary), ""), ""]
    for paragraph in _paragraphs(name):
        lines += [*_wrapped(paragraph, ""), ""]
    by = "none, the rule is built in" if recipe.parity == OWN else recipe.parity
    lines += _wrapped(f"- **Parity:** {by}.", "  ")
    lines += [
        line
        for version, what in recipe.versions.items()
        for line in _wrapped(f"- **Version {version}:** {_sentence(what)}", "  ")
    ]
    lines += _wrapped(f"- **Blank responses:** {_describe_blank(recipe)}.", "  ")
    columns = sorted(recipe.fields)
    lines += _wrapped(f"- **Reads:** {', '.join(f'`{column}`' for column in columns)}.", "  ") if columns else []
    lines += (
        _wrapped(f"- **Judges:** {', '.join(f'`{judge}`' for judge in recipe.judges)}.", "  ") if recipe.judges else []
    )
    return "\n".join([*lines, ""])


def _describe_blank(recipe: Recipe) -> str:
    """Say what becomes of an empty response, by the recipe's own reading of one."""
    item = Item(id="1", prediction="", options=("x", "y"), answer="A", label='"A"', dataset="POPE")
    try:
        read = recipe.parse(item, next(iter(recipe.versions))).how
    except (RowError, UsageError):  # no options, or no benchmark of the framework
        read = ""
    plain = "scored as unparsed" if read == UNPARSED.how else "scored as empty text"
    if recipe.results is None:
        return plain
    if recipe.results.reading is not None:
        return f"in the framework's own result files read as `nan`, as its loader does, and scored; elsewhere {plain}"
    return f"{plain}, and so is a row of the framework's own files that has no response"


def _paragraphs(name: str) -> list[str]:
    """Read what a recipe's module says behind its first line."""
    path = Path(str(find_plugins(GROUP)[name].module).replace(".", "/")).with_suffix(".py")
    doc = ast.get_docstring(ast.parse((ROOT / "src" / path).read_bytes())) or ""
    return [" ".join(paragraph.split()) for paragraph in doc.split("\n\n")]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
