#!/usr/bin/env python
"""Generation on a GPU: ours beside a loop over single rows and one over fixed batches.

Needs torch, transformers, pyarrow, msgspec and Pillow and nothing of this project installed: run it from a
checkout. The model is a Qwen2.5-VL of random weights, made on the spot; `--tiny` takes a Llava of a
few thousand weights instead, for a look at the script without a GPU.

usage: scripts/bench_gpu.py [--tiny] [--rows N] [--baseline-rows N] [--layers N]
"""

import argparse
import io
import json
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import PIL.Image
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
stand_in: Any
try:
    import orjson  # noqa: F401
except ImportError:
    stand_in = types.ModuleType("orjson")
    stand_in.dumps = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    sys.modules["orjson"] = stand_in

from mmconvert.core.record import Image, Part, Record, Source, Turn  # noqa: E402
from mmconvert.dataset.dataset import DatasetWriter, open_dataset  # noqa: E402
from mmconvert.testing.demo.tiny_vlm import CHAT_TEMPLATE, build_byte_tokenizer  # noqa: E402  (the path is set above)
from mmscore.infer.backend import Generation, ModelOptions  # noqa: E402
from mmscore.infer.backends.transformers import BACKEND  # noqa: E402
from mmscore.infer.runner import Job, predict  # noqa: E402
from mmscore.llm.cache_lock import hold  # noqa: E402
from mmscore.llm.response_cache import AnswerStore, store_path  # noqa: E402

NEW_TOKENS = 32
FIXED_BATCH = 8
SECONDS_BETWEEN_LOOKS = 0.1
WORDS = ("what", "is", "shown", "here", "and", "which", "colour", "has", "the", "left", "part", "of", "it")


def records(count: int) -> list[Record]:
    """Questions of 5 to 80 words on images of noise, 224 to 560 pixels a side."""
    random, rows = Random(0), []
    for number in range(count):
        side = random.choice((224, 336, 448, 560))
        buffer = io.BytesIO()
        PIL.Image.effect_noise((side, side), 60).convert("RGB").save(buffer, "JPEG")
        text = " ".join(random.choice(WORDS) for _ in range(random.randint(5, 80)))
        image = Image(buffer.getvalue(), 1, format="JPEG", width=side, height=side)
        turn = Turn("user", (Part("image"), Part("text", text)))
        source = Source("bench", "bench.jsonl", number)
        rows.append(Record(str(number), str(number), (turn,), "vqa", source, images=(image,)))
    return rows


