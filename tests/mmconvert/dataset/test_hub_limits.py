import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.hub_limits import check_limits, refuse_beyond

GIGABYTE = 10**9


def broken(files, sent=1, private=False):
    return [limit.name for limit in check_limits(files, sent, private=private) if not limit.kept]


@pytest.mark.parametrize(
    ("files", "sent", "private", "names"),
    [
        ({"data/a": GIGABYTE}, 3, True, []),
        ({"data/a": 201 * GIGABYTE}, 1, False, ["recommended bytes of a file"]),
        ({"data/a": 1}, 101, False, ["recommended files of a commit"]),
        ({f"{n}/a": 99 * GIGABYTE for n in range(11)}, 1, False, ["bytes of a repository"]),
        ({f"{n}/a": 60 * GIGABYTE for n in range(2)}, 1, True, ["bytes of a free account's private repositories"]),
        ({f"{n % 11}/{n}": 1 for n in range(100_001)}, 1, False, ["recommended files of a repository"]),
    ],
)
@pytest.mark.slow
def test_what_is_beyond_a_recommendation_is_named_and_not_refused(files, sent, private, names):
    assert broken(files, sent, private) == names
    refuse_beyond("user/demo", check_limits(files, sent, private=private))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({f"data/{n}": 1 for n in range(10_001)}, "files in a folder: 10,001 of 10,000. Write fewer shards"),
        ({"data/a": 501 * GIGABYTE}, "bytes of the largest file: 501,000,000,000 of 500,000,000,000."),
    ],
)
def test_what_the_hub_refuses_is_refused(files, message):
    with pytest.raises(Error, match=message):
        refuse_beyond("user/demo", check_limits(files, 1))
