"""The one retry layer: what is asked again, how long it waits, and what a rate limit means for the others."""

import asyncio
import heapq
import time

import pytest

from contextrot.bench.gate import Gate
from contextrot.errors import (
    ContextOverflowError,
    MissingKeyError,
    ModelError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
)
from contextrot.messages import Reply, user
from contextrot.models.base import Call, ModelSpec

CALL = Call((user("hello"),))


class Clock:
    """Time that passes only while all wait: `sleep` parks the task, `run` wakes the earliest."""

    def __init__(self):
        self.now = 0.0
        self.parked = []
        self.count = 0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.count += 1
        ticket = asyncio.get_running_loop().create_future()
        heapq.heappush(self.parked, (self.now + seconds, self.count, ticket))
        await ticket

    async def run(self, *coroutines):
        tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
        while not all(task.done() for task in tasks):
            for _ in range(50):
                await asyncio.sleep(0)
            if self.parked and not all(task.done() for task in tasks):
                moment, _, ticket = heapq.heappop(self.parked)
                self.now = max(self.now, moment)
                if not ticket.done():
                    ticket.set_result(None)
        return await asyncio.gather(*tasks, return_exceptions=True)


class Scripted:
    """A model that raises or answers what it is told, in order; the last repeats. Each call takes `takes` seconds."""

    spec = ModelSpec("x", "x")
    window = None
    simulated = False
    parallel = None
    count_tokens = None

    def __init__(self, clock, *script, takes=0.0):
        self.clock, self.script, self.takes = clock, list(script), takes
        self.started, self.running, self.most = [], 0, 0
        self.timeouts = []

    async def complete(self, call):
        self.started.append(self.clock())
        self.timeouts.append(call.timeout)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.clock.sleep(self.takes)
            act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            if isinstance(act, Exception):
                raise act
            return act
        finally:
            self.running -= 1

    async def close(self):
        pass


@pytest.fixture
def clock():
    return Clock()


def gate_for(model, clock, **more):
    return Gate(model, clock=clock, sleep=clock.sleep, **more)


async def test_an_answer_at_once_costs_one_attempt_and_no_waiting(clock):
    gate = gate_for(Scripted(clock, Reply("a")), clock)
    [result] = await clock.run(gate.complete(CALL))
    assert (result.reply.content, result.attempts, result.waited) == ("a", 1, 0.0)


@pytest.mark.parametrize("error", [ServerError("500"), ModelTimeoutError("late"), RateLimitError("slow down")])
async def test_what_may_be_better_next_time_is_asked_again(clock, error):
    model = Scripted(clock, error, error, Reply("a"))
    [result] = await clock.run(gate_for(model, clock).complete(CALL))
    assert (result.reply.content, result.attempts) == ("a", 3)
    assert result.waited == pytest.approx(model.started[-1])


@pytest.mark.parametrize("error", [ContextOverflowError("long"), MissingKeyError("key"), ModelError("refused")])
async def test_what_will_not_be_better_is_never_asked_again(clock, error):
    model = Scripted(clock, error, Reply("a"))
    [result] = await clock.run(gate_for(model, clock).complete(CALL))
    assert result is error
    assert len(model.started) == 1


async def test_a_failing_check_is_no_business_of_the_gate(clock):
    model = Scripted(clock, Reply(None, refusal="I cannot"))
    [result] = await clock.run(gate_for(model, clock).complete(CALL))
    assert (result.reply.refusal, result.attempts) == ("I cannot", 1)


async def test_it_gives_up_with_the_servers_own_words_and_keeps_the_class(clock):
    model = Scripted(clock, ServerError("boom"))
    [result] = await clock.run(gate_for(model, clock, max_attempts=4).complete(CALL))
    assert type(result) is ServerError
    assert "boom" in str(result)
    assert "4 attempts" in str(result)
    assert result.attempts == len(model.started) == 4


async def waits(seed):
    clock = Clock()
    await clock.run(gate_for(Scripted(clock, ServerError("boom")), clock, max_attempts=9, seed=seed).complete(CALL))
    return [seconds for seconds in clock.slept if seconds > 0]


async def test_waits_grow_are_drawn_by_seed_and_stay_under_their_bound():
    drawn = await waits(1)
    assert drawn == await waits(1) != await waits(2)
    assert len(drawn) == 8
    assert all(0 <= seconds <= min(60, 2**attempt) for attempt, seconds in enumerate(drawn))
    assert max(drawn) > 2


async def test_a_servers_wish_is_never_cut_short(clock):
    model = Scripted(clock, RateLimitError("slow", retry_after=40), Reply("a"))
    [result] = await clock.run(gate_for(model, clock).complete(CALL))
    assert 40 <= result.waited <= 41
    assert model.started[1] >= 40


