"""The names under which plug-ins of before the first release import our modules."""

import sys
from importlib import import_module

FORMER = {
    "mmconvert.boxes": "mmconvert.images.boxes",
    "mmconvert.canvas": "mmconvert.images.canvas",
    "mmconvert.collate": "mmconvert.chat.collate",
    "mmconvert.contract": "mmconvert.testing",
    "mmconvert.dialogs": "mmconvert.chat.conversations",
    "mmconvert.errors": "mmconvert.core.errors",
    "mmconvert.exported_images": "mmconvert.chat.export_images",
    "mmconvert.format": "mmconvert.plugins.format",
    "mmconvert.image_markers": "mmconvert.core.text.image_markers",
    "mmconvert.literals": "mmconvert.core.text.literals",
    "mmconvert.losses": "mmconvert.chat.losses",
    "mmconvert.openai_chat": "mmconvert.chat.openai",
    "mmconvert.options": "mmconvert.core.text.options",
    "mmconvert.placeholders": "mmconvert.core.text.placeholders",
    "mmconvert.question_pairs": "mmconvert.chat.training",
    "mmconvert.record": "mmconvert.core.record",
    "mmconvert.restating": "mmconvert.kits.reform_eval.restate",
    "mmconvert.rewording": "mmconvert.core.text.turns",
    "mmconvert.sources": "mmconvert.io",
    "mmconvert.table_writer": "mmconvert.io.write_delimited",
    "mmconvert.tables": "mmconvert.io.columns",
    "mmconvert.training_rows": "mmconvert.chat.training",
    "mmconvert.transform": "mmconvert.plugins.transform",
    "mmconvert.wording": "mmconvert.core.text.prompt_parts",
    "mmscore.answers": "mmscore.llm.response_cache",
    "mmscore.parsed": "mmscore.core.parsed",
    "mmscore.recipe": "mmscore.core.recipe",
    "mmscore.scored": "mmscore.core.table",
    "mmscore.stats": "mmscore.core.estimates",
    "mmscore.verdicts": "mmscore.core.judge",
}
"""Former module name -> the module."""


def register_former_names(package: str) -> None:
    """Let `import` find modules under their former names too; a module is one and the same under both.

    Args:
        package: `mmconvert`, or `mmscore` for the modules of both.
    """
    for former, current in FORMER.items():
        if current.startswith(("mmconvert.", f"{package}.")):
            sys.modules.setdefault(former, import_module(current))
