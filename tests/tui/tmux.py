"""A terminal to look at: a shell in a private tmux server, keys typed into it, its screen read back.

    with Terminal(rows=24, cols=80) as t:
        t.start("run", "small.yaml")
        t.wait_for("RUNNING")
        t.keys("q", "y")
        assert t.status() == 0

The shell is interactive, so Ctrl-Z and fg are real. It works in the case's working directory with the case's
environment; tmux' socket lies in a folder of its own. Nothing is waited for without a bound.
"""
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tap

PROMPT = "ready>"
PATIENCE = 30  # seconds

_SETTINGS = """
set -g default-terminal "%s"
set -g status off
set -g exit-empty off
set -g remain-on-exit on
set -g history-limit 2000
set -s escape-time 0
"""


class Terminal:
    """A shell in a terminal of that size. env: variables for it besides those of tap.environment()."""

    def __init__(self, rows=24, cols=80, env=None, term="screen-256color", cwd=None):
        self._tmux = tap.need_tool("tmux")
        shell = tap.need_tool("bash")
        folder = tap.scratch("tmux")
        self.cwd = pathlib.Path(cwd or tap.home() / "work")
        self._status = folder / "status"
        self._socket = folder / "socket"
        (folder / "settings").write_text(_SETTINGS % term)
        inside = dict(PS1=PROMPT + " ", PROGRAM=tap.KVFALL, STATUS=self._status, TERM="screen", HISTFILE=None, **(env or {}))
        self._env = tap.environment(inside)
        self._server = tap.spawn(["-u", "-S", self._socket, "-f", folder / "settings", "-D"], env=inside,
                                 cwd=self.cwd, program=self._tmux, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        tap.wait_until(self._socket.exists, PATIENCE, "the socket of tmux")
        self._ask("new-session", "-d", "-s", "case", "-x", cols, "-y", rows, "-c", self.cwd, shell, "--norc",
                  "--noprofile", "-i")
        self.wait_for(PROMPT)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        # A stopped or stuck program must not outlive its case.
        for pid in self.children():
            _kill(pid)
        self._ask("kill-server", check=False)
        try:
            self._server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            _kill(self._server.pid)

    def _ask(self, *words, check=True):
        got = subprocess.run([self._tmux, "-S", str(self._socket), *map(str, words)], env=self._env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        assert not check or got.returncode == 0, "tmux %s: %s" % (words[0], got.stderr.decode())
        return got.stdout.decode("utf-8", "replace")

    def children(self):
        """Processes started by the shell."""
        shell = self._ask("display-message", "-p", "-t", "case", "#{pane_pid}", check=False).strip()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue  # it has just ended
            if shell and fields[1] == shell:
                found.append(int(path.parent.name))
        return found

    # ---- typing ----

    def type(self, text):
        """Characters as they are."""
        self._ask("send-keys", "-t", "case", "-l", "--", text)

    def keys(self, *names):
        """Keys by tmux' names: a, Enter, Tab, BTab, Left, C-c, ..."""
        self._ask("send-keys", "-t", "case", "--", *names)

    def shell(self, line):
        """A line for the shell; returns when it has been carried out."""
        done = self._status.with_name("done")
        done.unlink(missing_ok=True)
        self.type("%s; : >%s" % (line, shlex.quote(str(done))))
        self.keys("Enter")
        tap.wait_until(done.exists, PATIENCE, "the end of `%s`" % line)

    def start(self, *args, before=""):
        """Starts kvfall in the foreground; before: variables for it alone, as `LC_ALL=C `."""
        assert pathlib.Path(tap.KVFALL).exists(), "%s is not built" % tap.KVFALL
        self._status.unlink(missing_ok=True)
        self.type("clear; %s$PROGRAM %s; echo $? >$STATUS" % (before, " ".join(shlex.quote(str(a)) for a in args)))
        self.keys("Enter")

    def foreground(self):
        """fg; the program's end is its end again."""
        self._status.unlink(missing_ok=True)
        self.type("fg; echo $? >$STATUS")
        self.keys("Enter")

    def modes(self):
        """The modes of the terminal as the shell finds them."""
        path = self._status.with_name("modes")
        self.shell("stty -g >%s" % shlex.quote(str(path)))
        return path.read_text()

    def resize(self, rows, cols):
        self._ask("resize-window", "-t", "case", "-x", cols, "-y", rows)

    # ---- looking ----

    def screen(self):
        return self._ask("capture-pane", "-p", "-t", "case")

    def coloured(self):
        """The screen with the escape sequences of its attributes."""
        return self._ask("capture-pane", "-p", "-e", "-t", "case")

    def all(self):
        """What the terminal has kept, from the first line on."""
        return self._ask("capture-pane", "-p", "-t", "case", "-S", "-")

    def title(self):
        """The first line of the screen."""
        return self.screen().split("\n", 1)[0]

    def flag(self, name):
        """A state of the terminal by tmux' name: alternate_on, cursor_flag, ..."""
        return self._ask("display-message", "-p", "-t", "case", "#{%s}" % name).strip()

    def _wait(self, condition, what, timeout):
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < end, "%s did not come about in %g s\n--- screen\n%s" % (what, timeout, self.screen())
            time.sleep(0.05)  # each look is a process

    def wait_for(self, text, timeout=PATIENCE):
        """Until the screen shows the text (a compiled pattern is searched for); returns the screen."""
        def there():
            screen = self.screen()
            found = text.search(screen) if isinstance(text, re.Pattern) else text in screen
            return screen if found else None
        return self._wait(there, "%r on the screen" % text, timeout)

    def wait_gone(self, text, timeout=PATIENCE):
        self._wait(lambda: text not in self.screen(), "a screen without %r" % text, timeout)

    def wait_size(self, rows, cols, last, timeout=PATIENCE):
        """Until the screen is drawn at that size: `last` is in its last row. Returns the rows."""
        def drawn():
            lines = self.screen().rstrip("\n").split("\n")
            return lines if len(lines) == rows and last in lines[-1] else None
        lines = self._wait(drawn, "a screen of %dx%d" % (cols, rows), timeout)
        assert all(len(line) <= cols for line in lines), "\n".join(lines)
        return lines

    def ended(self):
        return self._status.exists() and self._status.read_text().endswith("\n")

    def status(self, timeout=60):
        """The exit status of what start() or foreground() runs, once the shell has it back."""
        self._wait(self.ended, "the end of the program", timeout)
        self._wait(lambda: self.screen().rstrip().endswith(PROMPT), "the shell's prompt", PATIENCE)
        return int(self._status.read_text())


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
