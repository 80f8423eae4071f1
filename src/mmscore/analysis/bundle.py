"""A score that anyone can recompute: predictions, references, recipe, versions and hashes in one folder."""

import json
import math
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict, replace

from mmconvert.core.errors import Error, UsageError, build_missing_path_error, show
from mmconvert.core.hashing import hash_file
from mmconvert.core.record import IMAGE_COLUMNS, PREDICTION_SCHEMA
from mmconvert.storage.atomic import (
    build_temporary_path,
    clear_leftovers,
    require_folder,
    sync_folder,
    sync_tree,
    write_synced,
)
from mmconvert.storage.object_store import is_url
from mmconvert.storage.source_files import Sources, open_source, require_unchanged, watch_apart, watch_sources
from mmscore.core.predictions.join import ANSWER_COLUMNS
from mmscore.core.predictions.load import list_read_files, open_rows
from mmscore.core.predictions.locate import STDIN
from mmscore.core.recipe_options import is_inline
from mmscore.core.report import Report
from mmscore.core.select_recipe import find_recipe
from mmscore.scoring.collector import find_source_column
from mmscore.scoring.evaluate import FileKeywords, ScoreOptions, score_each
from mmscore.scoring.signature import list_versions

SCHEMA_VERSION = 1
MANIFEST, REPORT = "bundle.json", "report.json"
PREDICTIONS, ANSWERS, RECIPE_OPTIONS = "predictions", "answers.parquet", "recipe_options.yaml"

NUMBERS = ("recipe", "version", "model", "dataset", "metrics", "groups", "counts", "partial", "table")
"""What of a report must come out the same; the rest names places and releases."""

_DROPPED = {*IMAGE_COLUMNS, "messages", "source", *ANSWER_COLUMNS} - {"id"}


class BundleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the files of a bundle are scored."""

    recipe: tuple[str, ...] = ()
    """Recipe: how predictions are parsed and scored; NAME@VERSION for a version. [default: chosen by task and source]
    """
    recipe_options: str | None = None
    """YAML or JSON file with options of the recipe."""
    format: str | None = None
    """Format of the files. [default: detected]"""
    answers: str | None = None
    """Dataset with the reference answers; copied into the bundle without images."""
    dataset: str | None = None
    """Benchmark name, if the file does not state it."""
    by: tuple[str, ...] = ()
    """Also report scores per value of a column, or of extra.KEY; repeatable."""
    average: Literal["micro", "macro"] = "micro"
    """Average over samples, or over the groups of the first --by."""


class BundleKeywords(FileKeywords, total=False):
    """Keywords of `bundle`: the options of `mmscore bundle` by their names."""

    recipe: str | Sequence[str]
    by: str | Sequence[str]
    average: Literal["micro", "macro"]


class Request(msgspec.Struct, frozen=True):
    """What to score, and how.

    Attributes:
        predictions: Files or folders; in a bundle relative to it.
        recipes: Names of recipes, with their version; empty for the one that fits.
        answers: Dataset with the references; in a bundle `ANSWERS`, or None.
        dataset: Benchmark name, if the file does not state it.
        by: Columns to break the numbers down by.
        average: As `mmscore.scoring.evaluate.ScoreOptions`.
        format: Likewise.
        recipe_options: File of options for the recipe; in a bundle `RECIPE_OPTIONS`, or None.
    """

    predictions: tuple[str, ...]
    recipes: tuple[str, ...] = ()
    answers: str | None = None
    dataset: str | None = None
    by: tuple[str, ...] = ()
    average: Literal["micro", "macro"] = "micro"
    format: str | None = None
    recipe_options: str | None = None

    @property
    def command(self) -> str:
        """The command line that gives the same report."""
        words = ["mmscore", "score", *self.predictions]
        words += [word for name in self.recipes for word in ("--recipe", name)]
        places = {"--format": self.format, "--answers": self.answers, "--dataset": self.dataset}
        for flag, value in {**places, "--recipe-options": self.recipe_options}.items():
            words += [] if value is None else [flag, value]
        words += [word for name in self.by for word in ("--by", name)]
        return shlex.join([*words, "--average", self.average, "-o", REPORT])


class Bundle(msgspec.Struct, frozen=True):
    """What was bundled.

    Attributes:
        folder: Where.
        report: The object of schemas/report.json.
        left_out: Files of the folders of predictions that no score depends on; they stay where they are.
    """

    folder: Path
    report: Mapping[str, Any]
    left_out: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every row of every file has its score."""
        lacking = ("failed", "judge_failed", "missing", "rejected")
        return not any(entry["counts"][fate] for entry in self.report["entries"] for fate in lacking)

    def to_json(self) -> Mapping[str, Any]:
        """Give the object that `mmscore bundle --json` prints."""
        return self.report


