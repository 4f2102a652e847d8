"""The user's own agent: made fresh, fed in its own way, and its faults told as sentences."""

import asyncio
import sys
import textwrap
import time

import pytest

from contextrot.errors import ConfigError, ModelError, ModelTimeoutError
from contextrot.models.base import ModelSpec
from contextrot.models.callables import AgentModel

SOURCE = '''
import asyncio, sqlite3, threading, time
from contextrot.messages import Reply

class Echo:
    """Keeps its history; plain."""
    def __init__(self): self.heard = []
    def feed(self, text):
        self.heard.append(text)
        return " | ".join(self.heard)

class Async(Echo):
    def __init__(self):
        super().__init__()
        self.loop = asyncio.get_running_loop()
    async def feed(self, text):
        await asyncio.sleep(0)
        return super().feed(text)

async def make_async(): return Async()

class Database:
    """Usable only on the thread that opened it, and not to be copied."""
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table said (text)")
    def feed(self, text):
        self.db.execute("insert into said values (?)", (text,))
        return str(self.db.execute("select count(*) from said").fetchone()[0])
    def close(self):
        self.db.close()
        closed.append(True)

closed = []

class Forking(Database):
    def fork(self):
        other = Forking()
        for (text,) in self.db.execute("select text from said").fetchall(): other.feed(text)
        return other

class Dict:
    def feed(self, text):
        return {"content": None, "tool_calls": [{"id": "1", "function": {"name": "book", "arguments": "{}"}}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 2}, "model": "mine"}

class Completion:
    def feed(self, text):
        return {"choices": [{"message": {"content": "raw"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}

class Direct:
    def feed(self, text): return Reply("direct", finish_reason="length")

class Silent:
    def feed(self, text): return None

class Number:
    def feed(self, text): return 42

class Raises:
    def feed(self, text): raise KeyError("no such ticket")

class Exits:
    def feed(self, text): raise SystemExit(3)

class OwnTimeout:
    def feed(self, text): raise TimeoutError("the database was slow")

class Slow:
    def feed(self, text):
        time.sleep(0.5)
        return "late"

class SlowAsync:
    async def feed(self, text):
        await asyncio.sleep(30)

class Maker:
    make = Echo

def broken(): raise RuntimeError("no config file")
def no_feed(): return object()
def lambda_like():
    agent = Echo()
    agent.feed = lambda text: asyncio.sleep(0, "awaited")
    return agent
not_callable = 3
'''


@pytest.fixture(scope="module", autouse=True)
def agents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents")
    (folder / "rot_agents.py").write_text(textwrap.dedent(SOURCE))
    (folder / "rot_broken.py").write_text("raise ValueError('bad import')")
    (folder / "rot_needs.py").write_text("import a_module_nobody_has")
    return folder


@pytest.fixture(autouse=True)
def here(agents, monkeypatch):
    monkeypatch.chdir(agents)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(agents))])


def model(factory, module="rot_agents"):
    return AgentModel(ModelSpec(f"python:{module}:{factory}", "mine"))


async def fed(factory, *texts, timeout=5.0):
    agent = model(factory).new_session()
    replies = [await agent.feed(text, timeout) for text in texts]
    await agent.close()
    return replies[-1]


@pytest.mark.parametrize("factory", ["Echo", "Async", "make_async", "Maker.make"])
async def test_plain_and_async_agents_keep_their_own_memory(factory):
    assert (await fed(factory, "a", "b")).content == "a | b"


async def test_each_session_has_a_fresh_agent():
    one = model("Echo")
    first, second = one.new_session(), one.new_session()
    await first.feed("secret")
    assert (await second.feed("hello")).content == "hello"


async def test_a_plain_agent_stays_on_one_thread_so_that_its_database_works():
    assert (await fed("Database", "a", "b", "c")).content == "3"


async def test_closing_reaches_the_agents_own_close():
    await fed("Database", "a")
    assert sys.modules["rot_agents"].closed


@pytest.mark.parametrize(
    ("factory", "content", "calls", "finish"),
    [
        ("Dict", None, 1, None),
        ("Completion", "raw", 0, "stop"),
        ("Direct", "direct", 0, "length"),
        ("Silent", None, 0, "stop"),
        ("lambda_like", "awaited", 0, "stop"),
    ],
)
async def test_a_reply_may_take_several_forms(factory, content, calls, finish):
    reply = await fed(factory, "go")
    assert (reply.content, len(reply.tool_calls), reply.finish_reason) == (content, calls, finish)
    assert reply.latency > 0


async def test_usage_an_agent_reports_is_kept():
    assert (await fed("Dict", "go")).usage.prompt_tokens == 5


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("Raises", "KeyError: 'no such ticket'"),
        ("Exits", "SystemExit"),
        ("OwnTimeout", "the database was slow"),
        ("Number", "gave a int"),
        ("broken", "the factory raised RuntimeError: no config file"),
        ("no_feed", "has no feed"),
    ],
)
async def test_an_agents_fault_is_a_sentence(factory, words):
    with pytest.raises(ModelError, match=words) as raised:
        await fed(factory, "go")
    assert not raised.value.retryable


@pytest.mark.parametrize("factory", ["Slow", "SlowAsync"])
async def test_an_agent_that_takes_too_long_is_left(factory):
    started = time.perf_counter()
    with pytest.raises(ModelTimeoutError, match=r"0\.1 s"):
        await fed(factory, "go", timeout=0.1)
    assert time.perf_counter() - started < 5


async def test_an_agent_still_busy_is_not_fed_on_top():
    agent = model("Slow").new_session()
    with pytest.raises(ModelTimeoutError):
        await agent.feed("go", 0.1)
    with pytest.raises(ModelError, match="still busy"):
        await agent.feed("go", 0.1)


async def test_a_slow_agent_does_not_hold_up_the_others():
    agents = [model("Slow").new_session() for _ in range(10)]
    started = time.perf_counter()
    await asyncio.gather(*(agent.feed("go") for agent in agents))
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize("factory", ["Echo", "Forking"])
async def test_a_fork_knows_the_past_and_leaves_no_trace(factory):
    agent = model(factory).new_session()
    await agent.feed("a")
    branch = await agent.fork()
    assert branch is not None
    asked = (await branch.feed("probe")).content
    await branch.close()
    assert asked in ("a | probe", "2")
    assert (await agent.feed("b")).content in ("a | b", "2")


async def test_an_agent_that_cannot_be_copied_has_no_fork():
    agent = model("Database").new_session()
    await agent.feed("a")
    assert await agent.fork() is None
    assert (await agent.feed("b")).content == "2"


@pytest.mark.parametrize(
    ("model_id", "words"),
    [
        ("python:", "python:module:factory"),
        ("python:rot_agents", "python:module:factory"),
        ("python:rot_agents.py:Echo", "python:rot_agents:Echo"),
        ("python:no_such_module:make", "there is no module 'no_such_module'"),
        ("python:rot_agents:Ecoh", "has no 'Ecoh'"),
        ("python:rot_agents:not_callable", "is a int"),
        ("python:rot_broken:make", "ValueError: bad import"),
        ("python:rot_needs:make", "needs 'a_module_nobody_has'"),
    ],
)
def test_a_name_that_leads_nowhere_is_a_sentence(model_id, words):
    with pytest.raises(ConfigError, match=words):
        AgentModel(ModelSpec(model_id, "mine"))
