"""What docs/how_exact.json holds: the figures of one release, measured by scripts/how_exact."""

from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs/how_exact.json"
MUTANTS = 500
"""How many mutants a release takes."""


class Golden(msgspec.Struct, frozen=True):
    """Golden cases of a recipe or another command: functions of the framework, and whole result files."""

    cases: int
    agree: int
    files: int
    files_agree: int


class PublishedFile(msgspec.Struct, frozen=True):
    """A result file that others published: their tool, our recipe, and both values of each metric, theirs first."""

    what: str
    tool: str
    recipe: str
    rows: int
    numbers: dict[str, tuple[float, float]]


class Room(msgspec.Struct, frozen=True):
    """Outcomes of the mutants of one room; `explained` of those that survived have a reason."""

    killed: int
    timed_out: int
    survived: int
    explained: int


class OpenSurvivor(msgspec.Struct, frozen=True):
    """A mutant that survived and has no reason: a test is missing."""

    file: str
    function: str
    before: str
    after: str


class Mutation(msgspec.Struct, frozen=True):
    """A run of scripts/mutation: its seed, outcomes by room, and what survived without a reason."""

    date: str
    seed: str
    minutes: int
    rooms: dict[str, Room]
    open: list[OpenSurvivor]


class Coverage(msgspec.Struct, frozen=True):
    """Lines and branches that the suite runs, by package."""

    date: str
    suite: str
    packages: dict[str, tuple[int, int, int, int]]


class Record(msgspec.Struct):
    """All figures.

    Attributes:
        version: Release.
        date: Of the golden cases and published files, ISO 8601.
        machine: Cores, processor and Python.
        golden: Recipe, or a command without one -> its cases.
        published: Result files of others.
        mutation: None before the first run.
        coverage: None before the first run.
    """

    version: str
    date: str
    machine: str
    golden: dict[str, Golden] = {}
    published: list[PublishedFile] = []
    mutation: Mutation | None = None
    coverage: Coverage | None = None


def count_noticed(mutation: Mutation) -> tuple[int, int]:
    """Count the mutants that were noticed, and all."""
    rooms = mutation.rooms.values()
    noticed = sum(room.killed + room.timed_out for room in rooms)
    return noticed, noticed + sum(room.survived for room in rooms)


def read_record(file: Path = RECORD) -> Record:
    """Read the recorded figures."""
    return msgspec.json.decode(file.read_bytes(), type=Record)


def write_record(record: Record, file: Path = RECORD) -> None:
    """Write the figures, a line for each, so that changes are seen."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
