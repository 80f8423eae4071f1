"""A dataset on disk: parquet shards, a card, a manifest; it is written atomically.

    DIR/data/<split>-00000-of-0000N.parquet      (<config>/... for a named config)
    DIR/README.md                                dataset card
    DIR/.mmconvert/manifest.json                 shards, rows, bytes, sha256; written last

Written straight with pyarrow: `datasets`' own encoder drops image bytes when a path exists on disk
and keeps every row in memory.
"""

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from mmconvert._version import __version__
from mmconvert.core.errors import (
    Error,
    UsageError,
    build_missing_path_error,
    build_write_error,
    is_no_room,
    suggest_spelling,
    take_first_line,
)
from mmconvert.core.hashing import hash_file
from mmconvert.core.notebook import show_html
from mmconvert.core.record import SCHEMA_VERSION, Record, from_arrow, list_missing_columns
from mmconvert.dataset import manifest
from mmconvert.dataset.card import Origin, merge, write_card
from mmconvert.dataset.shards import RecordWriter, Shard, number_shards
from mmconvert.dataset.statistics import build_split_info
from mmconvert.dataset.views import EVAL, VIEWS
from mmconvert.io.parquet import open_checked_parquet
from mmconvert.storage.atomic import build_temporary_path, clear_leftovers, link_or_copy, sync_folder, write_synced
from mmconvert.storage.folders import list_visible_files
from mmconvert.storage.hub_fs import read_known_sha256
from mmconvert.storage.object_store import find_local
from mmconvert.storage.source_files import Sources, require_unchanged, watch_apart

BATCH_ROWS = 256
_PARQUET = (".parquet", ".pq")
_MAGIC = b"PAR1"
"""How every parquet file begins."""


