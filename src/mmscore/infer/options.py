"""The options of asking a model about a dataset: those of `mmscore predict`."""

from typing import Annotated, Literal

import msgspec

from mmconvert.core.errors import UsageError
from mmscore.infer.backend import RAW, Generation, ModelOptions, Service

LOCAL = "local"

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_AboveZero = Annotated[float, msgspec.Meta(gt=0)]


class PredictOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked, how, and what becomes of what stands already."""

    model: str
    """Folder, Hub id, or the service's or backend's own name for a model."""
    backend: str | None = None
    """Who answers. [default: openai with --base-url, else transformers]"""
    base_url: str | None = None
    """OpenAI-compatible service. [default: OPENAI_BASE_URL]"""
    api_key_env: str | None = None
    """Variable of the service's key. [default: OPENAI_API_KEY]"""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    """Rows under way at once. [default: 16]"""
    timeout: _AboveZero | None = None
    """Silence after which a service is asked again. [default: 120]"""
    max_calls: _Positive | None = None
    """Most calls of a service, retries included."""
    max_total_tokens: _Positive | None = None
    """Most tokens, replies included."""
    price: str | None = None
    """Price of a million tokens, for the cost of the file."""
    max_cost: _AboveZero | None = None
    """Most that a run may cost, by --price."""
    extra_body: str | None = None
    """Further fields of each request, {"top_k": 20}."""
    batch_size: _Positive | Literal["auto"] = "auto"
    """Rows at once; halved when memory runs out."""
    dtype: str | None = None
    """float32, bfloat16, float16 or auto. [default: bfloat16 on a GPU, else float32]"""
    attn: str | None = None
    """Attention implementation: sdpa, eager, flash_attention_2, ..."""
    compile: bool = False
    """Compile the step that generates a token; pays on long GPU runs."""
    method: Literal["generate", "likelihood"] = "generate"
    """Reply, or take the likeliest option."""
    likelihood_reduction: Literal["sum", "mean", "token"] | None = None
    """Log-probability of an option that counts; token sums and keeps each token's. [default: sum]"""
    max_new_tokens: _Positive | None = None
    """Most tokens of a reply. [default: the backend's]"""
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Above 0 draws tokens; 0 is greedy."""
    do_sample: bool = False
    """Draw tokens with the model's own settings."""
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Draw from this share of probability."""
    top_k: _Positive | None = None
    """Draw from this many tokens."""
    num_beams: _Positive | None = None
    """Beams of a beam search."""
    n: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    """Replies a row, each a row."""
    output_scores: bool = False
    """Write the log-probability of each token of the reply."""
    stop: tuple[str, ...] = ()
    """Text that ends a reply and is cut from it; repeatable."""
    seed: int | None = None
    """Seed of the draws. [default: 0, or the service's]"""
    continue_final_message: bool = False
    """Go on with a last turn of the assistant."""
    system: str | None = None
    """System turn for every row, in the place of its own."""
    template: Literal["chat", "raw"] = "chat"
    """raw sends the row's one text as it is."""
    max_image_side: _Positive | None = None
    """Shrink larger pictures, in pixels."""
    no_interleave: bool = False
    """First picture, then the texts joined by line breaks."""
    protocol: str | None = None
    """How replies become the history of a dialog's later rounds. [default: the dataset's answers stand there]"""
    resume: bool = False
    """Go on where the last run stopped, also when the output stands already."""
    restart: bool = False
    """Forget the stored answers and ask every row again."""
    share: bool = False
    """Let other processes that are started so answer rows of the same output."""
    processes: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    """Processes that share the rows and the GPUs, each with the whole model. [default: 1; on a cluster one a GPU]"""
    engine: Literal["local", "ray"] = "local"
    """Where they run: here, or on a Ray cluster."""
    limit: _Positive | None = None
    """Only the first N rows."""

    @property
    def plugin(self) -> str:
        """Name of the backend that answers."""
        return self.backend or ("transformers" if self.base_url is None else "openai")

    @property
    def several(self) -> bool:
        """Whether several processes of this machine answer."""
        return self.engine == LOCAL and (self.processes or 1) > 1

    def generation(self) -> Generation:
        """Say how replies are generated.

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
