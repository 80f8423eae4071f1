"""The subjects of MMMU and their domains."""

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
