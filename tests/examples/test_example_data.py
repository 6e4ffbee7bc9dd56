"""The worlds that examples learn from: those who judge what a model made judge rightly."""

from __future__ import annotations

from types import ModuleType

import pytest

import tinytensor as tt

from .test_plots import EXAMPLES, load

reviews = load("reviews")


@pytest.fixture
def moving_shapes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))  # it imports what is beside it
    return load("moving_shapes")


# ------------------------------------------------------------------------------------------
# Videos of moving shapes
# ------------------------------------------------------------------------------------------


def test_the_judge_says_what_a_film_shows(moving_shapes: ModuleType) -> None:
    tt.manual_seed(0)
    prompts = moving_shapes.PROMPTS
    videos = moving_shapes.film(prompts)
    assert videos.shape == (180, 8, 3, 16, 16)
    assert videos.min() == 0 and 0.9 < videos.max() <= 1
    faint = videos + 0.05 * tt.randn(*videos.shape)
    assert tt.equal(moving_shapes.judge(videos), prompts)
    assert tt.equal(moving_shapes.judge(faint), prompts)


def test_the_judge_sees_each_change(moving_shapes: ModuleType) -> None:
    tt.manual_seed(0)
    prompts = tt.tensor([moving_shapes.number("red", "triangle", "up-right")])
    video = moving_shapes.film(prompts)
    changed = {
        "red triangle down-left": video.flip(1),  # played backwards
        "red triangle up-left": video.flip(4),  # seen in a mirror
        "blue triangle up-right": video.flip(2) * tt.tensor([1.0, 2.0, 1.0]).reshape(3, 1, 1),
        "red triangle still": video[:, 3:4].expand(1, 8, 3, 16, 16),
    }
    for words, other in changed.items():
        assert moving_shapes.text(moving_shapes.judge(other)[0]) == words


def test_the_judge_is_not_won_by_noise(moving_shapes: ModuleType) -> None:
    tt.manual_seed(0)
    prompts = moving_shapes.PROMPTS
    for videos in (tt.rand(180, 8, 3, 16, 16), tt.zeros(180, 8, 3, 16, 16)):
        right = (moving_shapes.judge(videos) == prompts).all(dim=1)
        assert right.float().mean() < 0.05


# ------------------------------------------------------------------------------------------
# Reviews, and their reader
# ------------------------------------------------------------------------------------------

SCORES = {
    "the soup was fresh .": 1,
    "the soup was very fresh .": 2,
    "the soup was stale and the staff was very rude .": -3,
    "the room was simple .": 0,
    "the soup was fresh and the bread was fresh .": 0,  # 1 − 1: said before
    "the soup was stale and the bread was stale .": -2,
    "the soup was fresh": -4,
    "the soup was very very fresh .": -4,
    "fresh fresh fresh .": -4,
    ".": -4,
}


@pytest.mark.parametrize("text", SCORES)
def test_the_score_of_a_review(text: str) -> None:
    assert reviews.score(text.split()) == SCORES[text]


def test_reviews_are_understood_and_come_back() -> None:
    tt.manual_seed(0)
    written = [reviews.review() for _ in range(300)]
    scores = [reviews.score(words) for words in written]
    assert all(reviews.REVIEW.fullmatch(" ".join(words)) for words in written)
    assert min(scores) < 0 < max(scores)
    assert max(map(len, written)) <= reviews.LENGTH
    assert reviews.words_of(reviews.ids_of(written)) == written


def test_an_answer_goes_from_the_prompt_to_the_full_stop() -> None:
    ids = reviews.ids_of([["the", "soup", "was", "fresh", "."], ["the"] * reviews.LENGTH])
    said, endless = reviews.is_answer(ids).tolist()
    assert said == [False, True, True, True] + [False] * (reviews.LENGTH - 5)
    assert endless == [False] + [True] * (reviews.LENGTH - 2)
    begins = reviews.words_of(reviews.prompts(8))
    assert begins[0] == begins[6] == ["the", "soup"] and begins[1] == ["the", "bread"]


def test_the_reader_wavers_between_what_is_nearly_as_good() -> None:
    tt.manual_seed(0)
    good, fair, bad = (
        f"the soup was {words} .".split() for words in ("very fresh", "fresh", "very stale")
    )
    often = sum(reviews.prefers(good, fair) for _ in range(1000)) / 1000
    assert often == pytest.approx(0.731, abs=0.04)  # σ(1)
    assert sum(reviews.prefers(bad, good) for _ in range(1000)) < 50  # σ(−4) = 0.018
