"""Which writing systems letters belong to, by ranges of Unicode.

A hint at the languages of a dataset that needs no model: Latin letters may be any of a hundred languages, Kana are
Japanese, Han alone is Chinese as a rule.

Source: the blocks of Unicode 16 (Blocks.txt, Scripts.txt). Only letters count, with the marks on them, as Python's
`unicodedata` has them: digits, spaces, punctuation and emoji belong to no writing system.
"""

import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

OTHER = "Other"
"""Letters of all writing systems that have no name here."""

_RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "Latin": ((0x41, 0x2AF), (0x1D00, 0x1D25), (0x1D2C, 0x1D5C), (0x1D62, 0x1D65), (0x1D6B, 0x1D77), (0x1D79, 0x1DBE),
              (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA722, 0xA7FF), (0xAB30, 0xAB64), (0xFF21, 0xFF5A)),
    "Greek": ((0x370, 0x3E1), (0x3F0, 0x3FF), (0x1F00, 0x1FFF)),
    "Cyrillic": ((0x400, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)),
    "Armenian": ((0x530, 0x58F), (0xFB13, 0xFB17)),
    "Hebrew": ((0x591, 0x5F4), (0xFB1D, 0xFB4F)),
    "Arabic": ((0x610, 0x6FF), (0x750, 0x77F), (0x870, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)),
    "Devanagari": ((0x900, 0x97F), (0xA8E0, 0xA8FF)),
    "Bengali": ((0x980, 0x9FF),),
    "Gurmukhi": ((0xA00, 0xA7F),),
    "Gujarati": ((0xA80, 0xAFF),),
    "Oriya": ((0xB00, 0xB7F),),
    "Tamil": ((0xB80, 0xBFF),),
    "Telugu": ((0xC00, 0xC7F),),
    "Kannada": ((0xC80, 0xCFF),),
    "Malayalam": ((0xD00, 0xD7F),),
    "Sinhala": ((0xD80, 0xDFF),),
    "Thai": ((0xE00, 0xE7F),),
    "Lao": ((0xE80, 0xEFF),),
    "Tibetan": ((0xF00, 0xFFF),),
    "Myanmar": ((0x1000, 0x109F),),
    "Georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2D)),
    "Ethiopic": ((0x1200, 0x139F),),
    "Khmer": ((0x1780, 0x17FF),),
    "Kana": ((0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D)),
    "Hangul": ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xFFA0, 0xFFDC)),
    "Han": ((0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
            (0x20000, 0x323AF)),
}  # fmt: skip
"""Writing system -> its blocks; in them, letters and the marks on letters are counted."""

NAMES = (*_RANGES, OTHER)
"""All of them, by the numbers of `find_writing_systems`, from 1."""

_POINTS, _LAST_LETTER = 0x110000, 0x323AF


@lru_cache(maxsize=1)
def _build_table() -> npt.NDArray[np.uint8]:
    """Give the number of the writing system of every code point, 0 for what is no letter."""
    table = np.zeros(_POINTS, np.uint8)
    for number, ranges in enumerate(_RANGES.values(), 1):
        for first, last in ranges:
            table[first : last + 1] = number
    for point in range(_LAST_LETTER + 1):
        kind = unicodedata.category(chr(point))[0]
        if kind == "L":
            table[point] = table[point] or len(NAMES)
        elif kind != "M":
            table[point] = 0
    return table


def find_writing_systems(points: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    """Give the number of the writing system of each character, from 1 in the order of `NAMES`; 0 for no letter.

    Args:
        points: Code points.

    Example:
        >>> [NAMES[n - 1] if n else "-" for n in find_writing_systems(np.array([ord(c) for c in "aж字か1"]))]
        ['Latin', 'Cyrillic', 'Han', 'Kana', '-']
    """
    found: npt.NDArray[np.uint8] = _build_table()[points]
    return found
