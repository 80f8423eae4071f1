"""What the Hub holds for the pages of docs/howto; all else a page makes by its own commands, in an empty folder."""

from pathlib import Path

from support.hub_repo import Blob, Repo
from support.hub_server import HubServer

EXAMPLES = Path(__file__).resolve().parents[2] / "src/mmconvert/testing/demo/files"

ON_THE_HUB = {"hub-benchmark": {"lmms-lab/MMBench_EN": {"data/dev-00000-of-00001.parquet": "hub_vqa/test.parquet"}}}
"""Page -> dataset of the Hub -> file in it -> the example that stands in for it."""


def publish(page: str, hub: HubServer) -> None:
    """Put a page's datasets on the Hub."""
    for name, files in ON_THE_HUB.get(page, {}).items():
        repo = hub.repos[f"datasets/{name}"] = Repo(name)
        blobs = {path: Blob((EXAMPLES / example).read_bytes(), lfs=True) for path, example in files.items()}
        repo.commit("main", blobs, "as it stands")
