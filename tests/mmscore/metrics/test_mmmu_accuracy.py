from mmscore.metrics.mmmu_accuracy import AccuracyShare, build_breakdown, mmmu_accuracy


def test_the_mean_counts_questions_not_subjects():
    assert mmmu_accuracy([AccuracyShare(1.0, 1), AccuracyShare(0.0, 3)]) == AccuracyShare(0.25, 4)


def test_the_table_lists_domains_in_order_and_counts_strangers_in_the_total_only():
    table = build_breakdown({"Physics": AccuracyShare(0.5, 2), "Astrology": AccuracyShare(1.0, 1)})
    assert [name for name in table if not name.startswith("Overall-")] == ["Physics", "Overall"]
    assert table["Overall-Science"] == AccuracyShare(0.5, 2)
    assert table["Overall-Business"] == AccuracyShare(0.0, 0)
    assert table["Overall"].count == 3
