"""Generated work: the size asked for, no turn twice, nothing that could pass for a fact, good English."""

from __future__ import annotations

import math
import re
import time
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import pytest

from contextrot.errors import ScenarioError
from contextrot.scenario import expand, load_scenario
from contextrot.scenario.filler import KINDS, MIN_TOKENS, generate, kinds
from contextrot.scenario.library import shipped
from contextrot.tokens import estimate

FIRST_KINDS = ("tickets", "notes", "small_talk")
LATER_KINDS = ("code_review", "incidents", "calendar", "email", "tutoring", "research")

#: What a kind may paste between fences, and the only forms of digits in it (see the kind's docstring).
PASTED = re.compile(r"```\w*\n.*?\n```", flags=re.DOTALL)
DIGITS_OF_PASTES = {
    "code_review": r"(?!)",
    "incidents": r"\b\d\d:\d\d:\d\d\.\d{3}\b|\b\d\.\d{4}s?\b|\b[a-f][0-9a-f]{6}\b",
}


def test_the_promised_generators_exist() -> None:
    assert set(kinds()) == {*FIRST_KINDS, *LATER_KINDS}


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", [MIN_TOKENS, 45, 60, 150, 700, 5000])
def test_sizes_are_within_ten_per_cent(kind: str, tokens: int) -> None:
    for index in range(60 if tokens < 1000 else 3):
        user, _ = generate(kind, "k", index, tokens)
        assert 0.9 * tokens <= estimate(user) <= 1.1 * tokens


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", [MIN_TOKENS, 150])
def test_sixty_turns_all_differ_and_look_like_text(kind: str, tokens: int) -> None:
    for key in ("a", "b", "c"):
        turns = [generate(kind, key, index, tokens) for index in range(60)]
        assert len({user for user, _ in turns}) == 60
        assert len({reply for _, reply in turns}) == 60
        for text in (part for turn in turns for part in turn):
            prose = PASTED.sub("\n", text)
            assert not re.search(r"\d|[A-Z]{2}|[{}<>`]|  | \n|\n ", prose), text
            assert re.fullmatch(r"[A-Z].*[.?!]", text, flags=re.DOTALL), text


@pytest.mark.parametrize("kind", DIGITS_OF_PASTES)
def test_pastes_hold_digits_in_the_promised_forms_only(kind: str) -> None:
    seen = 0
    for index in range(300):
        user, _ = generate(kind, "a", index, 200)
        for paste in PASTED.findall(user):
            seen += 1
            assert not re.search(r"\d|<\w+>", re.sub(DIGITS_OF_PASTES[kind], "", paste)), paste
    assert seen > 300


def test_only_kinds_with_pastes_hold_fences() -> None:
    pasting = {kind for kind in kinds() if any("```" in generate(kind, "a", index, 150)[0] for index in range(20))}
    assert pasting == set(DIGITS_OF_PASTES)


def test_the_clock_of_an_incident_goes_on_from_turn_to_turn() -> None:
    key = "a"
    times = [re.findall(r"\d\d:\d\d:\d\d\.\d{3}", generate("incidents", key, index, 120)[0]) for index in range(40)]
    flat = [moment for turn in times for moment in turn]
    falls = sum(later < earlier for earlier, later in pairwise(flat))
    assert len(flat) > 30
    assert falls <= 1, "at most midnight"


def test_a_paste_is_about_what_the_opening_names() -> None:
    about = 0
    for index in range(60):
        user, reply = generate("incidents", "a", index, 60)
        subject = next(word for word in KINDS["incidents"].slots[0] if word in reply)
        about += subject.removeprefix("the ").replace(" ", "_") in user
    assert about > 25


@pytest.mark.parametrize("kind", kinds())
def test_the_key_decides_the_session(kind: str) -> None:
    assert generate(kind, "a", 3) == generate(kind, "a", 3)
    assert [generate(kind, "a", i)[0] for i in range(5)] != [generate(kind, "b", i)[0] for i in range(5)]


@pytest.mark.parametrize("kind", kinds())
def test_what_a_turn_is_about_never_comes_back_in_a_thousand_turns(kind: str) -> None:
    slots = KINDS[kind].slots
    seen = set()
    for index in range(1000):
        _, reply = generate(kind, "a", index, MIN_TOKENS)
        low = reply[0].lower() + reply[1:]
        seen.add(tuple(max((word for word in slot if word in low), key=len) for slot in slots))
    assert len(seen) == 1000


@pytest.mark.parametrize("kind", LATER_KINDS)
def test_no_word_of_the_opening_stays_for_a_second_turn(kind: str) -> None:
    slots = KINDS[kind].slots
    for key in ("a", "b"):
        replies = [generate(kind, key, index, 60)[1] for index in range(30)]
        for slot in slots:
            words = [max((word for word in slot if word in reply[0].lower() + reply[1:]), key=len) for reply in replies]
            assert all(one != other for one, other in pairwise(words))


