#!/usr/bin/env python3
"""The floors of the house: who may include whom."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import SOURCE, case, main

FLOORS = [["base"], ["metrics", "model", "probe", "traits"], ["block", "rank", "record"], ["draw"], ["scenario"], ["tier"], ["cache", "workload", "fleet"],
          ["engine/limits", "engine/scale", "engine/move", "engine/pipeline"], ["engine"], ["compare", "store"],
          ["page", "export"], ["study"], ["cli"]]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MOST_FILES = 35  # of a folder
# Folders with more, each with its number of files, which only falls.
CROWDED = {}
# The whole of a run is known to the files that steer it, to those that tell of it, and to pods on other ranks. The list
# only gets shorter: what serves requests takes `struct service`, what has to be told `struct events`.
SEE_THE_WHOLE = {"src/engine/" + name + ".c" for name in (
    "arrivals/dispatch arrivals/ingest arrivals/prepare engine engine_check engine_describe forecast overload pods/away "
    "pods/farstore pods/gone pods/instore pods/outages pods/pods pods/pods_interval pods/shards result sampling/blocks sampling/lookback "
    "sampling/reading sampling/sampler sampling/together sampling/together_hosts sampling/vitals scaling simulator verdict_readings").split()}
MOST_IN_CIRCLE = 3  # files that call each other
EXPORTED = re.compile(r"^(?!static|typedef|extern|return|else)[a-z][\w *]*?[ *](\w+)(\(|(?:\[\])* = )", re.MULTILINE)
# The operations of each row of a header of src/traits: where they stand, and how.
OPERATIONS = {"policies": ("src/cache/policy", r"^const struct policy_ops policy_(\w+) ="),
              "sources": ("src/workload", r"^const struct source source_(\w+) ="),
              "routings": ("src/fleet", r"^const struct routing_ops routing_(\w+) ="),
              "backends": ("src/tier", r"^const struct tier_ops tier_(\w+)_ops =")}


def rows(header):
    """The name of the operations of every row of a header of src/traits."""
    text = (SOURCE / "src/traits" / (header + ".h")).read_text().replace("\\\n", " ")
    return set(re.findall(r'\bX\(KVF_\w+, "[^"]+",\s*(\w+)', text))


def views():
    """The names of the screen's views."""
    return set(re.findall(r"\bX\((\w+), '", (SOURCE / "ui/panel/panels.h").read_text()))


# Rooms whose members stand side by side and know nothing of each other. A member's files carry its
# name as a word: nvme.c, nvme_ring.c, policy_lru.c.
MEMBERS = {
    "tier": rows("backends"),
    "workload": rows("sources"),
    "cache": rows("policies"),
    "page": ["html", "md", "txt"],
    "export": ["csv", "fio", "hdr", "mlperf", "prometheus", "xlsx"],
    "ui": views(),
}
UI_READS = {"ui", "base", "record", "draw"}
# Libraries that are the business of one room.
LIBRARIES = {"sqlite3.h": "store", "yaml.h": "scenario", "libaio.h": "tier", "cuda_runtime.h": "tier",
             "cuda_runtime_api.h": "tier", "microhttpd.h": "study", "bpf/libbpf.h": "block", "mpi.h": "rank"}
CURSES = re.compile(r"(n?curses[a-z]*|ncursesw?/.*|panel|menu|form|term)\.h$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def project_files():
    for top in ("src", "ui"):
        for suffix in ("*.c", "*.h", "*.cu"):
            yield from sorted((SOURCE / top).rglob(suffix))


def room_of(path):
    """The room of a file: "ui", or the innermost folder under src/ that has a floor of its own."""
    parts = path.relative_to(SOURCE).parts
    if parts[0] == "ui":
        return "ui"
    inner = "/".join(parts[1:3])
    return inner if inner in FLOOR else parts[1] if len(parts) > 2 else ""


def member_of(room, path):
    words = path.stem.split("_")
    found = [name for name in MEMBERS.get(room, []) if name in words]
    return found[0] if len(found) == 1 else None


def resolve(path, name):
    """The project file an include names, or None."""
    for folder in (SOURCE / "src", SOURCE, path.parent):
        target = pathlib.Path(os.path.normpath(folder / name))
        if target.is_file() and SOURCE in target.parents:
            return target
    return None


def includes():
    """(file, room, bracket, name, target file or None) for every include of the project."""
    for path in project_files():
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(errors="replace"), flags=re.DOTALL)
        for bracket, name in INCLUDE.findall(text):
            yield path, room_of(path), bracket, name, resolve(path, name) if bracket == '"' else None


