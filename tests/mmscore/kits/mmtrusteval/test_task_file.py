import pytest

from mmconvert.core.errors import Error
from mmscore.kits.mmtrusteval.chains import read_chain
from mmscore.kits.mmtrusteval.task_file import load_evaluator_chains

TASK = """
model_id: llava-1.5-7b-hf
dataset_id: confaide-text
generation_kwargs: {max_new_tokens: 20, do_sample: false}
evaluator_seq_cfgs:
  - rule_match_and_score_eval:
      fail_id: .nan
      metrics_cfg: {pearson_corr: {}, failure: {}}
  - rule_reject_template_eval: {metrics_cfg: {pred_mean: {}}}
"""


def test_the_chains_of_a_task_file_are_read_and_the_rest_is_left(tmp_path):
    file = tmp_path / "p3.yaml"
    file.write_text(TASK, encoding="utf-8")
    chains = [read_chain(config) for config in load_evaluator_chains(file)]
    assert [chain.key for chain in chains] == ["rule_match_and_score_eval", "rule_reject_template_eval"]
    assert list(chains[0].metrics) == ["pearson_corr", "failure"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "cannot be read as YAML"),
        ("- 1", "expected options by name"),
        ("1: 2", "expected options by name"),
        ("evaluator_seq_cfg: []", "no option 'evaluator_seq_cfg'. Did you mean evaluator_seq_cfgs"),
        ("evaluator_seq_cfgs: []", "expected a list of chains"),
        ("evaluator_seq_cfgs: [a]", "expected a list of chains"),
    ],
)
def test_a_file_without_chains_is_refused(tmp_path, text, message):
    file = tmp_path / "task.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Error, match=message):
        load_evaluator_chains(file)
    with pytest.raises(Error, match="no such file"):
        load_evaluator_chains(tmp_path / "tasks.yaml")
