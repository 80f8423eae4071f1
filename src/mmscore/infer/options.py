"""The options of asking a model about a dataset: those of `mmscore predict`."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from mmconvert.core.errors import UsageError
from mmconvert.core.option_fields import Place
from mmscore.infer.backend import RAW, Generation, ModelOptions, Service

LOCAL = "local"

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_AboveZero = Annotated[float, msgspec.Meta(gt=0)]


class PredictOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked, how, and what becomes of what stands already."""

    model: str
    """Model: a local folder, a Hub id, or the name that the API server uses."""
    backend: str | None = None
    """Inference backend. [default: openai with --base-url or --serve, else transformers]"""
    base_url: tuple[str, ...] = ()
    """Base URL of an OpenAI-compatible API server; repeatable, several servers of the model share the samples.
    [default: $OPENAI_BASE_URL]"""
    serve: str | None = None
    """Server command to run meanwhile, such as "vllm serve MODEL --data-parallel-size 8"; {model} stands for --model.
    Without --base-url it is asked at the --port of the command, or 8000."""
    api_key_env: str | None = None
    """Environment variable that holds the API key. [default: OPENAI_API_KEY]"""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] | Literal["auto"] | None = None
    """Maximum concurrent requests to each server; auto starts with one, and adds more as long as the server answers
    more. [default: auto]"""
    timeout: _AboveZero | None = None
    """Request timeout; a request that times out is retried. [default: 120]"""
    max_calls: _Positive | None = None
    """Maximum number of requests, retries included."""
    max_total_tokens: _Positive | None = None
    """Maximum number of tokens, prompts and responses together."""
    price: str | None = None
    """Price per million prompt and completion tokens, or a file with a table of prices, to report the cost."""
    max_cost: _AboveZero | None = None
    """Maximum cost of the run, computed from --price."""
    extra_body: str | None = None
    """Extra fields of each request body, for example {"top_k": 20}."""
    json_schema: Annotated[Path, Place(exists=True)] | None = None
    """JSON schema that the server holds responses to (structured outputs)."""
    batch_size: _Positive | Literal["auto"] = "auto"
    """Batch size; halved when GPU memory runs out."""
    dtype: str | None = None
    """float32, bfloat16, float16 or auto. [default: bfloat16 on a GPU, else float32]"""
    attn: str | None = None
    """Attention implementation: sdpa, eager, flash_attention_2, ..."""
    compile: bool = False
    """Use torch.compile for the decoding step; worthwhile for long GPU runs."""
    method: Literal["generate", "likelihood"] = "generate"
    """Generate a response, or choose the option with the highest likelihood."""
    likelihood_reduction: Literal["sum", "mean", "token"] | None = None
    """How token log-probabilities of an option are combined; token also stores each one. [default: sum]"""
    max_new_tokens: _Positive | None = None
    """Maximum number of new tokens. [default: set by the backend]"""
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Sampling temperature; 0 is greedy decoding."""
    do_sample: bool = False
    """Sample with the model's own generation settings."""
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Nucleus sampling: cumulative probability to keep."""
    top_k: _Positive | None = None
    """Number of most likely tokens to sample from."""
    num_beams: _Positive | None = None
    """Number of beams of beam search."""
    n: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    """Number of responses per sample; each becomes a row."""
    output_scores: bool = False
    """Store the log-probability of each response token."""
    stop: tuple[str, ...] = ()
    """Stop sequence; removed from the response; repeatable."""
    seed: int | None = None
    """Random seed of sampling. [default: 0, or chosen by the server]"""
    continue_final_message: bool = False
    """Continue a final assistant turn instead of adding a new one."""
    system: str | None = None
    """System prompt for every sample; replaces its own."""
    template: Literal["chat", "raw"] = "chat"
    """chat applies the chat template; raw sends the text as it is."""
    max_image_side: _Positive | None = None
    """Downscale images whose longer side exceeds N pixels."""
    no_interleave: bool = False
    """Send the first image, then all texts joined by line breaks."""
    protocol: str | None = None
    """How responses become the history of later rounds of a conversation. [default: the reference answers are the
    history]"""
    resume: bool = False
    """Continue a previous run, even if the output file exists."""
    restart: bool = False
    """Discard cached responses and run every sample again."""
    share: bool = False
    """Share the work: other processes started with the same command fill the same output."""
    processes: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    """Number of processes, each with its own copy of the model and a share of the GPUs. [default: 1; on a cluster one
    per GPU]"""
    engine: Literal["local", "ray"] = "local"
    """Where processes run: local, or ray for a Ray cluster."""
    shard: str | None = None
    """Run only part I of N, numbered from 1, such as 2/8, into OUTPUT with .I before its extension (answers.2.parquet);
    `mmscore merge` joins the parts."""
    limit: _Positive | None = None
    """Run only the first N samples."""
    where: str | None = None
    """Run only samples that match a condition: "task = 'vqa' and len(images) = 1"."""

    @property
    def plugin(self) -> str:
        """Name of the backend that answers."""
        return self.backend or ("openai" if self.base_url or self.serve is not None else "transformers")

    @property
    def several(self) -> bool:
        """Whether several processes of this machine answer."""
        return self.engine == LOCAL and (self.processes or 1) > 1

    def generation(self) -> Generation:
        """Say how responses are generated.

        Raises:
            UsageError: Options exclude each other.
        """
        return Generation(**{name: getattr(self, name) for name in _list_names(Generation)})

    def build_model_options(self, *, quiet: bool) -> ModelOptions:
        """Give what a backend is opened with.

        Args:
            quiet: No progress bars while loading.

        Raises:
            UsageError: Options exclude each other.
        """
        if self.template == RAW and self.system is not None:
            raise UsageError("--template raw sends finished texts; --system has no place in them. Leave one out.")
        given = {name: getattr(self, name) for name in _list_names(ModelOptions) if name in self.__struct_fields__}
        given["batch_size"] = None if self.batch_size == "auto" else self.batch_size
        service = Service(**{name: getattr(self, name) for name in _list_names(Service)})
        return ModelOptions(**given, generation=self.generation(), service=service, quiet=quiet)


def _list_names(struct: type) -> tuple[str, ...]:
    found: tuple[str, ...] = struct.__struct_fields__  # type: ignore[attr-defined]
    return found
