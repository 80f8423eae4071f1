"""What a transform is: one function from a record to records, found by file name in `mmconvert/transforms`.

A transform sees one record, never its neighbours, and draws chance only from `Setting.random`, so that
its result depends on the record, its parameters and the seed alone: not on order, workers or processes.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.deprecation import warn_deprecated
from mmconvert.core.errors import UsageError
from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.record import Record
from mmconvert.core.text.turns import change_prompt
from mmconvert.core.validation import check_record
from mmconvert.images.loader import ImageLoader
from mmconvert.plugins.arguments import convert_arguments, parse_spec
from mmconvert.plugins.registry import load


class Setting(PluginStruct, frozen=True):
    """What a transform may know beside the record and its parameters.

    Attributes:
        name: Name of the transform.
        seed: The run's seed.
        images: Checks images that the transform makes.
        warnings: How often each remark was made on the records, those of the format included.
    """

    name: str
    seed: int = 0
    images: ImageLoader = msgspec.field(default_factory=lambda: ImageLoader(()))
    warnings: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def pictures(self) -> ImageLoader:
        """`images`, under the name that plug-ins know from before the first release; deprecated."""
        warn_deprecated("Setting.pictures", "Setting.images", "0.3")
        return self.images

    def random(self, *key: str) -> Random:
        """Give a generator that depends on the seed, the transform and a key, and on nothing else.

        Args:
            key: What the draw is for, as a rule the record's id.

        Returns:
            A generator in its first state; the same for the same key.

        Example:
            >>> Setting("shuffle_options", 1).random("7").random() == Setting("shuffle_options", 1).random("7").random()
            True
        """
        # Lengths keep ("a", "bc") and ("ab", "c") apart.
        text = "".join(f"{len(part)}:{part}" for part in (str(self.seed), self.name, *key))
        return Random(hashlib.sha256(text.encode(errors="surrogatepass")).digest())


Apply = Callable[[Record, Mapping[str, Any], Setting], Iterable[Record]]


class Transform(PluginStruct, frozen=True):
    """One step from a record to records.

    Attributes:
        summary: One line for `mmconvert list`.
        apply: (record, parameters, setting) -> records: none drops the record, several are copies of it
            (see `make_copies`); raises RowError.
        parameters: Default by name; a type (bool, int, float, str) stands for one without default.
        check: Looks at the parameters once, before the first record; raises UsageError.
    """

    summary: str
    apply: Apply
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], object] | None = None


class Step(PluginStruct, frozen=True):
    """A transform with its parameters, ready to run."""

    transform: Transform
    parameters: Mapping[str, Any]
    setting: Setting

    def __call__(self, record: Record) -> Iterable[Record]:
        """Apply the transform; raises RowError."""
        return self.transform.apply(record, self.parameters, self.setting)


def load_steps(
    specs: Sequence[str], seed: int = 0, images: ImageLoader | None = None, warnings: Counter[str] | None = None
) -> tuple[Step, ...]:
    """Load transforms by what the user wrote.

    Args:
        specs: `NAME:k=v,...` or `file.py@NAME:k=v,...`, in the order in which they apply.
        seed: Seed of every draw.
        images: Checks images that transforms make; None for the usual limits.
        warnings: Where remarks of transforms are counted; None for nowhere.

    Returns:
        One step a spec.

    Raises:
        UsageError: A name or parameter is unknown, or has a wrong value.
    """
    made = Counter[str]() if warnings is None else warnings
    return tuple(_load_step(spec, seed, images or ImageLoader(()), made) for spec in specs)


def _load_step(spec: str, seed: int, images: ImageLoader, warnings: Counter[str]) -> Step:
    name, values = parse_spec(spec)
    transform = load("mmconvert.transforms", name)
    if not isinstance(transform, Transform):
        raise UsageError(f"{name}: is not a Transform. Name an object of mmconvert.plugins.transform.Transform.")
    parameters = convert_arguments(name, values, transform.parameters)
    if transform.check is not None:
        transform.check(parameters)
    return Step(transform, parameters, Setting(name.rpartition("@")[2], seed, images, warnings))


def apply_steps(record: Record, chain: Sequence[Step]) -> tuple[Record, ...]:
    """Run steps on a record, one after the other; each sees every record that the one before it gave.

    Args:
        record: The record as its format reads it.
        chain: Steps in order; () gives the record back.

    Returns:
        Records in order, copies of one side by side.

    Raises:
        RowError: A step refused the record, or gave one that cannot be stored.
    """
    return change_prompt(record, partial(_run_chain, chain)) if chain else (record,)


def _run_chain(chain: Sequence[Step], record: Record) -> tuple[Record, ...]:
    records: tuple[Record, ...] = (record,)
    for step in chain:
        records = tuple(check_record(made) for before in records for made in step(before))
    return records


def make_copies(record: Record, count: int) -> tuple[Record, ...]:
    """Make numbered copies of a record, for the transform to distinguish.

    Args:
        record: The record; a copy itself is copied again.
        count: How many; 1 gives a single copy, numbered as well.

    Returns:
        Copies with variants from 0 and ids `<id>#<variant>`; `sample` stays. The copies of copy v are
        numbered from v times `count`.

    Example:
        >>> from mmconvert.core.record import Source
        >>> made = copies(Record("7", "7", (), "vqa", Source("f", "f", 0)), 2)
        >>> [copy.id for copy in made], [copy.id for copy in copies(made[1], 3)]
        (['7#0', '7#1'], ['7#3', '7#4', '7#5'])
    """
    first, base = 0, record.id
    if record.variant is not None:
        first, base = record.variant * count, record.id.removesuffix(f"#{record.variant}")
    return tuple(replace(record, id=f"{base}#{first + k}", variant=first + k) for k in range(count))


copies = make_copies  # the name that plug-ins know from before the first release
