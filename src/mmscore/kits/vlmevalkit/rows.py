"""What VLMEvalKit's recipes beside multiple choice share: which files are theirs, and the answer cell."""

from collections.abc import Mapping

from mmscore.recipe import Facts, Item, read_label

KIT = "VLMEvalKit (exact matching)"
VERSIONS: Mapping[str, str] = {"1": "open-compass/VLMEvalKit@e8e78f05"}
FORMATS = frozenset(("lmudata", "vlmevalkit_predictions"))
"""Formats that the kit reads or writes."""


def is_from_kit(facts: Facts, *parts: str) -> bool:
    """Tell whether a file is a table of the kit, without choices, whose benchmark's name contains one of some texts.

    Example:
        >>> is_from_kit(Facts(frozenset(["MME"]), formats=frozenset(["lmudata"])), "MME")
        True
        >>> is_from_kit(Facts(frozenset(["MME"]), formats=frozenset(["predictions"])), "MME")
        False
    """
    named = bool(facts.datasets) and all(any(part in name for part in parts) for name in facts.datasets)
    choices = "multiple_choice" in facts.tasks
    return named and not choices and bool(facts.formats) and facts.formats <= FORMATS


def answer_cell(item: Item) -> str:
    """Give the answer cell as text, `nan` where the row has none.

    Example:
        >>> answer_cell(Item(label='"Yes"')), answer_cell(Item(label="3")), answer_cell(Item())
        ('Yes', '3', 'nan')
    """
    if item.label is None:
        return "nan" if item.answer is None else item.answer
    label = read_label(item)
    return label if isinstance(label, str) else item.label
