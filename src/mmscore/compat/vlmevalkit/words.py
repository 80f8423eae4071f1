"""The kit's small questions about texts, versions and files, which model classes ask.

Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/misc.py, vlmeval/smp/file.py, vlmeval/smp/vlm.py.
"""

import operator
import re
from collections.abc import Sequence
from pathlib import Path

from PIL import Image as Picture

from mmconvert.core.text.literals import parse_list

INFER_FAIL_MSG = "Failed to obtain answer"

_BYTES = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}
_CHINESE = re.compile(r"[一-鿿]")


def cn_string(s: str) -> bool:
    """Tell whether a text holds a Chinese character.

    Example:
        >>> cn_string("看图"), cn_string("look")
        (True, False)
    """
    return _CHINESE.search(s) is not None


def splitlen(s: str, sym: str = "/") -> int:
    """Count the pieces of a text.

    Example:
        >>> splitlen("OWNER/NAME")
        2
    """
    return len(s.split(sym))


def listinstr(lst: Sequence[str], s: str) -> bool:
    """Tell whether a text holds one of some words.

    Example:
        >>> listinstr(["MCQ", "Y/N"], "MCQ"), listinstr(["a"], "b")
        (True, False)
    """
    return any(item in s for item in lst)


def istype(s: object, type: type) -> bool:
    """Tell whether a value is of a type, or a text that says one.

    Example:
        >>> istype("3", int), istype("3.5", int), istype("['a']", list), istype(3, str)
        (True, False, True, False)
    """
    if isinstance(s, type):
        return True
    try:
        values = parse_list(f"[{s}]")
    except Exception:  # what cannot be read is of no type
        return False
    return len(values) == 1 and isinstance(values[0], type)


def version_cmp(v1: str, v2: str, op: str = "eq") -> bool:
    """Compare versions; `op` is eq, ne, lt, le, gt or ge.

    Example:
        >>> version_cmp("4.10", "4.9", "gt")
        True
    """
    from packaging.version import parse  # comes with `datasets`; few ask

    return bool(getattr(operator, op)(parse(v1), parse(v2)))


def get_file_extension(file_path: str) -> str:
    """Give what stands behind the last dot.

    Example:
        >>> get_file_extension("out/m_d.xlsx")
        'xlsx'
    """
    return str(file_path).rpartition(".")[2]


def file_size(f: str | Path, unit: str = "GB") -> float:
    """Give the size of a file in GB, MB or KB of 1024."""
    return Path(f).stat().st_size / _BYTES[unit]


def read_ok(img_path: str | Path) -> bool:
    """Tell whether a picture's file is there and opens."""
    try:
        with Picture.open(img_path) as image:
            return min(image.size) > 0
    except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError):
        return False
