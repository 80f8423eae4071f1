"""ReForm-Eval's 61 datasets: how the framework names each, how it asks, and which of eight dimensions it belongs to.

Source: FudanDISC/ReForm-Eval@1046839 README (the commands for each dataset; dimensions as its figure groups
them), @df1cfa7 build/configs.
"""

from collections.abc import Iterable, Mapping

import msgspec

from mmconvert.core.errors import UsageError, suggest_spelling

DIMENSIONS = (
    "Coarse-Grained", "Fine-Grained", "Scene Text", "Visually Grounded Reasoning", "Spatial Understanding",
    "Cross-Modal Inference", "Description", "Dialog",
)  # fmt: skip
_COARSE, _FINE, _TEXT, _REASONING, _SPATIAL, _CROSS_MODAL, _DESCRIPTION, _CONVERSATION = DIMENSIONS
_CHOICE, _OCR, _KIE, _CAPTION = FORMULATIONS = ("SingleChoice", "OCROpenEnded", "KIEOpenEnded", "Generation")

TASKS: Mapping[str, str] = {"multiple_choice": _CHOICE, "ocr": _OCR, "kie": _KIE, "caption": _CAPTION}
"""Task of a record -> how the framework asks for it."""

METRICS: Mapping[str, str] = {_CHOICE: "accuracy", _OCR: "accuracy", _KIE: "accuracy", _CAPTION: "cider"}
"""How the framework asks -> the number that stands for the dataset; for captions the only one that @1046839 gave."""


class Benchmark(msgspec.Struct, frozen=True):
    """One dataset.

    Attributes:
        name: As the README's tables call it.
        dataset_name: Value of the framework's `--dataset_name`; several datasets can share it.
        formulation: How the framework asks, one of `FORMULATIONS`.
        config: Name of its file under build/configs.
        dimension: One of `DIMENSIONS`.
    """

    name: str
    dataset_name: str
    formulation: str
    config: str
    dimension: str


