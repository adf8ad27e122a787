"""What the scripts of the screen share: runs to look at, what is true of them when they have been left, and a
terminal without a shell."""
import fcntl
import os
import pathlib
import re
import sqlite3
import struct
import sys
import termios
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from runs import healthy, last_run, rows, run_folders, write
from tap import spawn, wait_until

# Two tiers that are quick to set up, on requests that never end by themselves.
SMALL = {"tiers.gpu": None, "run.duration": "60s", "run.interval": "200ms"}
CLOCK = re.compile(r"(\d+):(\d\d(?:\.\d)?) / \d")
RUNNING = re.compile(r"^ kvfall .* RUNNING *$", re.MULTILINE)
# Words that no other view has at 100 columns and 30 rows, the bare views of a run without an autoscaler.
VIEWS = {"1": "LIMITED BY", "2": "demoted/s", "3": "(e: next)", "4": "arr/s", "5": "Changes and marks",
         "6": "Network", "7": "Requests in service", "8": "run time level", "9": "This run is one process",
         "0": "This run has one pod", "?": "shift-Tab"}


def hold(seconds):
    """Lets time pass, which is what the case is about."""
    threading.Event().wait(seconds)


def begin(t, changes=None, *options, before=""):
    """Starts a run of the small scenario and waits for its screen."""
    write({**SMALL, **(changes or {})})
    t.start("run", "small.yaml", *options, before=before)
    t.wait_for(RUNNING)


def leave(t):
    """q, and yes."""
    t.keys("q")
    t.wait_for("y/n")
    t.keys("y")
    return t.status()


def clock(t):
    """The run time in the first line, in seconds; with tenths when the intervals are below a second."""
    found = CLOCK.search(t.title())
    assert found, t.screen()
    return 60 * int(found.group(1)) + float(found.group(2))


def events(level=None):
    return [row["message"] for row in rows("SELECT * FROM events ORDER BY run_id, n")
            if level in (None, row["level"])]


def stored_event(text):
    wait_until(lambda: any(text in message for message in events()), what="the event %r in the database" % text)


def intervals():
    """How many are in the database by now."""
    try:
        return rows("SELECT count(*) AS n FROM intervals")[0]["n"]
    except (sqlite3.Error, OSError):  # the database is not there yet
        return 0


def left_out(seconds):
    """So much of the time between the start and the end of the last run is in no interval of it."""
    about = last_run()
    counted = rows("SELECT sum(length_s) AS s FROM intervals WHERE run_id = ?", about["run_id"])[0]["s"]
    assert about["ended_at"] - about["started_at"] - counted >= seconds, (about, counted)


def under_way(least=2):
    wait_until(lambda: intervals() >= least, what="%d intervals in the database" % least)


def stopped_by(reason):
    """What the database says of every run that was ended by somebody."""
    about = last_run()
    assert about["status"] == "interrupted" and reason in about["status_reason"], about
    assert healthy() and run_folders() == []
    assert rows("SELECT count(*) AS n FROM results")[0]["n"] > 0


def interrupted(t, reason):
    """The same, and what the terminal says of it."""
    stopped_by(reason)
    assert "INTERRUPTED" in t.all() and "Bottleneck:" in t.all(), t.all()


def same_modes(t, before):
    """The terminal as it was: modes, the cursor, the main screen."""
    assert t.modes() == before
    for flag, value in (("alternate_on", "0"), ("cursor_flag", "1"), ("mouse_any_flag", "0"), ("keypad_flag", "0"),
                        ("insert_flag", "0")):
        wait_until(lambda: t.flag(flag) == value, what="%s %s" % (flag, value))


def process_state(pid):
    return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0]


class Line:
    """A terminal of its own for a program that leads its session, as under `ssh -t` or `xterm -e`. Its output is
    read when `read` says so, and thrown away."""

    def __init__(self, args, program=None, read=False, env=None):
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))

        def controlling():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = spawn(args, env={"TERM": "xterm-256color", **(env or {})}, program=program, stdin=theirs,
                             stdout=theirs, stderr=theirs, preexec_fn=controlling)
        os.close(theirs)
        self.seen = b""
        self._closing = False
        self._reader = threading.Thread(target=self._read, daemon=True) if read else None
        if read:
            self._reader.start()

    def _read(self):
        os.set_blocking(self._ours, False)
        while not self._closing:
            try:
                part = os.read(self._ours, 65536)
            except BlockingIOError:
                threading.Event().wait(0.01)
                continue
            except OSError:  # nobody has the other end open any more
                return
            self.seen += part

    def type(self, data):
        os.write(self._ours, data)

    def close(self):
        """The window is gone."""
        self._closing = True
        if self._reader:
            self._reader.join()
            self._reader = None
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
