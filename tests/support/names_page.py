"""docs/names.md: every plug-in with what it is, kind by kind; all of it follows from the plug-ins."""

from pathlib import Path

from mmconvert.plugins.registry import GROUPS, find_plugins

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/names.md"

TAKEN_BY = {
    "mmconvert.formats": "`--format NAME`, and `mmconvert export --to NAME`; [formats](formats.md)",
    "mmconvert.readings": "`mmconvert convert --read-as NAME`; [loader emulation](prompts.md#loader-emulation)",
    "mmconvert.prompts": "`mmconvert convert --prompt NAME`; [prompts](prompts.md)",
    "mmconvert.transforms": "`mmconvert convert --transform NAME`; [transforms](transforms.md)",
    "mmconvert.engines": "`mmconvert convert --engine NAME`; [clusters](storage.md)",
    "mmscore.infer.backends": "`mmscore predict --backend NAME`; [run a model](predict.md)",
    "mmscore.infer.protocols": "`mmscore predict --protocol NAME`; [conversations](predict.md#conversations)",
    "mmscore.infer.adapters": ("`mmscore predict --backend file.py@Class`, which selects one; [frameworks](kits.md)"),
    "mmscore.parsers": "recipes, to parse a response",
    "mmscore.metrics": "recipes, and [Hugging Face's `evaluate`](recipes.md#metrics-in-hugging-faces-evaluate)",
    "mmscore.recipes": "`mmscore --recipe NAME`; [recipes](recipes.md)",
    "mmscore.judges": "`mmscore --judge NAME`; [judges](judges.md)",
    "mmscore.workflow.task_readers": "`mmscore run TASK`, which selects one; [frameworks](kits.md)",
}
"""Group of plug-ins -> who takes their names."""

_HEAD = """\
# Names

All values of options that take a name. `scripts/docs` writes this page from the plug-ins. `mmconvert list` and
`mmscore list` print the same, your own plug-ins included."""


def page(_current: str = "") -> str:
    """Give the page; nothing of it is written by hand."""
    return "\n\n".join([_HEAD, *map(_block, GROUPS)]) + "\n"


def _block(group: str) -> str:
    kind = group.rpartition(".")[2].capitalize()
    built_in = {
        plugin.name: plugin.read_summary() for plugin in find_plugins(group).values() if plugin.origin == "built-in"
    }
    rows = [f"| `{name}` | {_cell(summary)} |" for name, summary in built_in.items()]
    return "\n".join(
        [f"## {kind}", "", f"Used by {TAKEN_BY[group]}.", "", "| name | meaning |", "| --- | --- |", *rows]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
