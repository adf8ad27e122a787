"""What tests want from PyPI: pinned, in one virtual environment of the build, made once and kept for the next run."""
import fcntl
import os
import shutil
import subprocess
import sys

from tap import BUILD, Skip

ENVIRONMENT = BUILD / "tests/venv"
# nothing is built, and a machine without a network is told from one with it in seconds
INSTALL = ("-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:",
           "--retries", "1", "--timeout", "10")


def _quietly(what, *words):
    got = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, env={**os.environ, "PIP_CONFIG_FILE": os.devnull, "PYTHONPATH": ""})
    if got.returncode != 0:
        lines = got.stdout.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise Skip("%s cannot be had from PyPI: %s" % (what, lines[-1][:160]))


def wheels(*pinned, options=()):
    """The virtual environment's folder, with these ("name==version") in it; skips the case where PyPI has none for us.

    Scripts of them are in bin/, and so is a python that imports them."""
    ENVIRONMENT.parent.mkdir(exist_ok=True, parents=True)
    with open(str(ENVIRONMENT) + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ENVIRONMENT / "made").exists():
            shutil.rmtree(ENVIRONMENT, ignore_errors=True)
            _quietly("a virtual environment", sys.executable, "-m", "venv", ENVIRONMENT)
            (ENVIRONMENT / "made").touch()
        for one in pinned:
            there = ENVIRONMENT / ("made-" + one)
            if there.exists():
                continue
            # the lock is waited for by others: who fails leaves word for a while, so that they fail at once
            failed = ENVIRONMENT / ("failed-%s-%d" % (one, os.getppid()))
            if failed.exists():
                raise Skip(failed.read_text())
            try:
                _quietly(one, ENVIRONMENT / "bin/python", *INSTALL, *options, one)
            except Skip as skip:
                failed.write_text(str(skip))
                raise
            there.touch()
    return ENVIRONMENT


def wheel_file(pinned, pattern):
    """A file of one package, by a pattern below the environment; it is made one that can be executed. What the package's
    Python needs is left out: for a library that may be gigabytes."""
    found = sorted(wheels(pinned, options=("--no-deps",)).glob(pattern))
    assert found, (pinned, pattern)
    found[0].chmod(0o755)
    return found[0]
