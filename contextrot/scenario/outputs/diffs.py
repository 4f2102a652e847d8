"""Unified diffs, as git and `diff -u` print them. The line numbers of a hunk are counted from its lines."""

from __future__ import annotations

from contextrot.scenario.outputs.style import Scene, Style

#: Stands for the `@@` line of a hunk until its lines are known.
_HUNK = "@@@"


def _numbered(text: str, scene: Scene) -> str:
    """The piece with the header of its hunk written out, the scene's place moved behind it."""
    before, mark, lines = text.partition(_HUNK + "\n")
    if not mark:
        return text
    signs = [line[:1] for line in lines.splitlines()]
    old, new = len(signs) - signs.count("+"), len(signs) - signs.count("-")
    start = scene.line + 4 + (scene.line * 7 + len(lines)) % 57
    header = f"@@ -{start},{old} +{start + scene.shift},{new} @@\n"
    scene.line, scene.shift = start + old, scene.shift + new - old
    return before + header + lines


_PYTHON = (
    " def <func>(<same_var>):\n-    return <same_func>(<same_var>)\n+    return <same_func>(<same_var>, "
    "<attr>=<n2>)\n ",
    "     if <same_var>.<attr> is None:\n-        return None\n+        raise <pyerror>(<same_var>)\n     return "
    "<same_var>",
    "     <same_var> = <func>(<var>)\n+    <same_var>.<same_attr> = max(<same_var>.<same_attr>, <n1>)\n     "
    "return <same_var>",
    "         for <same_var> in self.<attr>:\n-            <same_func>(<same_var>)\n+            "
    "self.<same_func>(<same_var>)\n ",
    '     """<comment>"""\n-    <same_var> = <same_func>()\n-    <same_var>.<same_attr> = <same_n2>\n+    '
    '<same_var> = <same_func>(<same_attr>=<same_n2>)\n     return <same_var>',
    " class <clas>:\n+    <attr>: int = <n2>\n     <attr>: str",
    "     try:\n         <func>(<same_var>)\n-    except Exception:\n+    except <pyerror>:\n         "
    "<same_var>.<func>()",
    " @cached\n-def <same_func>(<same_var>):\n+def <same_func>(<same_var>, <attr>=None):\n     # <comment>",
)  # fmt: skip
_CONFIG = (
    "   - name: <service>\n-    image: app/<same_queue>:<f1>\n+    image: app/<same_queue>:<f2>\n     env: <namespace>",
    "     resources:\n-      cpu: <cpu>\n+      cpu: <cpu>\n       memory: <mem>",
    "   <queue>:\n+    retries: <n1>\n     timeout: <n2>s",
    "   schedule:\n-    <same_job>: 0<n1>:<sixty>\n+    <same_job>: 1<n1>:<sixty>\n ",
    "   # <comment>\n-  <same_attr>: <n3>\n+  <same_attr>: <n3>\n ",
)  # fmt: skip
_SQL = (
    " CREATE TABLE <table> (\n-  <same_column> text,\n+  <same_column> text NOT NULL,\n   <column> bigint",
    " SELECT <column>, <column>\n-FROM <same_table>\n+FROM <same_table> AS t\n WHERE <column> > <n2>",
    " -- <comment>\n+CREATE INDEX ON <table> (<column>);\n ",
    "-DROP INDEX <same_table>_<column>;\n ALTER TABLE <same_table>\n+  ADD COLUMN <attr> int;",
)  # fmt: skip


def _hunks(edits: tuple[str, ...]) -> tuple[str, ...]:
    """Hunks of one edit, and of two in each order of neighbours."""
    alone = tuple(f"{_HUNK}\n{edit}" for edit in edits)
    pairs = zip(edits, edits[1:] + edits[:1], strict=True)
    return (*alone, *(f"{_HUNK}\n{first}\n \n{second}" for first, second in pairs))


def _git(path: str) -> str:
    return f"diff --git a/{path} b/{path}\nindex <hex7>..<hex7> 100644\n--- a/{path}\n+++ b/{path}\n"


def _plain(path: str) -> str:
    return f"--- {path}\n+++ {path}\n"


def _style(head: str, edits: tuple[str, ...], foot: tuple[str, str, str], least: int) -> Style:
    before, remark, after = foot
    return Style(
        head=head,
        entries=_hunks(edits),
        foot=f"\n{_HUNK}\n{before}\n+{remark}<pad>\n{after}",
        remark_joint=f"\n+{remark}",
        interlude=head,
        run=4,
        least=least,
        finish=_numbered,
    )


_IN_PYTHON = (" def <func>(<same_var>):", "    # ", "     return <same_var>.<attr>")
_IN_CONFIG = (" <service>:", "  # ", "   <attr>: <n2>")
_IN_SQL = (" BEGIN;", "-- ", " ")
_PLAIN_YAML, _YAML = "deploy/<the_service>.yaml", "deploy/<the_namespace>/<the_service>.yaml"

DIFFS: tuple[Style, ...] = (
    _style(_plain("app/<the_file>.py"), _PYTHON, _IN_PYTHON, 60),
    _style(_plain(_PLAIN_YAML), _CONFIG, _IN_CONFIG, 60),
    _style(_git("src/<the_package>/<the_file>.py"), _PYTHON, _IN_PYTHON, 180),
    _style(_git(_YAML), _CONFIG, _IN_CONFIG, 180),
    _style(_git("db/migrations/0<the_n3>_<the_table>.sql"), _SQL, _IN_SQL, 180),
)
