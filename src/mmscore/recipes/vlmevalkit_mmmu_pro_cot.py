"""MMMU-Pro with reasoning as VLMEvalKit scores it: the last line `Answer:`, then multiple choice as ever.

Behind the last line that begins with `Answer:` a single capital letter, however often, is the answer; else what stands
there is read as a response. A response without such a line is read as a whole.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:MMMUProDataset.evaluate, cot_postproc, then
evaluate_heuristic (with `exact_matching`), vlmeval/dataset/utils/multiple_choice.py:report_acc. The versions differ in
what follows that line. Not kept: a blank response, at which the framework stops, is wrong; a failed inference is no
answer here and counts apart.
"""

from string import ascii_uppercase

from msgspec.structs import replace

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.choices import build_accuracy_table, build_choice_recipe, list_options
from mmscore.kits.vlmevalkit.rows import offer_for_names
from mmscore.parsers.vlmevalkit_option import vlmevalkit_option

MARKER = "Answer:"
NO_TEXT = "nan"
"""What the framework reads where nothing follows the marker: it writes a workbook in between."""


def _parse(item: Item, version: str) -> Parsed:
    said = _cut_reasoning(item.prediction)
    parsed = vlmevalkit_option(said, list_options(item), version)  # type: ignore[arg-type]
    return parsed if said == item.prediction else Parsed(parsed.value, parsed.how)


def _cut_reasoning(text: str) -> str:
    lines = [line.strip() for line in text.strip().split("\n")]
    tails = [line[len(MARKER) :] for line in lines if line.startswith(MARKER)]
    if not tails:
        return text
    letters = {*tails[-1]} & {*ascii_uppercase}
    return letters.pop() if len(letters) == 1 else tails[-1] or NO_TEXT


RECIPE = replace(
    build_choice_recipe(
        "MMMU-Pro with reasoning as VLMEvalKit scores it: the last line Answer: (exact matching)",
        offer_for_names("MMMU-Pro with reasoning", frozenset(("MMMU_Pro_10c_COT", "MMMU_Pro_V_COT"))),
        parse=_parse,
        columnar=None,
        table=lambda scored, version: build_accuracy_table(scored, "accuracy"),
    ),
    judges=(),
)
