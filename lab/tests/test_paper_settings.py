"""The paper's best values for each data set, and the quick ones."""

from __future__ import annotations

import pytest

from unruly.errors import SettingsError
from unruly.settings import PaperSettings
from unruly_lab.paper_settings import QUICK, best_settings


@pytest.mark.parametrize(
    ("dataset", "hidden", "rate", "c1", "c3", "p"),
    [
        ("youtube", 128, 0.02, 0.2, 0.1, 2),
        ("imdb", 64, 0.02, 0.2, 0.2, 1),
        ("yelp", 128, 0.02, 0.2, 0.2, 1),
        ("agnews", 256, 0.05, 0.1, 0.1, 0),
        ("spouse", 256, 0.02, 0.2, 0.1, 0),
        ("spouse_bert", 256, 0.02, 0.2, 0.1, 0),
    ],
)
def test_the_papers_best(
    dataset: str, hidden: int, rate: float, c1: float, c3: float, p: int
) -> None:
    s = best_settings(dataset)
    assert (s.hidden, s.learning_rate, s.c1, s.c3, s.p) == (hidden, rate, c1, c3, p)
    assert (s.selection, s.epochs, s.batch_size, s.attention) == ("last", 500, None, "all")


def test_quick_differs_from_the_paper_in_what_saves_epochs() -> None:
    """Nothing else: its networks and losses are the paper's."""
    paper, quick = vars(PaperSettings()), vars(QUICK)
    assert {name: value for name, value in quick.items() if value != paper[name]} == {
        "batch_size": 256,
        "epochs": 40,
        "learning_rate": 0.003,
        "weight_decay": 0.01,
        "standardise": True,
        "attention": "voters",
        "reliability": "per-vote",
        "selection": "votes",
        "patience": 3,
    }


def test_unknown_data_set_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SettingsError, match="did you mean 'youtube'"):
        best_settings("yuotube")
