"""Answers of HTTP APIs in JSON: lists of records, Kubernetes objects, search hits, events."""

from __future__ import annotations

from contextrot.scenario.outputs.style import Style

JSON_ANSWERS: tuple[Style, ...] = (
    Style(
        head='{\n  "data": [\n',
        entries=(
            '    {"id": <serial>, "customer": "<company>", "state": "<orderstate>", "total": <money>}',
            '    {"id": <serial>, "customer": "<company>", "state": "<orderstate>", "items": <n1>, "city": "<city>"}',
            '    {"id": <serial>, "customer": "<company>", "state": "<orderstate>", "tags": ["<tag>", "<tag>"], '
            '"paid": <flag>}',
            '    {"id": <serial>, "customer": "<company>", "state": "pending", "total": null}',
        ),
        joint=",\n",
        foot='\n  ],\n  "note": "<pad>"\n}',
    ),
    Style(
        head='{\n  "kind": "List",\n  "items": [\n',
        entries=(
            '    {\n      "name": "<service>-<hash>-<suffix>",\n      "namespace": "<namespace>",\n      "phase": '
            '"<podstate>",\n      "node": "<node>",\n      "restarts": <n1>\n    }',
            '    {\n      "name": "<service>-<hash>-<suffix>",\n      "phase": "Running",\n      "image": '
            '"<image>",\n      "resources": {"cpu": "<cpu>", "memory": "<mem>"}\n    }',
            '    {\n      "name": "<service>-<hash>-<suffix>",\n      "phase": "<podstate>"\n    }',
        ),
        joint=",\n",
        foot='\n  ],\n  "message": "<pad>"\n}',
        least=110,
    ),
    Style(
        head='{"took": <n2>, "hits": [\n',
        entries=(
            '  {"_id": "<hex8>", "_score": <f2>, "title": "<product>", "stock": <n3>}',
            '  {"_id": "<hex8>", "_score": <f2>, "title": "<product>", "city": "<city>", "tags": ["<tag>"]}',
            '  {"_id": "<hex8>", "_score": <f1>, "title": "<product>", "price": {"amount": <f2>, "currency": '
            '"<currency>"}}',
            '  {"_id": "<hex8>", "_score": <f1>, "title": "<product>"}',
        ),
        joint=",\n",
        foot='\n], "warning": "<pad>"}',
    ),
    Style(
        head='{"events":[',
        entries=(
            '{"at":"<clock>","type":"<verb>","actor":"<person>","target":"<table>"}',
            '{"at":"<clock>","type":"<verb>","actor":"<service>","ok":<flag>}',
            '{"at":"<clock>","type":"login","actor":"<person>","ip":"<ip>"}',
            '{"at":"<clock>","type":"job","name":"<job>","ms":<n4>}',
        ),
        joint=",",
        foot='],"next":null,"detail":"<pad>"}',
    ),
    Style(
        head='{\n  "page": <n1>,\n  "results": [\n',
        entries=(
            '    {"name": "<person>", "city": "<city>", "active": <flag>, "logins": <n3>}',
            '    {"name": "<person>", "company": "<company>", "region": "<region>"}',
            '    {"name": "<person>", "company": null, "roles": ["<namespace>", "<queue>"], "seat": <n2>}',
        ),
        joint=",\n",
        foot='\n  ],\n  "more": <flag>,\n  "status": "<pad>"\n}',
        least=80,
    ),
    Style(
        head='[\n',
        entries=(
            '  {"metric": {"job": "<service>", "instance": "<ip>"}, "value": [<epoch>, "<f3>"]}',
            '  {"metric": {"job": "<service>", "code": "<status>"}, "value": [<epoch>, "<n4>"]}',
            '  {"metric": {"node": "<node>"}, "value": [<epoch>, "NaN"]}',
        ),
        joint=",\n",
        foot=',\n  {"warning": "<pad>"}\n]',
        least=100,
    ),
)  # fmt: skip
