"""MMMU's subjects, their domains, and what its files have in common."""

from typing import Any

from mmconvert.core.errors import RowError, show

DATASET = "MMMU"
MULTIPLE_CHOICE = "multiple-choice"
"""`question_type` of a question with options."""
SHORT_ANSWER = "short-answer"
"""`question_type` of any other question in MMMU's own results."""

# Source: MMMU-Benchmark/MMMU@bb0b95a mmmu/utils/data_utils.py, DOMAIN_CAT2SUB_CAT
DOMAINS = {
    "Art and Design": ("Art", "Art_Theory", "Design", "Music"),
    "Business": ("Accounting", "Economics", "Finance", "Manage", "Marketing"),
    "Science": ("Biology", "Chemistry", "Geography", "Math", "Physics"),
    "Health and Medicine": (
        "Basic_Medical_Science", "Clinical_Medicine", "Diagnostics_and_Laboratory_Medicine", "Pharmacy",
        "Public_Health",
    ),
    "Humanities and Social Science": ("History", "Literature", "Sociology", "Psychology"),
    "Tech and Engineering": (
        "Agriculture", "Architecture_and_Engineering", "Computer_Science", "Electronics", "Energy_and_Power",
        "Materials", "Mechanical_Engineering",
    ),
}  # fmt: skip
SUBJECTS = tuple(sorted(subject for subjects in DOMAINS.values() for subject in subjects))
"""The 30 subjects in the order in which the scripts walk them."""

DOMAIN_OF = {subject: domain for domain, subjects in DOMAINS.items() for subject in subjects}


def parse_subject(question: str) -> str:
    """Read the subject out of a question's id: what stands between the first and the last `_`.

    Example:
        >>> parse_subject("validation_Art_Theory_12"), parse_subject("nothing")
        ('Art_Theory', '')
    """
    return "_".join(question.split("_")[1:-1])


def parse_split(question: str) -> str | None:
    """Read the split out of a question's id: what stands before the first `_`; None where there is none.

    Example:
        >>> parse_split("validation_Art_Theory_12"), parse_split("nothing")
        ('validation', None)
    """
    return question.partition("_")[0] if "_" in question else None


def read_answers(value: Any, field: str) -> tuple[str, ...]:
    """Read a reference: a letter, a text, or a list of texts; none for null.

    Args:
        value: The reference as the file has it.
        field: Its name, for messages.

    Raises:
        RowError: `answer.type`.

    Example:
        >>> read_answers(["10", "10.0"], "answer"), read_answers(None, "answer")
        (('10', '10.0'), ())
    """
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(value, str) for value in values):
        raise RowError("answer.type", field, f"expected a text or a list of texts {show(value)}.")
    return tuple(values)
