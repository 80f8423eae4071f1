"""Say what pip would install, and how large it is, before it does: the arguments are those of `pip install`."""

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

NAMED = 5
"""Packages that are named with their sizes."""


def find_size(url: str) -> int:
    """Ask for the bytes of a file; 0 where nobody says."""
    try:
        with urlopen(Request(url, method="HEAD"), timeout=20) as answer:
            return int(answer.headers.get("Content-Length") or 0)
    except OSError:
        return 0


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", str(report)]
        subprocess.run([*pip, *arguments], check=True)
        packages = json.loads(report.read_text("utf-8"))["install"]
    names = [package["metadata"]["name"] for package in packages]
    with ThreadPoolExecutor(16) as threads:
        sizes = [*threads.map(find_size, (package["download_info"]["url"] for package in packages))]
    if names:
        largest = sorted(zip(sizes, names, strict=True), reverse=True)[:NAMED]
        named = ", ".join(f"{name} {size / 1e6:,.0f} MB" for size, name in largest)
        print(f"{len(names)} packages, {sum(sizes) / 1e6:,.0f} MB to download; the largest: {named}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
