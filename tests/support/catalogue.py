"""The catalogue of benchmarks: written from facts that were parsed out of the frameworks' code, and its form."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mmconvert.benchmarks import catalogue
from mmconvert.benchmarks.catalogue import (
    FRAMEWORKS,
    Benchmark,
    BuiltByCode,
    HubFiles,
    JoinedTables,
    LocalTable,
    ModelScopeFiles,
    PublishedScore,
    Source,
    TaskGroup,
    Url,
    UrlParts,
    load_framework,
)
from mmconvert.core.errors import UsageError
from mmconvert.core.record import Part, Record, Turn
from mmconvert.core.record import Source as RowSource
from mmconvert.pipeline.prompting import load_prompt
from mmconvert.plugins.registry import find_plugins
from mmconvert.storage.hub_fs import resolve_page

FOLDER = Path(catalogue.__file__).parent
PREFIXES = {label: prefix for prefix, label in FRAMEWORKS.items()}
"""What the facts call a framework -> its prefix."""

ALIASES = {"vlmevalkit:GMAI-MMBench_VAL": ("GMAI_mm_bench_VAL",)}
"""Other names of benchmarks: this one's table had it before."""

_REPO = re.compile(r"[\w.\-]+/[\w.\-]+")
_MD5 = re.compile(r"[0-9a-f]{32}")
_NAME = re.compile(r"\w[\w.+\- ]*")
_ON_HUB = re.compile(
    r"https://huggingface\.co/datasets/(?P<repo>[^/]+/[^/]+)/(?:resolve|raw)/(?P<revision>[^/]+)/(?P<path>.+)"
    r"|hf://datasets/(?P<hf_repo>[^/]+/[^/]+)/(?P<hf_path>.+)"
)
_READ_BY_HUB_VQA = re.compile(r"lmms_(chartqa|docvqa|mmbench_static|mme|ocrbench|pope|textvqa|vqav2)")
_JUDGE = {True: "required", False: "no", "optional": "optional", None: None}

_QUESTION = Record(
    id="1",
    sample="1",
    messages=(Turn("user", (Part("text", "Which?"),)),),
    task="multiple_choice",
    source=RowSource("lmudata", "f", 0),
    question="Which?",
    options=("cat", "dog"),
)

Facts = dict[str, Any]


