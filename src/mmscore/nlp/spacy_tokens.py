"""Words as spaCy's tokenizers cut them, by rules alone; no model is needed."""

from functools import cache
from typing import TYPE_CHECKING

from mmconvert.core.errors import UsageError

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
    try:
        import spacy  # one recipe needs it, and every recipe is loaded to choose one
    except ImportError:
        raise UsageError('VCR needs spaCy\'s tokenizers. Install them: pip install "mmconvert[vcr]".') from None
    return spacy.blank(language)
