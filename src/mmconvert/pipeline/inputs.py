"""What the user names on the command line: files, folders, `split=PATH`, `-`, bare dataset names."""

import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from mmconvert.benchmarks.catalogue import list_names
from mmconvert.chat.dataset_info import INFO
from mmconvert.chat.listed_sets import ListedSet, choose_sets, find_info
from mmconvert.core.errors import Error, UsageError, build_missing_path_error, suggest_spelling
from mmconvert.core.rows import READERS
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.manifest import DEFAULT_CONFIG, MANIFEST, check_names, find_config_folder
from mmconvert.images.loader import ENDINGS
from mmconvert.io.detect import is_one_input, list_splits
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.pipeline.benchmark_files import Defaults, Download, find_named, list_benchmark_files
from mmconvert.storage.folders import is_hidden, require_inside
from mmconvert.storage.hub_fs import HubPath, find_on_hub, read_known_sha256
from mmconvert.storage.object_store import fetch, is_url
from mmconvert.storage.source_files import open_source
from mmconvert.storage.temporary import build_temporary_prefix

DEFAULT_SPLIT = "test"
_SPLIT = re.compile(r"(\w+(?:\.\w+)*)=(.+)", re.DOTALL)
_SPLIT_SUFFIX = re.compile(r"_(test|val|dev)$")
_SHARD = re.compile(r"(?P<split>\w+(?:\.\w+)*)(?:-\d+-of-\d+)", re.ASCII)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_HEAD = 1 << 20
_REJECTS = ".rejects.jsonl"


class Input(msgspec.Struct, frozen=True):
    """One file to convert, the split it goes to, and what tells its rows from other files' rows.

    Attributes:
        path: The file, or a folder that a format reads as one.
        split: Name of the split.
        subset: Name of the subset.
        id_prefix: Words in front of ids that another file has too.
        folder: URL of the folder in a store that the file alone was fetched from; None for a file with its folder.
        more: Further files that are read on behind it, as one.
        listed: What a list of data sets says of the file.
        benchmark: How the catalogue reads it, where the user named the benchmark.
    """

    path: Path
    split: str = DEFAULT_SPLIT
    subset: str | None = None
    id_prefix: str = ""
    folder: str | None = None
    more: tuple[Path, ...] = ()
    listed: ListedSet | None = None
    benchmark: Defaults | None = None

    @classmethod
    def of(cls, path: Path) -> "Input":
        """Take one file or folder as it is.

        Raises:
            UsageError: Nothing stands there.
        """
        if not path.exists():
            raise build_missing_path_error(path)
        return cls(path)

    def list_files(self) -> "list[Input]":
        """Give its files one by one."""
        return [replace(self, path=path, more=()) for path in (self.path, *self.more)]

    def find_format(self) -> tuple[str, str] | None:
        """Give the format that is said of the file, and by whom; None where nobody says one."""
        if self.listed is not None:
            return self.listed.format, f"as {INFO} says"
        if self.benchmark is not None and self.benchmark.format is not None:
            return self.benchmark.format, f"as the catalogue says of {self.benchmark.key}"
        return None

    @property
    def beside(self) -> Path | str:
        """The folder, or its URL, from which relative paths in the file are meant."""
        place = self.folder or (self.path.parent if self.path.is_file() else self.path)
        return str(place) if isinstance(place, HubPath) else place


