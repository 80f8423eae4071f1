"""What the user names on the command line: files, folders, `split=PATH`, `-`, bare dataset names."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmconvert.errors import Error, UsageError, did_you_mean
from mmconvert.manifest import MANIFEST
from mmconvert.store import open_dataset

DEFAULT_SPLIT = "test"
_SPLIT = re.compile(r"(\w+(?:\.\w+)*)=(.+)", re.DOTALL)
_SPLIT_NAME = re.compile(r"\w+(\.\w+)*")
_SPLIT_SUFFIX = re.compile(r"_(test|val|dev)$")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """One file to convert, the split it goes to, and what tells its rows from other files' rows."""

    path: Path
    split: str = DEFAULT_SPLIT
    subset: str | None = None
    id_prefix: str = ""

    @classmethod
    def of(cls, path: Path) -> "Input":
        """Take one file or folder as it is.

        Raises:
            UsageError: Nothing stands there.
        """
        if not path.exists():
            raise UsageError(_missing(str(path)))
        return cls(path)


def lmudata_root() -> Path:
    """Give the folder of LMUData tables: environment `LMUData`, else ~/LMUData."""
    return Path(os.environ.get("LMUData") or Path.home() / "LMUData")  # noqa: SIM112 - the kit's own spelling


def plan(
    names: Sequence[str],
    *,
    split: str | None = None,
    subsets: Sequence[str] = (),
    download: Callable[[str], Path] | None = None,
) -> list[Input]:
    """Turn INPUT arguments into files.

    Args:
        names: Files, folders of files of one format, `split=PATH`, `-`, bare dataset names, or addresses.
        split: Split of every input that names none itself.
        subsets: Take only these subsets (file stems) of folders.
        download: Gives the local file of an address; None to refuse addresses.

    Returns:
        The files in order; of a folder, sorted by name.

    Raises:
        UsageError: A path is missing, a folder is empty, or a split or subset name cannot be used.
    """
    inputs: list[Input] = []
    for name in names:
        own_split, path = _located(name, download)
        chosen = own_split or split or DEFAULT_SPLIT
        if not _SPLIT_NAME.fullmatch(chosen):
            raise UsageError(f"{chosen!r} is no split name. Use letters, digits, _ and single dots.")
        if (path / MANIFEST).is_file():
            inputs += [Input(file, own) for own, files in open_dataset(path).files.items() for file in files]
        elif _is_folder_of_files(path):
            inputs += _folder(path, chosen, subsets)
        else:
            inputs.append(Input(path, chosen))
    if subsets and len(subsets) == 1 and len(inputs) == 1 and inputs[0].subset is None:
        inputs = [Input(inputs[0].path, inputs[0].split, subsets[0])]
    if len(inputs) > 1:
        prefixes = [_subset(source.path) for source in inputs]
        if len(set(prefixes)) != len(prefixes):
            prefixes = [f"{source.split}-{prefix}" for source, prefix in zip(inputs, prefixes, strict=True)]
        inputs = [
            Input(source.path, source.split, source.subset, f"{prefix}-")
            for source, prefix in zip(inputs, prefixes, strict=True)
        ]
    return inputs


def _located(name: str, download: Callable[[str], Path] | None) -> tuple[str | None, Path]:
    if name == "-":
        return None, _spooled()
    if Path(name).exists():
        return None, Path(name)
    match = _SPLIT.fullmatch(name)
    if match and Path(match[2]).exists():
        return match[1], Path(match[2])
    address = match[2] if match else name
    if _ADDRESS.match(address):
        if download is None:
            raise UsageError(
                f"{address}: nothing is fetched from the network. Convert it with --allow-remote, or give a file."
            )
        return match[1] if match else None, download(address)
    if re.fullmatch(r"[\w.\-]+", name):
        table = lmudata_root() / f"{name}.tsv"
        if table.is_file():
            return None, table
    raise UsageError(_missing(match[2] if match else name))


def _missing(name: str) -> str:
    path = Path(name)
    neighbours = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = did_you_mean(path.name, neighbours)
    root = lmudata_root()
    if not hint and path.parent == Path() and root.is_dir():
        hint = did_you_mean(name, [p.stem for p in root.glob("*.tsv")])
    return f"{name}: no such file or folder.{hint}"


def _spooled() -> Path:
    # Sources look at a file's head and may read it twice, which a pipe does not allow.
    folder = Path(tempfile.mkdtemp(prefix="mmconvert-"))
    path = folder / "stdin.jsonl"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _is_folder_of_files(path: Path) -> bool:
    # A kit's folder of result folders is one input.
    if not path.is_dir():
        return False
    entries = [p for p in path.iterdir() if not p.name.startswith(".")]
    return bool(entries) and not any(p.is_dir() for p in entries)


def _folder(path: Path, split: str, subsets: Sequence[str]) -> list[Input]:
    files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    found = {_subset(p): p for p in files}
    for subset in subsets:
        if subset not in found:
            raise UsageError(f"{path}: no subset {subset!r}.{did_you_mean(subset, found)} Found: {', '.join(found)}.")
    return [Input(p, split, _subset(p)) for p in files if not subsets or _subset(p) in subsets]


def _subset(path: Path) -> str:
    return _SPLIT_SUFFIX.sub("", path.stem)


def fingerprint(source: Input) -> dict[str, Any]:
    """Describe an input file for the manifest: name, size, and a digest of size, head and tail.

    The digest is not of every byte, so that a large file is not read twice.
    """
    if source.path.is_dir():
        return {"name": source.path.name, "split": source.split}
    size = source.path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    try:
        with source.path.open("rb") as file:
            digest.update(file.read(_HEAD))
            file.seek(max(0, size - _HEAD))
            digest.update(file.read(_HEAD))
    except OSError as error:
        raise Error(f"{source.path}: cannot be read ({error.strerror}).") from None
    return {"name": source.path.name, "split": source.split, "bytes": size, "head_tail_sha256": digest.hexdigest()}