def save_model(folder: Path, layers: int) -> None:
    """A Qwen2.5-VL with the widths of the 3 B model; 36 layers make it as large."""
    from transformers import (
        GenerationConfig,
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    tokens = {
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "vision_start_token": "<|vision_start|>",
        "vision_end_token": "<|vision_end|>",
    }
    tokenizer = build_byte_tokenizer(**tokens)
    image = CHAT_TEMPLATE.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
    processor = Qwen2_5_VLProcessor(Qwen2VLImageProcessor(), tokenizer, Qwen2VLVideoProcessor(), chat_template=image)
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": 151_936, "hidden_size": 2048, "intermediate_size": 11_008, "num_hidden_layers": layers,
            "num_attention_heads": 16, "num_key_value_heads": 2, "max_position_embeddings": 32_768,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}, **special,
        },
        vision_config={"depth": 32, "hidden_size": 1280, "out_hidden_size": 2048, "intermediate_size": 3420},
        **{f"{name}_id": tokenizer.convert_tokens_to_ids(text) for name, text in tokens.items()},
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = Qwen2_5_VLForConditionalGeneration(config).to(torch.bfloat16)
    # No end token: every way generates the same number of tokens.
    model.generation_config = GenerationConfig(
        bos_token_id=special["bos_token_id"], pad_token_id=special["pad_token_id"]
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    del model
    torch.cuda.empty_cache()


class Plain:
    """The model and its processor in a loop, as users write it."""

    def __init__(self, folder: Path) -> None:
        self.processor = AutoProcessor.from_pretrained(folder)
        self.processor.tokenizer.padding_side = "left"
        on_gpu = torch.cuda.is_available()
        self.model = AutoModelForImageTextToText.from_pretrained(
            folder, dtype=torch.bfloat16 if on_gpu else torch.float32, device_map="cuda" if on_gpu else None
        ).eval()

    def ask(self, rows: Sequence[Record]) -> int:
        """Answer rows together; give the tokens of the replies."""
        talks = []
        for row in rows:
            image = PIL.Image.open(io.BytesIO(row.images[0].bytes or b"")).convert("RGB")
            content = [{"type": "image", "image": image}, {"type": "text", "text": row.messages[0].content[1].text}]
            talks.append([{"role": "user", "content": content}])
        inputs = self.processor.apply_chat_template(
            talks, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(self.model.device, dtype=self.model.dtype)  # fmt: skip
        with torch.inference_mode():
            out = self.model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=False, eos_token_id=None)
        return int(out[:, inputs["input_ids"].shape[1] :].numel())


@contextmanager
def watched() -> Iterator[list[int]]:
    """Look at the GPU's busy share, in percent, while something runs."""
    looks: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            looks.append(torch.cuda.utilization())

    thread = threading.Thread(target=look)
    if torch.cuda.is_available():
        thread.start()
    try:
        yield looks
    finally:
        done.set()
        if thread.ident:
            thread.join()


def plain(model: Plain, rows: Sequence[Record], batch: int) -> tuple[float, float, int]:
    """Seconds, busy share and tokens of a loop."""
    model.ask(rows[:batch])
    start = time.perf_counter()
    with watched() as looks:
        tokens = sum(model.ask(rows[first : first + batch]) for first in range(0, len(rows), batch))
    return time.perf_counter() - start, _mean(looks), tokens


def ours(model: Path, folder: Path, **options: Any) -> tuple[float, float, int]:
    """Seconds, busy share and tokens of the command's own run, store and file included, the loading not."""
    generation = Generation(max_new_tokens=NEW_TOKENS)
    backend: Any = BACKEND(ModelOptions(str(model), generation, quiet=True, **options))
    backend._config.eos_token_id = None
    dataset = open_dataset(folder)
    with tempfile.TemporaryDirectory() as work:
        output = Path(work) / "p.parquet"
        backend.answer(backend_rows(dataset))
        start = time.perf_counter()
        with (
            watched() as looks,
            hold(store_path(output)) as held,
            AnswerStore(held, fingerprint=dataset.fingerprint) as store,
        ):
            summary = predict(Job(dataset, output, backend, "transformers", generation), store, lambda *_: None)
        seconds = time.perf_counter() - start
    if summary.failed:
        raise SystemExit(f"failed: {summary.failed} of {summary.rows} rows have no response")
    return seconds, _mean(looks), summary.completion_tokens


def backend_rows(dataset: Any) -> list[Record]:
    from mmconvert.core.record import SCHEMA, from_arrow

    return from_arrow(next(dataset.batches([n for n in SCHEMA.names if n != "attachments"])).slice(0, FIXED_BATCH))


def _mean(looks: Sequence[int]) -> float:
    return sum(looks) / len(looks) if looks else float("nan")


def main() -> None:
    """Print tokens a second of each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--baseline-rows", type=int, default=200)
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    if not given.tiny and not torch.cuda.is_available():
        raise SystemExit("no GPU here. --tiny shows what the script does.")
    with tempfile.TemporaryDirectory() as work:
        model, folder = Path(work) / "model", Path(work) / "dataset"
        if given.tiny:
            from support.tiny_models import save_llava

            save_llava(model)
        else:
            save_model(model, given.layers)
        rows = records(given.rows)
        with DatasetWriter(folder) as writer:
            writer.write(rows)
        loop = Plain(model)
        weights = sum(parameter.numel() for parameter in loop.model.parameters())
        where = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        print(f"{where}, torch {torch.__version__}, {type(loop.model).__name__} of {weights / 1e9:.2f} B weights")
        few = rows[: given.baseline_rows]
        found = {"one row at a time": plain(loop, few, 1), f"batches of {FIXED_BATCH}": plain(loop, few, FIXED_BATCH)}
        del loop
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        found["mmscore predict"] = ours(model, folder)
        if given.compile:
            found["mmscore predict --compile"] = ours(model, folder, compile=True)
    slowest = found["one row at a time"]
    for name, (seconds, busy, tokens) in found.items():
        times = (tokens / seconds) / (slowest[2] / slowest[0])
        print(f"{name:<26} {tokens / seconds:9,.0f} tokens/s  {times:5.1f} times  GPU busy {busy:3.0f} %")


if __name__ == "__main__":
    main()
