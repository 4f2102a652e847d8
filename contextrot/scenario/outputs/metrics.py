"""Metrics: Prometheus exposition, PromQL answers, vmstat, and the summary of a load test."""

from __future__ import annotations

from contextrot.scenario.outputs.style import Style

METRICS: tuple[Style, ...] = (
    Style(
        head="# HELP <the_metric> <about>.\n# TYPE <the_metric> counter\n",
        entries=(
            '<the_metric>{outcome="<outcome>",service="<service>",instance="<ip>"} <n5>',
            '<the_metric>{outcome="<outcome>",service="<service>"} <n6>',
            '<the_metric>{instance="<ip>:<port>",job="<service>"} <n4>',
            '<the_metric>{queue="<queue>",region="<region>"} <n3>',
        ),
        interlude="# HELP <the_metric> <about>.\n# TYPE <the_metric> counter\n",
        run=7,
        foot="\n# scrape of <ip>: <pad>",
    ),
    Style(
        head="# HELP <the_gauge> <state>.\n# TYPE <the_gauge> gauge\n",
        entries=(
            '<the_gauge>{instance="<ip>",job="<service>"} <n2>',
            '<the_gauge>{node="<node>"} <n3>',
            '<the_gauge>{namespace="<namespace>",service="<service>"} <n4>',
        ),
        interlude="# HELP <the_gauge> <state>.\n# TYPE <the_gauge> gauge\n",
        run=5,
        foot="\n# scrape of <ip>: <pad>",
    ),
    Style(
        head="# TYPE <the_summary> summary\n",
        entries=(
            '<the_summary>{service="<service>",quantile="<quantile>"} <f3>',
            '<the_summary>{handler="<path>",quantile="<quantile>"} <f4>',
            '<the_summary>_sum{service="<same_service>"} <n4>.<n2>\n<the_summary>_count{service="<same_service>"} <n5>',
        ),
        interlude="# TYPE <the_summary> summary\n",
        run=6,
        foot="\n# scrape of <ip>: <pad>",
    ),
    Style(
        head='{job="<service>",instance="<ip>"}  samples\n',
        entries=("<epoch>  <f3>", "<epoch>  <f3>", "<epoch>  <f3>", "<epoch>  <f4>", "<epoch>  NaN"),
        interlude='{job="<service>",instance="<ip>"}  samples\n',
        run=24,
        foot="\nwarning: <pad>",
    ),
    Style(
        head="time          p50ms   p95ms   p99ms     rps  errors  cpu%\n",
        entries=(
            "<clock>   <n2:8r><n3:8r><n4:8r><rps:8r><f2:8r><pct:6r>",
            "<clock>   <n2:8r><n3:8r><n4:8r><rps:8r>    0.00<pct:6r>",
        ),
        foot="\nannotation <clock>: <pad>",
    ),
    Style(
        head=" r  b   swpd    free   buff   cache   bi   bo    in    cs  us  sy  id\n",
        entries=(
            " <n1>  0      0<n6:8r><n5:7r><n6:8r>    0<n2:5r><n4:6r><n4:6r><n2:4r><n1:4r><n2:4r>",
            " <n1>  <n1><n4:7r><n6:8r><n5:7r><n6:8r><n3:5r><n3:5r><n4:6r><n5:6r><n2:4r><n1:4r><n2:4r>",
        ),
        foot="\n# <pad>",
        least=110,
    ),
    Style(
        head="alerts and series, sampled <clock>\n",
        entries=(
            "<service>  error_rate=<f4>  latency_p99=<f2>s  saturation=<f2>",
            "<service>  rps=<n3>  queue_depth=<n4>  restarts=<n1>",
            "<service>  memory=<n3>MiB  cpu=<cpu>  throttled=<f3>",
            'ALERT HighLatency{service="<service>",severity="<severity>"} value=<f2> for=<n2>m',
        ),
        foot="\nsource <node>: <pad>",
    ),
)  # fmt: skip
