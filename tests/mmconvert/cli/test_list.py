"""`mmconvert list`: the plug-ins at hand."""

import json

from mmconvert.plugins.registry import find_plugins
from support.terminal import mmconvert, one_message


def test_every_format_is_listed_with_what_it_is() -> None:
    ended = mmconvert("list", "formats")
    assert ended.code == 0
    title, *rows = ended.out.splitlines()
    assert title == f"formats ({len(rows)})  for --format, --to"
    assert [row.split()[0] for row in rows] == list(find_plugins("mmconvert.formats"))
    assert "built-in" not in ended.out


def test_every_kind_is_listed() -> None:
    found = json.loads(mmconvert("list", "--json").out)
    assert set(found) == {"formats", "readings", "prompts", "transforms", "engines"}
    assert all({"name", "summary", "origin"} == set(row) for rows in found.values() for row in rows)
    assert all(row["summary"] for rows in found.values() for row in rows)


def test_an_unknown_kind_is_met_with_the_nearest() -> None:
    ended = mmconvert("list", "format")
    assert ended.code == 2
    assert one_message(ended).startswith("unknown kind 'format'. Did you mean formats")
