#!/usr/bin/env python3
"""bootstrap against package managers, compilers and a make that only write down how they are called."""
import os
import re
import shutil

from tap import SOURCE, case, main, run, scratch

REAL = ["bash", "env", "cat", "dirname", "rm", "grep", "nproc", "flock", "awk"]
TOOLS = ["gcc", "make", "autoconf", "automake", "autoreconf", "pkg-config", "clang"]
PACKAGES = {"gcc": "gcc", "make": "make", "autoconf": "autoconf", "automake": "automake", "pkg-config": "pkg-config"}


class Machine:
    """A tree with bootstrap and a machine of fake tools; what they were told is in `calls`."""

    def __init__(self, manager, uid=0, without=(), modules=True, built=True):
        self.tree = scratch("tree")
        self.bin = scratch("bin")
        self.log = self.tree / "calls.log"
        self.log.touch()
        for name in REAL:
            path = shutil.which(name)
            if path:
                (self.bin / name).symlink_to(path)
        for name in TOOLS:
            if name not in without:
                self.tool(name, "exit %d" % (1 if name == "pkg-config" and not modules else 0))
        if "gcc" not in without:  # a library is there like the modules: its path, else its name
            self.tool("gcc", 'case $1 in -print-file-name=*) echo %s ;; esac' % ("/" if modules else "${1#*=}"))
        self.tool("id", "echo %d" % uid, quiet=True)
        self.tool("sudo", 'exec "$@"')
        managers = {"apt-get": ("apt-get", "dpkg-query"), "dnf": ("dnf", "rpm")}
        for name in managers.get(manager, ()):
            self.tool(name, "exit 0" if name == manager else "exit 1", quiet=name != manager)
        shutil.copy(SOURCE / "bootstrap", self.tree)
        os.mkdir(self.tree / "tests")
        shutil.copy(SOURCE / "tests/run-summary", self.tree / "tests")
        # In the order in which they are made: each newer than what it is made from.
        for second, name in enumerate(["configure.ac", "Makefile.am", "configure", "Makefile.in", "config.status",
                                       "Makefile"]):
            path = self.tree / name
            path.write_text("#!/bin/sh\necho %s \"$@\" >>'%s'\n" % (name, self.log))
            path.chmod(0o755)
            os.utime(path, (1e9 + second, 1e9 + second))
        program = self.tree / "kvfall"
        program.write_text('#!/bin/sh\necho "kvfall in $PWD:" "$@"\n')
        program.chmod(0o755)
        if not built:
            for name in ("configure", "Makefile.in", "config.status", "Makefile"):
                (self.tree / name).unlink()

    def tool(self, name, body, quiet=False):
        path = self.bin / name
        note = "" if quiet else "echo %s \"$@\" >>'%s'\n" % (name, self.log)
        path.write_text("#!/bin/sh\n" + note + body + "\n")
        path.chmod(0o755)

    def bootstrap(self, *args, cwd=None):
        got = run(args, program=self.tree / "bootstrap", cwd=cwd, env={"PATH": str(self.bin), "CC": None})
        self.calls = self.log.read_text().splitlines()
        return got

    def called(self, name):
        return [call for call in self.calls if call.startswith(name + " ")]


def requested(call):
    """The packages of an install call."""
    return {word for word in call.split(" install ")[1].split() if not word.startswith("-")}


@case("without a command it explains itself, exit 2")
def _():
    got = Machine("apt-get").bootstrap()
    assert got.rc == 2 and "usage:" in got.stderr and got.stdout == "", got


@case("an unknown command and arguments too many are refused, exit 2")
def _():
    machine = Machine("apt-get")
    assert machine.bootstrap("walk").rc == 2
    assert machine.bootstrap("build", "fast").rc == 2
    assert machine.calls == [], machine.calls


