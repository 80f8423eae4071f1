"""How EvalScope cuts a text into words: jieba where it holds Chinese, else NLTK's word_tokenize.

Nothing is downloaded: the English Punkt model is built from three small lists shipped with the
package, and jieba's dictionary is read from jieba itself, without its cache file in the temporary
folder. Both libraries load with the first text: every recipe is looked at when one is chosen, and NLTK
alone takes longer to load than a small file to score.
"""

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from mmconvert.core.extras import require_extra

if TYPE_CHECKING:
    import jieba
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

CHINESE = re.compile("[\u4e00-\u9fa5]")

# A sentence of these needs none of NLTK's rules but three: a comma stands alone unless a digit
# follows, a final dot stands alone, and six words are cut in two.
PLAIN = re.compile(r"[A-Za-z0-9\s]*+(?:,(?=[A-Za-z\s])[A-Za-z0-9\s]*+)*+\.?")
CUT_IN_TWO = ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna")


def has_chinese(text: str) -> bool:
    """Tell whether EvalScope takes a text for Chinese: any character from U+4E00 to U+9FA5.

    Example:
        >>> has_chinese("3个"), has_chinese("café")
        (True, False)
    """
    return CHINESE.search(text) is not None


def split_chinese_words(text: str) -> list[str]:
    """Cut a text with jieba's precise mode; blanks and marks are words.

    Example:
        >>> split_chinese_words("一只猫 A")
        ['一只', '猫', ' ', 'A']
    """
    return list(_load_jieba().cut(text))


def split_english_words(text: str) -> list[str]:
    """Cut a text as NLTK's word_tokenize does with its English model.

    The model's fourth file (orthographic contexts of common words) is left out: it can only
    matter for an abbreviation before a capitalised word.

    Example:
        >>> split_english_words("Dr. Who can't swim. He said so, twice.")
        ['Dr.', 'Who', 'ca', "n't", 'swim', '.', 'He', 'said', 'so', ',', 'twice', '.']
    """
    return [word for sentence in _load_punkt().tokenize(text) for word in _split_words(sentence)]


def _split_words(sentence: str) -> list[str]:
    lowered = sentence.lower()
    if not PLAIN.fullmatch(sentence) or any(word in lowered for word in CUT_IN_TWO):
        words: list[str] = _load_tokenizer().tokenize(sentence)
        return words
    spaced = sentence.replace(",", " , ")
    return [*spaced[:-1].split(), "."] if spaced.endswith(".") else spaced.split()


@cache
def _load_tokenizer() -> "NLTKWordTokenizer":
    with require_extra("score", "EvalScope's way to cut a text into words"):
        from nltk.tokenize import NLTKWordTokenizer
    return NLTKWordTokenizer()


@cache
def _load_punkt() -> "PunktSentenceTokenizer":
    with require_extra("score", "EvalScope's way to cut a text into sentences"):
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    folder = files("mmscore.nlp") / "punkt_english"

    def lines(name: str) -> list[str]:
        return (folder / name).read_text("utf-8").splitlines()

    model = PunktParameters()
    model.abbrev_types = set(lines("abbrev_types.txt"))
    model.sent_starters = set(lines("sent_starters.txt"))
    model.collocations = {tuple(line.split("\t")) for line in lines("collocations.tab")}
    tokenizer = PunktSentenceTokenizer()
    tokenizer._params = model
    return tokenizer


@cache
def _load_jieba() -> "jieba.Tokenizer":
    with require_extra("score", "EvalScope's way to cut a Chinese text into words"):
        import jieba
    tokenizer = jieba.Tokenizer()
    # jieba would read a marshalled cache from the temporary folder, where others may write.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
