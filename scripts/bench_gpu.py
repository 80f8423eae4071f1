#!/usr/bin/env python
"""Generation and likelihood on a GPU: ours beside loops over single rows and fixed batches.

Needs torch, transformers, pyarrow, msgspec and Pillow and nothing of this project installed: run it from a
checkout. The model is a Qwen2.5-VL of random weights, made on the spot; `--tiny` takes a Llava of a
few thousand weights instead, for a look at the script without a GPU.

usage: scripts/bench_gpu.py [--tiny] [--compile] [--processes N ...] [--rows N] [--baseline-rows N] [--layers N]
"""

import argparse
import gc
import io
import json
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import PIL.Image
import torch
import transformers
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
from mmscore.infer.backend import GENERATE, LIKELIHOOD, Generation, ModelOptions  # noqa: E402
from mmscore.infer.backends.transformers import BACKEND  # noqa: E402
from mmscore.infer.job import Job  # noqa: E402
from mmscore.infer.multiprocess import predict_in_processes  # noqa: E402
from mmscore.infer.options import PredictOptions  # noqa: E402
from mmscore.infer.runner import predict  # noqa: E402
from mmscore.llm.cache_lock import hold  # noqa: E402
from mmscore.llm.response_cache import AnswerStore, store_path  # noqa: E402

NEW_TOKENS = 32
FIXED_BATCH = 8
SECONDS_BETWEEN_LOOKS = 0.1
WORDS = ("what", "is", "shown", "here", "and", "which", "colour", "has", "the", "left", "part", "of", "it")


def build_records(count: int) -> list[Record]:
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
        options = tuple(" ".join(random.choices(WORDS, k=random.randint(1, 5))) for _ in range(4))
        rows.append(Record(str(number), str(number), (turn,), "vqa", source, images=(image,), options=options))
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

    def encode(self, rows: Sequence[Record]) -> Any:
        talks = []
        for row in rows:
            image = PIL.Image.open(io.BytesIO(row.images[0].bytes or b"")).convert("RGB")
            content = [{"type": "image", "image": image}, {"type": "text", "text": row.messages[0].content[1].text}]
            talks.append([{"role": "user", "content": content}])
        return self.processor.apply_chat_template(
            talks, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(self.model.device, dtype=self.model.dtype)  # fmt: skip

    def ask(self, rows: Sequence[Record]) -> int:
        """Answer rows together; give the tokens of the replies."""
        inputs = self.encode(rows)
        with torch.inference_mode():
            out = self.model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=False, eos_token_id=None)
        return int(out[:, inputs["input_ids"].shape[1] :].numel())

    def score(self, rows: Sequence[Record]) -> int:
        """Score the options of each row, one full pass an option; give the number of rows."""
        for row in rows:
            inputs = self.encode([row])
            for option in row.options:
                tokens = torch.tensor([self.processor.tokenizer.encode(option)], device=self.model.device)
                full = {**inputs, "input_ids": torch.cat([inputs["input_ids"], tokens], 1)}
                full["attention_mask"] = torch.ones_like(full["input_ids"])
                if "mm_token_type_ids" in inputs:
                    kinds = inputs["mm_token_type_ids"]
                    full["mm_token_type_ids"] = torch.cat([kinds, kinds.new_zeros(tokens.shape)], 1)
                with torch.inference_mode():
                    logits = self.model(**full).logits[:, -tokens.shape[1] - 1 : -1].float()
                float(logits.log_softmax(-1).gather(-1, tokens[..., None]).sum())
        return len(rows)


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


class Measured(NamedTuple):
    """One way of asking: how long it took, and what it gave."""

    seconds: float
    busy: float
    done: int
    told: str = ""


def time_loop(ask: Callable[[Sequence[Record]], int], rows: Sequence[Record], batch: int) -> Measured:
    """Ask batch after batch, the first one once more for what is loaded late."""
    ask(rows[:batch])
    start = time.perf_counter()
    with watched() as looks:
        done = sum(ask(rows[first : first + batch]) for first in range(0, len(rows), batch))
    return Measured(time.perf_counter() - start, _mean(looks), done)


def time_ours(model: Path, folder: Path, first: Sequence[Record], method: str, **options: Any) -> Measured:
    """Run as the command does, store and file included, the loading not."""
    generation = Generation(max_new_tokens=None if method == LIKELIHOOD else NEW_TOKENS)
    backend: Any = Watched(ModelOptions(str(model), generation, quiet=True, method=method, **options))
    backend._config.eos_token_id = None
    dataset = open_dataset(folder)
    with tempfile.TemporaryDirectory() as work:
        output = Path(work) / "p.parquet"
        backend.answer(first[:FIXED_BATCH])
        backend.forget()
        start = time.perf_counter()
        with (
            watched() as looks,
            hold(store_path(output)) as held,
            AnswerStore(held, fingerprint=dataset.fingerprint) as store,
        ):
            job = Job(dataset, output, backend, "transformers", generation, method=method)
            summary = predict(job, store, lambda *_: None)
        seconds = time.perf_counter() - start
    if summary.failed:
        raise SystemExit(f"failed: {summary.failed} of {summary.rows} rows have no response")
    done = summary.rows if method == LIKELIHOOD else summary.completion_tokens
    return Measured(seconds, _mean(looks), done, backend.tell())


