"""Packed image encoders compute attention in one call, with the values that transformers' loop over sequences gives."""

import itertools
import sys
import types

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AutoModelForImageTextToText

from mmscore.infer.packed_attention import PACKED, find_packed_encoders, pack_encoders
from support.tiny_models import save_packed

pytestmark = pytest.mark.slow

GRID = torch.tensor([[1, 4, 6], [1, 8, 8], [1, 2, 2]])


@pytest.fixture(scope="module")
def packed_model(tmp_path_factory):
    return save_packed(tmp_path_factory.mktemp("models") / "packed")


def attend_each(query, key, value, ends, _, longest, longest_key, *, scale):
    """What `torch.nn.attention.varlen.varlen_attn` computes on a GPU, sequence by sequence."""
    assert longest == longest_key == int(ends.diff().max())
    parts = [
        [states[first:end].transpose(0, 1) for states in (query, key, value)] for first, end in itertools.pairwise(ends)
    ]
    return torch.cat([scaled_dot_product_attention(*part, scale=scale).transpose(0, 1) for part in parts])


def encode(model, grid=GRID):
    torch.manual_seed(1)
    width = model.model.visual.patch_embed.proj.weight[0].numel()
    pixels = torch.randn(int(grid.prod(dim=1).sum()), width, device=model.device, dtype=model.dtype)
    with torch.inference_mode():
        given = model.model.visual(pixels, grid_thw=grid.to(model.device))
    return getattr(given, "pooler_output", given)


def load(folder, **options):
    return AutoModelForImageTextToText.from_pretrained(folder, **options).eval()


def test_the_encoder_gives_what_it_gives_sequence_by_sequence(packed_model, monkeypatch):
    model = load(packed_model)
    expected = encode(model)
    kernel = types.ModuleType("torch.nn.attention.varlen")
    kernel.varlen_attn = attend_each
    monkeypatch.setitem(sys.modules, "torch.nn.attention.varlen", kernel)
    monkeypatch.setattr("mmscore.infer.packed_attention._has_kernel", lambda _: True)
    assert pack_encoders(model)
    assert model.model.visual.config._attn_implementation == PACKED
    assert model.model.language_model.config._attn_implementation == "sdpa"
    torch.testing.assert_close(encode(model), expected, rtol=1e-5, atol=1e-5)


def test_other_encoders_and_other_kinds_of_attention_are_left_alone(random_llava, packed_model):
    assert find_packed_encoders(load(random_llava)) == []
    assert find_packed_encoders(load(packed_model, attn_implementation="eager")) == []
    assert [type(part).__name__ for part in find_packed_encoders(load(packed_model))] == [
        "Qwen2_5_VisionTransformerPretrainedModel"
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="the kernel is here")
def test_a_device_without_the_kernel_keeps_the_loop(packed_model):
    model = load(packed_model, dtype=torch.bfloat16)
    assert not pack_encoders(model)
    assert model.model.visual.config._attn_implementation == "sdpa"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu_the_kernel_gives_what_the_loop_gives(packed_model):
    model = load(packed_model, dtype=torch.bfloat16, device_map="cuda")
    loop = encode(model)
    exact = encode(load(packed_model, dtype=torch.float32, device_map="cuda"))
    assert pack_encoders(model)
    packed = encode(model)
    # As near to single precision as the loop is.
    assert (packed - exact).abs().max() <= 1.5 * (loop - exact).abs().max()
