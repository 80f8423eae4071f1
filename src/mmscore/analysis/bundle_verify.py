"""Recompute a bundle, and say what came out otherwise."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from mmconvert.core.errors import Error, UsageError, build_missing_path_error, show
from mmconvert.core.hashing import hash_file
from mmscore.analysis.bundle import (
    MANIFEST,
    REPORT,
    SCHEMA_VERSION,
    Request,
    list_numbers,
    refuse_outsiders,
    refuse_own_code,
    run,
)
from mmscore.scoring.signature import list_versions


class Verification(msgspec.Struct, frozen=True):
    """The outcome.

    Attributes:
        faults: What is not as the bundle says: files first; numbers only where the files are all right.
        remarks: Releases that differ from those that made the bundle; no fault by itself.
        report: The report as it comes out now; None where files are not as they were.
    """

    faults: tuple[str, ...]
    remarks: tuple[str, ...]
    report: dict[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmscore verify --json` prints."""
        return {"faults": list(self.faults), "remarks": list(self.remarks), "report": self.report}


def verify(folder: Path) -> Verification:
    """Compare every byte of a bundle with its manifest, then score anew and compare every number.

    No code of the bundle is run, and nothing outside it is read.

    Raises:
        UsageError: Nothing stands there.
        Error: The folder is no bundle, or its manifest is damaged or leads out of it.
    """
    if not folder.is_dir():
        raise (
            build_missing_path_error(folder)
            if not folder.exists()
            else UsageError(f"{folder}: is a file. Name the folder.")
        )
    manifest, request = _read(folder)
    made_with = {**manifest["versions"]}
    remarks = tuple(
        f"made with {name} {made_with.get(name, 'unknown')}, this is {now}"
        for name, now in list_versions().items()
        if made_with.get(name) != now
    )
    faults = list(_find_file_faults(folder, manifest["files"]))
    if faults:
        return Verification(tuple(faults), remarks, None)
    try:
        refuse_outsiders(request, folder)
    except UsageError as error:
        raise Error(f"{folder / MANIFEST}: {error}") from None
    facts = _read_json(folder / REPORT)
    report = run(request, folder)
    try:
        faults = list(_find_differences(list_numbers(facts), list_numbers(report), "report"))
    except (KeyError, TypeError, AttributeError):
        raise Error(f"{folder / REPORT}: is no report. Make the bundle again.") from None
    return Verification(tuple(faults), remarks, report)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise Error(f"{path}: is missing; the folder is no bundle, or not a whole one.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Error(f"{path}: is damaged ({error}). Make the bundle again.") from None


def _read(folder: Path) -> tuple[dict[str, Any], Request]:
    path = folder / MANIFEST
    manifest = _read_json(path)
    try:
        version = manifest["schema_version"]
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise Error(
                f"{path}: has schema version {version}; this program knows {SCHEMA_VERSION}. Upgrade mmconvert."
            )
        for file in manifest["files"]:
            _check_inside(file["path"])
            if not isinstance(file["bytes"], int) or not isinstance(file["sha256"], str):
                raise TypeError(f"{file['path']} has no size or hash")
        if not isinstance(manifest["versions"], dict):
            raise TypeError("its versions are no object")
        request = _read_request(manifest["request"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Error(f"{path}: is damaged ({error}). Make the bundle again.") from None
    try:
        refuse_own_code(request)
    except UsageError as error:
        raise Error(f"{path}: {error}") from None
    return manifest, request


def _read_request(values: Mapping[str, Any]) -> Request:
    """Check what the manifest asks for: it may come from anywhere."""
    unknown = values.keys() - set(Request.__struct_fields__)
    if unknown:
        raise ValueError(f"it asks for {', '.join(sorted(unknown))}")
    predictions, recipes, by = (_read_texts(values[name], name) for name in ("predictions", "recipes", "by"))
    if not predictions or not recipes:
        raise ValueError("it names no predictions or no recipe")
    answers, dataset, average = (values[name] for name in ("answers", "dataset", "average"))
    format, recipe_options = values.get("format"), values.get("recipe_options")
    for value in (answers, dataset, average, format, recipe_options):
        if not isinstance(value, str | None):
            raise TypeError(f"its request holds what is no text {show(value)}")
    for path in (*predictions, *(path for path in (answers, recipe_options) if path is not None)):
        _check_inside(path)
    return Request(predictions, recipes, answers, dataset, by, average, format, recipe_options)


def _read_texts(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} is no list of texts {show(values)}")
    return tuple(values)


def _check_inside(path: str) -> None:
    place = PurePosixPath(path)
    if not path or place.is_absolute() or ".." in place.parts or "\\" in path:
        raise ValueError(f"a path leads out of the folder {show(path)}")


def _find_file_faults(folder: Path, files: list[dict[str, Any]]) -> Iterator[str]:
    known = {file["path"]: file for file in files}
    if REPORT not in known:
        yield f"{REPORT}: the manifest does not list it"
    for name, file in known.items():
        path = folder / name
        if _is_linked(path, folder) or not path.is_file():
            yield f"{name}: is missing, or a link"
        elif path.stat().st_size != file["bytes"] or hash_file(path) != file["sha256"]:
            yield f"{name}: its bytes are not those that were bundled"
    for root, folders, names in os.walk(folder):
        for name in (*names, *(entry for entry in folders if Path(root, entry).is_symlink())):
            place = Path(root, name).relative_to(folder).as_posix()
            if place not in known and place != MANIFEST:
                yield f"{place}: was not bundled"


def _is_linked(path: Path, folder: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(folder) and part != folder)


def _find_differences(facts: Any, found: Any, place: str) -> Iterator[str]:
    """Compare JSON values, value by value; NaN never stands there."""
    if isinstance(facts, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*facts, *found]):
            yield from _find_differences(facts.get(name), found.get(name), f"{place}.{name}")
    elif isinstance(facts, list) and isinstance(found, list) and len(facts) == len(found):
        for number, pair in enumerate(zip(facts, found, strict=True)):
            yield from _find_differences(*pair, f"{place}[{number}]")
    elif type(facts) is not type(found) or facts != found:
        yield f"{place}: {_shorten(facts)} in the bundle, {_shorten(found)} now"


def _shorten(value: Any) -> str:
    text = repr(value) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= 80 else text[:80] + "..."
