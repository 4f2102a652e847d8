"""What the slots of the output templates hold. No word here is one that a fact would be made of."""

from __future__ import annotations

WORDS: dict[str, tuple[str, ...]] = {
    "service": (
        "api", "auth", "billing", "cart", "catalog", "checkout", "frontend", "gateway", "inventory", "ledger", "mailer",
        "media", "notifier", "orders", "payments", "pricing", "profile", "reports", "scheduler", "search", "sessions",
        "shipping", "uploads", "webhooks",
    ),
    "namespace": ("default", "prod", "staging", "monitoring", "batch", "ingress", "tools", "edge", "data"),
    "calm": ("INFO", "INFO", "DEBUG"),
    "loud": ("WARN", "ERROR"),
    "method": ("GET", "GET", "GET", "POST", "PUT", "DELETE", "PATCH"),
    "verb": ("get", "post", "put", "delete", "list", "watch"),
    "status": (
        "200", "200", "200", "200", "201", "204", "301", "304", "400", "401", "404", "409", "422", "429", "500",
        "502", "503",
    ),
    "refusal": ("400", "401", "403", "404", "409", "422", "429", "500", "502", "503"),
    "path": (
        "/v1/orders", "/v1/carts", "/v1/items/search", "/v1/users/me", "/v1/invoices", "/v2/quotes", "/v2/shipments",
        "/v1/sessions", "/v1/payments/intents", "/v1/reports/daily", "/health", "/ready", "/metrics",
        "/v1/media/upload", "/v1/webhooks", "/v2/prices/bulk", "/v1/stock/levels", "/v1/labels", "/v1/refunds",
        "/static/app.js", "/login",
    ),
    "agent": (
        "curl/8.5.0", "okhttp/4.12.0", "Mozilla/5.0", "Go-http-client/2.0", "python-requests/2.32.3",
        "kube-probe/1.29",
    ),
    "podstate": (
        "Running", "Running", "Running", "Running", "Running", "Pending", "Completed", "CrashLoopBackOff",
        "Terminating", "ImagePullBackOff", "Evicted",
    ),
    "ready": ("1/1", "1/1", "1/1", "2/2", "2/2", "0/1", "1/2", "3/3"),
    "age": (
        "14s", "52s", "3m", "8m", "17m", "41m", "2h", "5h", "9h", "22h", "2d", "3d4h", "6d", "11d", "19d", "34d",
        "87d",
    ),
    "node": (
        "node-a", "node-b", "node-c", "node-d", "node-e", "node-f", "gpu-a", "gpu-b", "spot-a", "spot-b", "spot-c",
    ),
    "region": ("eu-west", "eu-north", "us-east", "us-west", "ap-south", "sa-east"),
    "user": ("postgres", "root", "deploy", "www-data", "app", "grafana", "redis", "nobody", "systemd+", "backup"),
    "process": (
        "postgres: checkpointer", "postgres: walwriter", "nginx: worker process", "python -m app.worker",
        "java -jar service.jar", "/usr/bin/dockerd", "redis-server *:6379", "node server.js", "/usr/sbin/sshd -D",
        "gunicorn: worker", "celery beat", "/usr/bin/containerd", "prometheus --config.file", "[kworker/u16:2]",
        "vector --config", "cron -f",
    ),
    "mount": (
        "/", "/boot", "/var", "/var/lib/docker", "/var/log", "/home", "/srv", "/srv/data", "/mnt/backup", "/tmp",
        "/opt", "/run",
    ),
    "device": (
        "/dev/sda1", "/dev/sdb1", "/dev/nvme0n1p1", "/dev/nvme1n1", "/dev/mapper/root", "/dev/mapper/data", "tmpfs",
        "overlay", "nfs:/export",
    ),
    "image": (
        "nginx:1.27", "redis:7.2", "postgres:16", "rabbitmq:3.13", "grafana:11.1", "app/api:main", "app/web:main",
        "app/jobs:main", "busybox:1.36", "traefik:3.0",
    ),
    "company": (
        "Alder & Sons", "Brightwater", "Castor Freight", "Dunmore Tools", "Eastgate Foods", "Fairlight",
        "Granby Paper", "Hollis Print", "Ironbridge", "Juniper Lane", "Kestrel Optics", "Larkspur", "Millbrook",
        "Northcote", "Oakhurst", "Pembroke Tea", "Quarry Bank", "Redfern", "Silverdale", "Thornbury", "Upland Wool",
        "Vale Cycles", "Westbrook", "Yarrow",
    ),
    "person": (
        "Amara Obi", "Bela Novak", "Carla Reyes", "Deniz Kaya", "Elif Aydin", "Femi Ade", "Greta Holm", "Hugo Brandt",
        "Ines Duarte", "Jonas Falk", "Kenji Mori", "Leila Haddad", "Mateo Cruz", "Nadia Petrov", "Owen Pryce",
        "Priya Nair", "Rosa Conti", "Sven Dahl", "Tomas Vega", "Uma Rao", "Viktor Lang", "Wanda Zielska",
        "Yusuf Demir", "Zoe Marsh",
    ),
    "city": (
        "Leeds", "Porto", "Lyon", "Gdansk", "Malmo", "Brno", "Bilbao", "Cork", "Turin", "Basel", "Riga", "Utrecht",
        "Bremen", "Patras",
    ),
    "product": (
        "desk lamp", "canvas bag", "steel bottle", "oak shelf", "wool blanket", "paper tray", "travel mug",
        "garden hose", "door mat", "wall clock", "camp stove", "rain jacket", "tea kettle", "bread knife",
        "floor mop", "picture frame", "bike pump", "seed packet", "cable drum", "storage box",
    ),
    "orderstate": (
        "paid", "paid", "shipped", "shipped", "pending", "cancelled", "refunded", "packed", "delivered", "on hold",
    ),
    "currency": ("EUR", "USD", "GBP", "SEK", "CHF", "PLN"),
    "flag": ("true", "false"),
    "tag": (
        "urgent", "export", "gift", "bulk", "return", "sample", "fragile", "backorder", "trial", "partner", "web",
        "store",
    ),
    "severity": ("info", "warning", "critical", "page", "ticket"),
    "queue": ("default", "mail", "exports", "thumbnails", "invoices", "sync", "cleanup", "billing", "index"),
    "table": (
        "orders", "customers", "invoices", "sessions", "events", "payments", "stock", "shipments", "audit_log",
        "price_list", "coupons",
    ),
    "column": (
        "id", "status", "created_at", "customer_id", "total", "currency", "updated_at", "region", "sku", "quantity",
        "expires_at",
    ),
    "job": (
        "nightly_export", "send_reminders", "rebuild_index", "sync_stock", "close_invoices", "prune_sessions",
        "refresh_rates", "make_thumbnails", "archive_events",
    ),
    "package": (
        "orders", "billing", "catalog", "accounts", "shipping", "search", "reports", "storage", "pricing", "tasks",
        "events", "cache",
    ),
    "file": (
        "service", "views", "models", "client", "queue", "handlers", "store", "loader", "parser", "session", "utils",
        "router", "schema", "worker",
    ),
    "func": (
        "handle", "dispatch", "load_rows", "fetch_page", "build_invoice", "apply_discount", "resolve_address",
        "commit", "run_once", "parse_line", "open_session", "render_total", "merge_items", "read_config",
        "send_batch", "flush", "check_stock", "to_payload", "lookup", "schedule_next",
    ),
    "var": (
        "order", "rows", "payload", "session", "item", "request", "batch", "account", "cursor", "message", "config",
        "entry", "result", "page", "token_count",
    ),
    "attr": (
        "total", "status", "items", "owner", "rate", "region", "created", "lines", "limit", "parent", "address",
        "currency", "retries", "timeout", "name",
    ),
    "clas": (
        "OrderService", "InvoiceBuilder", "StockClient", "SessionStore", "RateTable", "ExportJob", "MailQueue",
        "CartView", "PriceRule", "UserIndex", "EventBus", "LabelPrinter",
    ),
    "pyerror": (
        "ValueError", "KeyError", "TypeError", "AttributeError", "TimeoutError", "ConnectionResetError",
        "RuntimeError", "LookupError", "OSError", "PermissionError",
    ),
    "javaerror": (
        "java.lang.IllegalStateException", "java.lang.NullPointerException", "java.util.concurrent.TimeoutException",
        "java.io.IOException", "java.net.SocketTimeoutException", "java.sql.SQLTransientConnectionException",
        "java.lang.IllegalArgumentException", "org.springframework.dao.DataAccessResourceFailureException",
        "com.fasterxml.jackson.core.JsonParseException",
    ),
    "javapackage": (
        "com.acme.orders", "com.acme.billing", "com.acme.stock", "com.acme.http", "org.springframework.web",
        "org.apache.catalina.core", "com.zaxxer.hikari.pool", "io.netty.channel", "org.hibernate.engine",
    ),
    "javamethod": (
        "invoke", "doFilter", "handleRequest", "getConnection", "execute", "processOrder", "findAll", "onMessage",
        "doInTransaction", "readValue", "apply", "flush", "proceed", "dispatch",
    ),
    "thread": (
        "main", "http-exec-b", "http-exec-f", "pool-worker-c", "scheduler-a", "kafka-consumer-d", "async-task-e",
    ),
    "metric": (
        "http_requests_total", "http_request_errors_total", "grpc_calls_total", "queue_messages_total",
        "db_queries_total", "cache_hits_total", "cache_misses_total", "jobs_failed_total", "emails_sent_total",
        "bytes_received_total", "logins_total", "retries_total",
    ),
    "gauge": (
        "queue_depth", "db_connections_open", "go_goroutines", "sessions_active", "workers_busy", "threads_running",
        "replica_lag_seconds", "uploads_open",
    ),
    "summary": (
        "http_request_duration_seconds", "db_query_duration_seconds", "job_duration_seconds", "render_seconds",
        "gc_pause_seconds",
    ),
    "about": (
        "Total since the process started", "Counted by the client library", "Sum over all workers of the instance",
        "Counter, reset on restart", "Total as seen by the exporter", "Events counted at the edge",
        "Total of all outcomes", "Kept per instance and outcome",
    ),
    "state": (
        "Value at the time of the scrape", "Current value as reported by the runtime", "Last sample of the exporter",
        "Current value for the instance", "Sampled once per scrape", "As read from the operating system",
    ),
    "outcome": ("ok", "ok", "error", "timeout", "rejected", "retried"),
    "quantile": ("0.5", "0.9", "0.95", "0.99"),
    "remark": (
        "connection refused", "no answer in time", "wrong status", "certificate expired", "empty body", "disk is full",
    ),
    "comment": (
        "Keep the order of the input.", "The store may be empty here.", "One retry is enough in practice.",
        "Rows come sorted from the query.", "Dates are in UTC.", "Called from the worker as well.",
        "The old name is kept for the import.", "Cheap: the list is short.", "Totals are in cents.",
        "The cursor closes itself.",
    ),
}  # fmt: skip