class DatasetWriter:
    """Writes a dataset into a temporary folder beside its place and publishes it whole.

    Use as a context manager: leaving it well publishes, leaving it by an exception removes what was
    written and leaves the place as it was.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        append: bool = False,
        view: str = EVAL,
        title: str | None = None,
        about: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Check the place.

        Args:
            path: The folder that shall appear.
            overwrite: Replace a dataset that stands there.
            append: Add splits or configs to a dataset that stands there.
            view: How rows are laid out, a name of `VIEWS`.
            title: Name for the card; the folder's name by default.
            about: JSON values for the manifest: source format, input, options.
            origin: Licence and source for the card; what an appended dataset's card says stays.

        Raises:
            UsageError: Something stands there and neither flag says what to do with it.
            Error: What stands there is no dataset created by mmconvert.
        """
        self.path = Path(path)
        self.about = dict(about or {})
        self._target = self.path.resolve()
        self._title = title or self._target.name
        self._overwrite, self._append = overwrite, append
        self._view, self._origin = view, origin
        self._kept: dict[str, dict[str, list[Shard]]] = {}
        self._open: dict[tuple[str, str], RecordWriter] = {}
        self._made: dict[str, dict[str, list[Shard]]] = {}
        self._old, self._new = build_temporary_path(self.path, "old"), build_temporary_path(self.path, "new")
        clear_leftovers(self.path)
        self._check_place()

    def _check_place(self) -> None:
        if os.path.ismount(self._target):
            raise UsageError(f"{self.path}: is a mount point and cannot be replaced. Name a folder inside it.")
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path}: is a file. Name a folder for the dataset.")
        if not self.path.exists() or not any(self.path.iterdir()):
            return
        if not (self._overwrite or self._append):
            raise UsageError(f"{self.path}: already exists. Give --overwrite, or --append for another split or config.")
        if not (self.path / manifest.MANIFEST).is_file():
            raise Error(
                f"{self.path}: is not a dataset created by mmconvert (no {manifest.MANIFEST}). Name another folder."
            )
        if self._append:
            self._kept, earlier = manifest.read_manifest(self.path)
            if int(earlier["schema_version"]) != SCHEMA_VERSION:
                version = f"has schema version {earlier['schema_version']}, and version {SCHEMA_VERSION} is written."
                raise UsageError(
                    f"{self.path}: {version} Convert it again first: mmconvert convert {self.path} -o NEW."
                )
            if earlier.get("view", EVAL) != self._view:
                view = earlier.get("view", EVAL)
                advice = f"Give --view {view}, or another folder."
                raise UsageError(f"{self.path}: has the view {view}, all its splits must. {advice}")
            self.about = manifest.join_runs(earlier, self.about)

    def __enter__(self) -> "DatasetWriter":
        """Make the temporary folder, with hard links to what is kept.

        Raises:
            Error: The place cannot be written to, or a shard that is kept is missing.
        """
        try:
            self._new.mkdir(parents=True)
        except OSError as error:
            if is_no_room(error):
                raise build_write_error(self.path, error) from None
            raise Error(f"{self.path}: cannot be made: {error.strerror}. Name another folder.") from None
        try:
            for shard in (s for splits in self._kept.values() for shards in splits.values() for s in shards):
                (self._new / shard.file).parent.mkdir(exist_ok=True)
                link_or_copy(self.path / shard.file, self._new / shard.file)
        except OSError as error:
            shutil.rmtree(self._new, ignore_errors=True)
            message = f"{error.filename}: cannot be kept: {error.strerror}. See mmconvert verify {self.path}."
            raise Error(message) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Publish, or remove everything that was written.

        Raises:
            Error: The disk refuses; nothing is published.
        """
        try:
            if kind is None:
                self._publish()
        except OSError as failure:
            raise build_write_error(self.path, failure) from None
        finally:
            shutil.rmtree(self._new, ignore_errors=True)

    def write(self, records: Iterable[Record], split: str = "test", config: str = manifest.DEFAULT_CONFIG) -> None:
        """Append records to a split; complete row groups go to disk at once.

        Raises:
            UsageError: The split stands there already and is not to be replaced.
        """
        key = (config, split)
        if key not in self._open:
            view = VIEWS[self._view]
            self._open[key] = RecordWriter(self.make_folder(split, config), split, view.schema, view.batch)
        for record in records:
            self._open[key].write([record])

    def make_folder(self, split: str, config: str = manifest.DEFAULT_CONFIG) -> Path:
        """Give the folder in which shards of a split are to be made, for writers of their own.

        Raises:
            UsageError: The split stands there already and is not to be replaced, or a name cannot be used.
        """
        manifest.check_names(config, split)
        if split in self._kept.get(config, {}):
            raise UsageError(f"{self.path}: split {split!r} of config {config!r} already exists. Name another --split.")
        folder = self._new / manifest.build_config_folder(config)
        folder.mkdir(exist_ok=True)
        return folder

    def read_kept_ids(self, config: str = manifest.DEFAULT_CONFIG) -> set[str]:
        """Read the ids of the rows that stand in a config and are kept; none unless something is appended to it."""
        if config not in self._kept:
            return set()
        with watch_apart(Sources()):
            return {key for batch in open_dataset(self.path, config).batches(["id"]) for key in batch["id"].to_pylist()}

    def add(self, shards: Sequence[Shard], split: str, config: str = manifest.DEFAULT_CONFIG) -> None:
        """Append finished shards, made in `folder`, to a split; their order is the order of the rows."""
        inside = [replace(shard, file=f"{manifest.build_config_folder(config)}/{shard.file}") for shard in shards]
        self._made.setdefault(config, {}).setdefault(split, []).extend(inside)

    def _publish(self) -> None:
        require_unchanged()
        for (config, split), writer in self._open.items():
            self.add(writer.close(), split, config)
        configs: dict[str, dict[str, list[Shard]]] = {name: dict(splits) for name, splits in self._kept.items()}
        for config, splits in self._made.items():
            # `load_dataset` opens no split without rows, and no other one beside it.
            filled = {split: shards for split, shards in splits.items() if shards}
            for split, shards in (filled or ({} if config in configs else splits)).items():
                configs.setdefault(config, {})[split] = number_shards(self._new, split, shards)
        # What was written is no source.
        with watch_apart(Sources()):
            infos = {
                name: [build_split_info(self._new, *s) for s in splits.items()] for name, splits in configs.items()
            }
        text = write_card(
            infos,
            schema=VIEWS[self._view].schema,
            title=self._title,
            source_format=self.about.get("format"),
            training=self._view != EVAL,
            origin=self._origin,
        )
        if self._append and (self.path / "README.md").is_file():
            text = merge(text, (self.path / "README.md").read_text(encoding="utf-8", errors="replace"))
        write_synced(self._new / "README.md", text.encode())
        (self._new / manifest.MANIFEST).parent.mkdir(exist_ok=True)
        data = json.dumps(self._build_manifest(configs), indent=1, ensure_ascii=False).encode()
        write_synced(self._new / manifest.MANIFEST, data)
        for entry in self._new.iterdir():
            if entry.is_dir():
                sync_folder(entry)
        sync_folder(self._new)
        self._swap()

    def _build_manifest(self, configs: Mapping[str, Mapping[str, Sequence[Shard]]]) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "view": self._view,
            "mmconvert": __version__,
            "pyarrow": pa.__version__,
            "configs": {
                config: {
                    split: [{"file": s.file, "rows": s.rows, "bytes": s.bytes, "sha256": s.sha256} for s in shards]
                    for split, shards in splits.items()
                }
                for config, splits in configs.items()
            },
            **self.about,
        }

    def _refuse_newer(self) -> None:
        """Refuse to replace what another run has published since this one began, unless asked to overwrite."""
        if self._overwrite or not self.path.exists() or not any(self.path.iterdir()):
            return
        if not self._append or manifest.read_manifest(self.path)[0] != self._kept:
            raise Error(f"{self.path}: was written by another run in the meantime. Nothing was changed; run again.")

    def _swap(self) -> None:
        self._refuse_newer()
        try:
            if self._target.exists():
                self._target.rename(self._old)
            self._new.rename(self._target)
            sync_folder(self._target.parent)
        finally:
            # Also after an interruption between the two renames: what stood there goes back.
            if self._old.exists() and not self._target.exists():
                self._old.rename(self._target)
            shutil.rmtree(self._old, ignore_errors=True)


class Dataset(msgspec.Struct, frozen=True):
    """The files of one config, by split.

    Attributes:
        path: What was opened.
        files: Parquet files of each split, in order.
        splits: Rows of each split.
        fingerprint: Hex digest that changes when any row may have changed.
    """

    path: Path
    files: dict[str, list[Path]]
    splits: dict[str, int]
    fingerprint: str

    def __repr__(self) -> str:
        """Say where it is and how many rows its splits have."""
        splits = ", ".join(f"{name}: {rows:,}" for name, rows in self.splits.items())
        return f"<Dataset {str(self.path)!r}, {self.num_rows:,} rows ({splits})>"

    def _repr_html_(self) -> str | None:
        return show_html(self)

    @property
    def num_rows(self) -> int:
        """Rows of all splits."""
        return sum(self.splits.values())

    def require_split(self, split: str) -> None:
        """Refuse the name of a split that there is not.

        Raises:
            UsageError: There is no such split.
        """
        if split not in self.files:
            hint = suggest_spelling(split, self.files)
            raise UsageError(f"{self.path}: no split {split!r}.{hint} Known: {', '.join(self.files)}.")

    def batches(
        self, columns: Sequence[str] | None = None, split: str | None = None, *, first: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Read batches of at most 256 rows, split after split, in the order of the rows.

        Args:
            columns: Columns to read, those a file lacks are left out; None for all.
            split: One split; None for all.
            first: Number of the first row to read, from 0; row groups in front of it are not read.

        Raises:
            UsageError: There is no such split.
            Error: A file is damaged.
        """
        if split is not None:
            self.require_split(split)
        for name in [split] if split is not None else self.files:
            for file in self.files[name]:
                left = max(0, first - open_checked_parquet(file).metadata.num_rows) if first else 0
                if not left:
                    yield from read_shard_batches(file, columns, first)
                first = left

    def records(self, split: str | None = None) -> Iterator[Record]:
        """Read records in order; see `batches`."""
        for batch in self.batches(split=split):
            missing = list_missing_columns(batch.schema.names)
            if missing:
                raise Error(
                    f"{self.path}: is not a dataset created by mmconvert, it lacks the columns {', '.join(missing)}."
                )
            yield from from_arrow(batch)


