"""What a run asks, and of whom; what its answers depend on, and what its file says of it."""

import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict

from mmconvert._version import __version__
from mmconvert.dataset.dataset import Dataset
from mmconvert.storage.source_files import note_source
from mmscore.infer.backend import GENERATE, LIKELIHOOD, Backend, Generation, identify_file
from mmscore.infer.ledger import CONTENT
from mmscore.infer.options import PredictOptions
from mmscore.infer.predictions_file import describe_dataset
from mmscore.infer.protocol import Playing, open_protocol
from mmscore.infer.shards import SETTINGS, SHARD, Shard, find_shard
from mmscore.llm.response_cache import build_answer_key

PROMPT_VERSION = 1
"""Raised when the way a record becomes a prompt changes; old answers are then asked again."""


class Job(msgspec.Struct, frozen=True):
    """What to ask, and of whom.

    Attributes:
        dataset: The rows.
        output: The predictions file that shall appear.
        backend: Who answers.
        plugin: The backend's name as the user gave it; of an object, its `object_identity`.
        generation: How responses are generated.
        system: System turn for every row, in the place of the row's own; None leaves rows as they are.
        limit: Only the first rows of the dataset; None for all.
        continue_final_message: Ask for the rest of a response that the last turn begins.
        method: How the backend answers, see `ModelOptions`.
        n: Responses a row, from 1.
        interleave: False shows the first image only, before the text.
        protocol: How responses become the history of later rounds; None leaves the dataset's history.
        task: Digest of all that a caller wants to know the file by; None for nothing.
        shard: The part of the rows that is asked; None for all.
    """

    dataset: Dataset
    output: Path
    backend: Backend
    plugin: str
    generation: Generation
    system: str | None = None
    limit: int | None = None
    continue_final_message: bool = False
    method: str = GENERATE
    n: int = 1
    interleave: bool = True
    protocol: Playing | None = None
    task: str | None = None
    shard: Shard | None = None

    @property
    def first(self) -> int:
        """Number of the first row of the dataset that is asked about."""
        return self.shard.first if self.shard else 0

    @property
    def num_asked(self) -> int:
        """Rows of the dataset that are asked about."""
        if self.shard is not None:
            return self.shard.rows
        return self.dataset.num_rows if self.limit is None else min(self.limit, self.dataset.num_rows)

    @property
    def num_rows(self) -> int:
        """Rows of the output."""
        return self.num_asked * self.n


def plan_job(rows: Dataset, output: Path, backend: Backend, options: PredictOptions, *, task: str | None = None) -> Job:
    """Say what is asked of a backend.

    Args:
        rows: The dataset.
        output: The predictions file that shall appear.
        backend: Who answers.
        options: How.
        task: Digest of the settings, kept in the file.

    Raises:
        UsageError: The protocol is unknown, or the shard is none.
    """
    # Threads read it later on.
    for file in chain.from_iterable(rows.files.values()):
        note_source(file)
    total = rows.num_rows if options.limit is None else min(options.limit, rows.num_rows)
    keeps_groups = options.protocol is not None
    return Job(
        rows,
        output,
        backend,
        options.plugin,
        options.generation(),
        system=options.system,
        limit=options.limit,
        continue_final_message=options.continue_final_message,
        method=options.method,
        n=options.n,
        interleave=not options.no_interleave,
        protocol=None if options.protocol is None else open_protocol(options.protocol),
        task=task,
        shard=None if options.shard is None else find_shard(rows, total, options.shard, keeps_groups=keeps_groups),
    )


def list_settings(job: Job) -> tuple[Any, ...]:
    """List the JSON values that an answer depends on beside its prompt."""
    return (identify_file(job.plugin), job.backend.identity, job.method, PROMPT_VERSION, asdict(job.generation))


def list_used_columns(job: Job) -> Sequence[str]:
    """Name the columns beside turns and images that an answer may depend on."""
    if not getattr(job.backend, "prompt_only", False):
        return CONTENT
    return ["options"] if job.method == LIKELIHOOD else []


def summarize_job(job: Job) -> dict[str, Any]:
    """Say in a few words what a run does, for those who watch it."""
    return {"rows": job.num_rows, "model": job.backend.name, "dataset": job.dataset.path.name, "started": time.time()}


def describe_job(job: Job) -> dict[str, Any]:
    """Say how the predictions were made, for the metadata of their file."""
    dataset = describe_dataset(job.dataset)
    return {
        "mmscore": __version__,
        **dataset,
        "rows": job.num_rows,
        "partial": job.num_asked < dataset["dataset_rows"],
        "model": job.backend.identity,
        "generation": asdict(job.generation),
        "system": job.system,
        "n": job.n,
        "protocol": job.protocol.spec if job.protocol else None,
        **({} if job.task is None else {"task": job.task}),
        **({} if job.shard is None else {SHARD: msgspec.to_builtins(job.shard), SETTINGS: _digest_settings(job)}),
    }


def _digest_settings(job: Job) -> str:
    """Digest the settings that all shards of a run have in common and that the metadata does not hold."""
    return build_answer_key(*list_settings(job), job.interleave, job.continue_final_message)
