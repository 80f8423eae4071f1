"""Golden rules of MMMU's, MMMU-Pro's and lmms-eval's parsers."""

from random import Random

from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mmmu_choice import drawn_choice, mmmu_choice
from mmscore.parsers.mmmu_open import extract_numbers, mmmu_open, normalize_str
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice


def _choosing(parse):
    def run(given):
        value = parse(given["response"], given["all_choices"], given["index2ans"]).value
        return {"parsed": value, "fallback": value is None}

    return run


def _seeded(given):
    rng = Random(given["seed"])
    drawn = []
    for letters in given["all_choices"]:
        parsed = mmmu_choice(given["response"], letters, {})
        drawn.append(drawn_choice(letters, rng) if parsed.value is None else parsed.value)
    return drawn


def _encoded(values):
    return [["s", value] if isinstance(value, str) else ["f", repr(value)] for value in values]


RULES = {
    ("mmmu_parse_mc", "mmmu_parse_mc"): _choosing(mmmu_choice),
    ("mmmu_parse_mc", "mmmu_pro_parse_mc"): _choosing(mmmu_pro_choice),
    ("mmmu_parse_mc", "lmms_mmmu_parse_mc"): _choosing(lmms_mmmu_choice),
    ("mmmu_parse_mc", "mmmu_parse_mc_seeded"): _seeded,
    ("mmmu_parse_mc", "lmms_mcq_extract"): lambda given: lmms_choice(given["response"], given["choices"]).value or "",
    ("mmmu_parse_open", "mmmu_parse_open"): lambda given: sorted(_encoded(mmmu_open(given["response"]))),
    ("mmmu_parse_open", "mmmu_normalize_str"): lambda given: _encoded(normalize_str(given["string"])),
    ("mmmu_parse_open", "mmmu_extract_numbers"): lambda given: extract_numbers(given["string"]),
    ("mmmu_parse_open", "mmmu_eval_open"): lambda given: mmmu_open_match(given["gold"], mmmu_open(given["response"])),
}
