"""`report.html`: one file that answers how long sessions last, why they fail and which strategy to ship.

`page.py` puts it together: `templates/` (jinja2) make what can be read without scripts, `static/` is inlined, the
libraries in `static/vendor/` too. Nothing is fetched when the file is opened.
"""
