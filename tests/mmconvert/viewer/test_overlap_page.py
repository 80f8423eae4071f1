"""The page of pairs in a real Chromium: both images side by side, texts as texts, and no word to anybody."""

import json
import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import mmconvert
from support.browser import opened
from support.layout import find_problems
from support.planted_leaks import CHANGES, KINDS, encode, invent_words

EVIL = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A benchmark, and a training set with three of its images, altered; ids and texts are attacks."""
    draws = random.Random(3)
    bench, train = [], []
    for n, (kind, draw) in enumerate(KINDS.items()):
        picture = draw(draws, (320, 240))
        asked = " ".join(invent_words(draws, 10))
        (tmp_path / f"b{n}.png").write_bytes(encode(picture, "PNG"))
        (tmp_path / f"t{n}.jpg").write_bytes(CHANGES["half size"](picture))
        bench.append({"id": f"{kind} {EVIL}", "image": f"b{n}.png", "question": f"{asked} {EVIL}", "answer": EVIL})
        told = [("human", f"<image>{asked} {EVIL}"), ("gpt", EVIL), ("human", "And then?"), ("gpt", "no more")]
        talk = [{"from": who, "value": text} for who, text in told]
        train.append({"image": f"t{n}.jpg", "conversations": talk})
    (tmp_path / "bench.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bench))
    (tmp_path / "train.json").write_text(json.dumps(train))
    for name in ("bench.jsonl", "train.json"):
        mmconvert.convert(tmp_path / name, tmp_path / name.partition(".")[0], image_root=tmp_path)
    return tmp_path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_both_images_of_a_pair_stand_side_by_side(browser: Browser, folder: Path, scheme: str, width: int) -> None:
    found = mmconvert.overlap(folder / "train", folder / "bench", html=folder / "pairs.html")
    assert len(found.pairs) == 6
    with opened(browser, folder / "pairs.html", color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        expect(page.locator("tbody tr")).to_have_count(6)
        page.locator("tbody tr").first.click()
        panel = page.locator("#item")
        images = panel.locator(".images img")
        expect(images).to_have_count(2)
        assert images.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 100)")
        left, right = images.evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
        assert left["right"] <= right["left"]
        assert abs(left["top"] - right["top"]) < 2
        expect(panel.locator("figcaption").first).to_contain_text("bench: smooth </script><img src=x onerror=alert(1)>")
        expect(panel.locator("figcaption").last).to_contain_text("training: 0000000")
        told = panel.locator(".field").last
        # The turn that was found alike, and the last one.
        expect(told.locator(".named", has_text="question")).to_have_count(2)
        expect(told).to_contain_text("</script><img src=x onerror=alert(1)>")
        names = panel.locator(".named .name").evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
        assert all(inner <= outer for inner, outer in names)
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert find_problems(page) == []


def test_a_benchmark_without_content_shows_the_training_sample(browser: Browser, folder: Path) -> None:
    mmconvert.fingerprint(folder / "bench", folder / "public.parquet")
    mmconvert.overlap(folder / "train", fingerprints=folder / "public.parquet", html=folder / "pairs.html")
    with opened(browser, folder / "pairs.html") as page:
        page.locator("tbody tr").first.click()
        expect(page.locator("#item .images img")).to_have_count(1)
        expect(page.locator("#item")).to_contain_text("only its fingerprint is here")
        assert find_problems(page) == []
