"""MMT-Bench as VLMEvalKit reports it: 32 l2-categories, each the plain mean of its categories.

Parity: open-compass/VLMEvalKit vlmeval/dataset/utils/multiple_choice.py:mcq_vanilla_eval,
report_acc_MMT. Kept on purpose: a category that a split lacks makes its l2-category NaN there.
"""

import math
from collections.abc import Sequence

from mmconvert.core.errors import Error
from mmscore.core.recipe import Facts, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import (
    average_groups,
    build_choice_recipe,
    is_from_kit,
    keep_scored_rows,
    list_categories,
    split_rows,
)

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/multiple_choice.py, MMT_abbrs; the
# order is that of the table's columns
ABBREVIATIONS = {
    "visual_recognition": "VR", "localization": "Loc", "ocr": "OCR", "counting": "Count", "hallucination": "HLN",
    "image_retrieval": "IR", "threed": "3D", "visual_captioning": "VC", "visual_grounding": "VG",
    "doc_understanding": "DU", "action_recognition": "AR", "pixel_level_perception": "PLP",
    "image-to-image_translation": "I2IT", "relation_reasoning": "RR", "intelligence_quotient_test": "IQT",
    "emotion": "Emo", "visual_illusion": "VI", "meme_understanding": "MemU", "visual_prompt_understanding": "VPU",
    "anomaly_detection": "AND", "keypoint_detection": "KD", "visual_commonsense_reasoning": "VCR",
    "image_evaluation_judgement": "IEJ", "multiple_image_analysis": "MIA", "cross_image_matching": "CIM",
    "temporal_understanding": "TU", "visual_code": "VP", "medical_understanding": "MedU", "autonomous_driving": "AUD",
    "discipline_knowledge_reasoning": "DKR", "embodied_ai": "EA", "gui_navigation": "GN",
}  # fmt: skip


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    """Lay out the framework's table.

    Raises:
        Error: One of the 32 l2-categories has no row, or rows lack a category.
    """
    scored = keep_scored_rows(scored, "accuracy")
    l2_names, names = list_categories(scored, "l2_category"), sorted(list_categories(scored, "category"))
    if missing := ABBREVIATIONS.keys() - l2_names:
        raise Error(
            f"l2_category: {len(missing)} of 32 have no row, {min(missing)!r} first; the framework needs them all."
        )
    members = {l2: list(dict.fromkeys(rows.column("category"))) for l2, rows in scored.split("l2_category")}
    columns = {abbreviation: l2 for l2, abbreviation in ABBREVIATIONS.items()}
    others = {l2: l2 for l2 in sorted(l2_names - ABBREVIATIONS.keys())}
    lines = []
    for split, part in [*split_rows(scored), ("ALL", scored)]:
        values = average_groups(part, "category", "accuracy")
        l2_values = {l2: _compute_plain_mean([values.get(name, math.nan) for name in members[l2]]) for l2 in members}
        line: dict[str, object] = {"split": split, "Overall": part.mean("accuracy").value}
        line |= {label: l2_values[l2] for label, l2 in columns.items()}
        line |= {name: values.get(name, math.nan) for name in names}
        lines.append(line | {label: l2_values[l2] for label, l2 in others.items()})
    return lines


def _compute_plain_mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _default_for(facts: Facts) -> str | None:
    if is_from_kit(facts) and facts.datasets and all("MMT" in name for name in facts.datasets):
        return "rows of MMT-Bench"
    return None


RECIPE = build_choice_recipe("MMT-Bench as VLMEvalKit scores it (exact matching)", _default_for, table=_build_table)