def allowed(room, other):
    if room == other or (room in ("cli", "study") and other == "ui"):
        return True
    if room == "ui":
        return other in UI_READS
    if other not in FLOOR or room not in FLOOR:
        return False
    return FLOOR[other] < FLOOR[room]


def expect_none(found, rule):
    assert not found, "%s:\n%s" % (rule, "\n".join(sorted(set(found))))


def edge(path, name):
    return "  %s includes %s" % (path.relative_to(SOURCE), name)


@case("every file stands in a room of the house")
def _():
    known = set(FLOOR) | {"ui"}
    expect_none(["  %s" % path.relative_to(SOURCE) for path in project_files() if room_of(path) not in known],
                "the rooms under src/ are %s" % ", ".join(sorted(FLOOR)))


@case("includes of the project name files that are there")
def _():
    expect_none([edge(path, name) for path, _, bracket, name, target in includes()
                 if bracket == '"' and not target and name not in ("config.h", "block_object.h")],
                "paths are relative to src/; system headers stand in <>")


@case("a file includes lower floors only, and no sibling folder")
def _():
    expect_none([edge(path, name) for path, room, _, name, target in includes()
                 if target and room_of(target) in FLOOR and room in FLOOR and not allowed(room, room_of(target))],
                "floors, lowest first: %s" % "; ".join(", ".join(rooms) for rooms in FLOORS))


@case("docs/ARCHITECTURE.md has the rooms and their floors")
def _():
    table, told = (SOURCE / "docs/ARCHITECTURE.md").read_text(), {}
    for floor, rooms in re.findall(r"^\| (\d+) \| ([^|]*) \|", table, re.MULTILINE):
        told.update({room: int(floor) for room in re.findall(r"`src/([\w/]+)/`", rooms)})
    wrong = ["  %s: floor %s, not %s" % (room, FLOOR[room if room in FLOOR else room.partition("/")[0]], floor)
             for room, floor in told.items() if FLOOR[room if room in FLOOR else room.partition("/")[0]] != floor]
    expect_none(wrong + ["  %s: floor %d" % (room, FLOOR[room]) for room in set(FLOOR) - set(told)], "its table is wrong")


@case("no more files than before see the whole of a run")
def _():
    found = {str(path.relative_to(SOURCE)) for path, _, _, name, _ in includes() if name == "engine/core.h"}
    assert found == SEE_THE_WHOLE, sorted(found ^ SEE_THE_WHOLE)


@case("ui includes base, record and draw alone, and only cli and study include ui")
def _():
    expect_none([edge(path, name) for path, room, _, name, target in includes()
                 if target and "ui" in (room, room_of(target)) and not allowed(room, room_of(target))],
                "the screen is handed a snapshot provider and a command queue")


@case("no backend, source, policy, sink or panel includes its sibling")
def _():
    found = []
    for path, room, _, name, target in includes():
        if target and room_of(target) == room:
            own, other = member_of(room, path), member_of(room, target)
            if own and other and own != other:
                found.append(edge(path, name))
    expect_none(found, "members of a room know nothing of each other")


@case("every row of src/traits has its operations, and all operations have a row")
def _():
    for header, (folder, pattern) in OPERATIONS.items():
        found = {name for path in (SOURCE / folder).rglob("*.c") for name in re.findall(pattern, path.read_text(), re.MULTILINE)}
        assert found and found == rows(header), "src/traits/%s.h and %s: %s" % (header, folder, sorted(found ^ rows(header)))


@case("no folder has more than %d files" % MOST_FILES)
def _():
    folders = [path.parent for path in project_files()]
    counts = {str(folder.relative_to(SOURCE)): folders.count(folder) for folder in set(folders)}
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == CROWDED, "split what grows; lower what shrank"


def bare(path):
    """The text of a file without comments and strings."""
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", path.read_text(errors="replace"), flags=re.DOTALL)


def exported(text):
    """{name: whether it is a function} of all that a .c file has for others."""
    return {name: mark == "(" for name, mark in EXPORTED.findall(text)}


