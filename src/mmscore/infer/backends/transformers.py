"""Answers with a vision-language model of transformers, on the GPU when there is one.

Any model that `AutoModelForImageTextToText` loads and that has a chat template. Responses are greedy
unless drawing was asked for, and a draw depends on seed and row alone: neither the batch nor a
resumed run changes it.
"""

import copy
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec.structs import replace
from transformers import AutoModelForImageTextToText, AutoProcessor
from transformers.generation import GenerationConfig, LogitsProcessorList
from transformers.utils import logging

from mmconvert.core.errors import Error, UsageError, show, suggest_spelling
from mmconvert.core.progress import print_message
from mmconvert.core.record import Record
from mmscore.infer.backend import CHAT, LIKELIHOOD, SUM, Generation, ModelOptions, check_options, require_draws
from mmscore.infer.images import count_fitting
from mmscore.infer.likelihood import choose_option, read_prompts, score_options, tokenize_options
from mmscore.infer.memory import PROCESSES_PER_GPU, TokenBudget
from mmscore.infer.packed_attention import pack_encoders
from mmscore.infer.prompt_length import PromptLength
from mmscore.infer.sampling import TokenScores, draw_processors
from mmscore.infer.thinking import OPEN, split_thinking
from mmscore.infer.vlm_prompts import PreparedRow, Prompts
from mmscore.llm.response_cache import Answer, failed

_MAX_NEW_TOKENS = 1024
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "auto": "auto"}

_OPTIONS = (
    *("--batch-size", "--dtype", "--attn", "--compile", "--max-new-tokens", "--do-sample", "--temperature"),
    *("--top-p", "--top-k", "--num-beams", "--stop", "--seed", "--n"),
    *("--continue-final-message", "--method", "--likelihood-reduction", "--max-image-side"),
    *("--template", "--output-scores"),
)
_BATCH_ON_GPU, _BATCH_ON_CPU = 256, 16
_TOKENS_ON_GPU, _TOKENS_ON_CPU = 1 << 14, 1 << 16
"""Tokens that go together before anything was measured; on a CPU nothing is."""

