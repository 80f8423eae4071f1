"""MMTrustEval's datasets by the tasks that read them; a log is named after its dataset.

Source: thu-ml/MMTrustEval@a067801 mmte/datasets, scripts/run.
"""

from collections.abc import Mapping
from itertools import product

UNRELATED = ("unrelated-image-color", "unrelated-image-nature", "unrelated-image-noise")


def _list_names(prefix: str, kinds: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{kind}" for kind in kinds.split())


def _list_variants(prefix: str, *kinds: str) -> tuple[str, ...]:
    return tuple(f"{prefix}-{kind}" for kind in (*kinds, *UNRELATED))


def _list_private_data() -> tuple[str, ...]:
    """Name the logs of `celebrities`, one for each `data_type_id`."""
    parts = ("", "personal-"), ("email", "phone", "address"), ("", "wo-"), ("", "wo-")
    return tuple(f"celebrities-{whose}{data}-{a}name-{b}occupation" for whose, data, a, b in product(*parts))


DATASETS: Mapping[str, tuple[str, ...]] = {
    "T.1": _list_names("d-basic-", "object attribute scene"),
    "T.1 ocr": ("g-basic-ocr",),
    "T.1 grounding": ("g-basic-grounding",),
    "T.2": _list_names("advanced-", "spatial temporal compare daily traffic causality math code translate"),
    "T.3": ("instruction-enhancement-factual", "instruction-enhancement-logic"),
    "T.4": _list_variants("visual-assistance", "text", "image"),
    "T.5": ("g-text-misleading",),
    "T.6": ("d-mis-visual-confusion",),
    "T.7": _list_variants("g-text", "assistance", "misvisual", "none"),
    "S.1": ("nsfw-image-description",),
    "S.2": ("object-detection", "risk-analysis"),
    "S.3": _list_names("toxicity-prompt-", "text image unrelated"),
    "S.4": _list_names("typographic-", "prompt-and-behavior prompt behavior"),
    "S.5": ("opimized-jailbreak-graphic", "mm-safety-bench", "safebench"),
    "S.6": _list_names("crossmodal-jailbreak-", "text unrelated pos neg"),
    "R.1": _list_names("coco-o-", "cartoon handmake painting sketch tattoo weather"),
    "R.2": _list_names("benchlmm-", "infrared lxray hxray mri ct remote driving"),
    "R.3": _list_variants("dt", "text", "related-image"),
    "R.4": ("adv-clean", "adv-untarget"),
    "R.5": ("adv-target",),
    "R.6": (
        *_list_variants("advglue", "text", "related-image"),
        *_list_variants("advglue-plus", "text", "related-image"),
    ),
    "F.1": ("stereo-generation",),
    "F.2": _list_variants("stereo-agreement", "text", "image"),
    "F.3": (
        *_list_variants("stereo-classification", "text", "image"),
        *_list_variants("stereo-topic-classification", "text", "image"),
    ),
    "F.4": _list_variants("stereo-query", "text", "image"),
    "F.5": ("vision-preference",),
    "F.6": ("profession-pred", "profession-pred-with-description"),
    "F.7": (
        *_list_variants("subjective-preference-plain", "text", "image"),
        *_list_variants("subjective-preference-force", "text", "image"),
    ),
    "P.1": ("vispr-recognition", "vizwiz-recognition"),
    "P.2": ("vispr-recognition-pri-query", "vizwiz-recognition-pri-query"),
    "P.3": _list_variants("confaide", "text", "image"),
    "P.4": ("celebrities", *_list_private_data()),
    "P.5": ("vispr-leakage", "vispr-leakage-protected"),
    "P.6": _list_variants("enron-email", "text", "image-oneinfo", "image-typeinfo", "image-allinfo"),
}
"""Number of a task, and a word where its datasets are scored in several ways -> their names."""

NAMES = frozenset(name for names in DATASETS.values() for name in names)
"""All of them."""

LOGS: Mapping[str, str] = {
    **{name: name for name in NAMES},
    "basic-object": "d-basic-object", "basic-attribute": "d-basic-attribute", "basic-scene": "d-basic-scene",
    "basic-ocr": "g-basic-ocr", "basic-grounding": "g-basic-grounding", "d-advanced-spatial": "advanced-spatial",
    "text-misleading": "g-text-misleading", "visual-confusion": "d-mis-visual-confusion",
    "visual_misleading": "g-text-assistance", "ood-artistic-cartoon": "coco-o-cartoon",
    "ood-sensor-infrared": "benchlmm-infrared", "ood-text-dt-text": "dt-related-image",
    "adversarial-image-untarget": "adv-untarget", "adversarial-image-target": "adv-target",
    "adversarial-text-advglue-text": "advglue-plus-text",
    "stereo-topic-classify-image": "stereo-topic-classification-image",
    "vision-preference-plain": "vision-preference",
    "subjective-preference-text-plain": "subjective-preference-plain-text",
    "vispriv-recognition-vispr": "vispr-recognition", "vqa-recognition-vispr": "vispr-recognition-pri-query",
    "infoflow": "confaide-image", "pii-query": "celebrities", "pii-leakage-in-conversation": "enron-email-text",
}  # fmt: skip
"""Name of a log's file -> its dataset: the dataset's own name, or that of `log_file` in a task file.

Source: thu-ml/MMTrustEval@a067801 mmte/configs/task; an id there that no class registers stands as the registered one.
"""
