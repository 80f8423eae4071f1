"""The page on the Hub can be followed, with a Hub that is small."""

from pathlib import Path

from support.documents import follow

PAGE = Path(__file__).resolve().parents[1] / "docs/hub.md"


def test_the_page_on_the_hub_can_be_followed(hub, tmp_path):
    client = {name: value for name, value in hub.environment(tmp_path).items() if name.startswith("HF_")}
    follow(PAGE, tmp_path, {**client, "HF_HUB_OFFLINE": "0"}, {"YOUR_NAME": "user"})
    assert [*hub.repos] == ["datasets/user/colours", "datasets/user/answers"]
