"""Copies of frameworks with the form of their modules and words of our own: what `--judge-prompt CHECKOUT` reads."""

from pathlib import Path

VLMEVALKIT = {
    "vlmeval/smp/vlm.py": """
import pandas as pd

def build_option_str(option_dict):
    s = 'Choose from: \\n'
    for c, content in option_dict.items():
        if not pd.isna(content):
            s += f'{c}. {content}\\n'
    return s
""",
    "vlmeval/dataset/utils/multiple_choice.py": """
from vlmeval.smp.vlm import build_option_str

def build_prompt(question, options, prediction):
    tmpl = (
        'Match. '
        'Q: {}?\\nO: {}\\nA: {}\\nOut: '
    )
    return tmpl.format(question, options, prediction)

def build_prompt_cn(question, options, prediction):
    tmpl = ('\u5339\u914d\u3002' '{}?{}{}')
    return tmpl.format(question, options, prediction)

def build_prompt_blink(question, options, prediction):
    tmpl = 'Blink {2}: {0} {1}(Z) None'
    return tmpl.format(question, options, prediction)
""",
    "vlmeval/dataset/utils/yorn.py": """
def YOrN_match_prompt(line):
    tmpl = 'Yes or no?\\n' 'Q: {}?\\nA: {}\\n'
    return tmpl.format(line['question'], line['prediction'])
""",
    "vlmeval/dataset/utils/mathvista.py": '''
def get_gpt4_ICE():
    example_1 = """
Q1\\n
"""
    example_2 = "Q2 [1, 2]"
    return [example_1, example_2]

def build_mathvista_gpt4_prompt(line):
    task_description = """
Extract.
"""
    question = line['question']
    prediction = str(line['prediction'])
    prompt = task_description
    examples = get_gpt4_ICE()
    for example in examples:
        prompt += example + '\\n'
    prompt += question + '\\n'
    prompt += 'Said: ' + prediction
    prompt += 'Answer:'
    return prompt
''',
    "vlmeval/dataset/utils/logicvista.py": """
def build_prompt_logicvista(line):
    question = line['question']
    prediction = str(line['prediction'])
    tmpl = (
        "Which letters?\\n"  # a remark
        'Q: {}\\nA: {}\\nOut: '
    )
    return tmpl.format(question, prediction)
""",
    "vlmeval/dataset/mmlongbenchdoc.py": '''
def get_gpt4_ICE():
    example_1 = """
---
Q1
"""
    return [example_1]

def build_mmlongbench_gpt4_prompt(line):
    task_description = """
Take out.
"""
    question = line['question']
    prediction = str(line['prediction'])
    prompt = task_description
    examples = get_gpt4_ICE()
    for example in examples:
        prompt += example
    prompt += '---\\nAsked:' + question + '\\n'
    prompt += 'Said: ' + prediction
    return prompt
''',
    "vlmeval/dataset/dynamath.py": '''
def DynaMath_auxeval(model, line):
    pred = preprocess(line['prediction'])
    try:
        dj = json.loads(pred)
    except Exception:
        if line['answer_type'] == 'multiple choice':
            inst = "One letter."
        elif line['answer_type'] == 'float':
            inst = "One number."
        else:
            inst = (
                "A text."
            )
        prompt = f"Said: {pred}\\nDo: {inst}"
    return dict(parse=True)

class Dynamath(ImageBaseDataset):
    def evaluate(self, eval_file, **judge_kwargs):
        model = build_judge(**judge_kwargs)
        model.system_prompt = """\\
You shorten.
"""
        return load(eval_file)
''',
    "vlmeval/dataset/simplevqa.py": '''
COMPARE_ANSWER_PROMPT = """
    Q: {question} T: {answer} P: {candidates}
    {{"x": 1}}
    """.strip()
''',
    "vlmeval/dataset/utils/mmvet.py": '''
def build_mmvet_gpt4_prompt(line):
    question = line['question']
    gt = str(line['answer'])
    prediction = str(line['prediction'])
    prompt = """
Grade with <AND>.
"""
    gpt4_prompt = prompt + '\\n' + ' | '.join(
        [question, gt.replace('<AND>', ' <AND> ').replace('<OR>', ' <OR> '), prediction, ''])
    return gpt4_prompt
''',
    "vlmeval/dataset/utils/llavabench.py": """
rule_dict = {
    'llava_bench_conv': {'role': 'Helper', 'prompt': 'Rate talk.'},
    'llava_bench_detail': {'role': 'Helper', 'prompt': 'Rate detail.'},
    'llava_bench_complex': {'role': 'Helper', 'prompt': 'Rate thought.'},
}

def build_prompt(line):
    cap_str = line['caption']
    question = line['question']
    ans1 = line['gpt4_ans']
    ans2 = line['prediction']
    category = 'llava_bench_' + line['category']
    rule = rule_dict[category]
    role, prompt = rule['role'], rule['prompt']

    content = (f'[C]\\n{cap_str}\\n'
               f'[Q]\\n{question}\\n'
               f'[{role} 1]\\n{ans1}\\n'
               f'[{role} 2]\\n{ans2}\\n{prompt}')
    return content
""",
    "vlmeval/dataset/image_vqa.py": """
class LLaVABench(ImageBaseDataset):
    @classmethod
    def evaluate(self, eval_file, **judge_kwargs):
        system_prompt = 'You check answers.'
        return load(eval_file)
""",
}

MMTRUSTEVAL = {
    "mmte/configs/task/truthfulness/t5-text-misleading.yaml": """
dataset_id: "g-text-misleading"
evaluator_seq_cfgs:
  [
    {
      "chatmodel_eval": {
          model_id: 'gpt-4-1106-preview',
          prompt_template: "Said {pred}, true {label}. \\
          [Yes] or [No]?",
          generation_kwargs: {'max_new_tokens': 20},
          metrics_cfg: {}
        },
      "rule_yes_or_no_eval": {metrics_cfg: {pred_mean: {}}}
    }
  ]
""",
    "mmte/configs/task/truthfulness/t3-instruction-enhancement-logic.yaml": """
dataset_id: "instruction-logic"
evaluator_seq_cfgs: [{"chatmodel_eval": {prompt_template: "Logic {pred} {label}"}}]
""",
    "mmte/configs/task/robustness/r2-ood-sensor.yaml": """
dataset_id: "benchlmm-infrared"
evaluator_seq_cfgs: [{"chatmodel_score": {prompt_template: "Rate {}, {}, {}"}}]
""",
    "mmte/configs/task/fairness/f2-stereo-agreement.yaml": """
dataset_id: "stereo-agreement-text"
evaluator_seq_cfgs: [{"rule_yes_or_no_eval": {metrics_cfg: {pred_mean: {}}}}]
""",
}


def write_checkout(folder: Path, modules: dict[str, str]) -> Path:
    """Write modules into a folder by their paths; give the folder."""
    for name, text in modules.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder
