"""Simulated models read what they are sent, obey with the probability they promise, and are the same every time."""

import asyncio
import math
import time
from itertools import pairwise

import pytest

from contextrot.errors import ConfigError, ContextOverflowError
from contextrot.messages import Reply, ToolCall, assistant, mentions, system, tool_result, user
from contextrot.models.base import Call, ModelSpec, Truth
from contextrot.models.simulated import COMMON, KINDS, Place, SimulatedModel, parse_id

RULE = "Always answer in JSON."
GOOD, BAD = Reply('{"ok": true}', finish_reason="stop"), Reply("No.")
TRUTH = Truth((RULE,), lambda obeyed: GOOD if obeyed[0] else BAD)


def sim(name, **more):
    return SimulatedModel(ModelSpec(f"sim/{name}", name, **more))


def call(*messages, seed=0, hint=TRUTH, **more):
    return Call(messages, seed=seed, hint=hint, **more)


async def share(model, messages, calls=2000, hint=TRUTH):
    """Share of compliant replies over many calls with other seeds."""
    replies = [await model.complete(call(*messages, seed=seed, hint=hint)) for seed in range(calls)]
    return sum(reply.content == GOOD.content for reply in replies) / calls


def close_to(expected, calls=2000):
    """Within 3.9 standard errors of a binomial share: a false alarm in 10,000."""
    return pytest.approx(expected, abs=3.9 * math.sqrt(max(expected * (1 - expected), 1e-9) / calls) + 1e-9)


async def test_it_obeys_what_it_can_read_and_only_that():
    model = sim("perfect")
    assert await share(model, [system(RULE), user("go")], 50) == 1.0
    assert await share(model, [user("go")], 50) == 0.0


async def test_the_evidence_counts_wherever_it_stands():
    model = sim("perfect")
    for messages in ([user(RULE), assistant("yes"), user("go")], [user("go"), user(f"note: {RULE} thanks")]):
        assert await share(model, messages, 5) == 1.0


async def test_what_needs_no_evidence_is_obeyed_by_chance_alone():
    hint = Truth((None,), TRUTH.reply)
    assert await share(sim("hazard?hazard=0.25"), [user("go")], hint=hint) == close_to(0.75)


@pytest.mark.parametrize("hazard", [0.0, 0.05, 0.3, 1.0])
async def test_the_hazard_is_the_promised_one(hazard):
    assert await share(sim(f"hazard?hazard={hazard}"), [system(RULE), user("go")]) == close_to(1 - hazard)


async def test_errors_of_one_session_are_independent_of_each_other():
    model = sim("hazard?hazard=0.5")
    replies = [(await model.complete(call(system(RULE), seed=seed))).content == "No." for seed in range(2000)]
    both = sum(a and b for a, b in pairwise(replies)) / 1999
    assert both == close_to(0.25)


CURVE = {8_000: 0.92, 32_000: 0.92, 64_000: 0.901, 128_000: 0.862, 256_000: 0.786, 512_000: 0.632, 1_000_000: 0.55}


@pytest.mark.parametrize(("tokens", "accuracy"), CURVE.items())
def test_the_decay_is_the_published_curve(tokens, accuracy):
    assert round(sim("decay").probability(Place(tokens, (0.0,))) + 1e-9, 3) == accuracy


@pytest.mark.parametrize("tokens", [8_000, 128_000, 512_000, 1_000_000])
async def test_prompts_of_that_size_are_answered_with_that_accuracy(tokens):
    model = sim("decay?window=1100000")
    filler = user("word " * (tokens - 13))
    sent = (await model.complete(call(system(RULE), filler))).usage.prompt_tokens
    assert sent == pytest.approx(tokens, rel=0.001)
    assert await share(model, [system(RULE), filler]) == close_to(CURVE[tokens])


async def test_the_u_shape_is_worst_in_the_middle():
    model = sim("ushape?edge=0.95&middle=0.4")
    filler = [user("word " * 200) for _ in range(20)]
    first = await share(model, [system(RULE), *filler])
    middle = await share(model, [*filler[:10], user(RULE), *filler[10:]])
    last = await share(model, [*filler, user(RULE)])
    assert first == close_to(0.95)
    assert last == close_to(0.95)
    assert middle == pytest.approx(0.4, abs=0.05)