@case("with everything there it installs, generates and configures nothing")
def _():
    machine = Machine("apt-get")
    got = machine.bootstrap("run", "--headless", "a b.yaml")
    assert got.rc == 0, got
    for name in ("apt-get", "sudo", "autoreconf", "configure", "config.status"):
        assert machine.called(name) == [], machine.calls
    assert len(machine.called("make")) == 1, machine.calls
    assert got.stderr == "", got


@case("run starts kvfall in the caller's directory, and stdout is kvfall's alone")
def _():
    elsewhere = scratch("elsewhere")
    got = Machine("apt-get").bootstrap("run", "--headless", "--set", "name=x", cwd=elsewhere)
    assert got.stdout == "kvfall in %s: run --headless --set name=x\n" % elsewhere, got


@case("Debian: what is missing is named and installed by apt-get, nothing else")
def _():
    machine = Machine("apt-get", without=("automake", "autoconf"))
    got = machine.bootstrap("build")
    assert got.rc == 0, got
    update, install = machine.called("apt-get")
    assert " update" in update and "--no-install-recommends" in install, machine.calls
    assert requested(install) == {"autoconf", "automake"}, install
    assert re.search(r"installing with apt-get: autoconf automake$", got.stderr, re.MULTILINE), got
    assert machine.called("sudo") == [], machine.calls


@case("Debian: check asks for the test packages as well, build does not")
def _():
    machine = Machine("apt-get", modules=False)
    machine.bootstrap("build")
    built = requested(machine.called("apt-get")[-1])
    assert built == {"libncurses-dev", "libyaml-dev", "libsqlite3-dev", "libjansson-dev", "libzstd-dev", "libssl-dev",
                     "zlib1g-dev", "libxlsxwriter-dev", "libcurl4-openssl-dev", "libmicrohttpd-dev",
                     "libbpf-dev"}, built
    machine.bootstrap("check")
    assert requested(machine.called("apt-get")[-1]) - built == {
        "libcmocka-dev", "python3", "mandoc", "tmux", "git", "zsh", "redis-server", "libzmq5", "bash-completion", "libopenmpi-dev",
        "openmpi-bin"}, machine.calls


@case("Debian: a run over ranks asks for MPI, any other run does not")
def _():
    machine = Machine("apt-get")
    machine.bootstrap("run", "--headless")
    assert machine.called("apt-get") == [], machine.calls
    machine.bootstrap("run", "--ranks", "2")
    assert requested(machine.called("apt-get")[-1]) == {"libopenmpi-dev", "openmpi-bin"}, machine.calls


@case("Debian: a package that dpkg knows is not installed again")
def _():
    machine = Machine("apt-get", modules=False)
    machine.tool("dpkg-query", "echo installed", quiet=True)
    assert machine.bootstrap("build").rc == 0
    assert machine.called("apt-get") == [], machine.calls


@case("Fedora: dnf gets Fedora's names")
def _():
    machine = Machine("dnf", modules=False)
    got = machine.bootstrap("build")
    assert got.rc == 0, got
    assert requested(machine.called("dnf")[0]) == {"ncurses-devel", "libyaml-devel", "sqlite-devel", "jansson-devel",
                                                   "libzstd-devel", "openssl-devel",
                                                   "zlib-devel", "libxlsxwriter-devel", "libcurl-devel", "libmicrohttpd-devel",
                                                   "libbpf-devel"}, machine.calls


@case("a failed dnf: the hint names the repositories that RHEL has beside its own")
def _():
    machine = Machine("dnf", modules=False)
    machine.tool("dnf", "exit 1")
    got = machine.bootstrap("build")
    assert got.rc == 1 and "could not install" in got.stderr and "libyaml-devel" in got.stderr and machine.called("make") == [], got
    assert "CodeReady Builder and EPEL: dnf config-manager --set-enabled crb && dnf install epel-release" in got.stderr, got


@case("sudo is used by other users than root")
def _():
    machine = Machine("apt-get", uid=1000, without=("make",))
    machine.bootstrap("build")
    assert len(machine.called("sudo")) == 2, machine.calls


