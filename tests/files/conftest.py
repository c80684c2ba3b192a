"""Processes to be killed."""

import multiprocessing
import sys

import pytest


@pytest.fixture(scope="session")
def context():
    """How processes are started: with all that is loaded here, where forks are safe."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


@pytest.fixture
def start(context):
    """Return a function that starts a process, which elsewhere knows only what it finds by name."""
    children = []

    def start(target, *arguments, **options):
        children.append(context.Process(target=target, args=arguments, kwargs=options))
        children[-1].start()
        return children[-1]

    yield start
    for child in children:
        child.kill()
        child.join()
