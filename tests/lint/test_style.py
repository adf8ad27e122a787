#!/usr/bin/env python3
"""What the house style can be held to by a machine."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import SOURCE, Skip, case, main, need_tool

LONGEST_FILE = 600
LONGEST_FUNCTION = 60
LONG_FUNCTIONS = {}  # longer ones, each with its number of lines, which only falls
CLANG_FORMAT = 14  # other versions format differently
# In two parts, so that this file does not contain them.
LEFT_OVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|\bnot (yet )?imple" r"mented|place" r"holder")
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')

# Not decodable, no-break, zero-width and direction-changing characters.
INVISIBLE = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\xa0\\xad\\u200b-\\u200f\\u2028-\\u202f\\u2060-\\u206f\\ufeff\\ufffd]")


def keep_lines(match):
    return "\n" * match.group().count("\n")


def files(*patterns):
    return [path for pattern in patterns for path in sorted(SOURCE.glob(pattern)) if path.is_file()]


def code():
    return files("src/**/*.[ch]", "ui/**/*.[ch]")


def all_code():
    return code() + files("tests/unit/**/*.[ch]", "tests/bench/*.[ch]", "tests/fuzz/*.[ch]")


def texts():
    return all_code() + files("configs/**/*", "man/*", "tests/cli/*.py", "tests/bench/*.py", "tests/fuzz/*.py", "README.md")


def lines(paths):
    """(file:line, line) of all files."""
    for path in paths:
        name = path.relative_to(SOURCE)
        for number, line in enumerate(path.read_text(errors="surrogateescape").split("\n"), 1):
            yield "%s:%d" % (name, number), line


def expect_none(found):
    assert not found, "\n" + "\n".join(found)


@case("README.md is read in five minutes: at most 200 lines")
def _():
    assert (SOURCE / "README.md").read_text().count("\n") <= 200


@case("no comment opens with What, Who or Those: it names its subject")
def _():
    opener = re.compile(r"/\* (What|Who|Whom|Whose|Whoever|Those)\b")
    expect_none(["%s: %s" % (where, line.strip()) for where, line in lines(all_code()) if opener.search(line)])


@case("each thing is written in one way: sizeof of an expression, what strings are compared for, formats of 64 bits")
def _():
    other = re.compile(r"\bsizeof\((?:\*|[a-z]\w*(?:->|\.|\[|\)))(?<!_t\))|!\s*(?:str|strn|mem|strcase|strncase)cmp\(|%[-0-9.*+# ]*ll[diuxX]")
    types = re.compile(r"\bsizeof\((?:int|char|long|short|float|double|void|bool|unsigned)\)")
    expect_none(["%s: %s" % (where, line.strip()) for where, line in lines(all_code())
                 if other.search(line) and not types.search(line) and where.partition(":")[0].endswith((".c", ".h"))])


@case("no file of src or ui is longer than %d lines" % LONGEST_FILE)
def _():
    counts = [(path, len(path.read_bytes().splitlines())) for path in code()]
    expect_none(["%s: %d lines" % (path.relative_to(SOURCE), count) for path, count in counts
                 if count > LONGEST_FILE])


@case("no function of src or ui is longer than %d lines" % LONGEST_FUNCTION)
def _():
    long = {}
    for path in code():
        for found in re.finditer(r"^\w[^;{}#]*?(\w+)\([^;{}]*\)\s*\{\n(.*?)^\}$", path.read_text(), re.MULTILINE | re.DOTALL):
            count = found.group().count("\n") + 1
            if count > LONGEST_FUNCTION:
                long["%s: %s" % (path.relative_to(SOURCE), found.group(1))] = count
    assert long == LONG_FUNCTIONS, "%s: split what grew; lower what shrank" % long


@case("nothing is left for later")
def _():
    expect_none(["%s: %s" % (where, line.strip()) for where, line in lines(texts()) if LEFT_OVER.search(line)])


@case("code is ASCII; other characters stand in strings and comments, and all are visible")
def _():
    found = []
    for path in all_code():
        text = path.read_text(errors="replace")
        bare = re.sub(r"//[^\n]*|/\*.*?\*/", keep_lines, TOKEN.sub('""', text), flags=re.DOTALL)
        for number, (line, code_of_it) in enumerate(zip(text.split("\n"), bare.split("\n")), 1):
            if not code_of_it.isascii() or INVISIBLE.search(line):
                found.append("%s:%d: %s" % (path.relative_to(SOURCE), number, ascii(line.strip())))
    expect_none(found)


@case("no tabs, no spaces at line ends, one newline at the end of a file")
def _():
    found = ["%s: %s" % (where, "tab" if "\t" in line else "space or CR at the end")
             for where, line in lines(all_code()) if "\t" in line or line != line.rstrip()]
    for path in texts():
        text = path.read_bytes()
        if not text.endswith(b"\n") or text.endswith(b"\n\n"):
            found.append("%s: no newline or an empty line at the end" % path.relative_to(SOURCE))
    expect_none(found)


@case("a header is guarded by its own path")
def _():
    found = []
    for path in files("src/**/*.h", "ui/**/*.h"):
        inside = path.relative_to(SOURCE / "src") if path.parts[len(SOURCE.parts)] == "src" else path.relative_to(SOURCE)
        guard = "KVF_" + re.sub(r"\W", "_", str(inside)).upper()
        if not re.search(r"^#ifndef %s\n#define %s$" % (guard, guard), path.read_text(), re.MULTILINE):
            found.append("%s: the guard should be %s" % (path.relative_to(SOURCE), guard))
    expect_none(found)


def declarations(path):
    """(line number, the declaration's text, whether a comment stands above its block or behind it)."""
    at = path.read_text().split("\n")
    for number, line in enumerate(at):
        if not re.match(r"(?!static|typedef|return|#)[a-z_][\w *]*?[ *]\w+\(", line):
            continue
        end = number
        while ";" not in at[end] and "{" not in at[end]:
            end += 1
        above = number - 1
        while above >= 0 and at[above].strip() and not ("*/" in at[above] and at[above][0] in "/ "):
            above -= 1
        yield number + 1, line, "/*" in "".join(at[number:end + 1]) or (above >= 0 and bool(at[above].strip()))


@case("a header is a contract: it has a thread rule, and says of each function what it does")
def _():
    found = []
    for path in files("src/**/*.h", "ui/**/*.h"):
        name = path.relative_to(SOURCE)
        functions = list(declarations(path))
        if functions and not re.search(r"thread|lock\b", path.read_text(), re.IGNORECASE):
            found.append("%s: no thread rule" % name)
        found += ["%s:%d: %s" % (name, number, line) for number, line, told in functions if not told]
    expect_none(found)


@case("nothing below study ends the process, but for the child that makes a workbook")
def _():
    ends = re.compile(r"(?<![\w.>])(exit|_exit|_Exit|quick_exit|exit_now)\s*\(")
    expect_none(["%s: %s" % (where, line.strip()) for where, line in lines(code())
                 if not where.startswith(("src/cli/", "src/study/", "src/export/book.c:")) and ends.search(TOKEN.sub("", line))
                 and not line.lstrip().startswith(("*", "/*"))])


@case("clang-format has nothing to change")
def _():
    tool = need_tool("clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    major = re.search(r"version (\d+)", version)
    if not major or int(major.group(1)) != CLANG_FORMAT:
        raise Skip("clang-format %d is the one whose layout counts, here is %s" % (CLANG_FORMAT, version.strip()))
    got = subprocess.run([tool, "--dry-run"] + [str(path.relative_to(SOURCE)) for path in all_code()], cwd=SOURCE,
                         capture_output=True, text=True)
    expect_none(sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning: code should be", got.stderr, re.MULTILINE))))


if __name__ == "__main__":
    main()