def read_shard_batches(
    file: Path, columns: Sequence[str] | None, first: int = 0, *, groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a parquet file in batches, every page against its checksum.

    Args:
        file: The file.
        columns: Columns to read, those that it lacks are left out; None for all.
        first: Number of the first row to read, from 0; row groups in front of it are not read.
        groups: Row groups to read; None for all.

    Raises:
        Error: The file is damaged.
    """
    try:
        # Not in batches over several row groups, which would hold more images than they give.
        parquet = open_checked_parquet(file)
        wanted = None if columns is None else [c for c in columns if c in parquet.schema_arrow.names]
        for group in range(parquet.num_row_groups) if groups is None else groups:
            if first >= (rows := parquet.metadata.row_group(group).num_rows):
                first -= rows
                continue
            for batch in parquet.iter_batches(batch_size=BATCH_ROWS, columns=wanted, row_groups=[group]):
                cut = min(first, batch.num_rows)
                first -= cut
                if cut < batch.num_rows:
                    yield batch.slice(cut)
    except (pa.ArrowException, OSError) as error:
        raise Error(f"{file}: cannot be read as parquet ({take_first_line(error)}). Write it again.") from None


def open_dataset(path: str | Path, config: str | None = None) -> Dataset:
    """Open a dataset without reading a row.

    Args:
        path: A converted dataset, the folder of one of its configs, a parquet file, or a folder of parquet files
            (each its own split); also by its URL or its Hub id.
        config: Config of a converted dataset; None for its only one.

    Raises:
        UsageError: Nothing stands there, the config is unknown, or there are several and none is named.
        Error: What stands there is no dataset, or its manifest and files do not agree.
    """
    path = find_local(path)
    if not path.exists():
        raise build_missing_path_error(path)
    if path.is_file():
        return _open_plain(path, {path.stem: [path]})
    inside = manifest.find_config_folder(path) if config is None else None
    if inside is not None:
        return _open_converted(*inside)
    if (path / manifest.MANIFEST).is_file():
        return _open_converted(path, config)
    found = list_visible_files(path, "*.parquet")
    if not found:
        raise Error(f"{path}: holds no dataset (no {manifest.MANIFEST} and no parquet file). Name its folder.")
    return _open_plain(path, {file.relative_to(path).with_suffix("").as_posix(): [file] for file in found})


def refuse_other_file(path: Path) -> None:
    """Refuse a file that is no dataset but may become one.

    Raises:
        UsageError: The file neither is called a parquet file nor begins as one.
    """
    if path.suffix.lower() in _PARQUET or not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            return
    command = shlex.join(["mmconvert", "convert", str(path), "-o", path.stem])
    raise UsageError(f"{path}: is not a dataset. Convert it first: {command}")


def _open_converted(path: Path, config: str | None) -> Dataset:
    configs, _ = manifest.read_manifest(path)
    if config is None and len(configs) > 1:
        raise UsageError(f"{path}: {manifest.describe_several_configs(path, configs)}")
    config = config if config is not None else next(iter(configs))
    if config not in configs:
        message = f"{path}: no config {config!r}.{suggest_spelling(config, configs)} Known: {', '.join(configs)}."
        raise UsageError(message)
    splits = configs[config]
    for shard in (s for shards in splits.values() for s in shards):
        file = path / shard.file
        if not file.is_file() or file.stat().st_size != shard.bytes:
            raise Error(f"{file}: is missing or has another size than the manifest says. Run mmconvert verify {path}.")
    digest = hashlib.sha256("".join(s.sha256 for shards in splits.values() for s in shards).encode())
    files = {split: [path / s.file for s in shards] for split, shards in splits.items()}
    rows = {split: sum(s.rows for s in shards) for split, shards in splits.items()}
    return Dataset(path, files, rows, digest.hexdigest())


def _open_plain(path: Path, files: dict[str, list[Path]]) -> Dataset:
    digest = hashlib.sha256()
    splits = {}
    for split, parts in files.items():
        try:
            splits[split] = sum(open_checked_parquet(file).metadata.num_rows for file in parts)
        except (pa.ArrowException, OSError) as error:
            refuse_other_file(parts[0])
            raise Error(
                f"{parts[0]}: is not a readable parquet file ({take_first_line(error)}). Get it again."
            ) from None
        for file in parts:
            digest.update((read_known_sha256(file) or hash_file(file)).encode())
    return Dataset(path, files, splits, digest.hexdigest())
