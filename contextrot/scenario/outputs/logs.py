"""Log lines: a service's own, an access log, key=value pairs, JSON lines, the kernel's and Kubernetes' way to write."""

from __future__ import annotations

from contextrot.scenario.outputs.style import Style

_APP = "2025-03-14T<millis>Z <calm> [<service>] "
_LOUD = "2025-03-14T<millis>Z <loud> [<service>] "
_KUBE = "I0314 <micros> 1 "

LOGS: tuple[Style, ...] = (
    Style(
        head="",
        entries=(
            _APP + "<method> <path> <status> <n3>ms",
            _APP + "<method> <path> <status> <n2>ms bytes=<n4>",
            _APP + "job <job> started on queue <queue>",
            _APP + "job <job> finished in <n4>ms, <n3> rows",
            _APP + "cache <table> refreshed, <n4> entries",
            _APP + "consumed <n3> messages from <queue>, lag <n2>",
            _APP + "connection to <ip>:<port> opened",
            _APP + "session <hex8> closed after <n3>s idle",
            _APP + "checkpoint complete: wrote <n4> buffers (<pct>%)",
            _APP + "loaded <n3> rules for <region> in <n2>ms",
            _APP + "feature flags reloaded, <n2> active",
            _LOUD + "slow query on <table>: <n4>ms (<column> not indexed)",
            _LOUD + "retrying <method> <path> after <refusal>, attempt <n1>",
            _LOUD + "upstream <service> at <ip>:<port> timed out after <n4>ms",
            _LOUD + "queue <queue> holds <n4> messages, oldest <n3>s",
            _LOUD + "pool for <table> exhausted: <n2> in use, <n2> waiting",
            _LOUD + "heap at <pct>% after collection of <n3>ms",
            _LOUD + "request <hex8> failed: <pyerror> in <package>.<func>",
        ),
        foot="\n2025-03-14T<millis>Z <loud> [<service>] <pad>",
    ),
    Style(
        head="",
        entries=(
            '<ip> - - [<the_dotday>:<clock> +0000] "<method> <path> HTTP/1.1" <status> <n4> "-" "<agent>"',
            '<ip> - - [<the_dotday>:<clock> +0000] "<method> <path> HTTP/1.1" <status> <n5> "-" "<agent>" <f3>',
            '<ip> - - [<the_dotday>:<clock> +0000] "GET <path>?page=<n1> HTTP/2.0" <status> <n4> "-" "<agent>"',
            '<ip> - - [<the_dotday>:<clock> +0000] "<method> <path> HTTP/1.1" <status> <n3> "-" "-"',
        ),
        foot='\n<the_dotday> <clock> [error] 31#31: *<n4> <pad>, client: <ip>, request: "<method> <path>"',
        least=200,
    ),
    Style(
        head="",
        entries=(
            "time=<millis> level=<calm> svc=<the_service> msg=accepted method=<method> path=<path> "
            "status=<status> ms=<n3>",
            "time=<millis> level=<calm> svc=<the_service> msg=flushed queue=<queue> count=<n3>",
            "time=<millis> level=<calm> svc=<the_service> msg=scheduled job=<job> delay=<n2>s",
            "time=<millis> level=<loud> svc=<the_service> msg=rejected user=<hex7> status=<refusal>",
            "time=<millis> level=<loud> svc=<the_service> msg=timeout upstream=<service> addr=<ip> ms=<n4>",
            "time=<millis> level=<loud> svc=<the_service> msg=rollback table=<table> rows=<n2>",
            "time=<millis> level=<calm> svc=<the_service> msg=rotated file=<file>.log size=<n2>MB",
        ),
        foot='\ntime=<millis> level=<loud> svc=<the_service> msg="<pad>"',
    ),
    Style(
        head="",
        entries=(
            _KUBE + 'event.go:307] "Event occurred" object="<namespace>/<service>" kind="Deployment" '
            'reason="ScalingReplicaSet"',
            _KUBE + 'kubelet.go:2412] "SyncLoop UPDATE" source="api" pods=["<namespace>/<service>-<hash>-<suffix>"]',
            _KUBE + 'prober.go:107] "Probe failed" probeType="Readiness" '
            'pod="<namespace>/<service>-<hash>-<suffix>" output="HTTP <refusal>"',
            _KUBE + "controller.go:<n3>] syncing <namespace>/<service> took <n3>ms",
            _KUBE + "leaderelection.go:258] renewed lease <namespace>/<service>",
            _KUBE + "reconciler.go:<n3>] volume <hex8> attached to <node>",
            _KUBE + "garbage.go:<n2>] removed <n1> images, freed <n3> MiB on <node>",
            _KUBE + "node.go:<n3>] <node> reports memory pressure <flag>, disk pressure false",
        ),
        foot="\nW0314 <micros> 1 reflector.go:<n3>] <pad>",
    ),
    Style(
        head="",
        entries=(
            '{"ts":"<millis>","level":"<calm>","logger":"<package>.<file>","msg":"request '
            'done","status":<status>,"ms":<n3>}',
            '{"ts":"<millis>","level":"<calm>","logger":"<package>.<file>","msg":"<job> finished","rows":<n4>}',
            '{"ts":"<millis>","level":"<loud>","logger":"<package>.<file>","msg":"<pyerror>","func":"<func>"}',
            '{"ts":"<millis>","level":"<loud>","logger":"<package>.<file>","msg":"retry","attempt":<n1>,"host":"<ip>"}',
        ),
        foot='\n{"ts":"<millis>","level":"<loud>","logger":"<package>.<file>","msg":"<pad>"}',
        least=150,
    ),
    Style(
        head="",
        entries=(
            "Mar 14 <clock> <the_node> systemd[1]: Started <service>.service.",
            "Mar 14 <clock> <the_node> systemd[1]: <service>.service: Consumed <n2>.<n3>s CPU time.",
            "Mar 14 <clock> <the_node> sshd[<n5>]: Accepted publickey for <user> from <ip> port <farport>",
            "Mar 14 <clock> <the_node> sshd[<n5>]: Connection closed by <ip> port <farport>",
            "Mar 14 <clock> <the_node> kernel: [<n5>.<n6>] eth0: link up, <n4> Mbps",
            "Mar 14 <clock> <the_node> CRON[<n5>]: (<user>) CMD (run-parts /etc/cron.hourly)",
            "Mar 14 <clock> <the_node> dockerd[<n3>]: container <hex12> exited, code <n1>",
            "Mar 14 <clock> <the_node> postfix[<n4>]: queue <hex7> sent, delay <f2>",
        ),
        foot="\nMar 14 <clock> <the_node> <service>[<n4>]: <pad>",
    ),
)  # fmt: skip