def bundle_files(predictions: Sequence[str], output: Path, options: BundleOptions) -> Bundle:
    """Bundle predictions and all that their score depends on; see `bundle`.

    Raises:
        UsageError: As `bundle`; or the predictions or references are standard input.
        Error: As `bundle`.
    """
    if STDIN in (*predictions, options.answers):
        raise UsageError(f"{STDIN}: a bundle is made of files. Write standard input to a file first.")
    facts = asdict(options)
    request = Request(predictions=tuple(predictions), recipes=facts.pop("recipe"), **facts)
    return Bundle(output, bundle(request, output), tuple(_list_left_out(request)))


@watch_sources()
def bundle(request: Request, output: Path) -> dict[str, Any]:
    """Put everything behind a report into one folder, which is written atomically.

    The report is computed from the folder's own files, and is compared with that of the files as they
    stood before, whose signatures it bears.

    Args:
        request: What to score.
        output: The folder; nothing may stand there.

    Returns:
        The report, the object of schemas/report.json.

    Raises:
        UsageError: The place is taken, a file is missing, or a recipe is the user's own code.
        Error: As `score`; or the numbers depend on where the files stand.
    """
    if output.exists() or output.is_symlink():
        raise UsageError(f"{output}: already exists. Name a folder that does not.")
    require_folder(output)
    refuse_own_code(request)
    for path in request.predictions:
        if is_url(path):
            raise UsageError(f"{path}: a bundle is made of local files. Copy it here first.")
        if not Path(path).exists():
            raise build_missing_path_error(Path(path))
    refuse_outsiders(request)
    names = [Path(path).resolve().name for path in request.predictions]
    if len(set(names)) < len(names):
        raise UsageError("two predictions files have the same name. Rename one, or bundle each by itself.")
    before = run(request)
    named = tuple(dict.fromkeys(f"{entry['recipe']}@{entry['version']}" for entry in before["entries"]))
    refuse_outsiders(replace(request, recipes=named))
    if len(named) > 1 and not request.recipes:
        raise UsageError(f"the files are of different recipes ({', '.join(named)}). Bundle each by itself.")
    clear_leftovers(output)
    new = build_temporary_path(output)
    new.mkdir()
    try:
        report = _fill(new, request, named, before)
        sync_tree(new)
        require_unchanged()
        new.rename(output.resolve())
    finally:
        shutil.rmtree(new, ignore_errors=True)
    sync_folder(output.resolve().parent)
    return report


def refuse_own_code(request: Request) -> None:
    """Refuse plug-ins that are files: whoever recomputes a bundle shall not run an untrusted code.

    Raises:
        UsageError: A recipe or the format is a file.
    """
    for name in (*request.recipes, request.format or ""):
        if ".py" in name:
            raise UsageError(f"{name}: a bundle takes recipes and formats that `list` names, not a file of code.")


def refuse_outsiders(request: Request, folder: Path | None = None) -> None:
    """Refuse recipes that ask a judge, a model or a service: nobody else could recompute their numbers.

    Args:
        request: What to score.
        folder: The bundle that its paths are relative to; None for the current folder.

    Raises:
        UsageError: A recipe asks somebody, or is none.
    """
    options = request.recipe_options and os.path.join(folder or "", request.recipe_options)
    for name in request.recipes:
        recipe = find_recipe(name, options).recipe
        if recipe.needs_judge:
            raise UsageError(f"recipe {name!r} has no scores without a judge, which a bundle cannot contain.")
        if recipe.asks_outside:
            raise UsageError(f"recipe {name!r} uses models or API servers here, which a bundle cannot contain.")


def run(request: Request, folder: Path | None = None) -> dict[str, Any]:
    """Score as a request says.

    Args:
        request: What to score.
        folder: The bundle that its paths are relative to; None for the current folder.

    Returns:
        The report as JSON values; the folder is left out of every path in it.
    """
    prefix = "" if folder is None else f"{folder}{os.sep}"
    answers, recipe_options = (path and prefix + path for path in (request.answers, request.recipe_options))
    same = {name: getattr(request, name) for name in ("dataset", "by", "average", "format")}
    options = ScoreOptions(answers=answers, recipe_options=recipe_options, **same)
    paths = [prefix + path for path in request.predictions]
    found = Report(tuple(entry for entry, _ in score_each(paths, request.recipes, options))).to_json()
    for entry in found["entries"] if prefix else ():
        entry["predictions"] = entry["predictions"].replace(prefix, "")
        entry["messages"] = [message.replace(prefix, "") for message in entry["messages"]]
    values: dict[str, Any] = json.loads(json.dumps(found))
    return values


