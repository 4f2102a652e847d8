"""Shared by all tests. Its place also lets them import `fault_server`."""

import os

from hypothesis import settings

# In CI the examples follow from the test alone: a change is judged by what it changed. Elsewhere they are drawn anew.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
