"""The sources of a mixture: `[NAME=]DATASET[:WEIGHT]` each, or the file of a mixture as LLaVA-OneVision writes it."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from mmconvert.chat.mixtures import STRATEGIES, parse_strategy
from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.record import LATER_COLUMNS, SCHEMA_VERSION
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.dataset.manifest import MANIFEST, find_config_folder, read_manifest
from mmconvert.dataset.views import VIEWS
from mmconvert.formats.llava_onevision import FILE, STRATEGY, read_mixture
from mmconvert.io.parquet import open_parquet

_SPEC = re.compile(r"(?:(?P<name>\w[\w.\-]*)=)?(?P<path>.+?)(?::(?P<weight>\d+(?:\.\d*)?|\.\d+))?", re.DOTALL)
_YAML = (".yaml", ".yml")


class MixSource(msgspec.Struct, frozen=True):
    """One source.

    Attributes:
        name: Its name in the mixture.
        dataset: Its rows.
        split: The split that is taken.
        weight: As the user gave it, None for none.
        strategy: What the file of a mixture says of it: all, first, end or random, and a number; None elsewhere.
        formats: What its rows were converted from.
        view: Its layout, a name of `VIEWS`.
    """

    name: str
    dataset: Dataset
    split: str
    weight: float | None
    strategy: tuple[str, int] | None
    formats: tuple[str, ...]
    view: str

    @property
    def rows(self) -> int:
        """Rows of the split."""
        return self.dataset.splits[self.split]

    def count_listed(self) -> int:
        """Count the rows that the file of a mixture takes."""
        kind, count = self.strategy or ("all", 0)
        return self.rows if kind == "all" else count


def open_sources(inputs: Sequence[str], split: str | None) -> list[MixSource]:
    """Open the sources of a mixture.

    Args:
        inputs: As the user wrote them.
        split: Split to take of each; None for its only one.

    Raises:
        UsageError: A source is missing, is no dataset, holds several splits of which none is named, or two are called
            alike.
        Error: One is damaged, of an earlier version, or holds predictions.
    """
    listed = [text for text in inputs if text.lower().endswith(_YAML)]
    if listed and len(inputs) > 1:
        raise UsageError(f"{listed[0]}: the file of a mixture is the only input. Leave the others out.")
    sources = _read_list(Path(listed[0]), split) if listed else [_open_spec(text, split) for text in inputs]
    names = Counter(source.name for source in sources)
    for name, count in names.items():
        if count > 1:
            raise UsageError(f"{count} sources are called {name!r}. Name them apart: NAME=DATASET:WEIGHT.")
    return sources


def _open_spec(text: str, split: str | None) -> MixSource:
    match = _SPEC.fullmatch(text)
    if match is None or Path(text).exists():
        return _open_source(text, None, None, split)
    weight = None if match["weight"] is None else float(match["weight"])
    if weight == 0:
        raise UsageError(f"{text}: a weight is above 0. Leave the source out.")
    return _open_source(match["path"], match["name"], weight, split)


def _open_source(path: str, name: str | None, weight: float | None, split: str | None) -> MixSource:
    dataset = open_dataset(path)
    chosen = split if split is not None else next(iter(dataset.splits))
    if split is None and len(dataset.splits) > 1:
        raise UsageError(f"{path}: holds several splits. Name one: --split {' or --split '.join(dataset.splits)}.")
    if chosen not in dataset.splits:
        raise UsageError(f"{path}: no split {chosen!r}. Known: {', '.join(dataset.splits)}.")
    if not dataset.splits[chosen]:
        raise UsageError(f"{path}: split {chosen!r} has no rows. Leave the source out.")
    formats, view = _read_facts(dataset, chosen)
    return MixSource(name or Path(path.rstrip("/")).stem, dataset, chosen, weight, None, formats, view)


def _read_facts(dataset: Dataset, split: str) -> tuple[tuple[str, ...], str]:
    """Tell what the rows of a dataset were converted from, and its layout."""
    inside = find_config_folder(dataset.path)
    folder = dataset.path if inside is None else inside[0]
    if not (folder / MANIFEST).is_file():
        names = {*open_parquet(dataset.files[split][0]).schema_arrow.names, *LATER_COLUMNS}
        view = next((name for name, view in VIEWS.items() if {*view.schema.names} <= names), None)
        if view is None:
            raise Error(f"{dataset.path}: is not a dataset created by mmconvert. Convert it first: mmconvert convert.")
        return (), view
    manifest = read_manifest(folder)[1]
    if manifest["schema_version"] != SCHEMA_VERSION:
        version = manifest["schema_version"]
        raise Error(f"{folder}: has schema version {version}. Convert it again: mmconvert convert {folder} -o NEW.")
    view = str(manifest.get("view", next(iter(VIEWS))))
    if view not in VIEWS:
        raise Error(f"{folder}: holds {view}, which are not mixed. Give datasets.")
    return tuple(filter(None, str(manifest.get("format") or "").split(", "))), view


def find_view(sources: Sequence[MixSource]) -> str:
    """Give the layout that all sources have.

    Raises:
        Error: They have several.
    """
    first = sources[0]
    for other in sources:
        if other.view != first.view:
            laid = f"{first.name} has the view {first.view} and {other.name} the view {other.view}"
            again = f"mmconvert convert {other.dataset.path} -o NEW --view {first.view}"
            raise Error(f"{laid}. Convert one again: {again}")
    return first.view


def _read_list(path: Path, split: str | None) -> list[MixSource]:
    sources = []
    for number, entry in enumerate(read_mixture(path)):
        place = _find_beside(path, entry[FILE].strip())
        source = _open_source(str(place), None, None, split)
        found = parse_strategy(entry.get(STRATEGY, "all"), partial(int, source.rows))
        if found is None:
            said = show(entry.get(STRATEGY))
            raise Error(f"{path}: datasets[{number}].{STRATEGY}: expected {STRATEGIES} {said}. Correct it.")
        sources.append(msgspec.structs.replace(source, strategy=found))
    return sources


def _find_beside(path: Path, name: str) -> Path:
    """Find a dataset that a file names: beside it or in the working folder, and nowhere else."""
    for folder in (path.parent.resolve(), Path.cwd()):
        place = (folder / name).resolve()
        if place.is_relative_to(folder) and place.exists():
            if place.suffix.lower() in (".json", ".jsonl"):
                command = f"mmconvert convert {json.dumps(str(path))} -o OUT"
                raise UsageError(f"{path}: {name}: is no dataset. Convert the whole mixture instead: {command}")
            return place
    raise Error(f"{path}: {name}: no such dataset beside it or in the working folder. Correct the path.")
