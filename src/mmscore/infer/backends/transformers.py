"""Answers with a vision-language model of transformers, on the GPU when there is one.

Any model that `AutoModelForImageTextToText` loads and that has a chat template. Replies are greedy
unless drawing was asked for, and a draw depends on seed and row alone: neither the batch nor a
resumed run changes it.
"""

import copy
import hashlib
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image as Picture
from PIL import UnidentifiedImageError
from transformers import AutoModelForImageTextToText, AutoProcessor
from transformers.generation import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.utils import logging

from mmconvert.errors import Error, UsageError, did_you_mean, got
from mmconvert.record import Record
from mmscore.answers import Answer, failed
from mmscore.infer.backend import Generation, ModelOptions, honour
from mmscore.infer.thinking import OPEN, split_thinking

_MAX_NEW_TOKENS = 1024
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "auto": "auto"}

_OPTIONS = (
    *("--batch-size", "--dtype", "--attn", "--max-new-tokens", "--do-sample", "--temperature"),
    *("--top-p", "--top-k", "--num-beams", "--stop", "--seed"),
)
_BATCH_ON_GPU, _BATCH_ON_CPU = 32, 8
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_MODEL_FILES = {".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".py"}
_HASHED_BYTES = 64 << 20
_PROMPT_END_TOKENS = 16


@dataclass(frozen=True, slots=True)
class _Asked:
    """One row as the processor takes it."""

    record: Record
    conversation: list[dict[str, Any]]
    guarded: bool  # the text holds a control token that is to be read as text


class TransformersBackend:
    """A loaded model; see `mmscore.infer.backend.Backend`."""

    def __init__(self, options: ModelOptions) -> None:
        """Load processor and model.

        Raises:
            UsageError: There is no such folder, or an option has a value that is unknown.
            Error: The model cannot be loaded, or has no chat template.
        """
        honour("transformers", options, *_OPTIONS)
        if options.quiet or not sys.stderr.isatty():
            logging.disable_progress_bar()
        self.name, source = _source(options.model)
        on_gpu = torch.cuda.is_available()
        dtype = _dtype(options.dtype or ("bfloat16" if on_gpu else "float32"))
        self._processor = _load(AutoProcessor, options.model, source)
        if not (hasattr(self._processor, "image_processor") and hasattr(self._processor, "tokenizer")):
            raise Error(f"{options.model}: takes no pictures. Choose a vision-language model.")
        if getattr(self._processor, "chat_template", None) is None:
            raise Error(f"{options.model}: has no chat template. Choose a model that was tuned to answer in turns.")
        self._model = _load(
            AutoModelForImageTextToText,
            options.model,
            source,
            dtype=dtype,
            attn_implementation=options.attn,
            device_map="auto" if on_gpu else None,
        ).eval()
        self._tokenizer = self._processor.tokenizer
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token or self._tokenizer.unk_token
        self._generation = options.generation
        self._config = _generation_config(self._model.generation_config, options.generation, self._tokenizer)
        self._ends = _token_ids(self._config.eos_token_id)
        self._most_tokens = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._control = _any_of([*self._tokenizer.all_special_tokens, *_placeholders(self._processor)])
        self._placeholder = _any_of(_placeholders(self._processor))
        self._can_guard = self._reads_placeholder_as_text()
        self.batch_size = options.batch_size or (_BATCH_ON_GPU if on_gpu else _BATCH_ON_CPU)
        weights = getattr(self._model.config, "_commit_hash", None) or _digest(Path(source))
        self.identity = f"transformers:{weights}:{self._model.dtype}:{options.attn}:{self._config.max_new_tokens}"

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records as one batch; a row that breaks the batch is found and fails alone."""
        answers: list[Answer | None] = []
        rows = []
        for record in records:
            row = self._asked(record)
            answers.append(row if isinstance(row, Answer) else None)
            if isinstance(row, _Asked):
                rows.append(row)
        replies = iter(self._answered(rows))
        return [next(replies) if answer is None else answer for answer in answers]

    def _asked(self, record: Record) -> _Asked | Answer:
        """Decode the pictures and build the conversation, or say why that fails."""
        pictures = []
        for number, image in enumerate(record.images, start=1):
            if image.bytes is None:
                return failed(f"images: picture {number} is only an address. Convert with --allow-remote.")
            try:
                # The orientation that EXIF may note is left alone, as the kits leave it.
                pictures.append(Picture.open(io.BytesIO(image.bytes)).convert("RGB"))
            except UnidentifiedImageError:
                return failed(f"images: picture {number} has no known format. Run mmconvert check on the source.")
            except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError) as error:
                return failed(f"images: picture {number} cannot be decoded ({_first_line(error)}).")
        text = "\n".join(part.text for turn in record.messages for part in turn.content)
        found = self._placeholder.search(text)
        if found and not self._can_guard:
            return failed(f"messages: the text holds {found[0]!r}, which this model cannot tell from a picture.")
        shown = iter(pictures)
        conversation = [
            {
                "role": turn.role,
                "content": [
                    {"type": "image", "image": next(shown)}
                    if part.type == "image"
                    else {"type": "text", "text": part.text}
                    for part in turn.content
                ],
            }
            for turn in record.messages
        ]
        return _Asked(record, conversation, self._can_guard and self._control.search(text) is not None)

    def _answered(self, rows: Sequence[_Asked]) -> list[Answer]:
        """Answer rows together; when that fails, halves of them, down to the row that is to blame."""
        if not rows:
            return []
        out_of_memory = False
        try:
            inputs = self._encoded([row.conversation for row in rows], guarded=any(row.guarded for row in rows))
            tokens = self._generated(inputs, rows)
        except torch.AcceleratorError as error:
            raise Error(f"the GPU failed ({_first_line(error)}). Run again: the answers so far are kept.") from error
        except Exception as error:  # processors and models of many makers: anything may come out of a bad row
            out_of_memory = isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
            why = f"{type(error).__name__}: {_first_line(error)}"
        else:
            return [self._read(inputs, tokens, index) for index in range(len(rows))]
        # Outside the handler, whose traceback would keep the tensors of the failed batch alive.
        if out_of_memory and torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(rows) == 1:
            return [failed(why)]
        half = len(rows) // 2
        if out_of_memory:
            self.batch_size = min(self.batch_size, max(1, half))
        return self._answered(rows[:half]) + self._answered(rows[half:])

    def _encoded(self, conversations: Sequence[list[dict[str, Any]]], *, guarded: bool) -> Any:
        """Render, tokenise and pad to the left, and move to the model's device."""
        # Fresh turns: the processor writes into those it is given, and a batch may be tried twice.
        inputs = self._processor.apply_chat_template(
            [[dict(turn) for turn in conversation] for conversation in conversations],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
            sanitize_control_tokens=guarded,
        )
        longest = int(inputs["attention_mask"].sum(dim=1).max())
        if self._most_tokens is not None and longest >= self._most_tokens:
            raise ValueError(f"the prompt has {longest} tokens, the model takes {self._most_tokens}")
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def _generated(self, inputs: Any, rows: Sequence[_Asked]) -> list[list[int]]:
        with torch.inference_mode():
            generated = self._model.generate(
                **inputs,
                generation_config=self._config,
                logits_processor=self._draws(rows),
                tokenizer=self._tokenizer if self._config.stop_strings else None,
            )
        start = 0 if self._model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
        tokens: list[list[int]] = generated[:, start:].tolist()
        return tokens

    def _draws(self, rows: Sequence[_Asked]) -> LogitsProcessorList:
        if not self._generation.sampling:
            return LogitsProcessorList()
        return _draw_processors(
            self._generation, self._model.generation_config, self._model.device, [row.record for row in rows]
        )

    def _read(self, inputs: Any, tokens: Sequence[Sequence[int]], index: int) -> Answer:
        """Turn the generated tokens of one row into its answer."""
        mask = inputs["attention_mask"][index].bool()
        prompt_end = self._tokenizer.decode(inputs["input_ids"][index][mask][-_PROMPT_END_TOKENS:])
        ids = list(tokens[index])
        end = next((position for position, token in enumerate(ids) if token in self._ends), None)
        said = ids[:end]
        while said and said[-1] == self._config.pad_token_id:
            said.pop()
        text = self._tokenizer.decode(said, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        stops = [position for stop in self._generation.stop if (position := text.find(stop)) >= 0]
        thinking, reply = split_thinking(text[: min(stops, default=None)], opened=prompt_end.rstrip().endswith(OPEN))
        return Answer(
            text=reply,
            finish_reason="length" if end is None and not stops else "stop",
            thinking=thinking,
            prompt_tokens=int(mask.sum()),
            completion_tokens=len(said) + (end is not None),
        )

    def _reads_placeholder_as_text(self) -> bool:
        """Try whether the processor can be told that a placeholder in the text is no picture."""
        picture = Picture.new("RGB", (64, 64))
        text = " ".join(_placeholders(self._processor))
        turn = {"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": text}]}
        try:
            self._encoded([[turn]], guarded=True)
        except Exception:  # each processor refuses in its own way; that it refuses is the answer
            return False
        return True