_TOKENS_AN_OPTION = 64
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_MODEL_FILES = {".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".py"}
_HASHED_BYTES = 64 << 20
_PROMPT_END_TOKENS = 16


class TransformersBackend:
    """A loaded model; see `mmscore.infer.backend.Backend`."""

    prompt_only = True

    def __init__(self, options: ModelOptions) -> None:
        """Load processor and model.

        Raises:
            UsageError: There is no such folder, or an option has a value that is unknown.
            Error: The model cannot be loaded, or has no chat template.
        """
        check_options("transformers", options, *_OPTIONS)
        require_draws(options)
        if options.quiet or not sys.stderr.isatty():
            logging.disable_progress_bar()
        self.name, source = _find_source(options.model)
        on_gpu = torch.cuda.is_available()
        dtype = _find_dtype(options.dtype or ("bfloat16" if on_gpu else "float32"))
        self._processor = _load(AutoProcessor, options.model, source)
        if not (hasattr(self._processor, "image_processor") and hasattr(self._processor, "tokenizer")):
            raise Error(f"{options.model}: takes no images. Choose a vision-language model.")
        if options.template == CHAT and getattr(self._processor, "chat_template", None) is None:
            raise Error(
                f"{options.model}: has no chat template. Choose a model that was tuned to answer in turns, "
                "or send finished texts with --template raw."
            )
        self._model = _load(
            AutoModelForImageTextToText,
            options.model,
            source,
            dtype=dtype,
            attn_implementation=options.attn,
            device_map="auto" if on_gpu else None,
        ).eval()
        packed = options.attn is None and on_gpu and pack_encoders(self._model)
        if not options.quiet:
            _warn_of_offload(self._model, options.model)
        self._prompts = Prompts(
            self._processor,
            template=options.template,
            max_image_side=options.max_image_side,
            encoder=bool(self._model.config.is_encoder_decoder),
        )
        # The processor works in a thread of its own, and its tokenizer cannot be used by two at a time.
        self._tokenizer = copy.deepcopy(self._processor.tokenizer)
        self._prompt_length = PromptLength(
            self._processor, copy.deepcopy(self._processor.tokenizer), options.max_image_side
        )
        self._max_side = options.max_image_side
        self._output_scores = options.output_scores
        self._reduction = (options.likelihood_reduction or SUM) if options.method == LIKELIHOOD else None
        self._generation = options.generation
        self._config = _build_generation_config(self._model.generation_config, options.generation, self._tokenizer)
        self._ends = _list_token_ids(self._config.eos_token_id)
        self._most_tokens = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if options.compile:
            self._config.cache_implementation = _name_compilable_cache(self._model, options.model)
        self.batch_size = options.batch_size or (_BATCH_ON_GPU if on_gpu else _BATCH_ON_CPU)
        self._measures = options.batch_size is None
        self._reply_tokens = self._config.max_new_tokens if self._reduction is None else _TOKENS_AN_OPTION
        self._tokens_a_size: float | None = None
        devices = sorted({parameter.device.index for parameter in self._model.parameters() if parameter.is_cuda})
        unknown = _TOKENS_ON_GPU if devices else _TOKENS_ON_CPU
        share = 1 / int(os.environ.get(PROCESSES_PER_GPU, "1"))
        for index in devices:
            torch.cuda.set_per_process_memory_fraction(share, index)
        self._budget = TokenBudget([_Gpu(index, share) for index in devices], unknown)
        weights = getattr(self._model.config, "_commit_hash", None) or _digest(Path(source))
        settings = (
            *(options.attn, self._config.max_new_tokens, self._reduction),
            *(options.max_image_side, options.template, options.output_scores),
            *(["compile"] if options.compile else []),
            *(["packed"] if packed else []),
        )
        self.identity = ":".join(map(str, ("transformers", weights, self._model.dtype, *settings)))

    def size(self, record: Record) -> float:
        """Count the tokens of a prompt, without what the template writes."""
        return self._prompt_length.count(record)

    def together(self, records: Sequence[Record]) -> int:
        """Give as many rows as the memory takes, or as the user said; fewer where their images are large."""
        most = count_fitting(records, self.batch_size, self._max_side)
        if not self._measures:
            return most
        return max(1, min(most, self._budget.count_tokens() // self._estimate_longest(self.size(records[0]))))

    def prepare(self, records: Sequence[Record]) -> "_Prepared":
        """Decode images, word the prompts and tokenise them."""
        asked = [self._prompts.asked(record) for record in records]
        rows = [row for row in asked if isinstance(row, PreparedRow)]
        # The template ends a batch with the beginning of a turn, or continues with the last one.
        parts = ([row for row in rows if row.continues is continues] for continues in (False, True))
        return _Prepared(asked, [(part, self._try_encode(part)) for part in parts])

    def _try_encode(self, rows: Sequence[PreparedRow]) -> Any:
        """Encode rows, or give None: whoever asks them together then finds the one that is to blame."""
        try:
            inputs = self._prompts.encoded(rows) if rows else None
        except Exception:  # processors of many makers: anything may come out of a bad row
            return None
        if inputs is not None:
            lengths = inputs["attention_mask"].sum(dim=1).tolist()
            sizes = [self.size(row.record) for row in rows]
            seen = max(length / size for length, size in zip(lengths, sizes, strict=True))
            self._tokens_a_size = max(self._tokens_a_size or 0, seen)
        return inputs

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records as one batch; a row that breaks the batch is found and fails alone."""
        return self.answer_prepared(self.prepare(records))

    def answer_prepared(self, prepared: "_Prepared") -> list[Answer]:
        """Answer what was made ready, as `answer` does."""
        responses = [iter(self._answer_rows(rows, inputs)) for rows, inputs in prepared.parts]
        return [next(responses[row.continues]) if isinstance(row, PreparedRow) else row for row in prepared.asked]

    def _answer_rows(self, rows: Sequence[PreparedRow], inputs: Any = None) -> list[Answer]:
        """Answer rows together; when that fails, halves of them, down to the row that is to blame."""
        if not rows:
            return []
        out_of_memory = False
        try:
            return self._choose_options(rows, inputs) if self._reduction else self._generate(rows, inputs)
        except torch.AcceleratorError as error:
            raise Error(
                f"the GPU failed ({_take_first_line(error)}). Run again: the answers so far are kept."
            ) from error
        except Exception as error:  # processors and models of many makers: anything may come out of a bad row
            out_of_memory = isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
            why = f"{type(error).__name__}: {_take_first_line(error)}"
        # Outside the handler, whose traceback would keep the tensors of the failed batch alive.
        if out_of_memory and torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(rows) == 1:
            return [failed(why)]
        half = len(rows) // 2
        if out_of_memory:
            # Remember that rows were too many: by their tokens where those are measured, else by their number.
            if self._measures and self._model.device.type == "cuda":
                self._budget.lower_limit(len(rows) * self._estimate_longest(max(self.size(row.record) for row in rows)))
            else:
                self.batch_size = min(self.batch_size, max(1, half))
        return self._answer_rows(rows[:half]) + self._answer_rows(rows[half:])

    def _estimate_longest(self, size: float) -> int:
        """Guess the tokens of a prompt and the longest response to it."""
        return int(size * (self._tokens_a_size or 1)) + self._reply_tokens

    def _move_inputs(self, rows: Sequence[PreparedRow], inputs: Any, room: int) -> Any:
        """Put rows, encoded already or not, before the model; what follows a prompt has room for so many tokens."""
        inputs = self._prompts.encoded(rows) if inputs is None else inputs
        longest = int(inputs["attention_mask"].sum(dim=1).max())
        if self._most_tokens is not None and longest + room > self._most_tokens:
            raise ValueError(f"the prompt has {longest} tokens, the model takes {self._most_tokens}")
        self._budget.begin_batch()
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def _generate(self, rows: Sequence[PreparedRow], inputs: Any) -> list[Answer]:
        inputs = self._move_inputs(rows, inputs, room=1)
        scores = TokenScores() if self._output_scores else None
        with torch.inference_mode():
            generated = self._model.generate(
                **inputs,
                generation_config=self._config,
                logits_processor=LogitsProcessorList(
                    [*([scores] if scores else []), *self._build_draw_processors(rows)]
                ),
                tokenizer=self._tokenizer if self._config.stop_strings else None,
            )
        self._budget.learn(generated.numel())
        start = 0 if self._model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
        tokens: list[list[int]] = generated[:, start:].tolist()
        answers = [self._read(inputs, tokens, index) for index in range(len(rows))]
        if scores is None:
            return answers
        kept = zip(answers, scores.values(generated), strict=True)
        return [replace(answer, token_logprobs=tuple(own[: answer.completion_tokens])) for answer, own in kept]

    def _choose_options(self, rows: Sequence[PreparedRow], inputs: Any) -> list[Answer]:
        """Take the likeliest option of each row; rows whose options cannot be scored fail alone."""
        options = [tokenize_options(self._tokenizer, row.record) for row in rows]
        scored = [(row, own) for row, own in zip(rows, options, strict=True) if not isinstance(own, Answer)]
        answers = iter(self._score_options(scored, inputs if len(scored) == len(rows) else None) if scored else [])
        return [own if isinstance(own, Answer) else next(answers) for own in options]

    def _score_options(self, rows: Sequence[tuple[PreparedRow, list[tuple[int, ...]]]], inputs: Any) -> list[Answer]:
        options = [own for _, own in rows]
        decoder_only = not self._model.config.is_encoder_decoder
        longest = max(len(tokens) for own in options for tokens in own)
        inputs = self._move_inputs([row for row, _ in rows], inputs, room=longest * decoder_only)
        prompts = read_prompts(self._model, self._config, inputs)
        # Options take the memory that prompts leave, in as many pieces as that needs.
        self._budget.learn(inputs["input_ids"].numel())
        logprobs = score_options(prompts, options)
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            choose_option(row.record, own, str(self._reduction), length)
            for (row, _), own, length in zip(rows, logprobs, lengths, strict=True)
        ]

    def _build_draw_processors(self, rows: Sequence[PreparedRow]) -> LogitsProcessorList:
        if not self._generation.sampling:
            return LogitsProcessorList()
        records = [row.record for row in rows]
        return draw_processors(self._generation, self._model.generation_config, self._model.device, records)

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
        thinking, response = split_thinking(text[: min(stops, default=None)], opened=prompt_end.rstrip().endswith(OPEN))
        return Answer(
            text=response,
            finish_reason="length" if end is None and not stops else "stop",
            thinking=thinking,
            prompt_tokens=int(mask.sum()),
            completion_tokens=len(said) + (end is not None),
        )


class _Prepared(msgspec.Struct, frozen=True):
    """Rows as they are asked, or why they are not; and those that are asked together, with their tensors if any."""

    asked: Sequence[PreparedRow | Answer]
    parts: Sequence[tuple[Sequence[PreparedRow], Any]]


@dataclass(slots=True)
class _Gpu:
    """A GPU, or this process's share of it, as `mmscore.infer.memory.Device`."""

    index: int
    share: float = 1.0
    before: int = 0

    def measure_room(self) -> int:
        free, total = torch.cuda.mem_get_info(self.index)
        used = torch.cuda.memory_allocated(self.index)
        return int(min(free + torch.cuda.memory_reserved(self.index) - used, self.share * total - used))

    def reset_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats(self.index)
        self.before = torch.cuda.memory_allocated(self.index)

    def measure_peak(self) -> int:
        return int(torch.cuda.max_memory_allocated(self.index) - self.before)


def _warn_of_offload(model: Any, name: str) -> None:
    """Say so where a part of the model did not fit the GPUs: it answers all the same, many times as slowly."""
    elsewhere = [part for part, device in getattr(model, "hf_device_map", {}).items() if device in ("cpu", "disk")]
    if elsewhere:
        print_message(
            f"mmscore: {name}: {len(elsewhere)} parts of the model do not fit the free memory of the GPU and run from "
            "main memory, which is slow. Free the GPU, use fewer --processes, or choose a smaller --dtype."
        )


def _name_compilable_cache(model: Any, name: str) -> str:
    """Name the cache whose steps transformers compiles, on a GPU."""
    if not getattr(model, "_can_compile_fullgraph", False):
        raise UsageError(f"--compile: transformers cannot compile a {type(model).__name__} ({name}). Leave it out.")
    return "static"


def _build_generation_config(own: GenerationConfig, asked: Generation, tokenizer: Any) -> GenerationConfig:
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


def _find_source(model: str) -> tuple[str, str]:
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
        where = "" if Path(source).is_dir() else " It is not a folder here, so it was looked for on the Hub."
        raise Error(f"{model}: cannot be loaded ({type(error).__name__}: {_take_first_line(error)}).{where}") from error


def _find_dtype(name: str) -> Any:
    if name not in _DTYPES:
        raise UsageError(
            f"--dtype: expected one of {', '.join(_DTYPES)} {show(name)}.{suggest_spelling(name, _DTYPES)}"
        )
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


def _list_token_ids(value: int | Sequence[int] | None) -> frozenset[int]:
    if value is None:
        return frozenset()
    return frozenset([value] if isinstance(value, int) else value)


def _take_first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


BACKEND = TransformersBackend
