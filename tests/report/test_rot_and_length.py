"""Is it rot, how long, and why: what the sentences claim and what they leave open, in both directions."""

from __future__ import annotations

import pytest
from run_writer import PROBED, SessionWriter, write_controls, write_manifest, write_session

from contextrot import check
from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run
from contextrot.report import words
from contextrot.report.findings import control_warnings, findings, next_step
from contextrot.report.markdown import render


def told(folder):
    return summarise(load_run(folder))


def session(folder, repeat, outcomes, strategy="full", **fields):
    """A session whose probe at each turn has the outcome given for it; the rest pass."""
    writer = SessionWriter(folder, f"s-{strategy}-{repeat}", strategy=strategy, repeat=repeat)
    for turn in PROBED:
        outcome = outcomes.get(turn, "pass")
        writer.verdict(turn, outcome, **({"cause": "ignored"} | fields if outcome == "fail" else {}))
    writer.end(24)


# ---- rot or an error rate


def test_what_fails_later_and_later_more_is_said_to_fall(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(8):
        session(tmp_path, repeat, dict.fromkeys(PROBED[5 + repeat % 3 :], "fail"))
    (group,) = told(tmp_path).groups
    assert group.pattern == "falls"
    assert words.rot_text(group).startswith("falls with the turns (−")
    assert "points per 10 turns, p < 0.001)" in words.rot_text(group)
    assert f"Is it rot? `full`: {words.rot_text(group)}." in findings([group])


def test_a_constant_error_rate_is_no_rot(tmp_path):
    """One failure a session, at a turn that goes round: nothing falls, and the words say what explains it."""
    write_manifest(tmp_path)
    for repeat in range(24):
        session(tmp_path, repeat, {PROBED[1 + repeat % 8]: "fail", PROBED[1 + (repeat + 3) % 8]: "fail"})
    (group,) = told(tmp_path).groups
    assert group.causes["ignored"] == group.causes["fails"] > 0  # ignored, every one of them, and no rot
    assert group.pattern in ("constant", "uneven")
    assert "falls" not in words.rot_text(group)
    assert words.rot_text(group).startswith("no trend seen (p ")
    assert "rot" not in words.DEFINITIONS["ignored"].partition("Whether")[0]


def test_too_few_failures_tell_nothing_and_no_line_is_given(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(8):
        session(tmp_path, repeat, {12: "fail"} if repeat == 0 else {})
    (group,) = told(tmp_path).groups
    assert (group.pattern, words.rot_text(group)) == ("few", "too few failures to tell")
    assert not any("Is it rot?" in sentence for sentence in findings([group]))


def test_what_never_fails_and_what_always_fails(tmp_path):
    for name, outcome, pattern in (("well", "pass", ""), ("broken", "fail", "always")):
        write_manifest(tmp_path / name)
        for repeat in range(6):
            session(tmp_path / name, repeat, dict.fromkeys(PROBED[1:], outcome))
        assert told(tmp_path / name).groups[0].pattern == pattern


def test_a_fall_of_what_was_dropped_is_named_as_that(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(8):
        write_session(tmp_path, "fifo", repeat, lost_from=9 + 3 * (repeat % 3))
    (group,) = told(tmp_path).groups
    assert words.rot_text(group).endswith("as what it was told left the prompt")


# ---- sessions that could not be followed


@pytest.fixture
def flattered(tmp_path):
    """`fifo` of which four in five are truncated from turn 12 on, and `full` which fails at turn 15."""
    write_manifest(tmp_path)
    for repeat in range(5):
        cut = dict.fromkeys(PROBED[4:], "truncated")
        session(tmp_path, repeat, cut if repeat else {21: "fail"}, strategy="fifo")
        session(tmp_path, repeat, dict.fromkeys(PROBED[5:], "fail"), strategy="full")
    return told(tmp_path)


def test_sessions_that_nobody_could_follow_are_counted_and_not_ranked(flattered):
    groups = {group.strategy: group for group in flattered.groups}
    length = groups["fifo"].length
    assert (length.unfollowed, length.unfollowed_why, length.followed) == ({"9": 4}, {"truncated": 4}, False)
    assert length.restricted_mean > groups["full"].length.restricted_mean  # what flatters it
    found = findings(flattered.groups)
    assert found[0].startswith("`full`")
    assert found[1].startswith("`fifo`")
    assert "4 of 5 could not be followed beyond turn 9: truncated replies, so its length is not ranked." in found[1]
    assert words.length_text(groups["fifo"]).endswith("; 4 of 5 not followed")
    assert "not ranked by length: 4 of 5 could not be followed" in words.note_text(groups["fifo"])
    assert groups["fifo"].pattern == "few"  # those that are left say nothing of the trend


def test_sessions_that_came_to_their_end_are_followed(tmp_path):
    """A reply truncated on the way hides nothing; nor does one session of five at the end."""
    write_manifest(tmp_path)
    for repeat in range(5):
        session(tmp_path, repeat, {12: "truncated"} if repeat else {24: "truncated"})
    (group,) = told(tmp_path).groups
    assert group.length.unfollowed == {"21": 1}
    assert group.length.followed
    assert "not followed" not in words.length_text(group)
    assert "not ranked" not in words.note_text(group)


# ---- an old value for a new one


def test_an_old_value_is_told_apart_from_a_forgotten_one(tmp_path):
    reason = check({"type": "recall", "value": "NEW-2", "superseded": ["OLD-1"]}, "It is OLD-1.").reason
    for name, why in (("old", reason), ("none", "the reply does not say 'NEW-2'")):
        write_manifest(tmp_path / name)
        for repeat in range(5):
            session(tmp_path / name, repeat, {12: "fail", 18: "fail"}, reason=why)
    old, none = (told(tmp_path / name).groups[0] for name in ("old", "none"))
    assert (old.superseded, old.outdated) == (10, True)
    assert (none.superseded, none.outdated) == (0, False)
    assert "(in 10 of its 10 ignored checks it gives the value from before the change)" in findings([old])[0]
    assert "before the change" not in findings([none])[0]


# ---- controls, levels, first failures


def test_a_control_that_cannot_speak_is_warned_of(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0)
    for repeat in range(5):
        for side, outcome in (("ceiling", "pass" if repeat else "fail"), ("floor", "truncated")):
            control = SessionWriter(tmp_path, f"c-{side}-{repeat}", strategy="control", control=True, repeat=repeat)
            control.verdict(0, outcome, kind=side)
            control.end(0)
    summary = told(tmp_path)
    (control,) = summary.controls
    assert (control.unheard, control.weak) == (["floor"], True)
    said = " ".join(control_warnings(summary))
    assert "no floor control could be decided (5 truncated, empty or failed)" in said
    assert "only 80 % of its ceiling controls pass when fresh" in said
    assert "floor never decided: says nothing; failures measure skill as well" in render(summary)


def test_controls_that_speak_are_not_warned_of(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0)
    write_controls(tmp_path)
    summary = told(tmp_path)
    assert summary.controls
    assert control_warnings(summary) == []


def test_the_level_and_the_recommendation_have_names_of_their_own(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(5):
        write_session(tmp_path, "full", repeat, ignored_from=15)
    text = render(told(tmp_path))
    assert "rotate by turn (recommended)" in text
    assert "| ROTATE level (≥ 80 % full) |" in text
    assert "ROTATE at" not in text


def test_the_first_failure_says_where_the_fresh_session_is_passed_over(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(5):
        session(tmp_path, repeat, {12: "fail"} if repeat else {0: "fail"})
    assert "the first failure after the fresh session of `full`" in next_step(told(tmp_path), tmp_path)[1]
    write_manifest(tmp_path / "later")
    for repeat in range(5):
        session(tmp_path / "later", repeat, {12: "fail"})
    assert "the first failure of `full`" in next_step(told(tmp_path / "later"), tmp_path)[1]
