"""Which recipe scores a file, and why."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.benchmarks.catalogue import FRAMEWORKS, Benchmark, list_named, load_framework
from mmconvert.core.arrow import build_scalar
from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.plugins.format import Format, Framework
from mmconvert.plugins.registry import find_plugins, load, load_all
from mmscore.core.predictions.load import FORMAT, OPTIONS, Rows
from mmscore.core.recipe import OWN, Facts, Recipe
from mmscore.core.recipe_options import read_options

RECIPES, FORMATS = "mmscore.recipes", "mmconvert.formats"


class RecipeChoice(msgspec.Struct, frozen=True):
    """A recipe at one version, and why it was taken.

    Attributes:
        name: Its name.
        version: One of its versions.
        recipe: The recipe.
        reason: Why it was taken.
        options: Digest of the user's options for it, where there are any.
        instead: Framework and benchmark whose own rule no recipe reproduces, so that ours was taken.
        facts: What the recipe was configured by where it is fitted to its file.
        known: `find_recipe` finds it by its name; else whoever scores has the recipe alone.
    """

    name: str
    version: str
    recipe: Recipe
    reason: str
    options: str | None = None
    instead: str | None = None
    facts: Facts | None = None
    known: bool = True


GIVEN = "given by --recipe"
"""Why a recipe is taken that the user named."""


def find_recipe(name: str | Recipe, options: str | Path | None = None) -> RecipeChoice:
    """Find a recipe by `NAME`, `NAME@VERSION`, or `file.py@NAME[@VERSION]`.

    Args:
        name: As the user writes it; or the recipe itself, which is called by its first version's text. What stands
            in a file of the user's may also be anything whose `as_recipe()` gives a recipe.
        options: File of options for it; None for none.

    Raises:
        UsageError: The name or the version is unknown, it is no recipe, or does not take these options.
    """
    if isinstance(name, Recipe):
        version = next(iter(name.versions))
        return _configure(RecipeChoice(name.versions[version], version, name, GIVEN, known=False), options)
    head, wanted = split_version(name)
    recipe = load(RECIPES, head)
    recipe = recipe.as_recipe() if hasattr(recipe, "as_recipe") else recipe
    if not isinstance(recipe, Recipe):
        raise UsageError(f"{head}: is not a recipe {show(recipe)}. See mmscore.core.recipe.Recipe.")
    version = next(iter(recipe.versions)) if wanted is None else wanted
    if version not in recipe.versions:
        hint = suggest_spelling(version, recipe.versions)
        raise UsageError(f"recipe {head!r} has no version {version!r}.{hint} Known: {', '.join(recipe.versions)}.")
    return _configure(RecipeChoice(head, version, recipe, GIVEN), options)


def split_version(text: str) -> tuple[str, str | None]:
    """Take apart `NAME[@VERSION]`, where NAME may be `file.py@NAME`; the version is None where there is none.

    Example:
        >>> split_version("a@b/mine.py@RECIPE@2")
        ('a@b/mine.py@RECIPE', '2')
    """
    # Folders may have an @ too: what stands before the last .py@ is a path.
    file, mark, rest = text.rpartition(".py@")
    name, at, version = rest.partition("@")
    return file + mark + name, version if at else None


def fit_recipe(choice: RecipeChoice, facts: Facts) -> RecipeChoice:
    """Configure a recipe by the facts of the file that it scores, where the user gave no options.

    Raises:
        UsageError: The facts say too little.
    """
    if choice.options is not None or choice.recipe.fit is None:
        return choice
    return replace(choice, recipe=choice.recipe.fit(facts), facts=facts)


def _configure(choice: RecipeChoice, path: str | Path | None) -> RecipeChoice:
    if path is None:
        return choice
    if choice.recipe.configure is None:
        raise UsageError(f"recipe {choice.name!r} takes no options. Leave --recipe-options out.")
    options = read_options(path)
    try:
        return replace(choice, recipe=choice.recipe.configure(options.values), options=options.digest)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def choose_for_benchmark(benchmark: Benchmark, facts: Facts, options: str | Path | None = None) -> RecipeChoice:
    """Choose the recipe that the catalogue names for a benchmark.

    Args:
        benchmark: The benchmark.
        facts: What the file says about itself.
        options: File of options for the recipe; None for none.

    Raises:
        UsageError: No recipe reproduces the framework's rule yet, or the recipe does not take these options.
    """
    if benchmark.recipe is None:
        rule = f" ({benchmark.rule})" if benchmark.rule else ""
        missing = f"no recipe reproduces {FRAMEWORKS[benchmark.framework]}'s rule for it{rule} yet"
        raise UsageError(f"{benchmark.key}: {missing}. Choose with --recipe: {', '.join(_list_own(facts))}.")
    return fit_recipe(_choose_catalogued(benchmark.recipe, benchmark, facts, options), facts)


def _list_own(facts: Facts) -> list[str]:
    """List recipes of our own that fit a file, or all of them where none does."""
    own = [(name, recipe.default_for(facts)) for name, recipe in load_all(RECIPES) if recipe.parity == OWN]
    return [name for name, reason in own if reason is not None] or [name for name, _ in own]


def choose_recipe(facts: Facts, options: str | Path | None = None) -> RecipeChoice:
    """Choose the recipe of the framework that a file comes from, else our own.

    Args:
        facts: What the file says about itself.
        options: File of options for the recipe; None for none.

    Raises:
        UsageError: None fits, several do equally well, or the one that fits does not take these options; or the
            file is a framework's result and does not say of which benchmark.
    """
    offers = []
    recipe: Recipe
    for name, recipe in load_all(RECIPES):
        reason = recipe.default_for(facts)
        if reason is not None:
            version = recipe.version_for(facts) if recipe.version_for else next(iter(recipe.versions))
            offers.append(RecipeChoice(name, version, recipe, reason))
    best = [offer for offer in offers if offer.recipe.parity != OWN]
    best = best or _offer_catalogued(facts) or _offer_instead(facts, offers)
    if len(best) == 1:
        (choice,) = best
        return _configure(fit_recipe(choice, facts) if options is None else choice, options)
    if best:
        reasons = "; ".join(f"{offer.name}: {offer.reason}" for offer in best)
        raise UsageError(f"several recipes fit ({reasons}). Choose with --recipe.")
    raise UsageError(
        f"no recipe fits these predictions (dataset {_format_names(facts.datasets)}, "
        f"task {_format_names(facts.tasks)}, "
        f"source {_format_names(facts.formats)}). Choose with --recipe: {', '.join(find_plugins(RECIPES))}."
    )


def find_recipe_of(framework: str, facts: Facts) -> str | None:
    """Find the recipe by which a framework scores the benchmark that a file is of, whoever made the file.

    Args:
        framework: A key of `FRAMEWORKS`, or `OWN` for ours.
        facts: What the file says about itself.

    Returns:
        The recipe of the framework's benchmark of that name, in any case; else the one that fits such rows in a file
        of the framework; None where there is none, or several fit.
    """
    plugins: list[tuple[str, Recipe]] = [*load_all(RECIPES)]
    if framework == OWN:
        names = {name for name, recipe in plugins if recipe.parity == OWN and recipe.default_for(facts)}
        return names.pop() if len(names) == 1 else None
    wanted = {name.lower() for name in facts.datasets}
    known = [one for one in load_framework(framework) if wanted & {text.lower() for text in one.spellings}]
    if names := {one.recipe for one in known if one.recipe}:
        return names.pop() if len(names) == 1 else None
    for name, plugin in load_all(FORMATS):
        if plugin.framework is not None and plugin.framework.name == FRAMEWORKS[framework]:
            there = replace(facts, formats=frozenset([name]))
            names = {name for name, recipe in plugins if recipe.parity != OWN and recipe.default_for(there)}
            if len(names) == 1:
                return names.pop()
    return None


def _offer_catalogued(facts: Facts) -> list[RecipeChoice]:
    """Offer the recipe of the benchmark that the rows name, for questions in a format of no framework.

    A dataset on the Hub does not say whose benchmark it is, but a name and a format that one framework alone reads it
    by do.
    """
    if len(facts.datasets) != 1 or not facts.formats or _list_frameworks(facts):
        return []
    (name,) = facts.datasets
    found = [one for one in list_named(name) if one.recipe and one.format in facts.formats]
    return [_choose_catalogued(found[0].recipe or "", found[0], facts)] if len(found) == 1 else []


def _choose_catalogued(
    recipe: str, benchmark: Benchmark, facts: Facts, options: str | Path | None = None
) -> RecipeChoice:
    choice = find_recipe(recipe, options)
    version = choice.recipe.version_for(facts) if choice.recipe.version_for else choice.version
    return replace(choice, version=version, reason=f"benchmark {benchmark.key}")


def _offer_instead(facts: Facts, offers: list[RecipeChoice]) -> list[RecipeChoice]:
    """Let recipes of our own say whose rule they do not reproduce.

    Raises:
        UsageError: The rows are a framework's results, and their benchmark is unknown.
    """
    for framework in _list_frameworks(facts):
        if names := facts.list_known_names(framework.knows):
            named = _format_names(names)
            missing = f"no recipe reproduces {framework.name}'s rule for {named} yet"
            if not offers:
                listed = ", ".join(find_plugins(RECIPES))
                raise UsageError(f"{missing}, and none of our own fits its rows. Choose with --recipe: {listed}.")
            instead = f"{framework.name} {named}"
            return [
                replace(offer, reason=f"{missing}, so that mmscore's own is taken", instead=instead) for offer in offers
            ]
        if framework.results and not facts.asked:
            raise UsageError(
                f"cannot tell by which of {framework.name}'s rules these results are scored (dataset "
                f"{_format_names(facts.datasets)}). Name its benchmark with --dataset NAME, or the recipe with "
                f"--recipe NAME{''.join(f', for example {offer.name}' for offer in offers[:1])}."
            )
    return offers


def _list_frameworks(facts: Facts) -> list[Framework]:
    known = facts.formats & set(find_plugins(FORMATS))
    plugins: list[Format] = [load(FORMATS, name) for name in sorted(known)]
    return [plugin.framework for plugin in plugins if plugin.framework is not None]


def gather_facts(rows: Rows, dataset: str | None = None) -> Facts:
    """Gather what a file says about itself.

    Args:
        rows: The file.
        dataset: Name of the benchmark that the user gave; it wins.
    """
    source = rows.sides[0] if rows.sides else rows
    return Facts(
        datasets=frozenset([dataset] if dataset else rows.list_distinct("dataset")),
        tasks=frozenset(rows.list_distinct("task") or _infer_tasks(rows)),
        formats=frozenset(rows.list_distinct(FORMAT)),
        circular=len(rows.list_distinct("variant")) > 1 and not rows.replies,
        grouped=_has_shared(rows, "group"),
        rounds="round" in rows.identity.column_names and not rows.identity["round"].null_count,
        columns=rows.names,
        logged=frozenset(source.list_distinct("dataset")),
        asked=bool(source.run),
        stated=tuple(rows.stated.values) if rows.stated else (),
    )


def _infer_tasks(rows: Rows) -> set[str]:
    """Tell the tasks of a table without a column of them, as a table of another kind is read: by options."""
    if OPTIONS not in rows.names:
        return {"vqa"}
    none = build_scalar(0)
    offered = [pc.greater(pc.list_value_length(batch.column(OPTIONS)), none) for batch in rows.read([OPTIONS])]
    known = pa.chunked_array(offered, pa.bool_()).fill_null(build_scalar(False))
    return {"multiple_choice" if choice else "vqa" for choice in pc.unique(known).to_pylist()}


def _has_shared(rows: Rows, name: str) -> bool:
    if name not in rows.identity.column_names:
        return False
    values = rows.identity[name].drop_null()
    return len(pc.unique(values)) < len(values)


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "unknown"