def plan_inputs(
    names: Sequence[str],
    *,
    split: str | None = None,
    subsets: Sequence[str] = (),
    download: Download | None = None,
    whole_splits: bool = False,
    every_set: bool = False,
) -> list[Input]:
    """Turn INPUT arguments into files.

    Args:
        names: Files, folders of files of one format, `split=PATH`, `-`, benchmarks, bare dataset names, or addresses.
        split: Split of every input that names none itself.
        subsets: Take only these subsets (file stems) of folders.
        download: Gives the local file of an address (`download_table`, bound); None to refuse addresses.
        whole_splits: Read the shards of each split of a dataset created by mmconvert as one file, by one worker.
        every_set: Of a list of data sets take all that are here, where no subset is named.

    Returns:
        The files in order; of a folder, sorted by name.

    Raises:
        UsageError: A path is missing, a folder is empty, or a split or subset name cannot be used.
    """
    found: list[tuple[Path, Input]] = []
    subsets_used = False
    for name in names:
        if (named := _plan_benchmark(name, split, download)) is not None:
            found += named
            continue
        own_split, path, folder = _locate(name, download)
        chosen = own_split or split or DEFAULT_SPLIT
        check_names(DEFAULT_CONFIG, chosen)
        ours = (path / MANIFEST).is_file() or find_config_folder(path) is not None
        dataset = open_dataset(path) if ours else None
        if dataset is not None and own_split is not None:
            message = f"{name}: a dataset brings its own splits, {', '.join(dataset.files)}. Leave out {own_split}=."
            raise UsageError(message)
        if dataset is not None:
            shards = [Input(files[0], own, more=(*files[1:],)) for own, files in dataset.files.items() if files]
            found += [(path, one) for split in shards for one in ([split] if whole_splits else split.list_files())]
        elif isinstance(path, HubPath) and path.is_dir():
            found += [(file, Input(file, own_split or split or _read_split(file))) for file in _list_hub_files(path)]
        elif path.is_dir() and own_split is None and split is None and (splits := list_splits(path)):
            found += [(place, Input(place, part)) for part, place in splits.items()]
        elif not isinstance(path, HubPath) and (listed := find_info(path)) is not None:
            sets = choose_sets(listed, subsets, every=every_set)
            found += [(one.path, Input(one.path, chosen, one.name, listed=one)) for one in sets]
            subsets_used = True
        elif files := _list_files(path):
            found += [(file, Input(file, chosen, _read_subset(file))) for file in _choose_files(path, files, subsets)]
            subsets_used = True
        else:
            found.append((path, Input(path, chosen, folder=folder)))
    if subsets and not subsets_used:
        if sum(len(one.list_files()) for _, one in found) != 1 or len(subsets) != 1:
            raise UsageError("--subset picks files of a folder, or names the one subset of one file. Give one name.")
        found = [(path, replace(source, subset=subsets[0])) for path, source in found]
    for path, _ in found:
        if os.fsencode(path.name).decode(errors="replace") != path.name:
            raise UsageError(f"{path}: the name is not UTF-8 text. Rename the file.")
    prefixes = _build_prefixes([(path, source.split) for path, source in found])
    return [replace(source, id_prefix=prefixes[path, source.split]) for path, source in found]


def _plan_benchmark(name: str, split: str | None, download: Download | None) -> list[tuple[Path, Input]] | None:
    """Give the files of the benchmark that `[SPLIT=]NAME` names; None for another name, and for what is on the disk."""
    match = _SPLIT.fullmatch(name)
    own, wanted = (match[1], match[2]) if match else (None, name)
    if os.path.exists(name) or os.path.exists(wanted) or (benchmark := find_named(wanted)) is None:
        return None
    planned = []
    for file in list_benchmark_files(benchmark, download):
        chosen = own or split or file.split or _read_split(file.path)
        check_names(DEFAULT_CONFIG, chosen)
        planned.append((file.path, Input(file.path, chosen, file.subset, benchmark=file.defaults)))
    return planned


def _build_prefixes(origins: Sequence[tuple[Path, str]]) -> dict[tuple[Path, str], str]:
    """Give every file and split the shortest words that tell it from the others; nothing where there is one only."""
    origins = list(dict.fromkeys(origins))
    if len(origins) == 1:
        return {origins[0]: ""}
    for words in (
        [_read_subset(path) for path, _ in origins],
        [f"{split}-{_read_subset(path)}" for path, split in origins],
        [path.stem for path, _ in origins],
        [f"{path.resolve().parent.name}-{path.stem}" for path, _ in origins],
    ):
        if len(set(words)) == len(words):
            break
    else:
        words = [f"{number}-{path.stem}" for number, (path, _) in enumerate(origins)]
    return {origin: f"{word}-" for origin, word in zip(origins, words, strict=True)}


def _locate(name: str, download: Download | None) -> tuple[str | None, Path, str | None]:
    """Give the split that is named, the place, and the URL of the folder of a file that came from a store."""
    if not name:
        raise UsageError("an INPUT is empty. Is a variable of the command line not set?")
    if name == "-":
        return None, spool_stream(sys.stdin.buffer), None
    # Unlike `Path.exists`, it takes any text: one that is too long for a path is none.
    if os.path.exists(name):
        return None, _check_regular(Path(name)), None
    match = _SPLIT.fullmatch(name)
    if match and os.path.exists(match[2]):
        return match[1], _check_regular(Path(match[2])), None
    address = match[2] if match else name
    own = match[1] if match else None
    if (place := find_on_hub(address)) is not None:
        return own, place, None
    if is_url(address):
        place = fetch(address)
        return own, place, None if place.is_dir() else address.rstrip("/").rpartition("/")[0]
    if _ADDRESS.match(address):
        if download is None:
            message = f"{address}: nothing is fetched from the network. Convert it with --allow-remote, or give a file."
            raise UsageError(message)
        return own, download(address), None
    if re.fullmatch(r"[\w.\-]+", name):
        table = find_lmudata_root() / f"{name}.tsv"
        if os.path.isfile(table):
            return None, table, None
    path = Path(match[2] if match else name)
    known: list[str] = []
    if path.parent == Path():
        known = [table.stem for table in find_lmudata_root().glob("*.tsv")]
        # What is here comes before what may be fetched.
        if path.suffix.lower() not in READERS and not suggest_spelling(path.name, known):
            known += list_names()
    raise build_missing_path_error(path, known)


