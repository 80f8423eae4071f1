"""A tiny trained model on one core: predicting beside a loop over single rows, likelihood beside single passes."""

import io
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import PIL.Image
import pyarrow.parquet as pq
import torch
from transformers.utils import logging

from mmconvert.core.progress import Done
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.testing.demo.tiny_vlm import train
from mmscore.infer.backend import Generation, ModelOptions
from mmscore.infer.backends.transformers import BACKEND
from mmscore.infer.job import Job
from mmscore.infer.runner import predict
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import AnswerStore, store_path

COLOURS = {"red": (230, 20, 20), "green": (20, 130, 20), "blue": (20, 20, 230), "yellow": (230, 230, 20)}
QUESTIONS = ("What colour is the image? Answer with a single word.", "Name the colour that fills this image.")
EXACT = 4e-6


def records(count: int, seed: int) -> list[Record]:
    """Questions on images of one shade each, with four options."""
    random = Random(seed)
    rows = []
    for number in range(count):
        name = random.choice([*COLOURS])
        shade = tuple(min(255, max(0, value + random.randint(-15, 15))) for value in COLOURS[name])
        buffer = io.BytesIO()
        PIL.Image.new("RGB", (random.randint(24, 64), random.randint(24, 64)), shade).save(buffer, "PNG")
        turn = Turn("user", (Part("image"), Part("text", random.choice(QUESTIONS))))
        source = Source("bench", "bench.jsonl", number)
        rows.append(
            Record(
                str(number), str(number), (turn,), "vqa", source,
                images=(Image(buffer.getvalue(), 1, format="PNG"),), options=tuple(COLOURS), answer=name,
            )
        )  # fmt: skip
    return rows


def ours(folder: Path, model: Path, method: str, generation: Generation) -> tuple[float, list[dict[str, Any]]]:
    """Predict a dataset as the command does, store and file included; seconds after loading, and the rows."""
    backend = BACKEND(ModelOptions(str(model), generation, method=method, quiet=True))
    dataset = open_dataset(folder)
    with tempfile.TemporaryDirectory() as work:
        output = Path(work) / "p.parquet"
        started = time.perf_counter()
        with hold(store_path(output)) as held, AnswerStore(held, fingerprint=dataset.fingerprint) as store:
            predict(Job(dataset, output, backend, "transformers", generation, method=method), store, _silent)
        return time.perf_counter() - started, pq.read_table(output).to_pylist()


def _silent(_done: Done) -> None:
    """Say nothing."""


class Alone:
    """The plain way: the model and its processor, one row at a time."""

    def __init__(self, model: Path) -> None:
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.processor = AutoProcessor.from_pretrained(model)
        self.model = AutoModelForImageTextToText.from_pretrained(model, dtype=torch.float32).eval()

    def inputs(self, row: Record) -> Any:
        image = PIL.Image.open(io.BytesIO(row.images[0].bytes or b"")).convert("RGB")
        content = [{"type": "image", "image": image}, {"type": "text", "text": row.messages[0].content[1].text}]
        return self.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
        )  # fmt: skip

    def reply(self, row: Record, max_new_tokens: int) -> str:
        inputs = self.inputs(row)
        with torch.inference_mode():
            out = self.model.generate(**inputs, max_new_tokens=max_new_tokens, do_sample=False)
        text: str = self.processor.tokenizer.decode(out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return text

    def likelihoods(self, row: Record) -> list[float]:
        """One full pass an option; the prompt is worked out once."""
        inputs, sums = self.inputs(row), []
        for option in row.options:
            tokens = torch.tensor([self.processor.tokenizer.encode(option)])
            full = {**inputs, "input_ids": torch.cat([inputs["input_ids"], tokens], 1)}
            full["attention_mask"] = torch.ones_like(full["input_ids"])
            with torch.inference_mode():
                logits = self.model(**full).logits[:, -tokens.shape[1] - 1 : -1]
            sums.append(float(logits.log_softmax(-1).gather(-1, tokens[..., None]).double().sum()))
        return sums


def timed(work: Callable[[Record], Any], rows: Sequence[Record]) -> tuple[float, list[Any]]:
    started = time.perf_counter()
    done = [work(row) for row in rows]
    return time.perf_counter() - started, done


def run(rounds: int, rows: int = 200, max_new_tokens: int = 32) -> None:
    """Print rows a second of both ways, and stop where they do not say the same."""
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # more of them wait for each other on a machine with other work
    with tempfile.TemporaryDirectory() as work:
        model, folder = Path(work) / "model", Path(work) / "dataset"
        train(model, records(32, seed=1))
        asked = records(rows, seed=2)
        with DatasetWriter(folder) as writer:
            writer.write(asked)
        alone, generation = Alone(model), Generation(max_new_tokens=max_new_tokens)
        ours(folder, model, "generate", generation)  # the first pass of a process pays for imports
        timed(alone.likelihoods, asked[:8])
        times: dict[str, list[float]] = {
            name: [] for name in ("generate", "row by row", "likelihood", "pass an option")
        }
        for _ in range(rounds):
            seconds, predicted = ours(folder, model, "generate", generation)
            times["generate"].append(seconds)
            seconds, replies = timed(lambda row: alone.reply(row, max_new_tokens), asked)
            times["row by row"].append(seconds)
            if [row["prediction"] for row in predicted] != replies:
                raise SystemExit("failed: the responses differ")
            seconds, predicted = ours(folder, model, "likelihood", Generation())
            times["likelihood"].append(seconds)
            seconds, sums = timed(alone.likelihoods, asked)
            times["pass an option"].append(seconds)
            furthest = max(
                abs(one - other)
                for row, expected in zip(predicted, sums, strict=True)
                for one, other in zip(row["option_logprobs"], expected, strict=True)
            )
            if furthest > EXACT:
                raise SystemExit(f"failed: log-probabilities differ by {furthest:.1e}")
        for name, baseline in (("generate", "row by row"), ("likelihood", "pass an option")):
            mine, theirs = statistics.median(times[name]), statistics.median(times[baseline])
            print(
                f"{name:<11} {rows / mine:6,.0f} rows/s, {baseline} {rows / theirs:6,.0f} rows/s, "
                f"{theirs / mine:.1f} times as fast"
            )
        print(f"responses equal, log-probabilities differ by {furthest:.1e} at most")
