"""The pages of docs/howto, and what the Hub holds for them; all else a page makes by its own commands."""

from collections.abc import Mapping
from pathlib import Path

from support.documents import follow, reaching
from support.hub_repo import Blob, Repo
from support.hub_server import HubServer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "src/mmconvert/testing/demo/files"
PAGES = sorted(path.stem for path in (ROOT / "docs/howto").glob("*.md"))

ON_THE_HUB = {"hub-benchmark": {"lmms-lab/MMBench_EN": {"data/dev-00000-of-00001.parquet": "hub_vqa/test.parquet"}}}
"""Page -> dataset of the Hub -> file in it -> the example that stands in for it."""


def follow_how_to(page: str, hub: HubServer, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Follow a page in an empty folder.

    Args:
        page: Name of the page.
        hub: Server that is the Hub for a page that needs one.
        folder: Where to make the empty folder, and a home.
        environment: As `follow`.
    """
    empty = folder / "empty"
    empty.mkdir()
    publish(page, hub)
    client = reaching(hub, folder) if page in ON_THE_HUB else {}
    follow(ROOT / f"docs/howto/{page}.md", empty, {**client, **(environment or {})})


def publish(page: str, hub: HubServer) -> None:
    """Put a page's datasets on the Hub."""
    for name, files in ON_THE_HUB.get(page, {}).items():
        repo = hub.repos[f"datasets/{name}"] = Repo(name)
        blobs = {path: Blob((EXAMPLES / example).read_bytes(), lfs=True) for path, example in files.items()}
        repo.commit("main", blobs, "as it stands")
