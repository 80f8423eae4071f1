"""What the Hugging Face Hub takes: its limits and recommendations, held against what a push would leave there.

Source: https://huggingface.co/docs/hub/storage-limits, "Repository limitations and recommendations" and
"Storage plans" (huggingface/hub-docs@003e04e docs/hub/storage-limits.md).
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from mmconvert.core.errors import Error

FOLDER_FILES = 10_000
"""Most files of a folder: "cannot exceed"."""
FILE_BYTES = 500 * 10**9
"""Most bytes of a file: "the hard limit for a single file size"."""
REPO_FILES = 100_000
"""Files of a repository, recommended."""
GOOD_FILE_BYTES = 200 * 10**9
"""Bytes of a file, recommended."""
COMMIT_FILES = 100
"""Files of a commit, recommended: the Hub checks each within the 60 seconds that a request may take."""
REPO_BYTES = 10**12
"""Bytes of a repository above which the Hub wants a subscription or to be asked."""
PRIVATE_BYTES = 100 * 10**9
"""Bytes that a free account has for all of its private repositories."""


class Limit(msgspec.Struct, frozen=True):
    """One of the Hub's limits beside what a push comes to.

    Attributes:
        name: What is counted.
        found: How many, or how many bytes.
        most: How many there may be.
        hard: The Hub refuses more; else it advises against it.
        advice: What to do about more.
    """

    name: str
    found: int
    most: int
    hard: bool
    advice: str

    @property
    def kept(self) -> bool:
        """Whether it is within the limit."""
        return self.found <= self.most

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.name}: {self.found:,} of {self.most:,}" + ("" if self.kept else f". {self.advice}")


def check_limits(files: Mapping[str, int], sent: int, *, private: bool = False) -> tuple[Limit, ...]:
    """Hold a repository against the Hub's limits.

    Args:
        files: Bytes of every file that it has after the push, by its name.
        sent: Files of the commit.
        private: It is private, as far as the push knows.

    Returns:
        Every limit, kept or not.

    Example:
        >>> [str(limit) for limit in check_limits({"data/a.parquet": 300, "README.md": 5}, 2)][:2]
        ['files in a folder: 1 of 10,000', 'bytes of the largest file: 300 of 500,000,000,000']
    """
    folders = Counter(str(PurePosixPath(file).parent) for file in files)
    largest, total = max(files.values(), default=0), sum(files.values())
    fewer = "Write fewer shards, or give configurations, which have folders of their own"
    found = [
        Limit("files in a folder", max(folders.values(), default=0), FOLDER_FILES, True, f"{fewer}."),
        Limit("bytes of the largest file", largest, FILE_BYTES, True, "Convert again, which writes smaller shards."),
        Limit("recommended bytes of a file", largest, GOOD_FILE_BYTES, False, "Larger ones are slow to load."),
        Limit("recommended files of a repository", len(files), REPO_FILES, False, "Use several repositories."),
        Limit("recommended files of a commit", sent, COMMIT_FILES, False, "It may time out; push again then."),
        Limit(
            "bytes of a repository", total, REPO_BYTES, False, "Contact datasets@huggingface.co first, or subscribe."
        ),
    ]
    if private:
        advice = "Above it the account must pay."
        found.append(Limit("bytes of a free account's private repositories", total, PRIVATE_BYTES, False, advice))
    return tuple(found)


def refuse_beyond(repo_id: str, found: tuple[Limit, ...]) -> None:
    """Refuse what the Hub would.

    Raises:
        Error: A hard limit is not kept.
    """
    broken = [str(limit) for limit in found if limit.hard and not limit.kept]
    if broken:
        raise Error(f"{repo_id}: the Hub would reject it: {' '.join(broken)}")