_ROWS = {
    (_COARSE, _CHOICE): (
        ("Flowers102", "Flowers102", "ImageClassification_flowers102_val"),
        ("CIFAR10", "CIFAR10", "ImageClassification_cifar10_val"),
        ("ImageNet-1K", "ImageNet-1K", "ImageClassification_imagenet1k_val"),
        ("Pets37", "Pets37", "ImageClassification_pets37_val"),
        ("VizWiz-yesno", "VizWiz", "ImageQuality_vizwiz_yesNo_val"),
        ("VizWiz-singleChoice", "VizWiz", "ImageQuality_vizwiz_singleChoice_val"),
        ("TDIUC-Sport", "TDIUC", "TDIUC_sport"),
        ("TDIUC-Scene", "TDIUC", "TDIUC_scene"),
        ("MEDIC", "MEDIC", "DisasterType_val"),
    ),
    (_FINE, _CHOICE): (
        ("MSCOCO-MCI", "MSCOCO", "MulticlassIdentification_val"),
        ("MSCOCO-GOI", "MSCOCO", "GroundedObjIdentification_val"),
        ("MSCOCO-MOS", "MSCOCO", "MissingObjectSelection_val"),
        ("TDIUC-Color", "TDIUC", "TDIUC_color"),
        ("TDIUC-Utility", "TDIUC", "TDIUC_utility"),
        ("TDIUC-Position", "TDIUC", "TDIUC_position"),
        ("TDIUC-Detection", "TDIUC", "TDIUC_detection"),
        ("TDIUC-Counting", "TDIUC", "TDIUC_counting"),
        ("RefCOCO", "RefCOCO", "ReferringExpression_val"),
        ("MSCOCO-OC", "MSCOCO", "ObjectCounting_mscoco_val"),
    ),
    (_TEXT, _OCR): (
        ("Grounded IC15", "IC15", "GroundOCR_ic15_val"),
        ("IC15", "IC15", "OCR_ic15_val"),
        ("Grounded COCO-Text", "COCO_text", "GroundOCR_cocotext_val"),
        ("COCO-Text", "COCO_text", "OCR_cocotext_val"),
        ("Grounded TextOCR", "TextOCR", "GroundOCR_textocr_val"),
        ("TextOCR", "TextOCR", "OCR_textocr_val"),
        ("CUTE80", "CUTE80", "OCR_cute80_val"),
        ("IIIT5K", "IIIT5K", "OCR_iiit5k_val"),
        ("WordArt", "WordArt", "OCR_wordart_val"),
        ("POIE", "POIE", "KIE_poie_val"),
        ("SROIE", "SROIE", "KIE_sroie_val"),
        ("TextVQA", "OCR", "OCR_textvqa_val"),
        ("DocVQA", "OCR", "OCR_docvqa_val"),
        ("OCR-VQA", "OCR", "OCR_ocrvqa_val"),
    ),
    (_TEXT, _KIE): (("FUNSD", "FUNSD", "KIE_funsd_val"),),
    (_REASONING, _CHOICE): (
        ("VQA v2", "VQA", "VQA_vqa_v2_val"),
        ("GQA", "VQA", "VQA_gqa_val_v2.0"),
        ("Whoops", "VQA", "VQA_whoops_val"),
        ("OK-VQA", "VQA", "VQA_okvqa_val"),
        ("ScienceQA", "VQA", "VQA_scienceqa_val_v2.0"),
        ("VizWiz", "VQA", "VQA_vizwiz_val_v2.0"),
        ("ViQuAE", "VQA", "VQA_viquae_val"),
        ("K-ViQuAE", "KVQA", "KVQA_viquae_val"),
        ("A-OKVQA", "VQA", "VQA_aokvqa_val"),
        ("A-OKVQRA", "VQRA", "VQRA_aokvqa_val"),
        ("A-OKVQAR", "VQAR", "VQAR_aokvqa_val"),
        ("ImageNetVC", "VQA", "VQA_imagenetvc_val"),
    ),
    (_SPATIAL, _CHOICE): (
        ("CLEVR", "CLEVR", "Spatial_clevr_val"),
        ("VSR", "VSR", "Spatial_vsr_val"),
        ("MP3D", "MP3D", "Spatial_mp3d_val"),
    ),
    (_CROSS_MODAL, _CHOICE): (
        ("MSCOCO-ITM", "MSCOCO", "ImageTextMatching_val"),
        ("MSCOCO-ITS", "MSCOCO", "ImageTextSelection_val"),
        ("WikiHow", "WikiHow", "TemporalOrdering_val"),
        ("Winoground", "CaptionSelection", "CaptionSelection_winoground_val"),
        ("SNLI-VE", "SNLI-VE", "VisualEntailment_val"),
        ("MOCHEG", "MCV", "MCV_mocheg_val"),
    ),
    (_DESCRIPTION, _CAPTION): (
        ("MSCOCO", "MSCOCO", "Caption_MSCOCO_val"),
        ("TextCaps", "TextCaps", "Caption_TextCaps_val"),
        ("NoCaps", "NoCaps", "Caption_NoCaps_val"),
        ("Flickr30K", "Flickr30K", "Caption_Flickr30K_val"),
    ),
    (_CONVERSATION, _CHOICE): (
        ("VQA-MT", "VisDial", "VQA_vqa_MultiRound_val"),
        ("VisDial", "VisDial", "VisDial_val_v1.2"),
    ),
}

BENCHMARKS = tuple(
    Benchmark(name, dataset_name, formulation, config, dimension)
    for (dimension, formulation), rows in _ROWS.items()
    for name, dataset_name, config in rows
)
"""All 61, dimension after dimension."""


def find_benchmark(name: str) -> Benchmark:
    """Find a dataset by its name or its config, whatever case and marks it is written with.

    Raises:
        UsageError: There is none.

    Example:
        >>> find_benchmark("vqa_v2").config, find_benchmark("TDIUC_color").name
        ('VQA_vqa_v2_val', 'TDIUC-Color')
    """
    for benchmark in BENCHMARKS:
        if _normalize_name(name) in (_normalize_name(benchmark.name), _normalize_name(benchmark.config)):
            return benchmark
    names = [benchmark.name for benchmark in BENCHMARKS]
    raise UsageError(
        f"ReForm-Eval has no dataset {name!r}.{suggest_spelling(name, names)} Its datasets: {', '.join(names)}."
    )


def detect_benchmark(dataset: str, tasks: Iterable[str]) -> Benchmark:
    """Find the dataset that a predictions file is for, from what the file says.

    Args:
        dataset: The file's dataset: the framework's `--dataset_name` where the file is the framework's own.
        tasks: Tasks of its records.

    Raises:
        UsageError: Several datasets go by that name, or none does.

    Example:
        >>> detect_benchmark("FUNSD", ["kie"]).dimension
        'Scene Text'
    """
    asked = {TASKS[task] for task in tasks if task in TASKS}
    offers = [b for b in BENCHMARKS if b.dataset_name == dataset and b.formulation in asked]
    if len(offers) > 1:
        raise UsageError(
            f"{dataset!r} is several datasets of ReForm-Eval ({', '.join(b.name for b in offers)}). "
            "Name one of them: NAME=PATH."
        )
    return offers[0] if offers else find_benchmark(dataset)


def _normalize_name(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