def time_processes(model: Path, folder: Path, method: Any, processes: int) -> Measured:
    """Run in several processes that share the GPU, without the time in which they load the model."""
    options = PredictOptions(
        model=str(model),
        backend="transformers",
        method=method,
        max_new_tokens=None if method == LIKELIHOOD else NEW_TOKENS,
        processes=processes,
    )
    gc.collect()
    if torch.cuda.is_available():
        # What this process keeps for reuse would be missing there.
        torch.cuda.empty_cache()
    with tempfile.TemporaryDirectory() as work, watched() as looks:
        summary = predict_in_processes(folder, Path(work) / "p.parquet", options, quiet=True, task=None)
    if summary.failed:
        raise SystemExit(f"failed: {summary.failed} of {summary.rows} rows have no response")
    done = summary.rows if method == LIKELIHOOD else summary.completion_tokens
    last = looks[-max(1, int(summary.seconds / SECONDS_BETWEEN_LOOKS)) :]
    return Measured(summary.seconds, _mean(last), done)


class Watched(BACKEND):
    """A backend that notes the shape of each batch and where its time went."""

    _shapes: list[tuple[int, int, int]]

    def __init__(self, options: ModelOptions) -> None:
        self.forget()
        super().__init__(options)

    def forget(self) -> None:
        self._shapes = []
        self._preparing = self._answering = 0.0

    def prepare(self, records: Sequence[Record]) -> Any:
        start = time.perf_counter()
        prepared = super().prepare(records)
        self._preparing += time.perf_counter() - start
        for rows, inputs in prepared.parts:
            if inputs is not None:
                mask = inputs["attention_mask"]
                self._shapes.append((len(rows), mask.shape[1], int(mask.sum())))
        return prepared

    def answer_prepared(self, prepared: Any) -> Any:
        start = time.perf_counter()
        answers = super().answer_prepared(prepared)
        self._answering += time.perf_counter() - start
        return answers

    def tell(self) -> str:
        padded = sum(rows * longest for rows, longest, _ in self._shapes)
        share = 1 - sum(tokens for *_, tokens in self._shapes) / padded
        sizes = " ".join(f"{rows}x{longest}" for rows, longest, _ in self._shapes)
        return (
            f"{len(self._shapes)} batches, padding {share:.0%}, prepared in {self._preparing:.1f} s, "
            f"answered in {self._answering:.1f} s: {sizes}"
        )


def _mean(looks: Sequence[int]) -> float:
    return sum(looks) / len(looks) if looks else float("nan")


def show_table(unit: str, ways: Iterable[tuple[str, Callable[[], Measured]]]) -> None:
    """Measure one way after the other and print each at once."""
    slowest = 0.0
    for name, measure in ways:
        found = measure()
        speed = found.done / found.seconds
        slowest = slowest or speed
        print(
            f"{name:<29} {speed:9,.1f} {unit}/s  {speed / slowest:5.1f} times  GPU busy {found.busy:3.0f} %",
            flush=True,
        )
        if found.told:
            print(f"  {found.told}", flush=True)


def main() -> None:
    """Print tokens and rows a second of each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--baseline-rows", type=int, default=200)
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--processes", type=int, nargs="*", default=[2])
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    if not given.tiny and not torch.cuda.is_available():
        raise SystemExit("no GPU here. --tiny shows what the script does.")
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as work:
        model, folder = Path(work) / "model", Path(work) / "dataset"
        if given.tiny:
            from support.tiny_models import save_llava

            save_llava(model)
        else:
            save_model(model, given.layers)
        rows = build_records(given.rows)
        with DatasetWriter(folder) as writer:
            writer.write(rows)
        loop = Plain(model)
        weights = sum(parameter.numel() for parameter in loop.model.parameters())
        where = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
        print(f"{where}, {versions}, {type(loop.model).__name__} of {weights / 1e9:.2f} B weights", flush=True)
        few = rows[: given.baseline_rows]
        ways: list[tuple[str, Callable[[], Measured]]] = [
            ("one row at a time", lambda: time_loop(loop.ask, few, 1)),
            (f"batches of {FIXED_BATCH}", lambda: time_loop(loop.ask, few, FIXED_BATCH)),
            ("mmscore predict", lambda: time_ours(model, folder, few, GENERATE)),
        ]
        ways += [
            (f"mmscore predict --processes {n}", partial(time_processes, model, folder, GENERATE, n))
            for n in given.processes
        ]
        show_table("tokens", ways)
        likelihood = ("mmscore predict, likelihood", lambda: time_ours(model, folder, few, LIKELIHOOD))
        shared = [
            (f"  the same, --processes {n}", partial(time_processes, model, folder, LIKELIHOOD, n))
            for n in given.processes[-1:]
        ]
        show_table("rows", [("one pass an option", lambda: time_loop(loop.score, few, 1)), likelihood, *shared])
        if given.compile:
            show_table(
                "tokens", [("mmscore predict --compile", lambda: time_ours(model, folder, few, GENERATE, compile=True))]
            )


if __name__ == "__main__":
    main()
