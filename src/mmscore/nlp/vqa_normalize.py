r"""How VQA scorers rewrite a text before they compare it: marks, numbers, articles, contractions.

VLMEvalKit, lmms-eval and ReForm-Eval descend from the VQA evaluation script and differ in which
dots they delete; each caller says so.
"""

import re

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/misc.py (marks, dots), vlmeval/dataset/utils/vqa_eval.py
# (numbers, articles, contractions); the tables of EvolvingLMMs-Lab/lmms-eval@75571cf
# lmms_eval/tasks/_task_utils/vqa_eval_metric.py and FudanDISC/ReForm-Eval@df1cfa7 metrics/ocropenended.py are the same.
MARKS = ';/[]"{}()=+\\_-><@`,?!'
NUMBER_WORDS = {
    "none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the"))
CONTRACTIONS = {
    "aint": "ain't", "arent": "aren't", "cant": "can't", "couldve": "could've", "couldnt": "couldn't",
    "couldn'tve": "couldn't've", "couldnt've": "couldn't've", "didnt": "didn't", "doesnt": "doesn't", "dont": "don't",
    "hadnt": "hadn't", "hadnt've": "hadn't've", "hadn'tve": "hadn't've", "hasnt": "hasn't", "havent": "haven't",
    "hed": "he'd", "hed've": "he'd've", "he'dve": "he'd've", "hes": "he's", "howd": "how'd", "howll": "how'll",
    "hows": "how's", "Id've": "I'd've", "I'dve": "I'd've", "Im": "I'm", "Ive": "I've", "isnt": "isn't", "itd": "it'd",
    "itd've": "it'd've", "it'dve": "it'd've", "itll": "it'll", "let's": "let's", "maam": "ma'am", "mightnt": "mightn't",
    "mightnt've": "mightn't've", "mightn'tve": "mightn't've", "mightve": "might've", "mustnt": "mustn't",
    "mustve": "must've", "neednt": "needn't", "notve": "not've", "oclock": "o'clock", "oughtnt": "oughtn't",
    "ow's'at": "'ow's'at", "'ows'at": "'ow's'at", "'ow'sat": "'ow's'at", "shant": "shan't", "shed've": "she'd've",
    "she'dve": "she'd've", "she's": "she's", "shouldve": "should've", "shouldnt": "shouldn't",
    "shouldnt've": "shouldn't've", "shouldn'tve": "shouldn't've", "somebody'd": "somebodyd",
    "somebodyd've": "somebody'd've", "somebody'dve": "somebody'd've", "somebodyll": "somebody'll",
    "somebodys": "somebody's", "someoned": "someone'd", "someoned've": "someone'd've", "someone'dve": "someone'd've",
    "someonell": "someone'll", "someones": "someone's", "somethingd": "something'd", "somethingd've": "something'd've",
    "something'dve": "something'd've", "somethingll": "something'll", "thats": "that's", "thered": "there'd",
    "thered've": "there'd've", "there'dve": "there'd've", "therere": "there're", "theres": "there's", "theyd": "they'd",
    "theyd've": "they'd've", "they'dve": "they'd've", "theyll": "they'll", "theyre": "they're", "theyve": "they've",
    "twas": "'twas", "wasnt": "wasn't", "wed've": "we'd've", "we'dve": "we'd've", "weve": "we've", "werent": "weren't",
    "whatll": "what'll", "whatre": "what're", "whats": "what's", "whatve": "what've", "whens": "when's",
    "whered": "where'd", "wheres": "where's", "whereve": "where've", "whod": "who'd", "whod've": "who'd've",
    "who'dve": "who'd've", "wholl": "who'll", "whos": "who's", "whove": "who've", "whyll": "why'll", "whyre": "why're",
    "whys": "why's", "wont": "won't", "wouldve": "would've", "wouldnt": "wouldn't", "wouldnt've": "wouldn't've",
    "wouldn'tve": "wouldn't've", "yall": "y'all", "yall'll": "y'all'll", "y'allll": "y'all'll",
    "yall'd've": "y'all'd've", "y'alld've": "y'all'd've", "y'all'dve": "y'all'd've", "youd": "you'd",
    "youd've": "you'd've", "you'dve": "you'd've", "youll": "you'll", "youre": "you're", "youve": "you've",
}  # fmt: skip
"""Words without their apostrophe to words with it. Keys with a capital are never met: texts are lower-cased first."""

ANY_MARK = re.compile(f"[{re.escape(MARKS)}]")
DIGIT_COMMA_DIGIT = re.compile(r"\d,\d")
LONE_DOT = re.compile(r"(?<!\d)\.(?!\d)")
"""A dot without a digit on either side (VLMEvalKit, ReForm-Eval)."""

DOT_BEFORE_NO_DIGIT = re.compile(r"\.(?!\d)")
"""A dot without a digit after it (lmms-eval, whose pattern misspells the look-behind)."""

MOST_DOTS = 32
"""How many dots are deleted at most: the frameworks pass the flag re.UNICODE, which is 32, where the count belongs."""


def process_punctuation(text: str, dot: re.Pattern[str] = LONE_DOT) -> str:
    """Delete marks beside a blank, put a blank in place of the others, delete lone dots.

    Where a comma stands between two digits anywhere in the text, all marks are deleted.

    Args:
        text: Any text; case is kept. Other marks (`*`, `:`, `'`, `#`, non-ASCII ones) stay.
        dot: Which dots are deleted, the first 32 of them.

    Returns:
        The rewritten text.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/misc.py:process_punctuation; with
    `DOT_BEFORE_NO_DIGIT` EvolvingLMMs-Lab/lmms-eval@75571cf
    lmms_eval/tasks/_task_utils/vqa_eval_metric.py:process_punctuation.

    Example:
        >>> process_punctuation("Yes, it is."), process_punctuation("well-known"), process_punctuation("1,000-2")
        ('Yes it is', 'well known', '10002')
    """
    if ANY_MARK.search(text):
        drop_all = DIGIT_COMMA_DIGIT.search(text) is not None
        text = text.translate(
            {ord(m): None if drop_all or f"{m} " in text or f" {m}" in text else " " for m in MARKS if m in text}
        )
    return dot.sub("", text, count=MOST_DOTS) if "." in text else text


def process_digit_article(text: str) -> str:
    """Lower-case a text, write small numbers as digits, drop articles, restore apostrophes.

    Args:
        text: Any text.

    Returns:
        The words, one blank between them.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vqa_eval.py:process_digit_article.

    Example:
        >>> process_digit_article("The two cats  dont")
        "2 cats don't"
    """
    words = (NUMBER_WORDS.get(word, word) for word in text.lower().split())
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def process_answer(text: str, dot: re.Pattern[str] = LONE_DOT) -> str:
    r"""Rewrite a prediction or a reference for comparison.

    Args:
        text: Any text.
        dot: Which dots are deleted; see `process_punctuation`.

    Returns:
        The rewritten text.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vqa_eval.py:process_answer.

    Example:
        >>> process_answer(" The Red\nCar. ")
        'red car'
    """
    text = text.replace("\n", " ").replace("\t", " ").strip()
    return process_digit_article(process_punctuation(text, dot))