#: Shapes of drawn texts: `#` a digit, `%` one from 1, `'` one up to 5, `~` a hex digit, `!` a hex letter, `^` a
#: consonant, `*` a consonant or a digit; all else as it stands.
SHAPES: dict[str, str] = {
    "n1": "%", "n2": "%#", "n3": "%##", "n4": "%###", "n5": "%####", "n6": "%#####", "f1": "%.#", "f2": "%.##",
    "long": "%.####", "f3": "0.%##", "f4": "0.0%##", "pct": "%#.#", "money": "%##.##", "cpu": "%##m", "mem": "%##Mi",
    "hex7": "!~~~~~~", "hex8": "~~~!~~~~", "hex12": "~~~~~~!~~~~~", "hash": "%**^*****^", "suffix": "^^%^^",
    "ip": "10.%#.%#.1%#", "port": "%0%0", "rps": "3%##", "farport": "4%###", "nodeport": "31%##", "sixty": "'#",
    "dotday": "1#/Mar/2025",
}  # fmt: skip

#: Words made of other slots.
COMPOUNDS: dict[str, str] = {"podname": "<service>-<hash>-<suffix>"}

#: Points in time as formats of the hour `h`, minute `m`, second `s`, millisecond `ms` of a day.
PLACES: dict[str, str] = {
    "clock": "{h:02}:{m:02}:{s:02}",
    "millis": "{h:02}:{m:02}:{s:02}.{ms:03}",
    "minute": "{h:02}:{m:02}",
    "micros": "{h:02}:{m:02}:{s:02}.{ms:03}412",
    "epoch": "17417{seconds:05}.{ms:03}",
}

#: Short remarks of programs, which bring an output to its size.
REMARKS: tuple[str, ...] = (
    "done", "cache miss", "lock released", "no change", "pool exhausted", "index rebuilt", "queue drained",
    "stale read", "lease expired", "slow query", "connection reset by peer", "snapshot written to disk",
    "upstream closed early", "checksum does not match", "unexpected end of input", "replica is behind primary",
    "context deadline exceeded while reading", "value out of range for column", "no rows matched the filter",
    "certificate renewed for another quarter", "handshake failed after two attempts",
    "worker picked up the next batch", "schema changed since the last read",
    "empty body returned by the upstream service", "retry budget used up for this window",
    "partition reassigned to another consumer in the group", "the record was written by an older client",
    "response truncated at the size limit of the proxy", "rate limit reached for the shared key of this tenant",
    "write took longer than expected because the disk was busy",
    "object of this type has no such attribute in this version",
)  # fmt: skip