def write_catalogue(benchmarks: Path, published: Path) -> None:
    """Write the files of the frameworks that have none yet, a line a benchmark."""
    scores: dict[tuple[str, str], list[PublishedScore]] = {}
    for row in json.loads(published.read_text("utf-8")):
        score = PublishedScore(row["model"], row["metric"], row["value"], row["source"])
        # The part of a benchmark that a score is of stands behind its name, in brackets.
        scores.setdefault((row["kit"], row["name"].partition(" (")[0]), []).append(score)
    facts = [one for one in json.loads(benchmarks.read_text("utf-8")) if _is_wanted(one)]
    for prefix, label in FRAMEWORKS.items():
        if (FOLDER / f"{prefix}.json").exists():
            continue
        own = sorted((one for one in facts if one["kit"] == label), key=lambda one: (one["name"].lower(), one["name"]))
        entries = [read_facts(one, scores.get((label, one["name"]), [])) for one in own]
        lines = ",\n".join(msgspec.json.encode(entry).decode() for entry in entries)
        (FOLDER / f"{prefix}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _is_wanted(facts: Facts) -> bool:
    """Take benchmarks with images, and all of a framework that asks some of its questions in words alone."""
    return facts["modality"] == "image" or (facts["kit"] == FRAMEWORKS["mmtrusteval"] and facts["modality"] == "text")


def read_facts(facts: Facts, scores: Sequence[PublishedScore] = ()) -> Benchmark:
    """Make an entry of what is known about a benchmark."""
    source = _read_source(facts)
    prefix = PREFIXES[facts["kit"]]
    recipe = facts["recipe"] or _find_recipe_without_answers(facts)
    notes = [facts.get("note"), *_list_notes(facts)]
    return Benchmark(
        name=facts["name"],
        source=source,
        aliases=ALIASES.get(f"{prefix}:{facts['name']}", ()),
        format=_choose_format(prefix, recipe, source),
        # What words whole conversations is no prompt template: the rows bring their own turns.
        prompt=None if facts["prompt"] == "vlmevalkit:dataset_class=ImageMTDataset" else facts["prompt"],
        recipe=recipe,
        rule=_shorten_rule(facts["scoring"]),
        questions=facts["questions"],
        # Defaults are left out of the files, and texts are told by their identity.
        modality=sys.intern(facts["modality"]),
        judge=_JUDGE[facts["needs_judge"]],
        answers=facts.get("answers_public", True),
        published=tuple(scores),
        note=". ".join(filter(None, notes)) or None,
    )


def _find_recipe_without_answers(facts: Facts) -> str | None:
    """Name the recipe of a benchmark whose references are not public.

    The facts name none, for nobody can score the table as it is. Whoever has the references scores it by the rule of
    its class, which the recipe reproduces that is taken for the name.
    """
    known = facts.get("known_to_project") and not facts.get("answers_public", True)
    return facts.get("default_today") if known else None


def _shorten_rule(rule: str | None) -> str | None:
    """Keep the function; what it calls and the metrics that it gives are not needed to find it."""
    return re.split(r" -> | \(", rule)[0] if rule else None


def _list_notes(facts: Facts) -> Iterator[str]:
    if isinstance(facts["url"], str) and facts["url"].startswith("http://"):
        yield "the framework fetches it over plain http"
    if "env" in facts:
        yield f"the framework reads the folder that {facts['env']} names"
    if "hub_id_of_questions" in facts:
        yield f"the questions are those of hf://datasets/{facts['hub_id_of_questions']}"
    if facts["kit"] == FRAMEWORKS["mmtrusteval"] and facts.get("task"):
        yield f"task {facts['task']}"


def _choose_format(prefix: str, recipe: str | None, source: Source) -> str | None:
    if prefix == "vlmevalkit":
        match source:
            case Url(url) | HubFiles(files=(url, *_)):
                return "lmudata" if urlsplit(url).path.endswith(".tsv") else None
            case HubFiles() | BuiltByCode():
                return None
            case _:
                return "lmudata"
    if prefix == "lmms_eval":
        return "mmmu" if recipe == "lmms_mmmu" else "hub_vqa" if _READ_BY_HUB_VQA.fullmatch(recipe or "") else None
    return {"reform_eval": "reform_eval", "mmtrusteval": "mmtrust"}.get(prefix)


def _read_source(facts: Facts) -> Source:
    md5 = facts["md5"] if isinstance(facts["md5"], str) else None
    repo = facts.get("hub_id") or ""
    match facts["kind"]:
        case "tsv" | "file":
            return Url(_secure(facts["url"]), md5.lower() if md5 else None)
        case "tsv_parts":
            urls = tuple(map(_secure, facts["url"]))
            return UrlParts(urls, "bytes" if md5 else "rows", md5, () if md5 else tuple(facts["md5"]))
        case "hub" if facts.get("hub") == "modelscope" and _REPO.fullmatch(repo):
            subsets = tuple(facts.get("subsets") or ())
            split = facts["split"] if isinstance(facts["split"], str) else None
            return ModelScopeFiles(repo, () if subsets == ("default",) else subsets, split)
        case "hub" | "hub_file" if _REPO.fullmatch(repo):
            files = tuple(facts.get("data_files") or ([facts["file"]] if facts.get("file") else ()))
            split = facts.get("split")
            return HubFiles(repo, facts.get("config"), split if isinstance(split, str) else None, files=files)
        case "files":
            return _read_data_files(facts)
        case "concat":
            return JoinedTables(tuple(facts["parts"]))
        case "group":
            return TaskGroup(tuple(facts["parts"]))
        case "local":
            return LocalTable()
        case _:
            return BuiltByCode()


def _secure(url: str) -> str:
    return resolve_page(url.replace("http://", "https://", 1))


def _read_data_files(facts: Facts) -> Source:
    """Read what `load_dataset("json", data_files=...)` is given: one address, or those of each split."""
    given = facts["data_files"]
    given = given[facts["split"]] if isinstance(given, dict) else given
    urls = [given] if isinstance(given, str) else given
    found = [_ON_HUB.fullmatch(url) for url in urls]
    repos = {(one["repo"] or one["hf_repo"], one["revision"]) for one in found if one}
    if all(found) and len(repos) == 1:
        ((repo, revision),) = repos
        files = tuple(one["path"] or one["hf_path"] for one in found if one)
        return HubFiles(repo, None, facts["split"], None if revision == "main" else revision, files)
    if all(url.startswith("https://") for url in urls):
        return Url(urls[0]) if len(urls) == 1 else UrlParts(tuple(urls))
    return BuiltByCode()


def check_catalogue(entries: Sequence[Benchmark] | None = None) -> list[str]:
    """List what is wrong with the form of the catalogue, or of entries that stand for it."""
    if entries is None:
        entries = [one for framework in FRAMEWORKS for one in load_framework(framework)]
    known = {plugin: set(find_plugins(plugin)) for plugin in ("mmconvert.formats", "mmscore.recipes")}
    taken: dict[str, str] = {}
    problems = []
    for one in entries:
        for spelling in one.spellings:
            key = f"{one.framework}:{spelling}"
            if key in taken:
                problems.append(f"{one.key}: {spelling} is a name of {taken[key]} too.")
            taken[key] = one.key
    for one in entries:
        problems += [f"{one.key}: {problem}" for problem in _check_entry(one, known, taken)]
    return problems


def _check_entry(entry: Benchmark, known: dict[str, set[str]], taken: dict[str, str]) -> Iterator[str]:
    if entry.framework not in FRAMEWORKS:
        yield f"no framework is called {entry.framework}."
    yield from (f"{name!r} is no name." for name in entry.spellings if not _NAME.fullmatch(name))
    if entry.format and entry.format not in known["mmconvert.formats"]:
        yield f"no format is called {entry.format}."
    if entry.recipe and entry.recipe not in known["mmscore.recipes"]:
        yield f"no recipe is called {entry.recipe}."
    if entry.prompt:
        try:
            load_prompt(entry.prompt)(_QUESTION)
        except UsageError as error:
            yield str(error)
    if entry.questions is not None and entry.questions < 1:
        yield f"{entry.questions} questions."
    yield from _check_source(entry, taken)


def _check_source(entry: Benchmark, taken: dict[str, str]) -> Iterator[str]:
    match entry.source:
        case Url(url, md5):
            urls, sums = [url], [md5]
        case UrlParts(urls, join, md5, md5s):
            sums = [md5, *md5s]
            if md5s and (join == "bytes" or len(md5s) != len(urls)):
                yield "each part needs one MD5, and parts of a file none."
        case HubFiles(repo) | ModelScopeFiles(repo):
            urls, sums = [], []
            if not _REPO.fullmatch(repo):
                yield f"{repo!r} is no OWNER/NAME."
        case JoinedTables(names) | TaskGroup(names):
            urls, sums = [], []
            missing = [name for name in names if f"{entry.framework}:{name}" not in taken]
            yield from (f"holds {name}, which is missing." for name in missing)
        case _:
            urls, sums = [], []
    yield from (f"{url}: is not https." for url in urls if not url.startswith("https://") or resolve_page(url) != url)
    yield from (f"{md5!r} is no MD5." for md5 in sums if md5 is not None and not _MD5.fullmatch(md5))