def list_numbers(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give what of a report must come out the same."""
    return [{name: entry.get(name) for name in NUMBERS} for entry in report["entries"]]


def _fill(new: Path, request: Request, recipes: tuple[str, ...], before: Mapping[str, Any]) -> dict[str, Any]:
    if request.answers is not None:
        _write_answers(request.answers, new / ANSWERS, request.by)
    if request.recipe_options is not None:
        if is_inline(request.recipe_options):
            (new / RECIPE_OPTIONS).write_text(request.recipe_options, encoding="utf-8")
        else:
            _copy_file(Path(request.recipe_options), new / RECIPE_OPTIONS)
    answers, options = request.answers and ANSWERS, request.recipe_options and RECIPE_OPTIONS
    request = replace(request, recipes=recipes, answers=answers, recipe_options=options)
    # Some formats read a name off the folder that a file stands in: it comes along where it makes a difference.
    for depth in (1, 2):
        paths = [_copy(Path(path), new, depth, request.format) for path in request.predictions]
        inside = replace(request, predictions=tuple(paths))
        with watch_apart(Sources()):
            report = run(inside, new)
        if list_numbers(report) == list_numbers(before):
            break
        shutil.rmtree(new / PREDICTIONS)
    else:
        raise Error("the scores depend on the folder of the files, and a bundle has another one. Bundle their folder.")
    for entry, there in zip(report["entries"], before["entries"], strict=True):
        # What a dataset is called and what it asked stay behind; the numbers are to be compared with those outside.
        entry["signature"] = there["signature"]
    copies = [path for path in sorted(new.rglob("*")) if path.is_file()]
    write_synced(new / REPORT, _encode_text(report))
    files = [
        {"path": path.relative_to(new).as_posix(), "bytes": path.stat().st_size, "sha256": hash_file(path)}
        for path in (*copies, new / REPORT)
    ]
    about = {
        "schema_version": SCHEMA_VERSION,
        "command": inside.command,
        "request": asdict(inside),
        "recipes": [
            {"name": f"{e['recipe']}@{e['version']}", "parity": e["parity"], "chosen_because": b["reason"]}
            for e, b in zip(report["entries"], before["entries"], strict=True)
        ],
        "versions": dict(list_versions()),
        "files": files,
    }
    write_synced(new / MANIFEST, _encode_text(about))
    return report


def _copy(source: Path, new: Path, depth: int, format: str | None) -> str:
    """Copy a file, or of a folder what is read; give its path inside the bundle."""
    place = Path(PREDICTIONS, *source.resolve().parts[-depth:])
    target = new / place
    for file in list_read_files(source, format) if source.is_dir() else [source]:
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(file, copy)
    return place.as_posix()


def _copy_file(source: Path, target: Path) -> None:
    """Copy the file that was scored, not a link that has taken its place since."""
    with open_source(source) as file, target.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def _list_left_out(request: Request) -> Iterator[str]:
    for folder in (Path(path) for path in request.predictions if Path(path).is_dir()):
        read = {*list_read_files(folder, request.format)}
        yield from sorted(
            str(file) for file in folder.rglob("*") if file not in read and (file.is_symlink() or not file.is_dir())
        )


def _write_answers(answers: str, target: Path, by: Sequence[str]) -> None:
    """Write the columns of a dataset that scores can need: no images, no prompts."""
    rows = open_rows(answers, required=("id",))
    known = {*PREDICTION_SCHEMA.names, *map(find_source_column, by)}
    columns = sorted(name for name in rows.names & known if name not in _DROPPED)
    batches = list(rows.read(columns))
    with pq.ParquetWriter(target, batches[0].schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(pa.Table.from_batches(batches))


def _encode_text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode(errors="backslashreplace") + b"\n"


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
    """Compare every byte of a bundle with its manifest, then score again and compare every number.

    No code of the bundle is run, and nothing outside it is read.

    Raises:
        UsageError: Nothing stands there.
        Error: The folder is no bundle, or its manifest is damaged or leads out of it.
    """
    if not folder.exists():
        raise build_missing_path_error(folder)
    if not folder.is_dir():
        raise UsageError(f"{folder}: is a file. Name the folder.")
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
        raise Error(f"{folder / REPORT}: is not a report. Make the bundle again.") from None
    return Verification(tuple(faults), remarks, report)


def _read_json(path: Path) -> Any:
    # A link may lead out of the folder, and a device or a pipe never ends.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise Error(f"{path}: is a link or no plain file. Copy the file that was bundled there.")
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise Error(f"{path}: is missing; the folder is not a bundle, or incomplete.") from None
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
            raise TypeError(f"its request has a value that is not text {show(value)}")
    for path in (*predictions, *(path for path in (answers, recipe_options) if path is not None)):
        _check_inside(path)
    return Request(predictions, recipes, answers, dataset, by, average, format, recipe_options)


def _read_texts(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} is not a list of texts {show(values)}")
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
        parts = [part for part in (path, *path.parents) if part.is_relative_to(folder) and part != folder]
        if any(part.is_symlink() for part in parts) or not path.is_file():
            yield f"{name}: is missing, or a link"
        elif path.stat().st_size != file["bytes"] or hash_file(path) != file["sha256"]:
            yield f"{name}: its bytes are not those that were bundled"
    for root, folders, names in os.walk(folder):
        for name in (*names, *(entry for entry in folders if Path(root, entry).is_symlink())):
            place = Path(root, name).relative_to(folder).as_posix()
            if place not in known and place != MANIFEST:
                yield f"{place}: was not bundled"


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
