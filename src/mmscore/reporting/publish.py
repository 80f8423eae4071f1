"""Predictions and their reports, laid out as a dataset that load_dataset opens and mmscore scores.

<config>/test-00000-of-0000N.parquet   one config a model and benchmark: its responses with their references
reports/<config>.json                  what scoring them gave
README.md                              card with the numbers
.mmconvert/manifest.json               shards, rows, bytes, sha256
"""

import hashlib
import itertools
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert._version import __version__
from mmconvert.core.errors import UsageError
from mmconvert.core.record import IMAGE_COLUMNS, PREDICTION_SCHEMA, SCHEMA_VERSION, attach_features
from mmconvert.dataset.front_matter import read_front_matter
from mmconvert.dataset.hub_upload import Upload, remove_paths
from mmconvert.dataset.manifest import PREDICTIONS, check_names
from mmconvert.dataset.publish import Pushed, UploadOptions, check_target, publish_upload
from mmconvert.dataset.shards import Shard, ShardWriter, number_shards
from mmconvert.dataset.statistics import build_split_info
from mmconvert.pipeline.inputs import DEFAULT_SPLIT
from mmconvert.storage.atomic import write_synced
from mmconvert.storage.source_files import require_unchanged, watch_sources
from mmconvert.storage.temporary import build_temporary_prefix
from mmscore.core.predictions.join import read_unmatched
from mmscore.core.predictions.load import FORMAT, Rows, find_column_type
from mmscore.core.predictions.locate import STDIN
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.core.report import Entry, Report
from mmscore.reporting.eval_results import EvalResults, build_eval_results, parse_benchmark
from mmscore.reporting.model_card import propose_scores, require_card
from mmscore.reporting.predictions_card import INDEX, build_model_index, build_predictions_card, join
from mmscore.scoring.scored_file import Result

_PATH = re.compile(r"(?<![\w:/.])(?:~|[A-Za-z]:)?(?:[\\/][\w.+@-]+)+[\\/](?=[\w.+@-])")
"""Folders in front of a file's name, as error messages have them."""
_NO_NAME = re.compile(r"[^\w.-]+", re.ASCII)
_DIGITS = 8
"""Hex digits of a digest that tell names apart that ASCII cannot spell."""

Scored = Sequence[tuple[Rows, Sequence[Entry]]]
"""Predictions files, each with what scoring it gave."""


def prepare_predictions(scored: Scored, repo_id: str, folder: Path) -> Upload:
    """Lay predictions and reports out in a folder, and say what a push would send.

    Args:
        scored: The files; their entries may be none.
        repo_id: `USER/REPO`.
        folder: An empty folder, which must stay until the push is done.

    Raises:
        UsageError: Two files would be the same configuration.
        Error: A column cannot be published.
    """
    from huggingface_hub.constants import ENDPOINT

    shards: dict[str, dict[str, list[Shard]]] = {}
    reports: dict[str, bytes] = {}
    index: list[dict[str, Any]] = []
    schemas: dict[str, pa.Schema] = {}
    owners: dict[str, dict[str, str]] = {}
    for rows, entries in scored:
        owner = _find_owner(rows, entries)
        config = _build_config_name(**owner)
        if config in shards:
            raise UsageError(
                f"{rows.path}: would take the place of another file, both are configuration {config}. "
                "Push it by itself, under a name of its own: --model NAME."
            )
        owners[config] = owner
        # What scoring went by, where the rows themselves say another or none.
        said = {"model": owner["model"], "dataset": entries[0].dataset if entries else None}
        constants = {name: v for name, v in said.items() if v and v != ", ".join(rows.list_distinct(name))}
        schemas[config] = _choose_schema(rows, entries, constants)
        (folder / config).mkdir()
        batches = _read_batches(rows, schemas[config], constants)
        first = next(batches)
        writer = ShardWriter(folder / config, "part", first.schema)
        for batch in itertools.chain([first], batches):
            writer.write(batch)
        written = [replace(shard, file=f"{config}/{shard.file}") for shard in writer.close()]
        shards[config] = {DEFAULT_SPLIT: number_shards(folder, DEFAULT_SPLIT, written)}
        if entries:
            # Without the places of files on this machine.
            facts = [
                replace(
                    entry,
                    predictions=Path(entry.predictions).name,
                    messages=[_remove_machine_paths(rows, message) for message in entry.messages],
                )
                for entry in entries
            ]
            report = json.dumps(Report(tuple(facts)).to_json(), ensure_ascii=False, indent=1)
            reports[_build_report_name(config)] = report.encode() + b"\n"
            tasks = rows.list_distinct("task")
            url = f"{ENDPOINT}/datasets/{repo_id}"
            index += build_model_index(config, entries, tasks[0] if len(tasks) == 1 else None, url)
    infos = {
        config: [build_split_info(folder, DEFAULT_SPLIT, splits[DEFAULT_SPLIT])] for config, splits in shards.items()
    }
    write_synced(folder / "README.md", build_predictions_card(infos, schemas, index, owners).encode())
    stale = [_build_report_name(config) for config in shards if _build_report_name(config) not in reports]
    listed = {
        config: {
            split: [{"file": s.file, "rows": s.rows, "bytes": s.bytes, "sha256": s.sha256} for s in found]
            for split, found in splits.items()
        }
        for config, splits in shards.items()
    }
    about = {"schema_version": SCHEMA_VERSION, "view": PREDICTIONS, "mmconvert": __version__}
    manifest = {**about, "pyarrow": pa.__version__, "configs": listed}
    return Upload(folder, shards, manifest, reports, stale, join)


