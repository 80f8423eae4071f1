"""The files of a benchmark that is named: those that are here, or that may be fetched."""

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from mmconvert.benchmarks.catalogue import (
    FRAMEWORKS,
    Benchmark,
    BuiltByCode,
    HubFiles,
    JoinedTables,
    LocalTable,
    ModelScopeFiles,
    TaskGroup,
    Url,
    UrlParts,
    find_benchmark,
    is_benchmark,
)
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.rows import READERS
from mmconvert.dataset.hub_splits import CARD, RepoListing, choose_split_files, find_split_files, match_files
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.kits.vlmevalkit.lmu_download import find_table, join_parts, read_url_name
from mmconvert.storage import modelscope
from mmconvert.storage.object_store import find_local

Download = Callable[..., Path]
"""Fetches the file of an address: `mmconvert.kits.vlmevalkit.lmu_download.download_table`, its options bound."""


class Defaults(msgspec.Struct, frozen=True):
    """How the catalogue reads and words a benchmark, where the user says nothing else.

    Attributes:
        key: The benchmark, with its framework's prefix.
        dataset: What its framework calls it.
        format: Its format; None to detect it.
        prompt: Its framework's prompt template; None for the format's.
    """

    key: str
    dataset: str
    format: str | None
    prompt: str | None


class BenchmarkFile(msgspec.Struct, frozen=True):
    """A file of a benchmark.

    Attributes:
        path: Where it is.
        defaults: How it is read.
        split: Its split; None where nobody says.
        subset: Its subset; None for none.
    """

    path: Path
    defaults: Defaults
    split: str | None = None
    subset: str | None = None


def find_named(name: str) -> Benchmark | None:
    """Find the benchmark that the user names; None for any other name.

    Raises:
        UsageError: Several frameworks have one of this name, and no table in $LMUData is called so.
    """
    if not is_benchmark(name):
        return None
    if (find_lmudata_root() / f"{name}.tsv").is_file():
        # A table there needs no catalogue: one that VLMEvalKit calls otherwise is the user's own.
        named = f"vlmevalkit:{name}"
        return found if is_benchmark(named) and (found := find_benchmark(named)).name == name else None
    return find_benchmark(name)


def list_benchmark_files(benchmark: Benchmark, download: Download | None) -> list[BenchmarkFile]:
    """Give the files of a benchmark; what is at an address is fetched unless it is in $LMUData already.

    Args:
        benchmark: The benchmark.
        download: Fetches a file; None to fetch nothing but from Hugging Face's Hub.

    Raises:
        UsageError: It is not here and may not be fetched, or cannot be: what to do is said.
        Error: It cannot be fetched, or has another MD5.
    """
    defaults = Defaults(benchmark.key, benchmark.name, benchmark.format, benchmark.prompt)
    match benchmark.source:
        case Url(url, md5):
            path = _get_file(benchmark, url, f"{benchmark.name}{_read_suffix(benchmark, url)}", md5, download)
            return [BenchmarkFile(path, defaults)]
        case UrlParts(urls, "rows", _, md5s):
            sums = md5s or (None,) * len(urls)
            parts = zip(urls, sums, strict=True)
            paths = [_get_file(benchmark, url, read_url_name(url), md5, download) for url, md5 in parts]
            return [BenchmarkFile(path, defaults) for path in paths]
        case UrlParts(urls, _, md5):
            return [BenchmarkFile(_join(benchmark, urls, md5, download), defaults)]
        case HubFiles(split=split) as source:
            return [BenchmarkFile(path, defaults, split) for path in _list_hub_files(benchmark.name, source)]
        case ModelScopeFiles() as source:
            return _list_modelscope_files(benchmark, source, defaults, download)
        case JoinedTables(names):
            return [file for name in names for file in _list_part(benchmark, name, download)]
        case LocalTable():
            path = find_lmudata_root() / f"{benchmark.name}.tsv"
            if not path.is_file():
                raise UsageError(f"{benchmark.key}: {path} is missing. Its authors hand out the table: put it there.")
            return [BenchmarkFile(path, defaults)]
        case _:
            raise UsageError(f"{benchmark.key}: {_explain_missing(benchmark)}")


def _list_part(whole: Benchmark, name: str, download: Download | None) -> list[BenchmarkFile]:
    """Give the files of one table of a benchmark, which are asked as the whole one is, or else as the table is."""
    part = find_benchmark(f"{whole.framework}:{name}")
    defaults = Defaults(whole.key, whole.name, whole.format or part.format, whole.prompt or part.prompt)
    files = list_benchmark_files(part, download)
    return [msgspec.structs.replace(file, defaults=defaults, subset=file.subset or name) for file in files]


