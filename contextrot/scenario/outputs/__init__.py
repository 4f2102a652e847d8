"""What real tools print, by kind: the styles that `contextrot.scenario.tool_output` builds its texts from."""

from contextrot.scenario.outputs.diffs import DIFFS
from contextrot.scenario.outputs.json_answers import JSON_ANSWERS
from contextrot.scenario.outputs.logs import LOGS
from contextrot.scenario.outputs.metrics import METRICS
from contextrot.scenario.outputs.style import Style
from contextrot.scenario.outputs.tables import TABLES
from contextrot.scenario.outputs.traces import TRACES

#: Every kind with the styles one of which an output is printed in.
STYLES: dict[str, tuple[Style, ...]] = {
    "json": JSON_ANSWERS,
    "table": TABLES,
    "trace": TRACES,
    "logs": LOGS,
    "metrics": METRICS,
    "diff": DIFFS,
}
