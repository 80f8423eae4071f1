"""A catalogue of a test's own, in place of the real one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from mmconvert.benchmarks import catalogue
from mmconvert.benchmarks.catalogue import Benchmark


@contextmanager
def catalogue_of(*benchmarks: Benchmark) -> Iterator[None]:
    """Let these be all benchmarks; one without a framework is VLMEvalKit's."""
    entries = [replace(one, framework=one.framework or "vlmevalkit") for one in benchmarks]

    def load(framework: str) -> Sequence[Benchmark]:
        return tuple(one for one in entries if one.framework == framework)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "load_framework", load)
        catalogue._index.cache_clear()
        try:
            yield
        finally:
            catalogue._index.cache_clear()