async def test_a_rule_said_again_near_the_end_counts_by_its_best_place():
    model = sim("ushape?edge=1&middle=0")
    filler = [user("word " * 200) for _ in range(10)]
    assert await share(model, [*filler[:5], user(RULE), *filler[5:], user(RULE)], 50) == 1.0


async def test_guessing_without_the_evidence_is_off_unless_asked_for():
    assert await share(sim("perfect?guess=0.3"), [user("go")]) == close_to(0.3)


async def test_answers_depend_on_the_seeds_and_on_nothing_else():
    calls = [call(system(RULE), user("go"), seed=seed) for seed in range(100)]
    one, other = sim("hazard?hazard=0.5"), sim("hazard?hazard=0.5")
    forwards = [await one.complete(each) for each in calls]
    at_once = await asyncio.gather(*(other.complete(each) for each in reversed(calls)))
    assert forwards == list(reversed(at_once))
    third = sim("hazard?hazard=0.5&seed=1")
    assert forwards != [await third.complete(each) for each in calls]


async def test_a_lower_hazard_only_takes_errors_away():
    """The same seed gives the same draw, so two settings are compared pair by pair."""
    mild, harsh = sim("hazard?hazard=0.1"), sim("hazard?hazard=0.4")
    for seed in range(300):
        each = call(system(RULE), seed=seed)
        if (await mild.complete(each)).content == "No.":
            assert (await harsh.complete(each)).content == "No."


async def test_each_rule_of_several_is_kept_or_broken_on_its_own():
    hint = Truth((RULE, "Sign with X.", "never said"), lambda obeyed: Reply(" ".join(map(str, obeyed))))
    model = sim("hazard?hazard=0.4")
    said = [(await model.complete(call(user(RULE), user("Sign with X."), seed=n, hint=hint))).text for n in range(2000)]
    flags = [[word == "True" for word in text.split()] for text in said]
    assert sum(a for a, _, _ in flags) / 2000 == close_to(0.6)
    assert sum(a and b for a, b, _ in flags) / 2000 == close_to(0.36)
    assert not any(c for _, _, c in flags)


async def test_rules_no_reply_can_break_apart_give_way_before_the_probe_does():
    """The second rule cannot be broken here: the nearest reply is said, and the probe's share stays true."""
    hint = Truth((None, None), lambda obeyed: Reply(str(obeyed[0])) if obeyed[1] else None)
    model = sim("hazard?hazard=0.5")
    said = [(await model.complete(call(user("go"), seed=n, hint=hint))).text for n in range(2000)]
    assert set(said) == {"True", "False"}
    assert said.count("True") / 2000 == close_to(0.5)


async def test_a_tool_call_is_made_once_and_then_closed_with_text():
    made = ToolCall("c1", "book")
    hint = Truth((None,), lambda obeyed: Reply(None, (made,), "tool_calls"))
    model = sim("perfect")
    first = await model.complete(call(user("go"), hint=hint))
    assert first.tool_calls == (made,)
    second = await model.complete(call(user("go"), first.to_message(), tool_result("c1", "ok"), hint=hint))
    assert second.tool_calls == ()
    assert second.text


async def test_without_a_hint_it_says_something_varied_and_harmless():
    model = sim("perfect")
    said = {(await model.complete(call(user("hello"), seed=seed, hint=None))).content for seed in range(60)}
    assert len(said) > 4
    assert all(text.isascii() and not any(sign.isdigit() for sign in text) for text in said)


async def test_usage_is_counted_and_the_cache_is_unknown():
    reply = await sim("perfect").complete(call(system(RULE), user("one two three")))
    assert reply.usage.prompt_tokens > reply.usage.completion_tokens > 0
    assert reply.usage.cached_tokens is None


async def test_a_prompt_over_the_window_overflows():
    with pytest.raises(ContextOverflowError, match="20"):
        await sim("perfect?window=20").complete(call(user("word " * 50)))
    assert sim("perfect?window=20", window=9).window == 9


