"""VLMEvalKit's benchmarks: what their rows ask for, and how the framework names tables and result files."""

import os
import re
from functools import lru_cache
from pathlib import Path

from mmconvert.kits.vlmevalkit.benchmarks import OWN_RULES, SHARED_RULES

_OTHER_CHOICES = (
    "MMBench_DEV_KO", "MMBench_V11_MINI", "CCBench", "SEEDBench_IMG", "SEEDBench2", "SEEDBench2_Plus", "AI2D_TEST",
    "AI2D_TEST_NO_MASK", "MMMU_DEV_VAL", "MMMU_TEST", "MMStar", "MMVP", "RealWorldQA", "BLINK", "A-OKVQA",
    "MLLMGuard_DS", "TaskMeAnything_v1_imageqa_random", "GMAI_mm_bench_VAL",
)  # fmt: skip
_MULTIPLE_CHOICE = (
    *(f"MMBench_{part}_{tongue}{era}" for part in ("DEV", "TEST") for tongue in ("EN", "CN") for era in ("", "_V11")),
    *(f"MMBench{tongue}{era}" for tongue in ("", "_CN") for era in ("", "_V11")),
    *(f"{name}_{tongue}" for name in ("MMBench_dev", "MMMB") for tongue in ("ar", "cn", "en", "pt", "ru", "tr")),
    *(f"MMT-Bench_{part}{many}" for part in ("ALL", "VAL") for many in ("", "_MI")),
    *(f"{name}_{part}" for name in ("AesBench", "Q-Bench1", "A-Bench", "ScienceQA") for part in ("VAL", "TEST")),
    *_OTHER_CHOICES,
)
_OTHER_VQA = (
    "OCRVQA_TEST", "OCRVQA_TESTCORE", "TextVQA_VAL", "DocVQA_VAL", "DocVQA_TEST", "InfoVQA_VAL", "InfoVQA_TEST",
    "ChartQA_TEST", "GQA_TestDev_Balanced", "VizWiz", "MMVet", "MathVista_MINI", "LLaVABench", "CORE_MM",
)  # fmt: skip
_VQA = (
    *(f"VCR_{lang}_{kind}_{n}" for lang in ("EN", "ZH") for kind in ("EASY", "HARD") for n in ("ALL", "500", "100")),
    *_OTHER_VQA,
)

CHAT = "chat"
"""Task of benchmarks whose rows are conversations, of the framework's type MT."""

TASKS = {
    **dict.fromkeys(_MULTIPLE_CHOICE, "multiple_choice"),
    **dict.fromkeys(_VQA, "vqa"),
    **dict.fromkeys(("MME", "POPE", "HallusionBench", "AMBER", "VSR-zeroshot"), "yes_no"),
    "COCO_VAL": "caption",
    "OCRBench": "ocr",
    "MMDU": CHAT,
}
"""Benchmark -> task of its rows. Source: open-compass/VLMEvalKit@e8e78f0 vlmeval/dataset, DATASET_URL."""

NAMES = frozenset(TASKS) | SHARED_RULES | OWN_RULES
"""All benchmarks of the framework; the rows of those that are not in `TASKS` show their task."""

CIRCULAR = ("mmbench", "ccbench", "circular", "mmcr")
"""The framework scores a table whose name contains one of these, in any case, in circular groups.

Source: open-compass/VLMEvalKit@e8e78f0 vlmeval/dataset/image_mcq.py.
"""

_TAIL = r"(?:_(?:exact_matching|[^_]+))?_(?:result|results|detailed_results)|_auxmatch"
_NAME = (
    rf"(?:(?P<model>.+?)_)?(?P<dataset>{'|'.join(map(re.escape, sorted(NAMES, key=len, reverse=True)))})(?:{_TAIL})?"
)


def may_have_rounds(name: str | None) -> bool:
    """Tell whether rows may be conversations: of the benchmarks that the framework knows, chats alone.

    Example:
        >>> may_have_rounds("MMDU"), may_have_rounds("my_chats"), may_have_rounds("ChartQAPro")
        (True, True, False)
    """
    return name not in NAMES or TASKS.get(name) == CHAT


@lru_cache
def is_circular(name: str) -> bool:
    """Tell by its name whether a table shows each question with its options rotated.

    Example:
        >>> is_circular("MMBench_DEV_EN"), is_circular("my_circular"), is_circular("MMStar")
        (True, True, False)
    """
    return any(part in name.lower() for part in CIRCULAR)


@lru_cache
def parse_file_stem(stem: str) -> tuple[str | None, str | None]:
    """Read model and benchmark out of the name of a result file, `{model}_{benchmark}`.

    Args:
        stem: File name without its ending; what the framework's own evaluation appends is passed over.

    Returns:
        Model and benchmark; None for either where the name does not say it in the framework's words.

    Example:
        >>> parse_file_stem("llava_v1.5_7b_MMBench_DEV_EN_V11_openai_result")
        ('llava_v1.5_7b', 'MMBench_DEV_EN_V11')
        >>> parse_file_stem("MME"), parse_file_stem("llava_mine")
        ((None, 'MME'), (None, None))
    """
    # Not compiled before it is needed, for every start would wait for it.
    match = re.fullmatch(_NAME, stem)
    return (match["model"], match["dataset"]) if match else (None, None)


def find_lmudata_root() -> Path:
    """Give the folder of LMUData tables: environment `LMUData`, else ~/LMUData."""
    return Path(os.environ.get("LMUData") or Path.home() / "LMUData")  # noqa: SIM112 - the kit's own spelling
