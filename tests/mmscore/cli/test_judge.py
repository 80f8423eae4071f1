"""`mmscore score --judge` and `mmscore judge` from the command line to a service on the loopback interface."""

import json
import re
import shlex
import threading

import pyarrow.parquet as pq
import pytest

from support.chat_server import chat_server, refused, said
from support.judge_commands import OWN, ROWS, find_answer, grade, make_runner, only_entry, write_rows
from support.predictions import write_predictions

pytestmark = pytest.mark.slow


@pytest.fixture
def run(capfd, monkeypatch):
    return make_runner(capfd, monkeypatch)


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path)


@pytest.fixture
def server():
    with chat_server(grade) as server:
        yield server


def test_the_judge_is_asked_where_the_rules_do_not_say_correct(run, file, server, tmp_path):
    rows = tmp_path / "rows.parquet"
    code, out, err = run(file, *OWN, "--judge-base-url", server.url, "--json", "--rows", rows)
    entry = only_entry(out)
    assert code == 0
    assert entry["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert entry["counts"]["judge_failed"] == 0
    assert sorted(map(find_answer, server.prompts())) == ["a dog", "a kitten"]
    assert "2 rows, 0 responses from the store, 2 new in 2 calls, 14 + 8 tokens" in err
    table = {row["id"]: row for row in pq.read_table(rows).to_pylist()}
    assert table["same"]["judge_model"] is None
    judged = table["other_words"]
    assert (judged["judge_model"], judged["tries"], judged["how"], judged["status"]) == (
        "loopback",
        1,
        "judge",
        "scored",
    )
    assert json.loads(judged["judge_reply"])["verdict"] == "correct"
    assert re.fullmatch("[0-9a-f]{64}", judged["judge_prompt_sha256"])


def test_a_second_run_asks_nothing_and_says_the_same(run, file, server):
    options = [file, *OWN, "--judge-base-url", server.url, "--json"]
    first, second = run(*options), run(*options)
    assert len(server.asked) == 2
    assert first[1] == second[1]
    assert "2 responses from the store, 0 new in 0 calls" in second[2]


def test_the_signature_names_the_judge(run, file, server):
    _, out, _ = run(
        file, *OWN, "--judge-base-url", server.url, "--judge-model", "m", "--judge-generation", '{"seed": 7}', "--json"
    )
    signature = only_entry(out)["signature"]
    assert "judge:own@1|judge_strategy:llm_recall|judge_model:m|" in signature
    assert "max_tokens=1024,seed=7,temperature=0" in signature
    assert server.asked[0] == {**server.asked[0], "model": "m", "seed": 7, "temperature": 0}


@pytest.mark.parametrize("change", [{"prediction": "a kitten!"}, {"question": "Who?"}, {"answer": "CAT 2"}])
def test_an_edited_row_is_asked_again_and_the_others_are_not(run, file, server, change):
    options = [file, *OWN, "--judge-strategy", "llm", "--judge-base-url", server.url, "--quiet"]
    run(*options)
    write_predictions(file, [ROWS[0], {**ROWS[1], **change}, ROWS[2]], task="vqa")
    run(*options)
    assert len(server.asked) == 4


def test_a_failed_judge_is_judge_failed_and_asked_again_only_when_told(run, file, tmp_path):
    healthy = threading.Event()

    def moody(request):
        return grade(request) if healthy.is_set() else said("I think it is correct")

    with chat_server(moody) as server:
        options = [file, *OWN, "--judge-base-url", server.url, "--json"]
        code, out, err = run(*options)
        entry = only_entry(out)
        assert code == 3
        assert (entry["counts"]["scored"], entry["counts"]["judge_failed"]) == (1, 2)
        assert entry["metrics"]["accuracy"]["n"] == 1
        assert "row 1 judge: the response is not one JSON object with a verdict." in err
        healthy.set()
        code, out, _ = run(*options)
        assert (code, len(server.asked)) == (3, 2)
        code, out, _ = run(*options, "--rejudge", "failed")
        assert (code, len(server.asked)) == (0, 4)
        assert only_entry(out)["counts"]["scored"] == 3
        run(*options, "--rejudge", "failed")
        assert len(server.asked) == 4


def test_a_call_without_a_reply_is_judge_failed_and_kept_as_a_state(run, file):
    def broken(request):
        return refused(400, "content filter") if "kitten" in request["messages"][-1]["content"] else grade(request)

    with chat_server(broken) as server:
        options = [file, *OWN, "--judge-base-url", server.url, "--json"]
        code, out, err = run(*options)
        run(*options)
    assert code == 3
    assert only_entry(out)["counts"]["judge_failed"] == 1
    assert "no response: 400 content filter" in err
    assert len(server.asked) == 2


def test_what_an_outage_left_open_is_asked_by_the_same_command(run, file, monkeypatch):
    monkeypatch.setattr("mmconvert.core.retries.LONGEST_WAIT", 0.01)
    healthy = threading.Event()

    def moody(request):
        return grade(request) if healthy.is_set() else refused(503, "down")

    with chat_server(moody) as server:
        options = [file, *OWN, "--judge-strategy", "llm", "--judge-base-url", server.url, "--json"]
        code, out, err = run(*options)
        assert (code, out) == (1, "")
        assert "3 questions failed in a row (503 down)" in err
        healthy.set()
        code, out, err = run(*options)
    assert (code, only_entry(out)["counts"]["scored"]) == (0, 3)
    assert "3 rows, 0 responses from the store, 3 new in 3 calls" in err


def test_refused_rows_are_asked_again_when_told_and_end_no_run(run, tmp_path):
    rows = [{**ROWS[1], "id": str(number), "prediction": f"a kitten {number}"} for number in range(6)]
    file = write_predictions(tmp_path / "six.parquet", rows, task="vqa")

    def picky(request):
        answer = find_answer(request["messages"][-1]["content"])
        return refused(400, "content filter") if int(answer[-1]) > 2 else said('{"verdict": "correct"}')

    with chat_server(picky) as server:
        options = [file, *OWN, "--judge-base-url", server.url, "--judge-concurrency", 1, "--json"]
        first = run(*options)
        again = run(*options, "--rejudge", "failed")
    assert (first[0], again[0]) == (3, 3)
    assert only_entry(first[1]) == only_entry(again[1])
    assert only_entry(again[1])["counts"]["judge_failed"] == 3
    assert len(server.asked) == 6 + 3


def test_max_failed_counts_failures_of_the_judge(run, file):
    with chat_server(lambda _: said("?")) as server:
        code, _, err = run(file, *OWN, "--judge-base-url", server.url, "--max-failed", "0.5")
    assert code == 1
    assert "2 judge_failed" in err


def test_a_refused_key_ends_the_run(run, file):
    with chat_server(lambda _: refused(401, "bad key sk-never-shown")) as server:
        code, out, err = run(file, *OWN, "--judge-base-url", server.url, "--judge-concurrency", 1)
    assert (code, out) == (1, "")
    assert "rejects the key (401 bad key ***). Export the right one as OPENAI_API_KEY." in err
    assert len(server.asked) == 1


def test_a_dry_run_counts_and_asks_nothing(run, file, server):
    before = sorted(file.parent.iterdir())
    code, out, _ = run(file, *OWN, "--judge-model", "loopback", "--dry-run", "--json")
    (guess,) = json.loads(out)["estimates"]
    assert code == 0
    assert (guess["rows"], guess["calls"], guess["most_calls"], guess["stored"]) == (2, 2, 2, 0)
    assert guess["prompt_tokens"] > 100
    assert guess["most_completion_tokens"] == 2048
    assert server.asked == []
    assert sorted(file.parent.iterdir()) == before
    run(file, *OWN, "--judge-base-url", server.url)
    _, out, _ = run(file, *OWN, "--judge-model", "loopback", "--dry-run")
    assert "2 rows, 0 calls; 2 responses are cached" in out
    assert "No request was sent." in out


def test_the_cap_on_calls_holds_and_the_rest_is_asked_later(run, file, server):
    options = [file, *OWN, "--judge-base-url", server.url, "--judge-concurrency", 1]
    code, _, err = run(*options, "--judge-max-calls", 1)
    assert (code, len(server.asked)) == (3, 1)
    assert "1 samples not judged: the limit of requests or tokens is reached" in err
    code, _, _ = run(*options)
    assert (code, len(server.asked)) == (0, 2)


def test_judging_first_lets_scoring_ask_nothing(run, file, server):
    code, out, _ = run("judge", file, *OWN, "--judge-base-url", server.url, "--json")
    assert code == 0
    (spent,) = json.loads(out)["runs"]
    assert (spent["rows"], spent["asked"], spent["failed"]) == (2, 2, 0)
    run(file, *OWN, "--judge-base-url", server.url)
    assert len(server.asked) == 2


def test_the_next_command_scores_what_was_judged_and_asks_nothing(run, file, server):
    wishes = ["--judge-model", "kind", "--judge-model", "other one", "--judge-generation", '{"seed": 7}']
    code, out, _ = run("judge", file, *OWN, "--judge-base-url", server.url, *wishes, "--rejudge", "failed")
    asked = len(server.asked)
    (line,) = [line for line in out.splitlines() if line.strip().startswith("next:")]
    program_name, *words = shlex.split(line.partition("next:")[2])
    assert (code, program_name, "--rejudge" in words) == (0, "mmscore", False)
    code, out, _ = run(*words, "--json")
    assert (code, len(server.asked)) == (0, asked)
    assert "judge_model:kind+other one|" in only_entry(out)["signature"]


def test_a_dry_run_without_a_model_says_that_it_looked_for_no_replies(run, file, server):
    run("judge", file, *OWN, "--judge-base-url", server.url)
    _, out, _ = run(file, *OWN, "--dry-run")
    assert "2 calls; no model is named, so the cache was not searched; about" in out
    _, out, _ = run(file, *OWN, "--dry-run", "--json")
    assert [guess["stored"] for guess in json.loads(out)["estimates"]] == [None]


def test_a_place_for_replies_that_is_none_is_named(run, file, server, tmp_path):
    options = [file, *OWN, "--judge-base-url", server.url]
    for more in ([], ["--dry-run"]):
        code, _, err = run(*options, "--judge-cache", tmp_path, *more)
        assert (code, f"{tmp_path}: is a folder. Name a file" in err) == (2, True)
    code, _, err = run(*options, "--judge-cache", file)
    assert (code, "Move it away or name another file with --judge-cache." in err) == (1, True)
    assert server.asked == []


def test_a_wording_of_the_users_is_sent(run, file, server, tmp_path):
    wording = tmp_path / "wording.txt"
    wording.write_text("MINE {reference} {answer} {other}", encoding="utf-8")
    code, out, _ = run(file, *OWN, "--judge-base-url", server.url, "--judge-prompt", wording, "--json")
    assert code == 0
    assert all(prompt.startswith("MINE <reference-") and prompt.endswith("> {other}") for prompt in server.prompts())
    assert "judge_prompt:" in only_entry(out)["signature"]
    options = ("--judge-prompt", "TEXT {reference} {answer}", "--judge-system", "You are strict.", "--judge-cache")
    code, out, _ = run(file, *OWN, "--judge-base-url", server.url, *options, tmp_path / "other.sqlite", "--json")
    assert "judge_system:" in only_entry(out)["signature"]
    asked = [[turn["content"] for turn in one["messages"]] for one in server.asked[len(server.asked) // 2 :]]
    assert asked
    assert all(system == "You are strict." and prompt.startswith("TEXT <reference-") for system, prompt in asked)


def test_evalscope_auto_asks_nobody_and_says_so(run, tmp_path, server):
    file = write_predictions(tmp_path / "l.parquet", [{**row, "answers": [row["answer"]]} for row in ROWS], task="vqa")
    options = [file, "--recipe", "evalscope_general_vqa", "--judge", "evalscope", "--judge-base-url", server.url]
    code, _, err = run(*options)
    assert (code, server.asked) == (0, [])
    assert "strategy auto means rule, no request was sent" in err


def test_evalscope_llm_gives_the_verdict_alone(run, file):
    with chat_server(lambda _: said("B")) as server:
        code, out, _ = run(
            file, "--recipe", "evalscope_general_vqa@1.10", "--judge", "evalscope", "--judge-strategy", "llm",
            "--judge-base-url", server.url, "--json",
        )  # fmt: skip
    assert code == 0
    metrics = only_entry(out)["metrics"]
    assert {name: metric["value"] for name, metric in metrics.items()} == {"mean_acc": 0.0}
    assert "judge:evalscope@1.10|" in only_entry(out)["signature"]
    assert len(server.asked) == 3


def test_recall_merges_verdicts_into_the_main_score_of_each_model(run, tmp_path):
    rows = [{**row, "answers": [row["answer"]]} for row in ROWS]
    files = [write_predictions(tmp_path / f"{name}.parquet", rows, task="vqa", model=name) for name in ("x", "y")]
    with chat_server(lambda _: said('{"verdict": "A"}')) as server:
        code, out, err = run(
            *files, "--recipe", "evalscope_general_vqa", "--judge", "evalscope", "--judge-strategy", "llm_recall",
            "--judge-base-url", server.url, "--json",
        )  # fmt: skip
    entries = json.loads(out)["entries"]
    main = 'rouge:mean[statistic="recall",variant="l"]'
    assert code == 0
    assert [entry["metrics"][main]["value"] for entry in entries] == [1.0, 1.0]
    assert all(entry["metrics"]["bleu:mean[ngram=1]"]["value"] < 0.5 for entry in entries)
    assert all(entry["parity"].endswith("; judged, prompt template ours") for entry in entries)
    # Each file has its store; only rows whose rule score is not full are asked about.
    assert err.count("2 rows, 0 responses from the store, 2 new in 2 calls") == len(files)


def test_a_review_file_of_the_kit_is_judged_with_all_its_turns(run, tmp_path):
    turns = [{"role": "system", "content": "sys"}, {"role": "user", "content": [{"type": "text", "text": "q"}]}]
    score = {"value": {"acc": 0.0}, "extracted_prediction": "a dog", "prediction": "a dog", "main_score_name": "acc"}
    sample = {"index": 0, "target": "cat", "messages": turns}
    sample["sample_score"] = {"score": score, "sample_id": 0, "group_id": 0}
    file = tmp_path / "reviews" / "m" / "general_vqa_default.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(sample) + "\n", encoding="utf-8")
    with chat_server(lambda _: said('{"verdict": "B"}')) as server:
        code, out, _ = run(
            file, "--judge", "evalscope", "--judge-strategy", "llm", "--judge-base-url", server.url, "--json"
        )
    assert code == 0
    assert only_entry(out)["recipe"] == "evalscope_general_vqa"
    assert "**System**: sys\n\n**User**: q\n</question-" in server.prompts()[0]


def test_replies_are_kept_where_told_and_shared_between_files(run, tmp_path, server):
    cache = tmp_path / "cache.sqlite"
    for name in ("a", "b"):
        file = write_predictions(tmp_path / f"{name}.parquet", ROWS, task="vqa")
        run(file, *OWN, "--judge-base-url", server.url, "--judge-cache", cache)
    assert len(server.asked) == 2
    assert cache.is_file()
    assert not list(tmp_path.glob("*.judge.sqlite"))


def test_a_rating_needs_no_reference(run, tmp_path):
    rows = [{"id": row["id"], "question": row["question"], "prediction": row["prediction"]} for row in ROWS]
    file = write_predictions(tmp_path / "open.parquet", rows, task="vqa")
    with chat_server(lambda _: said('{"score": 0.25}')) as server:
        code, out, err = run(
            file, "--recipe", "evalscope_general_vqa", "--judge", "evalscope_numeric", "--judge-strategy", "llm",
            "--judge-base-url", server.url, "--json",
        )  # fmt: skip
    assert (code, err.count("tokens")) == (0, 1)
    assert only_entry(out)["metrics"]["accuracy:mean"]["value"] == 0.25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge-model", "m"], "--judge-model: no judge is named"),
        (["--rejudge", "failed"], "--rejudge: no judge is named"),
        (["--dry-run"], "--dry-run: estimates what a judge would take"),
        (["--judge", "owl"], "Did you mean own?"),
        (["--judge", "own@2"], "judge 'own' has no version '2'"),
        (["--judge", "evalscope"], "judge 'evalscope' does not fit recipe 'own_short_answer'. Judges that do: own."),
        (["--judge", "own", "--judge-strategy", "lm"], "has no strategy 'lm'"),
        (["--judge", "own", "--judge-generation", "{"], "--judge-generation: is not JSON"),
        (["--judge", "own", "--judge-generation", "[1]"], "--judge-generation: expected an object"),
        (["--judge", "own", "--judge-generation", '{"x": NaN}'], "NaN is not a JSON number"),
        (["--judge", "own", "--judge-generation", '{"model": "m"}'], "model cannot be set here"),
        (["--judge", "own", "--judge-prompt", "none.txt"], "none.txt: no such file"),
        (["--judge", "own"], "no base URL given"),
        (["--judge", "own", "--judge-base-url", "localhost:1"], "base URL"),
        (
            ["--judge", "own", "--api-key-env", "NO_SUCH_KEY", "--judge-base-url", "http://127.0.0.1:9/v1"],
            "NO_SUCH_KEY",
        ),
        (["--judge", "own", "--dry-run", "--csv", "x.csv"], "--csv: --dry-run scores nothing"),
        (["--judge", "own", "--judge-aggregation", "medain"], "Did you mean median or mean?"),
        (["--judge", "own", "--judge-model", "a", "--judge-model", "b", "--judge-min-valid", "3"], "3 verdicts of 2"),
        (["--judge", "own", "--judge-score-mapping", "{}"], "judge 'own'@1 has verdicts of its own"),
        (["--judge", "own", "--judge-score-pattern", "x"], "judge 'own'@1 takes no pattern"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused(run, file, arguments, message):
    code, out, err = run(file, "--recipe", "own_short_answer", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_wording_without_the_answer_is_refused(run, file, tmp_path):
    (tmp_path / "w.txt").write_text("{question}", encoding="utf-8")
    code, _, err = run(file, *OWN, "--judge-prompt", tmp_path / "w.txt")
    assert code == 2
    assert "lacks {reference}, {answer}; judge 'own' fills in {question}, {reference}, {answer}." in err


def test_several_models_and_none_named_is_refused(run, file):
    with chat_server(grade, models=["a", "b"]) as server:
        code, _, err = run(file, *OWN, "--judge-base-url", server.url)
    assert code == 2
    assert "It offers a, b. Name it with --judge-model." in err


def test_a_judge_of_ones_own_fits_any_recipe(run, file, server, tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from mmscore.core.judge import Judge, JudgeQuestion, Verdict\n"
        "from mmscore.core.parsed import Parsed\n"
        "def step(case, responses):\n"
        "    if responses:\n"
        "        return Verdict(parsed=Parsed('cat', 'mine'))\n"
        "    return JudgeQuestion(f'<answer-1>\\n{case.item.prediction}\\n</answer-1>')\n"
        "JUDGE = Judge('mine', 'own', {'1': ''}, {'all': ''}, 'all', (), step)\n"
    )
    code, out, _ = run(
        file, "--recipe", "own_short_answer", "--judge", f"{plugin}@JUDGE", "--judge-base-url", server.url, "--json"
    )
    assert code == 0
    assert only_entry(out)["metrics"]["accuracy"]["value"] == 1.0


def test_the_cap_on_tokens_holds(run, file, server):
    code, _, err = run(file, *OWN, "--judge-base-url", server.url, "--judge-max-total-tokens", 1000)
    assert (code, server.asked) == (3, [])
    assert "2 samples not judged: the limit of requests or tokens is reached" in err


EVALSCOPE = ("--recipe", "evalscope_general_vqa", "--judge", "evalscope", "--judge-strategy", "llm")


def test_labels_of_ones_own_need_a_wording_and_are_signed(run, file, tmp_path):
    (tmp_path / "w.txt").write_text("C is half right. {pred}", encoding="utf-8")
    mine = ["--judge-score-mapping", '{"A": 1, "C": 0.5}']
    with chat_server(lambda _: said('{"verdict": "C"}')) as server:
        options = [file, *EVALSCOPE, "--judge-base-url", server.url, "--json", *mine]
        code, _, err = run(*options)
        assert code == 2
        assert "explain the labels in your own prompt template, --judge-prompt FILE" in err
        code, out, _ = run(*options, "--judge-prompt", tmp_path / "w.txt")
    assert code == 0
    assert only_entry(out)["metrics"]["accuracy:mean"]["value"] == 0.5
    assert "|judge_score_mapping:" in only_entry(out)["signature"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--judge", "evalscope", "--judge-score-mapping", '{"A": 2}'],
            "expected labels that are worth 0 to 1 each; 'A' is not (got 2).",
        ),
        (["--judge", "evalscope", "--judge-score-mapping", "{}"], "; there is none."),
        (["--judge", "evalscope", "--judge-score-mapping", "[]"], "--judge-score-mapping: expected an object"),
        (
            ["--judge", "evalscope", "--judge-score-pattern", "x"],
            "judge 'evalscope'@1.14 takes no pattern. Only 1.10, 1.3 do.",
        ),
        (
            ["--judge", "evalscope@1.10", "--judge-score-pattern", "("],
            "--judge-score-pattern: is not a regular expression",
        ),
    ],
)
def test_labels_and_patterns_that_make_no_sense_are_refused(run, file, tmp_path, arguments, message):
    (tmp_path / "w.txt").write_text("{pred}", encoding="utf-8")
    code, _, err = run(file, *EVALSCOPE[:2], *EVALSCOPE[4:], "--judge-prompt", tmp_path / "w.txt", *arguments)
    assert code == 2
    assert message in err
