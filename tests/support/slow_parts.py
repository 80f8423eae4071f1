"""Run as a script: `mmconvert convert` over small parts that take their time, so that there is time to kill it."""

import sys
import time

from mmconvert.cli import program
from mmconvert.console.app import run
from mmconvert.pipeline import distributed, parts

PART_BYTES, SECONDS = 1_000, 0.02


def slowly(part: parts.FilePart) -> list[parts.PartResult]:
    time.sleep(SECONDS)
    return parts.convert_part(part)


if __name__ == "__main__":
    parts.SMALL_FILE, parts.PART_BYTES = PART_BYTES, PART_BYTES
    distributed.convert_part = slowly
    run(program, ["convert", *sys.argv[1:]], program="mmconvert")
