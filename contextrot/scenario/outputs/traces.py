"""Tracebacks: Python with chained errors, Java with causes, pytest failures, Node."""

from __future__ import annotations

from contextrot.scenario.outputs.style import Style

_FILE = '  File "/srv/app/<package>/<file>.py", line <n3>, in <func>\n    '

TRACES: tuple[Style, ...] = (
    Style(
        head="Traceback (most recent call last):\n",
        entries=(
            _FILE + "return self.<attr>.<func>(<var>)",
            _FILE + "<var> = <func>(<var>, <attr>=<n2>)",
            _FILE + "raise <pyerror>(<var>.<attr>)",
            _FILE + "for <var> in <clas>(<var>).<attr>:",
            _FILE + "with <clas>.<func>(<var>) as <var>:",
            _FILE + "<var>.<attr> = <var>[<n1>]",
            _FILE + "await <func>(<var>)",
            '  File "/usr/lib/python3.12/<file>.py", line <n4>, in <func>\n    return <func>(<var>)',
        ),
        interlude="<pyerror>: <func> failed for <attr> <n3>\n\nDuring handling of the above exception, another "
        "exception "
        "occurred:\n\nTraceback (most recent call last):\n",
        run=8,
        foot="\n<pyerror>: <pad>",
    ),
    Style(
        head='Exception in thread "<thread>" <javaerror>: <var> <n3>\n',
        entries=(
            "\tat <javapackage>.<clas>.<javamethod>(<clas>.java:<n3>)",
            "\tat <javapackage>.<javamethod>(<clas>.java:<n2>)",
            "\tat java.base/java.util.concurrent.FutureTask.run(FutureTask.java:<n3>)",
            "\tat <javapackage>.<clas>$<clas>.<javamethod>(<clas>.java:<n3>)",
            "\tat java.base/jdk.internal.reflect.DirectMethodHandle.invoke(Unknown Source)",
        ),
        interlude="Caused by: <javaerror>: <var> <attr> is <n2>\n",
        run=9,
        foot="\n\t... <n2> more\nCaused by: <javaerror>: <pad>",
    ),
    Style(
        head="=================================== FAILURES ===================================\n",
        entries=(
            "_____ test_<func>_<attr> _____\n\n    def test_<func>_<attr>(<var>):\n>       assert "
            "<func>(<var>).<attr> == <n3>\nE       assert <n3> == <n3>\n\ntests/<package>/test_<file>.py:<n3>: "
            "AssertionError",
            "_____ test_<func>_<attr> _____\n\ntests/<package>/test_<file>.py:<n2>: in test_<func>\n    "
            "<func>(<var>)\n<package>/<file>.py:<n3>: in <func>\n    return <var>[<n1>]\nE   <pyerror>: <n2>",
            "<package>/<file>.py:<n3>: in <func>\n    self.<attr> = <func>(<var>)",
            "----- Captured log call -----\nWARNING  <package>.<file>:<file>.py:<n3> <func> took <n4>ms",
        ),
        foot="\n=========== short summary ===========\nFAILED tests/<package>/test_<file>.py - <pyerror>: <pad>",
        least=400,
    ),
    Style(
        head="<package>/<file>.js:<n3>\n    throw new Error(`<func> ${<var>}`)\n    ^\n\n",
        entries=(
            "    at <clas>.<javamethod> (/srv/web/<package>/<file>.js:<n3>:<n2>)",
            "    at async <javamethod> (/srv/web/node_modules/<package>/lib/<file>.js:<n3>:<n1>)",
            "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
            "    at new <clas> (/srv/web/<package>/<file>.js:<n2>:<n2>)",
        ),
        interlude="\nError: <func> gave no <attr>\n",
        run=10,
        foot="\n  [cause]: Error: <pad>",
        least=90,
    ),
)  # fmt: skip
