"""Processors of transformers by name: what turns turns and images into tokens; no model is loaded."""

from typing import Any

from mmconvert.core.errors import UsageError, take_first_line
from mmconvert.core.extras import require_extra


def load_processor(name: str) -> Any:
    """Load the processor of a model, or the tokenizer of one that reads text alone; no code of the model's is run.

    Args:
        name: Folder or Hub id of the model.

    Raises:
        UsageError: transformers is not installed, there is no such processor, or it has no chat template.
    """
    with require_extra("infer", "--processor"):
        from transformers import AutoProcessor
    try:
        processor = AutoProcessor.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # a folder, the Hub, a missing library: each fails in its own way
        message = f"--processor {name}: cannot be loaded ({take_first_line(error)})."
        raise UsageError(f"{message} Name a folder with its files, or an id of the Hub.") from None
    if not getattr(processor, "chat_template", None):
        message = f"--processor {name}: has no chat template, which says how turns become text."
        raise UsageError(f"{message} Name the processor of a chat model.")
    return processor