@case("no sudo and no package manager: it says what to install and stops")
def _():
    machine = Machine("apt-get", uid=1000, without=("automake",))
    (machine.bin / "sudo").unlink()
    got = machine.bootstrap("build")
    assert got.rc == 1 and "automake" in got.stderr and machine.called("make") == [], got
    machine = Machine(None, without=("automake",))
    got = machine.bootstrap("build")
    assert got.rc == 1 and "automake" in got.stderr and machine.called("make") == [], got


@case("a failed installation ends it before anything is built")
def _():
    machine = Machine("apt-get", without=("automake",))
    machine.tool("apt-get", 'case "$*" in *install*) exit 100 ;; esac')
    got = machine.bootstrap("run")
    assert got.rc == 1 and got.stdout == "" and machine.called("make") == [], got


@case("a fresh clone is generated and configured once")
def _():
    machine = Machine("apt-get", built=False)
    configure = "printf '#!/bin/sh\\necho configure >>%s; touch Makefile config.status\\n' >configure" % machine.log
    machine.tool("autoreconf", configure + "; chmod +x configure; touch Makefile.in")
    machine.tool("touch", 'for f; do : >"$f"; done', quiet=True)
    (machine.bin / "chmod").symlink_to(shutil.which("chmod"))
    assert machine.bootstrap("build").rc == 0
    assert machine.bootstrap("build").rc == 0
    assert machine.called("autoreconf") == ["autoreconf -i"], machine.calls
    assert machine.calls.count("configure") == 1, machine.calls


@case("tests that could not be built before are configured in, with the same options")
def _():
    machine = Machine("apt-get")
    needs = re.findall(r"^(?:check|ranks)_needs='(.*?)'", (SOURCE / "bootstrap").read_text(), re.MULTILINE | re.DOTALL)
    for name in re.findall(r"^command (\S+)", "".join(needs), re.MULTILINE):
        machine.tool(name, "exit 0", quiet=True)
    machine.bootstrap("check")
    assert machine.called("config.status")[0] == "config.status --recheck", machine.calls
    assert machine.called("apt-get") == [], machine.calls
    assert [call.split()[-1] for call in machine.called("make")] == ["all", "check", "check-results"], machine.calls


@case("a build that fails is a failed check, counted in the last line")
def _():
    machine = Machine("apt-get")
    machine.tool("make", "exit 2")
    got = machine.bootstrap("check")
    assert got.rc != 0 and got.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped", got


@case("a build that fails starts no run")
def _():
    machine = Machine("apt-get")
    machine.tool("make", "exit 2")
    got = machine.bootstrap("run")
    assert got.rc == 2 and got.stdout == "", got


@case("the counts: every case once, reasons beside failures and skips")
def _():
    folder = scratch("results")
    programs = {
        "good": [("PASS", "1 - a"), ("PASS", "2 - b"), ("XFAIL", "3 - c")],
        "bad": [("PASS", "1 - a"), ("FAIL", "2 - b"), ("PASS", "3 - c")],
        "crash": [("PASS", "1 - a"), ("ERROR", "- exited with status 139")],
        "skip": [("SKIP", "1 - a # SKIP no tool")],
        "none": [],
    }
    for name, verdicts in programs.items():
        (folder / (name + ".trs")).write_text("".join(":test-result: %s\n" % verdict for verdict, _ in verdicts)
                                              + ":recheck: no\n")
        (folder / (name + ".log")).write_text("".join("%s: %s %s\n# why\nother output\n" % (verdict, name, text)
                                                      for verdict, text in verdicts))
    got = run([name + ".trs" for name in sorted(programs) + ["absent"]], program=SOURCE / "tests/run-summary",
              cwd=folder)
    assert got.rc == 1, got
    assert got.stdout.splitlines() == [
        "SKIP skip: 1 - a: no tool", "FAIL bad: 2 - b", "    why", "FAIL crash: - exited with status 139",
        "    why", "FAIL none: did not run", "FAIL absent: did not run", "6 passed, 4 failed, 1 skipped"], got
    got = run(["good.trs", "skip.trs"], program=SOURCE / "tests/run-summary", cwd=folder)
    assert (got.rc, got.stdout.splitlines()[-1]) == (0, "3 passed, 0 failed, 1 skipped"), got