@pytest.mark.parametrize("kind", LATER_KINDS)
def test_there_is_material_for_long_sessions(kind: str) -> None:
    material = KINDS[kind]
    assert len(material.openings) >= 10
    assert len(material.details) >= 40
    assert len(material.closers) >= 15
    assert len(material.replies) >= 20
    assert all(len(slot) >= 10 for slot in material.slots)
    for texts in (material.openings, material.details, material.closers, material.replies, *material.slots):
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("kind", kinds())
def test_openings_and_replies_hold_every_slot_once(kind: str) -> None:
    material = KINDS[kind]
    fields = sorted(f"{{{number}}}" for number in range(len(material.slots)))
    for template in (*material.openings, *material.replies):
        assert sorted(re.findall(r"\{\d\}", template)) == fields, template
    sizes = [len(slot) for slot in material.slots]
    assert all(math.gcd(one, other) == 1 for i, one in enumerate(sizes) for other in sizes[:i])


@pytest.mark.parametrize("kind", kinds())
def test_filler_is_plain_english_prose(kind: str) -> None:
    """A check of the reply's language must not be drawn off by foreign words or letters of the filler."""
    for index in range(40):
        for part in generate(kind, "a", index, 150):
            prose = PASTED.sub(" ", part)
            words = re.findall(r"[a-z']+", prose.lower())
            common = {
                "the",
                "a",
                "to",
                "is",
                "that",
                "of",
                "and",
                "it",
                "i",
                "in",
                "for",
                "was",
                "we",
                "on",
                "at",
                "as",
            }
            assert part.isascii()
            assert sum(word in common for word in words) >= 0.1 * len(words), part


def test_kinds_say_what_they_are_about() -> None:
    assert {kind: KINDS[kind].topic for kind in ("calendar", "email", "incidents", "code_review")} == {
        "calendar": "office",
        "email": "office",
        "incidents": "operations",
        "code_review": "software",
    }
    assert all(material.topic for material in KINDS.values())


def test_a_sentence_is_not_said_twice_in_one_ordinary_turn() -> None:
    for kind in kinds():
        for index in range(20):
            sentences = re.split(r"(?<=[.?!]) ", generate(kind, "a", index, 200)[0])
            assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("kind", kinds())
def test_no_scripted_value_of_a_shipped_scenario_appears(kind: str) -> None:
    """A value that filler says by chance would let a probe pass without memory."""
    written = "\n".join(entry.path.read_text(encoding="utf-8") for entry in shipped())
    values = {value.strip(" '\"") for line in re.findall(r"values: \[([^\]]+)\]", written) for value in line.split(",")}
    assert len(values) > 10
    said = "\n".join(part for index in range(150) for part in generate(kind, "a", index, 150)).lower()
    found = {value for value in values if re.search(rf"(?<![\w.:]){re.escape(value.lower())}(?![\w:]|\.\d)", said)}
    assert not found


def test_the_first_kinds_are_word_for_word_what_recorded_runs_hold() -> None:
    digest = blake2b(digest_size=16)
    for kind in FIRST_KINDS:
        for key in ("a", "project-code:1:0", "zz"):
            for index in (0, 1, 2, 3, 17, 59, 400):
                for tokens in (30, 45, 60, 150, 700, 5000):
                    for part in generate(kind, key, index, tokens):
                        digest.update(part.encode())
    assert digest.hexdigest() == "4e9e6d94bee856dcc4892074f53f9b3d"


@pytest.mark.parametrize("kind", LATER_KINDS)
def test_cost_grows_with_the_size_and_no_faster(kind: str) -> None:
    def seconds(tokens: int) -> float:
        started = time.process_time()
        for index in range(4):
            generate(kind, "cost", index, tokens)
        return time.process_time() - started

    seconds(1_000)
    small, large = (min(seconds(tokens) for _ in range(5)) for tokens in (1_000, 20_000))
    assert large < 4 * 20 * small


def test_a_generator_goes_on_when_ones_own_turns_have_run_out(tmp_path: Path) -> None:
    text = (
        "contextrot: 1\nid: own\nfiller: {items: [Begin., Go on.], then: email, tokens_per_turn: 60}\n"
        "session: {turns: 6, history: scripted}\n"
        "probes: [{id: p, ask: Ready?, at: end, check: {type: keyword, any: [aye]}}]\n"
    )
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    turns = expand(load_scenario(path), seed=0, repeat=0).turns
    assert [turn.user for turn in turns[:2]] == ["Begin.", "Go on."]
    later = [turn.user for turn in turns[2:]]
    assert len(set(later)) == 4
    assert all(54 <= estimate(said) <= 66 for said in later)
    path.write_text(text.replace(", then: email", ""), encoding="utf-8")
    again = expand(load_scenario(path), seed=0, repeat=0).turns
    assert [turn.user for turn in again[2:4]] == ["Begin.", "Go on."]


def test_a_generator_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "contextrot: 1\nid: own\nfiller: {kind: notes, then: email}\nsession: {turns: 6}\n"
        "probes: [{id: p, ask: Ready?, at: end, check: {type: keyword, any: [aye]}}]\n",
        encoding="utf-8",
    )
    with pytest.raises(ScenarioError, match="a generator never runs out"):
        load_scenario(path)
    path.write_text(path.read_text().replace("kind: notes, then: email", "items: [a], then: emial"), encoding="utf-8")
    with pytest.raises(ScenarioError, match="did you mean `email`"):
        load_scenario(path)