async def test_latency_is_waited_for_and_reported_exactly():
    started = time.perf_counter()
    reply = await sim("perfect?latency=0.05").complete(call(user("go")))
    assert time.perf_counter() - started >= 0.05
    assert reply.latency == 0.05
    assert (await sim("perfect").complete(call(user("go")))).latency == 0.0


async def test_a_call_late_in_a_long_session_costs_little():
    """Counts are kept, so a view of 400 known messages is summed and searched, not counted again."""
    model = sim("hazard")
    messages = [system(RULE), *(user(f"message {n} " + "with some more words " * 20) for n in range(400))]
    await model.complete(call(*messages))
    started = time.process_time()
    for seed in range(100):
        await model.complete(call(*messages, seed=seed))
    assert (time.process_time() - started) / 100 < 0.002


def test_parameters_can_stand_in_the_config_too():
    model = SimulatedModel(ModelSpec("sim/decay?base=0.8", "d", params={"floor": 0.1}))
    assert (model.values["base"], model.values["floor"]) == (0.8, 0.1)


@pytest.mark.parametrize(
    ("model_id", "words"),
    [
        ("sim/hazrd", "did you mean hazard"),
        ("sim/", "it can be perfect"),
        ("sim/hazard?hazzard=0.1", "did you mean hazard"),
        ("sim/hazard?hazard=1.5", "between 0 and 1"),
        ("sim/hazard?hazard=-1", "between 0 and 1"),
        ("sim/hazard?hazard=nan", "between"),
        ("sim/hazard?hazard=often", "has to be a number"),
        ("sim/hazard?hazard=0.1&hazard=0.2", "twice"),
        ("sim/hazard?0.1", "no parameter"),
        ("sim/hazard?base=0.1", "no parameter 'base'"),
        ("sim/perfect?window=0", "between 1"),
        ("sim/perfect?window=10.5", "whole"),
        ("sim/decay?base=0.5&floor=0.6", "above base"),
    ],
)
def test_a_name_or_parameter_that_does_not_exist_is_a_sentence(model_id, words):
    with pytest.raises(ConfigError, match=words):
        parse_id(model_id)


def test_every_kind_can_be_made_with_its_defaults():
    for name, kind in KINDS.items():
        assert sim(name).values.keys() == kind.settings.keys() | COMMON.keys()


@pytest.mark.parametrize(
    ("text", "evidence", "found"),
    [
        ("code BLUE-42.", "BLUE-42", True),
        ("code BLUE-421", "BLUE-42", False),
        ("code BLUE-421, then BLUE-42", "BLUE-42", True),
        ("room 117", "17", False),
        ("room 17", "17", True),
        ("", "17", False),
        ("(€5)", "€5", True),
    ],
)
def test_evidence_is_found_as_words_of_its_own(text, evidence, found):
    assert mentions(text, evidence) is found


async def test_what_it_cannot_do_it_never_does_and_the_rest_is_as_promised():
    hint = Truth(
        (RULE, RULE), lambda obeyed: Reply(" ".join(map(str, obeyed))), (frozenset({"recall"}), frozenset({"json"}))
    )
    replies = [
        await sim("hazard?hazard=0.25&cannot=recall").complete(call(system(RULE), seed=seed, hint=hint))
        for seed in range(2000)
    ]
    flags = [reply.content.split() for reply in replies]
    assert {first for first, _ in flags} == {"False"}
    assert sum(second == "True" for _, second in flags) / len(flags) == close_to(0.75)


async def test_without_the_types_of_the_checks_it_can_do_all():
    assert await share(sim("perfect?cannot=recall"), [system(RULE), user("go")], 20) == 1.0


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("perfect?cannot=recal", "no type of check 'recal'; did you mean recall"),
        ("perfect?cannot=", "no type of check ''"),
        ("perfect?cannot=recall&cannot=json", "cannot is given twice"),
        ("perfect?canot=recall", "no parameter 'canot'; did you mean cannot"),
    ],
)
def test_faulty_inabilities_are_sentences(model, sentence):
    with pytest.raises(ConfigError, match=sentence):
        sim(model)


@pytest.mark.parametrize("written", ["recall,json", "recall+json", "recall, json"])
def test_several_inabilities(written):
    assert sim(f"perfect?cannot={written}").cannot == {"recall", "json"}