def _build_report_name(config: str) -> str:
    return f"reports/{config}.json"


def _find_owner(rows: Rows, entries: Sequence[Entry]) -> dict[str, str]:
    """Give the model of the rows, and their benchmark where it is one."""
    datasets = (
        [entry.dataset for entry in entries if entry.dataset] or rows.list_distinct("dataset") or _list_sources(rows)
    )
    model = entries[0].model if entries else ", ".join(rows.list_distinct("model")) or rows.title
    return {"model": model, **({"dataset": datasets[0]} if len(set(datasets)) == 1 else {})}


def _build_config_name(model: str, dataset: str | None = None) -> str:
    """Name the configuration after the model and the benchmark; a digest keeps names apart that ASCII cannot spell."""
    named = model if dataset is None else f"{model}_{dataset}"
    config = _NO_NAME.sub("-", named).strip(".-") or PREDICTIONS
    if not named.isascii():
        config += f"-{hashlib.sha256(json.dumps([model, dataset]).encode()).hexdigest()[:_DIGITS]}"
    check_names(config, DEFAULT_SPLIT)
    return config


def _list_sources(rows: Rows) -> list[str]:
    """Name the files that the questions came from: rows of two files are no one benchmark."""
    if "source" not in rows.names:
        return []
    found = (pc.unique(pc.struct_field(batch.column("source"), "file")) for batch in rows.read(["source"]))
    return sorted({Path(file).stem for files in found for file in files.to_pylist() if file})


def _choose_schema(rows: Rows, entries: Sequence[Entry], constants: Mapping[str, str]) -> pa.Schema:
    """Choose the columns: all of the schema that exist, and those that a report breaks down by."""
    there = {*rows.names, *constants}
    there |= {"source"} if FORMAT in rows.names else set()
    there |= {"prediction_status"} if rows.missing or rows.rejected else set()
    there |= {"prediction_error"} if rows.rejected else set()
    names = [name for name in PREDICTION_SCHEMA.names if name in there and name not in IMAGE_COLUMNS]
    groups = {column.partition(".")[0] for entry in entries for column in entry.groups}
    names += sorted((groups & rows.names) - {*PREDICTION_SCHEMA.names})
    about = {**rows.run, "mmscore": __version__, "partial": rows.partial or bool(rows.missing)}
    schema = attach_features(pa.schema([(name, find_column_type(name)) for name in names]))
    return schema.with_metadata({**schema.metadata, RUN_METADATA: json.dumps(remove_paths(about), sort_keys=True)})