def circles(calls):
    """Sets of files of which each reaches all others (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in calls[file]:
            if other not in order:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == order[file]:
            at = stack.index(file)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for file in calls:
        if file not in order:
            visit(file)
    return found


@case("no circle of calls ties more than %d files" % MOST_IN_CIRCLE)
def _():
    texts = {str(path.relative_to(SOURCE)): bare(path) for path in project_files() if path.suffix == ".c"}
    home = {name: file for file, text in texts.items() for name in exported(text)}
    calls = {}
    for file, text in texts.items():
        own = set(re.findall(r"^static [\w *]*?[ *](\w+)[(\[ ]", text, re.MULTILINE))
        used = set(re.findall(r"(?<![\w.>])[a-z]\w+", text)) - own
        calls[file] = {home[name] for name in used & set(home)} - {file}
    sys.setrecursionlimit(10000)
    expect_none(["  " + ", ".join(files) for files in circles(calls) if len(files) > MOST_IN_CIRCLE],
                "what several files of a circle need stands below them")


def beginnings(path):
    """How names of a file may begin: its first words, one or several of them, with or without its room."""
    words, found = path.stem.split("_"), set()
    for count in range(1, len(words) + 1):
        start = "_".join(words[:count])
        found |= {start, start + "s", start.removesuffix("s"), start.removesuffix("y") + "ies"}
    return found | {room_of(path) + "_" + one for one in found}


def declared():
    """{function: how its header lets it begin}: as the header is named, or a type that the header defines."""
    found = {}
    for path in project_files():
        if path.suffix == ".h":
            text = bare(path)
            types = set(re.findall(r"^(?:struct|enum|union) (?:kvf_)?(\w+)(?=[ ;{])", text, re.MULTILINE))
            for name in re.findall(r"^[a-z_][\w *]*?[ *](\w+)\(", text, re.MULTILINE):
                found.setdefault(name, set()).update(beginnings(path) | types)
    return found


@case("a function is named after its file, its header, or a type of its header")
def _():
    found, headers = [], declared()
    for path in project_files():
        if path.suffix == ".c" and path.parent != SOURCE / "src/block/kernel":
            names = [name for name, function in exported(bare(path)).items() if function and name not in ("main", "_exit", "__attribute__")]
            found += ["  %s: %s" % (path.relative_to(SOURCE), name) for name in names
                      if not any(name == one or name.startswith(one + "_") for one in beginnings(path) | headers.get(name, set()))]
    expect_none(found, "file, prefix and noun are one")


@case("no two files of src and ui have one name")
def _():
    names = {}
    for path in project_files():
        names.setdefault(path.name, []).append(str(path.relative_to(SOURCE)))
    expect_none(["  " + " and ".join(files) for files in names.values() if len(files) > 1], "a name tells where to look")


@case("comments name headers that are there, by their whole path")
def _():
    found = []
    for path in project_files():
        for comment in re.findall(r"/\*.*?\*/", path.read_text(errors="replace"), re.DOTALL):
            names = re.findall(r"(?<![\w./<-])((?:[a-z_]+/)+[a-z0-9_]+\.[ch])\b", comment)
            found += [edge(path, name) for name in names if not resolve(path, name)]
    expect_none(found, "what has moved is named where it is now")


@case("curses is included by ui/term/term.c alone")
def _():
    expect_none([edge(path, name) for path, room, bracket, name, _ in includes()
                 if bracket == "<" and CURSES.match(name) and path != SOURCE / "ui/term/term.c"],
                "term.c is the only file that knows curses")


@case("SQLite, libyaml and libaio are each the business of one room")
def _():
    expect_none([edge(path, name) for path, room, _, name, _ in includes()
                 if name in LIBRARIES and room != LIBRARIES[name]],
                "; ".join("%s: %s" % pair for pair in LIBRARIES.items()))


@case("config.h is included by .c files alone")
def _():
    expect_none([edge(path, name) for path, _, _, name, _ in includes()
                 if name == "config.h" and path.suffix == ".h"], "headers do not depend on the build")


@case("a file includes its own header first")
def _():
    first = {}
    for path, _, _, name, target in includes():
        if name != "config.h":
            first.setdefault(path, target)
    expect_none([edge(path, "%s late or not at all" % path.with_suffix(".h").name) for path, target in first.items()
                 if path.suffix == ".c" and path.with_suffix(".h").is_file() and target != path.with_suffix(".h")],
                "so that every header is complete in itself")


if __name__ == "__main__":
    main()
