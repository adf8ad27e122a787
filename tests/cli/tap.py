"""Test scripts in TAP with nothing but the standard library.

    from tap import case, main, run, scratch

    @case("an unknown option is a usage error")
    def _():
        got = run(["run", "--no-such-option"])
        assert got.rc == 2, got
        assert "--no-such-option" in got.stderr, got

    main()

A case fails when it raises, is skipped when it raises Skip("why"), and passes otherwise. Each has a
home and a working directory of its own, so runs share a history within a case and with nobody else.
`python3 tests/cli/test_x.py WORDS` runs only the cases whose name contains WORDS.
"""
import collections
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE = pathlib.Path(os.environ.get("KVFALL_SOURCE") or pathlib.Path(__file__).parents[2]).resolve()
BUILD = pathlib.Path(os.environ.get("KVFALL_BUILD") or SOURCE)
KVFALL = pathlib.Path(os.environ.get("KVFALL") or BUILD / "kvfall")

_cases = []
_folders = []    # of the running case, removed after it
_homes = []      # its private home, once it has one
_processes = []  # of the running case, killed after it


class Skip(Exception):
    """The case cannot be judged here; the text says why."""


class Result(collections.namedtuple("Result", "rc stdout stderr")):
    """rc is the exit status, negative for a signal. Shown in full when an assert names it."""

    def __str__(self):
        return "exit status %d\n--- stdout\n%s\n--- stderr\n%s" % (self.rc, self.stdout, self.stderr)


def case(name):
    """Decorator: the function is a test case of this name."""
    def add(function):
        _cases.append((name, function))
        return function
    return add


def scratch(name="", on_disk=False):
    """A new directory that goes away with the case; on_disk: beside the build, where direct I/O is
    likelier than in a temporary file system."""
    if on_disk:
        (BUILD / "tests").mkdir(exist_ok=True)
    folder = tempfile.mkdtemp(prefix="scratch-" if on_disk else "kvfall-test-", suffix=name and "-" + name,
                              dir=BUILD / "tests" if on_disk else None)
    _folders.append(folder)
    return pathlib.Path(folder)


def home():
    """The private home of the running case; its `work` is where programs run unless told."""
    if not _homes:
        _homes.append(scratch("home"))
        (_homes[0] / "work").mkdir()
    return _homes[0]


def database():
    """Where a run of this case keeps its history unless told."""
    return home() / ".local/share/kvfall/history.db"


def environment(extra=None):
    """The environment programs get: this one without what changes kvfall's behaviour, plus `extra`
    (a value of None takes a variable away)."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("KVFALL", "XDG_", "LC_", "LANG", "MAKE", "MFLAGS"))
           and key not in ("NO_COLOR", "COLUMNS", "LINES")}
    env.update(HOME=str(home()), XDG_DATA_HOME=str(home() / ".local/share"), LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb")
    for key, value in (extra or {}).items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = str(value)
    return env


# Commands and options that write files, which cases do again and again.
_WRITES = {"run", "sweep", "suite", "plan"}, {"--json", "--io-trace", "--request-log"}


def spawn(args, env=None, cwd=None, program=None, overwrite=True, **popen):
    """Starts kvfall (or `program`) in a process group of its own; gone at the end of the case. It may write over the
    files of _WRITES unless told."""
    program = pathlib.Path(program or KVFALL)
    assert program.exists(), "%s is not built" % program
    words = set(map(str, args))
    if overwrite and program == KVFALL and args and args[0] in _WRITES[0] and _WRITES[1] & words and "--overwrite" not in words:
        args = [*args, "--overwrite"]
    options = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    options.update(popen)
    process = subprocess.Popen([str(program)] + [str(arg) for arg in args], env=environment(env),
                               cwd=str(cwd or home() / "work"), start_new_session=True, **options)
    _processes.append(process)
    return process


def finish(process, timeout=180, input=None):
    """Waits for a spawned process and returns its Result; one that does not end is a failure."""
    if isinstance(input, str):
        input = input.encode()
    try:
        out, err = process.communicate(input, timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        out, err = process.communicate()
        raise AssertionError("still running after %g s: %s\n%s"
                             % (timeout, " ".join(process.args), _result(process, out, err))) from None
    return _result(process, out, err)


def run(args, env=None, cwd=None, timeout=180, input=None, program=None):
    """Runs kvfall (or `program`) to its end and returns rc, stdout and stderr."""
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    return finish(spawn(args, env, cwd, program, stdin=stdin), timeout, input)


def wait_until(condition, timeout=60, what="the condition"):
    """Polls until condition() is true and returns its value; fails after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "%s did not come about in %g s" % (what, timeout)
        time.sleep(0.01)


def need_tool(name):
    """The path of a program, or the case is skipped."""
    path = shutil.which(name)
    if not path:
        raise Skip("%s is missing" % name)
    return path


def _result(process, out, err):
    return Result(process.returncode, (out or b"").decode("utf-8", "replace"),
                  (err or b"").decode("utf-8", "replace"))


def _heed_signals():
    """Started in the background (nohup, a shell's &), a script finds signals ignored, and so would the programs that it
    starts. One that is caught instead does as little here, and is the default again in a program."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)


def _kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _clean_up():
    for process in _processes:
        if process.poll() is None:
            _kill(process)
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)
    _processes.clear()
    _folders.clear()
    _homes.clear()


def _diagnose(text):
    for line in text.rstrip("\n").splitlines():
        print("# " + line)


def _run_case(number, name, function):
    try:
        function()
    except Skip as reason:
        print("ok %d - %s # SKIP %s" % (number, name, reason))
        return True
    except (Exception, SystemExit):  # a failing case ends itself, never the script
        print("not ok %d - %s" % (number, name))
        _diagnose(traceback.format_exc())
        return False
    else:
        print("ok %d - %s" % (number, name))
        return True
    finally:
        _clean_up()
        sys.stdout.flush()


def main():
    """Runs the cases that were declared, prints TAP, ends the script."""
    words = sys.argv[1] if len(sys.argv) > 1 else ""
    _heed_signals()
    chosen = [(name, function) for name, function in _cases if words in name]
    print("1..%d" % len(chosen) if chosen else "1..0 # SKIP no case has %r in its name" % words, flush=True)
    good = [_run_case(number, name, function) for number, (name, function) in enumerate(chosen, 1)]
    sys.exit(0 if all(good) else 1)