def _check_regular(path: Path) -> Path:
    if not path.is_fifo():
        return path
    with path.open("rb") as pipe:
        return spool_stream(pipe)


def spool_stream(stream: BinaryIO) -> Path:
    """Copy a stream to a file that goes away with the process; its suffix follows from its first bytes.

    Args:
        stream: Bytes of a table of any kind that is read.

    Returns:
        The file, called `stdin` with the suffix of its kind.
    """
    # Sources look at a file's head and may read it twice, which a pipe does not allow.
    folder = Path(tempfile.mkdtemp(prefix=build_temporary_prefix()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    head = stream.read(_HEAD)
    path = folder / f"stdin{_detect_suffix(head)}"
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(stream, file)
    return path


def _detect_suffix(head: bytes) -> str:
    """Tell the kind of a stream, which has no name, from its first bytes."""
    for magic, suffix in {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx"}.items():
        if head.startswith(magic):
            return suffix
    line, newline, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if line.startswith(b"[") or (line.startswith(b"{") and newline and not line.rstrip().endswith(b"}")):
        return ".json"
    if line.startswith(b"{"):
        return ".jsonl"
    return ".tsv" if b"\t" in line else ".csv"


def _list_files(path: Path) -> list[Path]:
    """List the files of a folder of files; [] for anything else, such as a framework's folder of result folders."""
    if not path.is_dir():
        return []
    entries = sorted(p for p in path.iterdir() if not p.name.startswith(".") and not p.name.endswith(_REJECTS))
    if not entries:
        raise UsageError(f"{path}: the folder holds no files. Name another.")
    broken = [p for p in entries if p.is_symlink() and not p.exists() and p.suffix.lower() in READERS]
    if broken:
        raise UsageError(f"{broken[0]}: the link is broken. Fix it, or remove it from the folder.")
    files = [p for p in entries if p.is_file()]
    data = [p for p in files if p.suffix.lower() in READERS]
    if len(files) < len(entries) and (not data or is_one_input(path)):
        return []
    if all(p.suffix.lower() in ENDINGS for p in files) or (not data and is_one_input(path)):
        return []
    return require_inside(path, data or files)


def _list_hub_files(path: HubPath) -> list[Path]:
    """List the tables of a dataset that is none of ours, all in one folder: parquet where there is any."""
    shown = (file for file in path.rglob("*") if file.is_file() and not is_hidden(file, path))
    tables: list[Path] = sorted(file for file in shown if file.suffix.lower() in READERS)
    tables = [file for file in tables if file.suffix.lower() == ".parquet"] or tables
    folders = list(dict.fromkeys(str(file.parent) for file in tables))
    if not tables:
        raise UsageError(f"{path}: the dataset on the Hub holds no table. Name another.")
    if len(folders) > 1:
        raise UsageError(f"{path}: holds tables in several folders. Name one: {' or '.join(folders[:20])}.")
    return tables


def _read_split(file: Path) -> str:
    """Give the split that the file's name begins with, as the Hub's own files are named."""
    found = _SHARD.fullmatch(file.stem)
    return found["split"] if found else DEFAULT_SPLIT


def _choose_files(path: Path, files: Sequence[Path], subsets: Sequence[str]) -> list[Path]:
    found = list(dict.fromkeys(map(_read_subset, files)))
    for subset in subsets:
        if subset not in found:
            message = f"{path}: no subset {subset!r}.{suggest_spelling(subset, found)} Found: {', '.join(found)}."
            raise UsageError(message)
    return [file for file in files if not subsets or _read_subset(file) in subsets]


def _read_subset(path: Path) -> str:
    return _SPLIT_SUFFIX.sub("", path.stem)


def describe_input(source: Input) -> dict[str, Any]:
    """Describe an input file for the manifest: name, size, and a digest of size, head and tail.

    The digest is not of every byte, so that a large file is not read twice.
    """
    if source.path.is_dir():
        return {"name": source.path.name, "split": source.split}
    size = source.path.stat().st_size
    asked = {"benchmark": msgspec.to_builtins(source.benchmark)} if source.benchmark is not None else {}
    if isinstance(source.path, HubPath):
        known = {"sha256": read_known_sha256(source.path)} if read_known_sha256(source.path) else {}
        return {"name": str(source.path), "split": source.split, "bytes": size, **known, **asked}
    digest = hashlib.sha256(str(size).encode())
    try:
        with open_source(source.path) as file:
            head = file.read(_HEAD)
            digest.update(head)
            if size > _HEAD:
                file.seek(size - _HEAD)
                head = file.read(_HEAD)
            digest.update(head)
    except OSError as error:
        raise Error(f"{source.path}: cannot be read ({error.strerror}). Repair it, or its permissions.") from None
    known = {"head_tail_sha256": digest.hexdigest()}
    return {"name": source.path.name, "split": source.split, "bytes": size, **known, **asked}
