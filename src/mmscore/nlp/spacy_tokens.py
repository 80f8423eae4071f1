"""Words as spaCy's tokenizers cut them, by rules alone; no model is needed."""

from functools import cache
from typing import TYPE_CHECKING

from mmconvert.core.extras import require_extra

if TYPE_CHECKING:
    from spacy.language import Language


def split_words(text: str, language: str) -> list[str]:
    """Cut a text into words.

    Args:
        text: Any text.
        language: `en` cuts as the English models do; `zh` gives single characters.

    Returns:
        The words in order, marks and blanks of their own among them.

    Raises:
        UsageError: spaCy is not installed.

    Parity: explosion/spaCy 3.8 spacy.blank.
    """
    return [token.text for token in _load_pipeline(language)(text)]


@cache
def _load_pipeline(language: str) -> "Language":
    with require_extra("vcr", "VCR"):
        import spacy  # one recipe needs it, and every recipe is loaded to choose one
    return spacy.blank(language)