class _RowDraws(LogitsProcessor):  # type: ignore[misc]
    """Adds Gumbel noise from one generator a row: the largest sum is then a fair draw (the Gumbel-max rule)."""

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self._generators = generators

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Disturb the scores of each row, in float32."""
        noise = torch.empty_like(scores, dtype=torch.float32)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return scores.float() - noise.log()


def _draw_processors(
    generation: Generation, model_config: GenerationConfig, device: torch.device, records: Sequence[Record]
) -> LogitsProcessorList:
    """Build the steps from scores to a draw: temperature, top-k, top-p, noise.

    Generating then takes the largest score. Torch's own draw would share one random state between
    the rows, and change with the batch.
    """
    temperature = generation.temperature or model_config.temperature or 1.0
    top_k = generation.top_k or model_config.top_k
    top_p = generation.top_p or model_config.top_p
    processors = LogitsProcessorList()
    if temperature != 1.0:
        processors.append(TemperatureLogitsWarper(temperature))
    if top_k:
        processors.append(TopKLogitsWarper(top_k))
    if top_p is not None and top_p < 1.0:
        processors.append(TopPLogitsWarper(top_p))
    seeds = [_row_seed(generation.seed or 0, record) for record in records]
    processors.append(_RowDraws([torch.Generator(device).manual_seed(seed) for seed in seeds]))
    return processors


def _row_seed(seed: int, record: Record) -> int:
    digest = hashlib.sha256(f"{seed}:{record.variant}:{record.id}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _generation_config(own: GenerationConfig, asked: Generation, tokenizer: Any) -> GenerationConfig:
    """Take the model's own settings (a repetition penalty, its end tokens), greedy, and those asked for."""
    config = copy.deepcopy(own)
    config.update(
        max_new_tokens=asked.max_new_tokens or _MAX_NEW_TOKENS,
        max_length=None,
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        num_beams=asked.num_beams or 1,
        stop_strings=list(asked.stop) or None,
    )
    if config.eos_token_id is None:
        config.eos_token_id = tokenizer.eos_token_id
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def _source(model: str) -> tuple[str, str]:
    """Tell a folder from a Hub id; give the name for the `model` column and what to load."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve().name, str(path)
    if path.exists():
        raise UsageError(f"--model {model}: is a file. Give the folder that holds config.json.")
    if not _HUB_ID.fullmatch(model):
        raise UsageError(f"--model {model}: no such folder. Give a folder, or a Hub id (OWNER/NAME).")
    return model, model


def _load(kind: Any, model: str, source: str, **options: Any) -> Any:
    try:
        return kind.from_pretrained(source, **options)
    except Exception as error:  # a broken folder shows itself in every kind of exception
        where = "" if Path(source).is_dir() else " It is no folder here, so it was looked for on the Hub."
        raise Error(f"{model}: cannot be loaded ({type(error).__name__}: {_first_line(error)}).{where}") from error


def _dtype(name: str) -> Any:
    if name not in _DTYPES:
        raise UsageError(f"--dtype: expected one of {', '.join(_DTYPES)} {got(name)}.{did_you_mean(name, _DTYPES)}")
    return _DTYPES[name]


def _digest(folder: Path) -> str:
    """Digest a model's files; those over 64 MiB count by size and time, as reading 140 GB takes too long."""
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.suffix in _MODEL_FILES and p.is_file()):
        facts = file.stat()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{facts.st_size}\0".encode())
        if facts.st_size <= _HASHED_BYTES:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        else:
            digest.update(str(facts.st_mtime_ns).encode())
    return digest.hexdigest()


def _placeholders(processor: Any) -> list[str]:
    """Name the texts that stand for a picture in this processor's prompts."""
    tokens = [getattr(processor, "image_token", None), getattr(processor.tokenizer, "image_token", None)]
    return sorted({str(token) for token in tokens if token})


def _token_ids(value: int | Sequence[int] | None) -> frozenset[int]:
    if value is None:
        return frozenset()
    return frozenset([value] if isinstance(value, int) else value)


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    """Match any of some texts, the longest first; never matches when there are none."""
    longest_first = sorted(filter(None, texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


BACKEND = TransformersBackend