def _read_batches(rows: Rows, schema: pa.Schema, constants: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    read = [name for name in schema.names if name in rows.names and name not in constants]
    formatted = "source" in schema.names and "source" not in rows.names
    for batch in rows.read([*read, *([FORMAT] if formatted else [])]):
        columns = {name: batch.column(name) for name in read}
        columns |= {name: pa.array([value] * len(batch), pa.string()) for name, value in constants.items()}
        if formatted:
            kind = schema.field("source").type
            nothing = [pa.nulls(len(batch), field.type) for field in kind][1:]
            columns["source"] = pa.StructArray.from_arrays([batch.column(FORMAT), *nothing], fields=[*kind])
        if (errors := columns.get("prediction_error")) is not None and errors.null_count < len(errors):
            # Folders of files in messages would tell about this machine.
            texts = [None if text is None else _PATH.sub("", text) for text in errors.to_pylist()]
            columns["prediction_error"] = pa.array(texts, errors.type)
        yield _build_batch(columns, len(batch), schema)
    if rows.missing or rows.rejected:
        yield _read_unread_rows(rows, schema, constants)


def _read_unread_rows(rows: Rows, schema: pa.Schema, constants: Mapping[str, str]) -> pa.RecordBatch:
    """Give the questions that nobody was asked and the rows that were refused, for whoever scores the file to count.

    A refused row whose id another has goes without: ids stand in a file once.
    """
    taken = {*rows.identity["id"].to_pylist(), *rows.missing}
    refused = []
    for refusal in rows.rejected:
        refused.append(None if refusal.id in taken else refusal.id)
        taken.add(refusal.id)
    facts = read_unmatched(rows, [*rows.missing, *refused], schema.names)
    count = facts.num_rows
    columns = {name: facts.column(name) for name in facts.schema.names}
    texts = {name: [value] * count for name, value in constants.items()}
    texts["prediction_status"] = ["skipped"] * count
    errors = [*[None] * len(rows.missing), *(_remove_machine_paths(rows, refusal.message) for refusal in rows.rejected)]
    columns |= {name: pa.array(values, pa.string()) for name, values in (texts | {"prediction_error": errors}).items()}
    return _build_batch(columns, count, schema)


def _build_batch(columns: Mapping[str, pa.Array], count: int, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [columns[field.name] if field.name in columns else pa.nulls(count, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _remove_machine_paths(rows: Rows, message: str) -> str:
    """Cut what tells about this machine off a message about rows."""
    return _PATH.sub("", message.replace(rows.path, Path(rows.path).name))


class HubOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where predictions and their numbers go on the Hub, and how."""

    push: str | None = None
    """Push predictions and scores to the Hub afterwards."""
    private: bool = False
    """Make the repository private."""
    revision: str | None = None
    """Branch to commit to; created if it does not exist."""
    create_pr: bool = False
    """Open a pull request instead of committing to the branch."""
    model_card: str | None = None
    """With --push: open a pull request that adds the scores to this model's card and, for benchmarks of the Hub, to its
    .eval_results/."""
    eval_results: str | None = None
    """With --model-card: benchmark of the Hub that the scores are of, as USER/DATASET or USER/DATASET#TASK.
    [default: the repository that the catalogue names or the questions were read from]"""
    dry_run: bool = False
    """Check everything and list what would be uploaded; upload nothing."""

    def upload(self) -> UploadOptions:
        """Say how files are sent."""
        return UploadOptions(
            private=self.private, revision=self.revision, create_pr=self.create_pr, dry_run=self.dry_run
        )

    def check(self, paths: Sequence[str]) -> None:
        """Refuse what cannot be published before anything is asked or scored.

        Args:
            paths: Places of the predictions.

        Raises:
            UsageError: The options have no meaning, or the predictions cannot be read twice.
        """
        if self.eval_results is not None:
            parse_benchmark(self.eval_results)
            if self.model_card is None:
                raise UsageError("--eval-results goes with --push USER/REPO --model-card USER/MODEL.")
        if self.push is not None:
            if STDIN in paths:
                raise UsageError("--push: standard input cannot be read twice. Write the predictions to a file first.")
            check_target(self.push, self.upload())
            if self.model_card is not None:
                check_target(self.model_card, UploadOptions(create_pr=True, dry_run=self.dry_run))
        elif self.private or self.revision or self.create_pr or self.model_card:
            raise UsageError("--private, --revision, --create-pr and --model-card go with --push USER/REPO.")


class PushedPredictions(Pushed):
    """What a push of predictions did, or with `dry_run` would do.

    Attributes:
        model_card: Address of the pull request for a model's card; None where there is none.
        eval_results: Files for `.eval_results/` of the model.
        left_out: Why other scores are not there, a sentence each.
    """

    model_card: str | None
    eval_results: list[str]
    left_out: list[str]


def push_results(results: Sequence[Result], options: HubOptions, *, quiet: bool) -> PushedPredictions:
    """Push what was scored.

    Args:
        results: One a file and recipe.
        options: Where to.
        quiet: Nothing on standard error.

    Raises:
        UsageError: Two files are of the same model and benchmark, or a model's card would get several models'.
        Error: The Hub refuses.
    """
    files: dict[int, tuple[Rows, list[Entry]]] = {}
    for result in results:
        files.setdefault(id(result.rows), (result.rows, []))[1].append(result.entry)
    return push_files(list(files.values()), options, quiet=quiet)


@watch_sources()
def push_files(files: Scored, options: HubOptions, *, quiet: bool) -> PushedPredictions:
    """Push predictions files, whose entries may be none; see `push_results`."""
    repo_id = str(options.push)
    found = EvalResults({}, ())
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        upload = prepare_predictions(files, repo_id, Path(folder))
        require_unchanged()
        index = read_front_matter((Path(folder) / "README.md").read_text(encoding="utf-8"))[INDEX]
        if options.model_card is not None:
            if len(index) != 1:
                named = ", ".join(str(one["name"]) for one in index) or "none"
                said = f"--model-card {options.model_card}: takes the numbers of one model, found: {named}."
                raise UsageError(f"{said} Score one at a time.")
            if not options.dry_run:
                require_card(options.model_card)
            found = _build_eval_results(files, options)
        done = publish_upload(upload, repo_id, options.upload(), quiet=quiet)
    proposed = None
    if options.model_card is not None and not options.dry_run:
        proposed = propose_scores(options.model_card, index, found.files)
    return {**done, "model_card": proposed, "eval_results": [*found.files], "left_out": [*found.left_out]}


def _build_eval_results(files: Scored, options: HubOptions) -> EvalResults:
    from huggingface_hub.constants import ENDPOINT

    scored = [(rows.run, entries) for rows, entries in files]
    return build_eval_results(scored, options.eval_results, f"{ENDPOINT}/datasets/{options.push}")
