import json
import shutil

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.hashing import hash_file
from mmscore.analysis.bundle import Request, bundle, verify
from mmscore.kits.mmtrusteval.connections import connect_classifiers
from mmscore.kits.mmtrusteval.score_services import ATTRIBUTES, MODERATED
from mmscore.scoring.evaluate import score
from support.web_server import reply, web_server

SCORES = {name: n / 100 for n, name in enumerate(MODERATED)}
VALUES = {name: {"summaryScore": {"value": n / 10}} for n, name in enumerate(ATTRIBUTES)}
PAGES = {
    "/m": reply(json.dumps({"results": [{"category_scores": SCORES}]}).encode()),
    "/p": reply(json.dumps({"attributeScores": VALUES}).encode()),
}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with web_server(PAGES) as running:
        yield running


@pytest.fixture
def options(server, tmp_path):
    place = f"http://127.0.0.1:{server.port}"
    classifiers = {
        "openai_moderation_api_eval": {"url": f"{place}/m"},
        "google_perspective_api_eval": {"url": f"{place}/p"},
    }
    (tmp_path / "options.json").write_text(json.dumps({"classifiers": classifiers}))
    return tmp_path / "options.json"


@pytest.fixture
def log(tmp_path):
    samples = [{"content": "q", "pred": text} for text in ("a", "sorry")]
    (tmp_path / "nsfw-image-description.json").write_text(json.dumps({"per_sample_results": samples}))
    return tmp_path / "nsfw-image-description.json"


def test_services_score_the_kits_own_task_and_each_reply_once(server, options, log):
    (entry,) = score(log, recipe_options=options).entries
    assert entry.table == [
        {"task": "S.1", "log": log.stem, "PersepectiveScore": 0.7, "ModerationScore": 0.1, "RtA": 0.5}
    ]
    assert len(server.requests) == 4


def test_they_go_with_chains_of_a_task_file(server, options, log):
    chain = {"openai_moderation_api_eval": {"metrics_cfg": {"pred_mean": {}}}}
    options.write_text(json.dumps(json.loads(options.read_text()) | {"evaluator_seq_cfgs": [chain]}))
    (entry,) = score(log, "mmtrust_task", recipe_options=options).entries
    assert [(name, e.value) for name, e in entry.metrics.items()] == [("openai_moderation_api_eval:pred_mean", 0.1)]
    assert len(server.requests) == 2


def test_a_log_that_has_the_column_is_not_scored_again(server, options, log):
    said = {f"{name}:pred_no_op": 0.5 for name in ("openai_moderation_api_eval", "google_perspective_api_eval")}
    log.write_text(json.dumps({"per_sample_results": [{**said, "pred": "a"}]}))
    (entry,) = score(log, recipe_options=options).entries
    assert entry.metrics["openai_moderation_api_eval:pred_mean"].value == 0.5
    assert server.requests == []


def test_a_bundle_asks_nobody(server, options, log, tmp_path):
    with pytest.raises(UsageError, match="uses models or API servers here, which a bundle cannot contain"):
        bundle(Request((str(log),), ("mmtrust_task",), recipe_options=str(options)), tmp_path / "b")
    assert server.requests == []
    plain = tmp_path / "plain.yaml"
    plain.write_text("evaluator_seq_cfgs: [{rule_reject_template_eval: {metrics_cfg: {pred_mean: {}}}}]")
    bundle(Request((str(log),), ("mmtrust_task",), recipe_options=str(plain)), tmp_path / "b")
    forged = tmp_path / "b" / "recipe_options.yaml"
    shutil.copyfile(options, forged)
    manifest = json.loads((tmp_path / "b/bundle.json").read_text())
    for file in manifest["files"]:
        if file["path"] == forged.name:
            file |= {"bytes": forged.stat().st_size, "sha256": hash_file(forged)}
    (tmp_path / "b/bundle.json").write_text(json.dumps(manifest))
    with pytest.raises(Error, match=r"bundle.json: recipe 'mmtrust_task@2025\.03' uses models or API servers"):
        verify(tmp_path / "b")
    assert server.requests == []


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({}, "expected evaluators and where each is"),
        ([], "expected evaluators and where each is"),
        ({"moderation_eval": {}}, "no evaluator 'moderation_eval'. Did you mean openai_moderation"),
        ({"harmbenchmodel_eval": "x"}, "expected folder, prompt, device by name"),
        ({"harmbenchmodel_eval": {"folder": "x"}}, "prompt is missing"),
        ({"classifer_reject_eval": {"foldr": "x"}}, "no setting 'foldr'. Did you mean folder?"),
        ({"classifer_reject_eval": {"folder": 1}}, r"folder: expected a text \(got 1\)"),
    ],
)
def test_what_is_no_place_is_refused(places, message):
    with pytest.raises(UsageError, match=message):
        connect_classifiers(places)


def test_a_folder_that_is_missing_is_named_when_it_is_needed(log, tmp_path):
    pytest.importorskip("torch")
    options = tmp_path / "o.yaml"
    options.write_text(f"classifiers: {{classifer_reject_eval: {{folder: {tmp_path}/none}}}}")
    assert score(log, "mmtrust_task", dataset="stereo-agreement-text", recipe_options=options).complete
    with pytest.raises(UsageError, match="none: no such file or folder"):
        score(log, "mmtrust_task", dataset="vision-preference", recipe_options=options)
