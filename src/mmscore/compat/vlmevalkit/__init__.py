"""VLMEvalKit's door: the names that its users' classes inherit and call (docs/kits/vlmevalkit.md).

    from mmscore.compat.vlmevalkit import BaseModel, ImageBaseDataset, load, dump

`python -m mmscore.compat.vlmevalkit` takes the flags of the framework's run.py. Where the framework is not installed,
`import vlmeval...` gives these names, too.
"""

from typing import Any

from mmscore.compat.vlmevalkit import star
from mmscore.compat.vlmevalkit.datasets import (
    CustomMCQDataset,
    CustomVQADataset,
    ImageBaseDataset,
    ImageCaptionDataset,
    ImageMCQDataset,
    ImageMTDataset,
    ImageShortQADataset,
    ImageVQADataset,
    ImageYORNDataset,
    MMMUDataset,
    UnscoredDataset,
    build_dataset,
    dataset_modality,
    dataset_type,
)
from mmscore.compat.vlmevalkit.judges import (
    DEBUG_MESSAGE,
    OpenAIWrapper,
    build_judge,
    can_infer,
    can_infer_option,
    can_infer_text,
    track_progress_rich,
)
from mmscore.compat.vlmevalkit.recipes import as_recipe
from mmscore.compat.vlmevalkit.running import Run, convert, run
from mmscore.compat.vlmevalkit.smp import (
    INFER_FAIL_MSG,
    cn_string,
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
    file_size,
    get_file_extension,
    istype,
    listinstr,
    read_ok,
    splitlen,
    version_cmp,
)
from mmscore.compat.vlmevalkit.tables import (
    CIRCULAR,
    LMUDataRoot,
    d2df,
    dump,
    get_intermediate_file_path,
    load,
    md5,
    toliststr,
)
from mmscore.infer.message_model import MessageModel, ServiceModel

BaseModel, BaseAPI = MessageModel, ServiceModel
DATASET_TYPE, DATASET_MODALITY = dataset_type, dataset_modality

_SMP_VLM = (
    *("encode_image_to_base64", "encode_image_file_to_base64"),
    *("decode_base64_to_image", "decode_base64_to_image_file", "read_ok"),
)
_SMP_FILE = (
    *("load", "dump", "d2df", "LMUDataRoot", "md5", "get_intermediate_file_path"),
    *("get_file_extension", "file_size", "INFER_FAIL_MSG"),
)
_SMP_MISC = ("toliststr", "listinstr", "d2df", "cn_string", "splitlen", "istype", "version_cmp")
_SMP = tuple(dict.fromkeys((*_SMP_VLM, *_SMP_FILE, *_SMP_MISC, *star.__all__)))
_CHOICE = ("ImageMCQDataset", "MMMUDataset", "CustomMCQDataset")
_OPEN = ("ImageVQADataset", "CustomVQADataset")
_DATASET = (
    *("ImageBaseDataset", "ImageYORNDataset", "ImageCaptionDataset", "ImageMTDataset"),
    *(*_CHOICE, *_OPEN, "ImageShortQADataset", "build_dataset", "DATASET_TYPE", "DATASET_MODALITY"),
)

MODULES = {
    "": (),
    "smp": _SMP,
    "smp.vlm": _SMP_VLM,
    "smp.file": _SMP_FILE,
    "smp.misc": _SMP_MISC,
    "smp.log": ("get_logger",),
    "dataset": _DATASET,
    "dataset.utils": ("build_judge", "DEBUG_MESSAGE"),
    "dataset.utils.judge_util": ("build_judge", "DEBUG_MESSAGE"),
    "dataset.image_base": ("ImageBaseDataset",),
    "dataset.image_mcq": _CHOICE,
    "dataset.image_vqa": _OPEN,
    "dataset.image_shortqa": ("ImageShortQADataset",),
    "dataset.image_yorn": ("ImageYORNDataset",),
    "dataset.image_caption": ("ImageCaptionDataset",),
    "dataset.image_mt": ("ImageMTDataset",),
    "tools": ("CIRCULAR",),
    "vlm": ("BaseModel",),
    "vlm.base": ("BaseModel",),
    "api": ("BaseAPI", "OpenAIWrapper"),
    "api.base": ("BaseAPI",),
    "api.gpt": ("OpenAIWrapper",),
    "utils": ("can_infer", "can_infer_option", "can_infer_text", "track_progress_rich"),
    "utils.matching_util": ("can_infer", "can_infer_option", "can_infer_text"),
    "utils.mp_util": ("track_progress_rich",),
}
"""Modules of the framework that can be imported where it is not installed, and the names in each."""

__all__ = [
    "CIRCULAR",
    "DATASET_MODALITY",
    "DATASET_TYPE",
    "DEBUG_MESSAGE",
    "INFER_FAIL_MSG",
    "BaseAPI",
    "BaseModel",
    "CustomMCQDataset",
    "CustomVQADataset",
    "ImageBaseDataset",
    "ImageCaptionDataset",
    "ImageMCQDataset",
    "ImageMTDataset",
    "ImageShortQADataset",
    "ImageVQADataset",
    "ImageYORNDataset",
    "LMUDataRoot",
    "MMMUDataset",
    "OpenAIWrapper",
    "Run",
    "UnscoredDataset",
    "as_recipe",
    "build_dataset",
    "build_judge",
    "can_infer",
    "can_infer_option",
    "can_infer_text",
    "cn_string",
    "convert",
    "d2df",
    "decode_base64_to_image",
    "decode_base64_to_image_file",
    "dump",
    "encode_image_file_to_base64",
    "encode_image_to_base64",
    "file_size",
    "get_file_extension",
    "get_intermediate_file_path",
    "istype",
    "listinstr",
    "load",
    "md5",
    "read_ok",
    "run",
    "splitlen",
    "toliststr",
    "track_progress_rich",
    "version_cmp",
]


def __getattr__(name: str) -> Any:
    """Give what stands in `star`; it is for the framework's imports and no name of the door's own."""
    if name in star.__all__:
        return getattr(star, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