async def test_a_wish_to_wait_for_an_hour_is_told_to_the_user_instead(clock):
    model = Scripted(clock, RateLimitError("daily limit", retry_after=3600), Reply("a"))
    [result] = await clock.run(gate_for(model, clock).complete(CALL))
    assert type(result) is RateLimitError
    assert "3,600 s" in str(result)
    assert clock.now == 0


async def test_all_waiting_of_one_call_is_bounded(clock):
    model = Scripted(clock, RateLimitError("slow", retry_after=100))
    [result] = await clock.run(gate_for(model, clock, max_attempts=99, patience=350).complete(CALL))
    assert type(result) is RateLimitError
    assert clock.now <= 350


async def test_no_more_calls_run_at_once_than_allowed(clock):
    model = Scripted(clock, Reply("a"), takes=1)
    await clock.run(*(gate.complete(CALL) for gate in [gate_for(model, clock, concurrency=3)] for _ in range(10)))
    assert model.most == 3
    assert clock.now == pytest.approx(4)


async def test_the_models_own_limit_lowers_it(clock):
    model = Scripted(clock, Reply("a"), takes=1)
    model.parallel = 1
    gate = gate_for(model, clock, concurrency=8)
    await clock.run(*(gate.complete(CALL) for _ in range(3)))
    assert model.most == 1


async def test_a_rate_limit_pauses_the_others_too(clock):
    model = Scripted(clock, RateLimitError("slow", retry_after=30), Reply("a"), takes=1)
    gate = gate_for(model, clock, concurrency=1)
    await clock.run(*(gate.complete(CALL) for _ in range(4)))
    assert model.started[0] == 0
    assert min(model.started[1:]) >= 31


async def test_a_rate_limit_halves_the_concurrency_once_and_success_wins_it_back(clock):
    burst = [RateLimitError("slow", retry_after=5) for _ in range(8)]
    model = Scripted(clock, *burst, Reply("a"), takes=1)
    gate = gate_for(model, clock, concurrency=8)
    await clock.run(*(gate.complete(CALL) for _ in range(8)))
    assert gate.limit == 4, "eight calls of one burst are one piece of news"
    model.most = 0
    await clock.run(*(gate.complete(CALL) for _ in range(12)))
    assert model.most <= 6
    await clock.run(*(gate.complete(CALL) for _ in range(40)))
    assert gate.limit == 8


async def test_the_concurrency_never_falls_below_one(clock):
    model = Scripted(clock, *[RateLimitError("slow", retry_after=1) for _ in range(5)], Reply("a"))
    gate = gate_for(model, clock, concurrency=4)
    [result] = await clock.run(gate.complete(CALL))
    assert (result.attempts, gate.limit) == (6, 1)


async def test_who_shows_progress_hears_of_each_wait(clock):
    heard = []
    model = Scripted(clock, RateLimitError("slow down", retry_after=2), Reply("a"))
    await clock.run(gate_for(model, clock, on_wait=lambda *told: heard.append(told)).complete(CALL))
    [(seconds, reason)] = heard
    assert seconds >= 2
    assert reason == "slow down"


async def test_the_gates_time_limit_replaces_the_calls(clock):
    model = Scripted(clock, Reply("a"))
    await clock.run(gate_for(model, clock, timeout=7).complete(CALL))
    assert model.timeouts == [7]


async def test_a_cancelled_call_gives_its_place_back():
    model = Scripted(time.monotonic, Reply("a"))
    model.complete = lambda _: asyncio.sleep(60)
    gate = Gate(model, concurrency=1)
    tasks = [asyncio.create_task(gate.complete(CALL)) for _ in range(4)]
    await asyncio.sleep(0.01)
    assert gate.in_flight == 1
    for task in (tasks[1], tasks[0], tasks[3], tasks[2]):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert gate.in_flight == 0
    model.complete = lambda _: asyncio.sleep(0, Reply("a"))
    assert (await asyncio.wait_for(gate.complete(CALL), 1)).reply.content == "a"


async def test_a_place_handed_to_a_call_cancelled_in_the_same_moment_is_passed_on():
    release = asyncio.Event()

    class Held(Scripted):
        async def complete(self, call):
            await release.wait()
            return Reply("a")

    gate = Gate(Held(time.monotonic, Reply("a")), concurrency=1)
    first = asyncio.create_task(gate.complete(CALL))
    second = asyncio.create_task(gate.complete(CALL))
    third = asyncio.create_task(gate.complete(CALL))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    release.set()
    await first
    second.cancel()
    assert (await asyncio.wait_for(third, 1)).reply.content == "a"
    await asyncio.gather(second, return_exceptions=True)
    assert gate.in_flight == 0


async def test_a_fault_in_our_own_code_is_not_hidden(clock):
    model = Scripted(clock, KeyError("bug"))
    gate = gate_for(model, clock)
    [result] = await clock.run(gate.complete(CALL))
    assert isinstance(result, KeyError)
    assert gate.in_flight == 0
