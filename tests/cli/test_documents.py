#!/usr/bin/env python3
"""Sessions that the documents show: their commands are run, and what they print is what stands there."""
import re
import signal

from played_events import BLOCK, TUESDAY_BLOCKS, Engine, tuesday
from tap import KVFALL, SOURCE, case, finish, home, main, run, spawn, wait_until

DATES = re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b")


def page(path):
    """A page of the manual with its literal blocks as Markdown has them."""
    lines, literal = [], False
    for line in (SOURCE / path).read_text().splitlines():
        literal = line.startswith(".Bd -literal") or (literal and line != ".Ed")
        plain = line.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")
        lines.append("    " + plain if literal and not line.startswith(".Bd") else "")
    return lines


def sessions(path):
    """[(command, lines shown below it)] of the blocks whose first line is a command."""
    found, told = [], False
    for line in page(path) if path.startswith("man/") else (SOURCE / path).read_text().splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            told = True
        elif told and line.startswith("    "):
            found[-1][1].append(line[4:].rstrip())
        elif told and line:
            told = False
        elif told:
            found[-1][1].append("")
    return [(command, "\n".join(lines).strip("\n").split("\n") if any(lines) else []) for command, lines in found]


def differs(shown, printed):
    """The first part of what is shown that was not printed, in this order; `...` stands for what was left out."""
    printed, at = [DATES.sub("DATE", line.rstrip()) for line in printed.splitlines()], 0
    for part in re.split(r"^\.\.\.$", DATES.sub("DATE", "\n".join(shown)), flags=re.MULTILINE):
        lines = part.strip("\n").split("\n") if part.strip() else []
        ends = [start + len(lines) for start in range(at, len(printed) - len(lines) + 1) if printed[start:start + len(lines)] == lines]
        if not ends:
            return part
        at = ends[0]
    return ""


def clone():
    """What the documents take for granted: the program on the path and in the current directory, and its scenarios."""
    (home() / "bin").mkdir()
    for link, target in (("bin/kvfall", KVFALL), ("work/kvfall", KVFALL), ("work/configs", SOURCE / "configs"),
                         ("work/three-tier.yaml", SOURCE / "configs/three-tier.yaml")):
        (home() / link).symlink_to(target)


def follow(steps):
    for command, shown in steps:
        got = run(["-c", command], env={"PATH": "%s:/usr/bin:/bin" % (home() / "bin")}, program="/bin/sh", timeout=300)
        assert got.rc == 0, (command, got)
        assert not differs(shown, got.stdout), "%s\nno longer prints:\n%s\nbut: %s" % (command, differs(shown, got.stdout), got)


@case("README.md: two simulated runs and their comparison")
def _():
    clone()
    steps = sessions("README.md")
    assert [bool(shown) for _, shown in steps] == [False, False, True], steps
    follow(steps)


@case("kvfall-compare(1): the same over half a minute")
def _():
    clone()
    steps = sessions("man/kvfall-compare.1")
    assert [bool(shown) for _, shown in steps] == [False, False, True], steps
    follow(steps)


@case("docs/OWN-LOAD.md: from an engine's events to a plan")
def _():
    clone()
    (play, announced), (record, recorded), *steps = sessions("docs/OWN-LOAD.md")
    assert "played_events" in play and record.startswith("kvfall record") and len(steps) == 6, (play, record, steps)
    engine = Engine(TUESDAY_BLOCKS, BLOCK)
    try:
        recording = spawn(re.sub("tcp:[^ ]*", "%s,%s" % (engine.address, engine.replay), record).split()[1:])
        wait_until(engine.subscribed, what="a subscription")
        counted, blocks = tuesday(engine), home() / "work/blocks.csv"
        assert announced[-1] == counted + "; Enter ends", announced
        wait_until(lambda: blocks.exists() and blocks.read_bytes().count(b"\n") == 1 + engine.stored + engine.removed, 60, "all events")
        recording.send_signal(signal.SIGINT)
        got = finish(recording)
    finally:
        engine.close()
    assert not differs(recorded, got.stdout), got
    for place, (command, shown) in enumerate(steps):
        if command.startswith("cat "):  # a file that the reader writes
            (home() / "work" / command.split()[1]).write_text("\n".join(shown) + "\n")
        else:
            follow([steps[place]])


main()
