"""Shared by all tests. Its place also lets them import `fault_server`."""
