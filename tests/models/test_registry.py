"""From a model's name to the model, without loading what is not used."""

import subprocess
import sys

import pytest

from contextrot.errors import ConfigError
from contextrot.models.base import Model, ModelSpec
from contextrot.models.registry import create_model, describe, missing_key, prepare


def test_each_form_leads_to_its_own_model():
    kinds = {
        "sim/perfect": "SimulatedModel",
        "endpoint/m@http://h/v1": "EndpointModel",
        "openai/gpt-4o-mini": "ProviderModel",
        "openrouter/anthropic/claude-3.5-sonnet": "ProviderModel",
    }
    for name, kind in kinds.items():
        model = create_model(ModelSpec(name, name))
        assert type(model).__name__ == kind
        assert isinstance(model, Model)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpt-4o-mini", "openai/gpt-4o-mini"),
        ("smollm2-135m", "local/smollm2-135m"),
        ("hazard", "sim/hazard"),
        ("simulated/hazard", "sim/hazard"),
        ("openai:gpt-4o", "did you mean openai/gpt-4o"),
        ("zzzzqqq", "provider/model"),
        ("", "empty"),
        (" openai/gpt-4o", "blanks"),
        ("openai/", "provider/model"),
        ("sim/hazrd", "hazard"),
    ],
)
def test_a_name_that_cannot_work_says_what_was_meant(name, hint):
    with pytest.raises(ConfigError, match=hint):
        create_model(ModelSpec(name, name))


def test_the_list_of_models_shows_a_working_example_of_each_form():
    rows = describe()
    assert {row.form.partition("/")[0].partition(":")[0] for row in rows} >= {
        "local",
        "provider",
        "endpoint",
        "sim",
        "python",
    }
    for row in rows:
        if row.example.startswith(("sim/", "endpoint/", "openai/")):
            create_model(ModelSpec(row.example, row.example))


def test_models_that_need_no_key_miss_none(monkeypatch):
    assert missing_key(ModelSpec("sim/perfect", "s")) is None
    assert missing_key(ModelSpec("endpoint/m@http://h/v1", "m")) is None


async def test_a_model_without_a_wish_is_left_alone():
    await prepare(create_model(ModelSpec("sim/perfect", "s")))


def test_making_a_provider_model_and_asking_for_its_key_imports_no_litellm():
    code = (
        "import sys; from contextrot.models.registry import create_model, missing_key; "
        "from contextrot.models.base import ModelSpec; s = ModelSpec('openai/gpt-4o', 'm'); "
        "m = create_model(s); missing_key(s); "
        "assert m.window == 128000 and m.price.prompt == 2.5 and m.price.cached == 1.25, (m.window, m.price); "
        "assert 'litellm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
