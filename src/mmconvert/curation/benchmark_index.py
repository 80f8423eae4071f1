"""The samples of benchmarks, looked up by their images and by what they ask."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from mmconvert.curation.near_images import ImageIndex
from mmconvert.curation.near_texts import TextIndex
from mmconvert.curation.numbering import ImageNumbers, TextNumbers, split_lists


class BenchmarkSample(msgspec.Struct, frozen=True, gc=False):
    """One sample: its benchmark, its id, and its place among the rows of the benchmark."""

    benchmark: str
    id: str
    row: int


class BenchmarkIndex:
    """Samples of all benchmarks; `add` them, then `finish`.

    Attributes:
        samples: The samples in order.
        images: Their images, equal ones under one number.
        texts: What they ask, likewise.
        image_samples: Image -> samples that show it.
        text_samples: Text -> samples that ask it.
        sample_texts: Sample -> its texts.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.samples: list[BenchmarkSample] = []
        self.images, self.texts = ImageNumbers(), TextNumbers()
        self.image_samples: dict[int, list[int]] = defaultdict(list)
        self.text_samples: dict[int, list[int]] = defaultdict(list)
        self.sample_texts: list[list[int]] = []
        self._sample_images: list[tuple[int, ...]] = []

    def add(self, table: pa.Table, benchmark: str, first: int) -> None:
        """Add fingerprints.

        Args:
            table: Rows with the columns id, images and questions.
            benchmark: The name of their benchmark.
            first: Place of the first of them among its rows.
        """
        shown = split_lists(table["images"], self.images.add)
        asked = split_lists(table["questions"], self.texts.add)
        for row, (name, images, texts) in enumerate(zip(table["id"].to_pylist(), shown, asked, strict=True), first):
            number = len(self.samples)
            self.samples.append(BenchmarkSample(benchmark, name, row))
            self.sample_texts.append(texts)
            self._sample_images.append(tuple(images))
            for image in dict.fromkeys(images):
                self.image_samples[image].append(number)
            for text in texts:
                self.text_samples[text].append(number)

    def finish(self, min_words: int, similarity: float, *, near: bool) -> None:
        """Sort what was added, after which it can be looked up.

        Args:
            min_words: Words from which a text says something without its image.
            similarity: Jaccard index from which texts are near.
            near: Near ones will be looked up.
        """
        sketches = self.texts.join()
        self.tells = np.array(self.texts.words, dtype=np.int64) >= min_words
        shown = [self._list_images_by_benchmark(text) for text in range(len(self.texts))]
        self.tells &= np.array([all(len(groups) == 1 for groups in one.values()) for one in shown], dtype=bool)
        # A line that stands below several questions is an instruction.
        self.tells &= np.array([self._is_of_one_question(text) for text in range(len(self.texts))], dtype=bool)
        if not near:
            return
        # One template asked about several images, with other words in it, is one question to nobody.
        for rows, others, _ in TextIndex(sketches, similarity).find_near(sketches):
            for one, other in zip(rows.tolist(), others.tolist(), strict=True):
                if any(shown[one][name] != shown[other][name] for name in shown[one].keys() & shown[other].keys()):
                    self.tells[one] = False
        self.sketches = sketches
        self.telling = np.flatnonzero(self.tells)
        self.near_texts = TextIndex(sketches.select(self.telling), similarity)
        whole, bits, drawn = self.images.join()
        views = bits.shape[1]
        self.whole, self.owners = whole, np.repeat(whole, views)
        self.near_views = ImageIndex(bits.ravel(), drawn.reshape(-1, drawn.shape[-1]))
        self.near_wholes = ImageIndex(bits[:, 0], drawn[:, 0])

    def _is_of_one_question(self, text: int) -> bool:
        """Tell whether all samples with a text ask the same at first, which may be the text itself."""
        return len({self.sample_texts[sample][0] for sample in self.text_samples[text]}) == 1

    def _list_images_by_benchmark(self, text: int) -> dict[str, set[tuple[int, ...]]]:
        """Give what images each benchmark asks a text about: those of each sample together."""
        found: dict[str, set[tuple[int, ...]]] = {}
        for sample in self.text_samples[text]:
            found.setdefault(self.samples[sample].benchmark, set()).add(self._sample_images[sample])
        return found

    def find_near_images(
        self, bits: Any, sketches: Any, most_bits: int, workers: int | None
    ) -> Iterator[tuple[int, int, int]]:
        """Look up images near to others, of which either side may be cut.

        Args:
            bits: uint64 of shape (n, views).
            sketches: uint8 of shape (n, views, bytes).
            most_bits: Bits of 64 in which they may differ.
            workers: Threads that compare; one per core where none is given.

        Yields:
            Place of the asked image, number of the image here, bits that differ.
        """
        for rows, others, distances in self.near_views.find_near(bits[:, 0], sketches[:, 0], most_bits, workers):
            yield from zip(rows.tolist(), self.owners[others].tolist(), distances.tolist(), strict=True)
        cuts, drawn = bits[:, 1:].ravel(), sketches[:, 1:].reshape(-1, sketches.shape[-1])
        for rows, others, distances in self.near_wholes.find_near(cuts, drawn, most_bits, workers):
            asked = rows // (bits.shape[1] - 1)
            yield from zip(asked.tolist(), self.whole[others].tolist(), distances.tolist(), strict=True)