@case("cmocka's output: skips are no failures and have reasons, a crash is a failure")
def _():
    program = scratch("cmocka") / "program"

    def unit(output, status):
        program.write_text("#!/bin/sh\ncat <<'END'\n%sEND\nexit %d\n" % (output, status))
        program.chmod(0o755)
        return run([program], program=SOURCE / "tests/run-unit")

    got = unit("1..2\nok 1 - a\nskip: no disk\nnot ok 2 # SKIP b\n", 0)
    assert (got.rc, got.stdout) == (0, "1..2\nok 1 - a\nok 2 - b # SKIP no disk\n"), got
    got = unit("1..2\nnot ok 1 - a\nnot ok 2 - b\n", 2)
    assert (got.rc, got.stdout) == (0, "1..2\nnot ok 1 - a\nnot ok 2 - b\n"), got
    assert unit("1..1\nok 1 - a\n", 139).rc == 139
    assert unit("1..1\nnot ok 1 - a\n", 66).rc == 66


@case("no tests at all is a failure")
def _():
    got = run([], program=SOURCE / "tests/run-summary")
    assert got.rc == 1 and got.stdout.splitlines()[-1] == "0 passed, 0 failed, 0 skipped", got


def ci(check, asan, tsan, clang="7 passed, 0 failed, 0 skipped", built=True):
    """What .ci/run says when its four parts print these lines, and end as they say."""
    tree = scratch("tree")
    (tree / ".ci").mkdir()
    shutil.copy(SOURCE / ".ci/run", tree / ".ci/run")
    part = "#!/bin/sh\nprintf '%%s\\n' 'SKIP some: reason' '%s'\ncase '%s' in *' 0 failed'*) exit 0; esac\nexit 1\n"
    (tree / "bootstrap").write_text(part % (check, check))
    fake = tree / "bin/make"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\ncase $* in *check-asan) said='%s';; *check-tsan) said='%s';; *check-clang) said='%s';; *) exit 9;; esac\n"
                    "echo building >&2\necho \"$said\"\ncase $said in *' 0 failed'*) exit 0; esac\nexit 1\n" % (asan, tsan, clang))
    fake.chmod(0o755)
    if built:
        (tree / "Makefile").touch()
    got = run([".ci/run"], program=shutil.which("bash"), cwd=tree, env={"PATH": "%s:%s" % (fake.parent, os.environ["PATH"])})
    return got.rc, got.stdout.splitlines()[-1]


@case("CI's last line is the sum over all tests, those with sanitizers, those with the thread sanitizer and what clang reads")
def _():
    good = "%d passed, 0 failed, %d skipped"
    assert ci(good % (2000, 3), good % (900, 2), good % (40, 1)) == (0, "2947 passed, 0 failed, 6 skipped")
    assert ci(good % (5, 0), "4 passed, 2 failed, 0 skipped", good % (1, 0)) == (1, "17 passed, 2 failed, 0 skipped")
    assert ci("1 passed, 3 failed, 0 skipped", good % (4, 0), good % (1, 0)) == (1, "13 passed, 3 failed, 0 skipped")
    assert ci("0 passed, 1 failed, 0 skipped", "", "", built=False) == (1, "0 passed, 2 failed, 0 skipped")
    assert ci(good % (5, 0), good % (4, 0), "make: *** it broke off") == (1, "16 passed, 1 failed, 0 skipped")
    assert ci(good % (5, 0), good % (4, 0), good % (1, 0), "6 passed, 1 failed, 0 skipped") == (1, "16 passed, 1 failed, 0 skipped")


main()