def _explain_missing(benchmark: Benchmark) -> str:
    framework = FRAMEWORKS[benchmark.framework]
    match benchmark.source:
        case TaskGroup(names):
            listed = ", ".join(f"{benchmark.framework}:{name}" for name in names)
            return f"is a group of {len(names)} tasks, each scored by itself. Name one: {listed}."
        case BuiltByCode():
            note = f" ({benchmark.note})" if benchmark.note else ""
            return f"{framework}'s own code builds its data{note}. Convert the files that it makes."
        case _:
            return f"{framework} says no place of its data. Convert its files."


def _read_suffix(benchmark: Benchmark, url: str) -> str:
    suffix = Path(urlsplit(url).path).suffix.lower() or ".tsv"
    if suffix not in READERS:
        framework = FRAMEWORKS[benchmark.framework]
        message = f"{benchmark.key}: {framework}'s own code unpacks {url}. Fetch and unpack it, and convert its files."
        raise UsageError(message)
    return suffix


def _get_file(benchmark: Benchmark, url: str, file_name: str, md5: str | None, download: Download | None) -> Path:
    if download is not None:
        return download(url, file_name=file_name, md5=md5)
    path = find_table(url, file_name, md5)
    if path is None:
        raise _build_missing_error(benchmark, find_lmudata_root() / file_name, [url], md5)
    return path


def _join(benchmark: Benchmark, urls: tuple[str, ...], md5: str | None, download: Download | None) -> Path:
    place = find_lmudata_root() / f"{benchmark.name}.tsv"
    if download is None and not place.is_file():
        raise _build_missing_error(benchmark, place, urls, md5)
    return place if download is None else join_parts(urls, place, md5, download)


def _build_missing_error(benchmark: Benchmark, place: Path, urls: Sequence[str], md5: str | None) -> UsageError:
    total = f" (MD5 {md5})" if md5 else ""
    what = urls[0] if len(urls) == 1 else f"the joined bytes of {', '.join(urls)}"
    command = f"mmconvert convert {benchmark.shortest_name} -o DIR --allow-remote"
    return UsageError(f"{benchmark.key}: {place} is missing. Fetch it ({command}), or put it there: {what}{total}")


def _list_modelscope_files(
    benchmark: Benchmark, source: ModelScopeFiles, defaults: Defaults, download: Download | None
) -> list[BenchmarkFile]:
    """Give the tables of the split; each subset's own where the dataset's card has them as configurations."""
    try:
        files = {file.path: file for file in modelscope.list_files(source.repo, download)}
        card = files.get(CARD)
        content = b"" if card is None else modelscope.get_file(source.repo, card, download).read_bytes()
        listing = RepoListing(f"modelscope:{source.repo}", [*files], content)
        own = bool(source.subsets) and set(source.subsets) <= listing.read_configs().keys()
        chosen = [
            (name, subset)
            for subset in (source.subsets if own else (None,))
            for name in choose_split_files(listing, subset, source.split)
        ]
        places = [modelscope.get_file(source.repo, files[name], download) for name, _ in chosen]
    except Error as error:
        by_hand = f"modelscope download --dataset {source.repo} --local_dir {source.repo.rpartition('/')[2]}"
        fetch = f"mmconvert convert {benchmark.key} -o DIR --allow-remote"
        how = f"its data is on ModelScope. Fetch it: {fetch}." if download is None else str(error)
        kind = UsageError if isinstance(error, UsageError) else Error
        raise kind(
            f"{benchmark.key}: {how} Or fetch it by hand, and convert the files: pip install modelscope; {by_hand}"
        ) from None
    return [
        BenchmarkFile(place, defaults, source.split, subset) for place, (_, subset) in zip(places, chosen, strict=True)
    ]


def _list_hub_files(name: str, source: HubFiles) -> list[Path]:
    root = find_local(f"hf://datasets/{source.repo}" + (f"@{source.revision}" if source.revision else ""))
    own = match_files(root, f"{name}.tsv")
    if source.files:
        found = {pattern: match_files(root, pattern) for pattern in source.files}
        if missing := [pattern for pattern, files in found.items() if not files]:
            raise UsageError(f"{root}: has no file {missing[0]} any more. Name another: hf://datasets/USER/REPO/FILE")
        return [file for files in found.values() for file in files]
    return own or find_split_files(root, source.config, source.split)
