"""Every parser takes any text; what it points at lies inside the text."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.parsed import Parsed
from mmscore.parsers.evalscope_choice import evalscope_choice
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mme_yes_no import lmms_mme_yes_no
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mme_yes_no import mme_yes_no
from mmscore.parsers.mmmu_choice import mmmu_choice
from mmscore.parsers.mmmu_open import mmmu_open
from mmscore.parsers.mmmu_pro_choice import mmmu_pro_choice
from mmscore.parsers.vlmevalkit_option import vlmevalkit_option

TEXTS = {"A": "cat", "B": "a dog", "C": "", "D": "ÇA ﬁn İ"}
SNIPPETS = [
    "answer is ",
    "Answer: ",
    "ANSWER:",
    "答案：",
    "(A)",
    " B ",
    "C.",
    "**D**",
    "\\boxed{",
    "}",
    "$",
    "cat",
    "Yes",
    "n.o",
    "İ",
    "\n",
]
replies = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*SNIPPETS, *"ABCDZ .,:()[]{}*'!?/、，"]), max_size=20).map("".join),
)
PARSERS = {
    **{f"vlmevalkit {v}": partial(vlmevalkit_option, options=TEXTS, version=v) for v in ("v1", "v2", "v3")},
    **{
        f"evalscope {v} {chinese} {multiple}": partial(
            evalscope_choice, n_options=4, version=v, chinese=chinese, multiple=multiple
        )
        for v in ("1.3.0", "1.14.1")
        for chinese in (False, True)
        for multiple in (False, True)
    },
    "mmmu": partial(mmmu_choice, letters="ABCD", texts=TEXTS),
    "mmmu pro": partial(mmmu_pro_choice, letters="ABCD", texts=TEXTS),
    "lmms mmmu": partial(lmms_mmmu_choice, letters="ABCD", texts=TEXTS),
    "lmms": partial(lmms_choice, letters="ABCD"),
    "lmms mme": lmms_mme_yes_no,
    "mme": mme_yes_no,
}


@pytest.mark.parametrize("name", PARSERS)
@given(reply=replies)
def test_any_text_is_parsed_and_the_span_shows_the_answer(name, reply):
    parsed = PARSERS[name](reply)
    assert isinstance(parsed, Parsed)
    assert (parsed.value is None) == (parsed.how == "unparsed")
    if parsed.span is not None:
        start, end = parsed.span
        assert 0 <= start <= end <= len(reply)
        if parsed.how not in ("option text", "answer marker", "answer phrase"):
            assert reply[start:end].lower() == parsed.value.lower()


@given(reply=replies)
def test_an_open_reply_always_gives_an_answer(reply):
    assert mmmu_open(reply)
