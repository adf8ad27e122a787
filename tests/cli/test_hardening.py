#!/usr/bin/env python3
"""The program is hardened as its --version says: what the linker has made of it is read with readelf."""
import re

from tap import KVFALL, Skip, case, main, need_tool, run


def hardening():
    """What it says it is hardened by, a set."""
    line = re.search(r"^ *hardening +(on|off): (.*)$", run(["--version"]).stdout, re.M)
    assert line, run(["--version"])
    if line.group(1) == "off":
        raise Skip("this build is not hardened: " + line.group(2))
    return set(line.group(2).split(", "))


def readelf(*options):
    got = run(["-W", *options, KVFALL], program=need_tool("readelf"))
    assert got.rc == 0, got
    return got.stdout


@case("a program that can be anywhere in memory, whose relocations are read-only before it begins")
def _():
    asked = hardening()
    assert {"PIE", "full RELRO"} <= asked, asked
    assert re.search(r"Type: +DYN", readelf("-h"))
    segments, dynamic = readelf("-l"), readelf("-d")
    assert "GNU_RELRO" in segments and re.search(r"GNU_STACK .* RW ", segments), segments
    flags = re.search(r"\(FLAGS_1\) +Flags: (.*)", dynamic).group(1).split()
    assert {"NOW", "PIE"} <= set(flags), dynamic
    assert "(TEXTREL)" not in dynamic, dynamic


@case("functions with arrays have a canary, and calls of the library that can run over are the checked ones")
def _():
    asked, symbols = hardening(), readelf("--dyn-syms")
    assert "stack protector" in asked and "__stack_chk_fail" in symbols, asked
    if not any(name.startswith("FORTIFY") for name in asked):
        raise Skip("a build without optimisation or with a sanitizer has no checked calls")
    used = set(re.findall(r"\b(__\w+_chk)\b", symbols))
    assert {"__snprintf_chk", "__vsnprintf_chk", "__fprintf_chk"} & used, used


main()
