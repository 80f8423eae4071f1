"""Attention of packed image encoders in one call for a batch, by the flash kernel of PyTorch.

An encoder of this kind (Qwen2-VL to Qwen3-VL, GLM-4V, Kimi-VL and others) lays the patches of all images in one
sequence. Without the package flash-attn, transformers calls attention once for each image, or each window of it, in
every layer: a batch of 256 images of 224 to 560 pixels takes Qwen2.5-VL 100,000 calls, and the GPU waits for Python.
"""

import inspect
from importlib.util import find_spec
from typing import Any

import torch
from transformers import AttentionInterface, PreTrainedModel

PACKED = "mmscore_flash_packed"
"""Name of the attention; transformers passes the lengths of all sequences to an attention with `flash` in its name."""

_KERNEL = "torch.nn.attention.varlen"
"""In torch from 2.10 on."""
_CAPABILITY = (8, 0)
_HEAD_MULTIPLE = 8


def pack_encoders(model: Any) -> bool:
    """Let the packed encoders of a model compute attention in one call, where its device can.

    Args:
        model: A loaded model of transformers; its other parts keep the attention they have.

    Returns:
        Whether it has such an encoder and now computes so.
    """
    encoders = [encoder for encoder in find_packed_encoders(model) if _has_kernel(encoder)]
    if not encoders:
        return False
    AttentionInterface.register(PACKED, attend_packed)
    for encoder in encoders:
        encoder.config._attn_implementation = PACKED
    return True


def find_packed_encoders(model: Any) -> list[PreTrainedModel]:
    """Find the innermost parts of a model with attention that is given the ends of sequences, in the default `sdpa`."""
    parts: dict[int, PreTrainedModel] = {}
    owners = [part for part in model.modules() if isinstance(part, PreTrainedModel)]
    for module in model.modules():
        takes_ends = hasattr(module, "config") and "cu_seqlens" in inspect.signature(module.forward).parameters
        if not takes_ends or isinstance(module, PreTrainedModel):
            continue
        # The attention reads its implementation from the configuration that it shares with its encoder.
        for owner in owners:
            if owner.config is module.config and owner.config._attn_implementation == "sdpa":
                parts.setdefault(id(owner.config), owner)
    return list(parts.values())


def attend_packed(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    cu_seq_lens_q: torch.Tensor,
    cu_seq_lens_k: torch.Tensor,
    max_length_q: Any,
    max_length_k: Any,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention within each of the sequences of a batch of one, as transformers calls it.

    Args:
        module: The attention module; not read.
        query: 1 x heads x patches x width of a head, like `key` and `value`.
        key: See `query`.
        value: See `query`.
        attention_mask: None: the sequences alone say who sees whom.
        scaling: Factor of the products.
        cu_seq_lens_q: Ends of the sequences, from 0.
        cu_seq_lens_k: The same for keys.
        max_length_q: Patches of the longest sequence.
        max_length_k: The same for keys.

    Returns:
        1 x patches x heads x width, and no weights.
    """
    from torch.nn.attention.varlen import varlen_attn

    width = query.shape[-1]
    fill = (0, -width % _HEAD_MULTIPLE)
    flat = (torch.nn.functional.pad(states[0].transpose(0, 1), fill).contiguous() for states in (query, key, value))
    ends = (bounds.to(torch.int32) for bounds in (cu_seq_lens_q, cu_seq_lens_k))
    attended = varlen_attn(
        *flat, *ends, int(max_length_q), int(max_length_k), scale=width**-0.5 if scaling is None else scaling
    )
    return attended[None, ..., :width], None


def _has_kernel(encoder: PreTrainedModel) -> bool:
    devices = {parameter.device for parameter in encoder.parameters()}
    return (
        find_spec(_KERNEL) is not None
        and encoder.dtype in (torch.bfloat16, torch.float16)
        and all(one.type == "cuda" and torch.cuda.get_device_capability(one) >= _CAPABILITY for one in devices)
    )
