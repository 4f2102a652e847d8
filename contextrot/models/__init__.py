"""All models behind one contract (`base.py`). This room is the only one that knows providers."""

from contextrot.models.base import Call, Model, ModelKind, ModelSpec, Price, Truth
from contextrot.models.callables import Agent, AgentModel
from contextrot.models.registry import create_model, describe, missing_key, prepare

__all__ = [
    "Agent",
    "AgentModel",
    "Call",
    "Model",
    "ModelKind",
    "ModelSpec",
    "Price",
    "Truth",
    "create_model",
    "describe",
    "missing_key",
    "prepare",
]
