from mmconvert.kits.mmmu.subjects import DOMAINS, SUBJECTS
from mmscore.metrics.mmmu_accuracy import AccuracyShare, build_breakdown, mmmu_accuracy, parse_subject


def test_thirty_subjects_in_six_domains():
    assert (len(SUBJECTS), len(DOMAINS), SUBJECTS[0], SUBJECTS[-1]) == (30, 6, "Accounting", "Sociology")


def test_the_mean_counts_questions_not_subjects():
    assert mmmu_accuracy([AccuracyShare(1.0, 1), AccuracyShare(0.0, 3)]) == AccuracyShare(0.25, 4)


def test_a_subject_of_two_words_is_read_between_the_outer_underscores():
    assert parse_subject("validation_Diagnostics_and_Laboratory_Medicine_7") == "Diagnostics_and_Laboratory_Medicine"
    assert parse_subject("nothing") == ""


def test_the_table_lists_domains_in_order_and_counts_strangers_in_the_total_only():
    table = build_breakdown({"Physics": AccuracyShare(0.5, 2), "Astrology": AccuracyShare(1.0, 1)})
    assert [name for name in table if not name.startswith("Overall-")] == ["Physics", "Overall"]
    assert table["Overall-Science"] == AccuracyShare(0.5, 2)
    assert table["Overall-Business"] == AccuracyShare(0.0, 0)
    assert table["Overall"].count == 3
