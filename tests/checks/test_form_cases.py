"""Every case of `cases_form.yaml` (from the field) and `more_form.yaml` (ours) through the public `check`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from contextrot.checks import check
from contextrot.errors import ConfigError

HERE = Path(__file__).parent
CASES = [
    pytest.param(case, id=case["id"])
    for name in ("cases_form.yaml", "more_form.yaml")
    for case in yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    wanted = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    try:
        verdict = check(case["check"], case["reply"])
        outcome, reason = verdict.outcome.value, verdict.reason
    except ConfigError as error:
        outcome, reason = "load_error", str(error)
    assert outcome in wanted, reason
    assert case.get("reason", "").lower() in reason.lower()


def test_ids_are_unique() -> None:
    ids = [parameters.id for parameters in CASES]
    assert len(ids) == len(set(ids))
