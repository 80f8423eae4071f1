from mmconvert.kits.mmmu.subjects import DOMAINS, SUBJECTS, parse_split, parse_subject


def test_thirty_subjects_in_six_domains():
    assert (len(SUBJECTS), len(DOMAINS), SUBJECTS[0], SUBJECTS[-1]) == (30, 6, "Accounting", "Sociology")


def test_a_subject_of_several_words_is_read_between_the_outer_underscores():
    assert parse_subject("validation_Diagnostics_and_Laboratory_Medicine_7") == "Diagnostics_and_Laboratory_Medicine"
    assert parse_subject("nothing") == ""


def test_a_split_stands_before_the_first_underscore():
    assert [parse_split(id) for id in ("dev_Art_Theory_1", "test_Math", "nothing")] == ["dev", "test", None]
