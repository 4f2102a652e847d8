"""Scenario files: the schema, the loader with file:line errors, the seeded expansion, filler, and shipped suites."""

from contextrot.scenario.expand import expand
from contextrot.scenario.loader import load_scenario, load_scenarios
from contextrot.scenario.schema import Scenario, json_schema

__all__ = ["Scenario", "expand", "json_schema", "load_scenario", "load_scenarios"]
