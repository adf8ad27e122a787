#!/usr/bin/env python3
"""Hunts for inputs that break a parser: fuzz.py [--time S] [--executions N] [--seed N] [TARGET]...

Builds kvfall's library with what finds faults and runs each target for so many seconds, from the inputs in
tests/fuzz/corpus, the known ones in tests/fuzz/regress and, where they are, the scenarios in configs
and the beginnings of real traces. With a clang that has it libFuzzer does the hunting, else
tests/fuzz/driver.c; FUZZ_CC names the compiler. What a hunt has kept is where its next one starts:
tests/fuzz/work under the build. A finding is written there as well; the exit status is 1 if there is
one. With a number of executions it goes round until all targets together have come to it: each target
gets its time in each round, the quickest four times as much as the others together. Meant to be called
by make fuzz, which sets what it needs from the environment."""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("KVFALL_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("KVFALL_BUILD") or SOURCE)
HERE = SOURCE / "tests/fuzz"
WORK = BUILD / "tests/fuzz/work"
LENGTH_MAX = 8192
CLAIMED = ("capture",)  # msgpack-c asks for what a list claims to need, which may be refused
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
# Code that compares so much that counting its branches would take most of the time.
UNCOUNTED = ["-fsanitize-coverage-ignorelist=%s" % (HERE / "uncounted")]
# what each kind is called, the flags of parsers and targets, whether libFuzzer has the main function
KINDS = [("libFuzzer, address and undefined sanitizers", ["-fsanitize=fuzzer-no-link"] + UNCOUNTED + SANITIZE, True),
         ("libFuzzer, address and undefined sanitizers", ["-fsanitize=fuzzer-no-link"] + SANITIZE, True),
         ("driver.c led by branches, address and undefined sanitizers", ["-fsanitize-coverage=trace-pc"] + SANITIZE,
          False),
         ("driver.c, address and undefined sanitizers", SANITIZE, False),
         ("driver.c alone, no sanitizers here", [], False)]
# Beginnings of real files as further inputs: target, where under ../shared/traces, bytes
TRACES = [("mooncake", "mooncake/*.jsonl", 4096), ("azure", "azure2023/*.csv", 1024),
          ("burstgpt", "burstgpt/*.csv", 2048), ("sharegpt", "sharegpt/*.json", 8192),
          ("agentic", "kv-cache-tester/**/*.json", 8192)]


class Trouble(Exception):
    """The hunt cannot go on; the text says why."""


def say(text):
    print("fuzz: " + text, flush=True)


def command(argv, **how):
    got = subprocess.run([str(arg) for arg in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, **how)
    return got.returncode, got.stdout.decode("utf-8", "replace")


def works(compiler, flags, lib_fuzzer):
    """Whether the compiler makes a program with these flags that runs."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "try.c"
        source.write_text("#include <stddef.h>\nint LLVMFuzzerTestOneInput(const unsigned char *d, size_t n);\n"
                          "int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { return n && !d; }\n")
        main = pathlib.Path(folder) / "main.c"
        main.write_text("" if lib_fuzzer else "void __sanitizer_cov_trace_pc(void);\n"
                        "void __sanitizer_cov_trace_pc(void) {}\nint main(void) { return 0; }\n")
        steps = [compiler + flags + ["-c", source, "-o", folder + "/try.o"], compiler + ["-c", main, "-o", folder + "/main.o"],
                 compiler + link_flags(flags, lib_fuzzer) + [folder + "/try.o", folder + "/main.o", "-o", folder + "/try"],
                 [folder + "/try"] + ["-runs=1"] * lib_fuzzer]
        return all(command(step)[0] == 0 for step in steps)


def link_flags(flags, lib_fuzzer):
    flags = [flag for flag in flags if "coverage" not in flag]
    return [("-fsanitize=fuzzer" if flag == "-fsanitize=fuzzer-no-link" else flag) for flag in flags]


def toolchain():
    """(compiler, name of the kind, flags, whether it is libFuzzer): the best there is."""
    asked = os.environ.get("FUZZ_CC")
    usual = shlex.split(os.environ.get("CC") or "cc")
    compilers = [shlex.split(asked)] if asked else [["clang"], usual]
    for name, flags, lib_fuzzer in KINDS:
        for compiler in compilers:
            if shutil.which(compiler[0]) and works(compiler, flags, lib_fuzzer):
                return compiler, name, flags, lib_fuzzer
    raise Trouble("%s makes no programs" % " ".join(compilers[-1]))


def build(targets, compiler, flags, lib_fuzzer):
    """The library by make, each target by hand; objects of another compiler or other flags go away."""
    WORK.mkdir(parents=True, exist_ok=True)
    built_with = " ".join(compiler + flags)
    note = WORK / "built-with"
    if not note.exists() or note.read_text() != built_with:
        for old in list(BUILD.glob("src/**/tests_fuzz_libfuzzed_a-*.o")) + [BUILD / "tests/fuzz/libfuzzed.a"]:
            old.unlink(missing_ok=True)
        note.write_text(built_with)
    env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    rc, out = command([os.environ.get("MAKE") or "make", "-s", "-C", BUILD, "-j%d" % (os.cpu_count() or 1),
                       "CC=" + " ".join(compiler), "CFLAGS=-O1 -g", "FUZZ_FLAGS=" + " ".join(flags),
                       "tests/fuzz/libfuzzed.a"], env=env)
    if rc != 0:
        raise Trouble("the library cannot be built:\n" + out)
    common = compiler + ["-O1", "-g", "-std=gnu17", "-pthread"] + shlex.split(os.environ.get("FUZZ_CPPFLAGS", ""))
    common += ["-I" + str(HERE)]
    objects = []
    if not lib_fuzzer:  # the driver itself is not counted among the branches
        objects = [WORK / "driver.o"]
        step(common + [flag for flag in flags if "coverage" not in flag] + ["-c", HERE / "driver.c", "-o", objects[0]])
    for target in targets:
        step(common + flags + ["-c", HERE / ("fuzz_%s.c" % target), "-o", WORK / (target + ".o")])
        step(common + link_flags(flags, lib_fuzzer) + [WORK / (target + ".o")] + objects
             + [BUILD / "tests/fuzz/libfuzzed.a"] + shlex.split(os.environ.get("FUZZ_LIBS", ""))
             + ["-o", WORK / ("fuzz_" + target)])


def step(argv):
    rc, out = command(argv, cwd=BUILD)
    if rc != 0:
        raise Trouble("%s\n%s" % (" ".join(map(str, argv)), out))


def inputs(target):
    """Folders of inputs for a target, what an earlier hunt has kept first."""
    kept, begun = WORK / target / "kept", WORK / target / "begun"
    for folder in (kept, begun):
        folder.mkdir(parents=True, exist_ok=True)
    for name, pattern, size in TRACES:
        for path in sorted((SOURCE.parent / "shared/traces").glob(pattern))[:8] if name == target else []:
            with open(path, "rb") as trace:
                (begun / path.name).write_bytes(trace.read(size))
    known = [HERE / "corpus" / target, HERE / "regress" / target] + [SOURCE / "configs"] * (target == "yaml")
    return [str(folder) for folder in [kept, begun] + known if folder.is_dir()]


def hunt(target, options, lib_fuzzer, seconds, seed):
    """(executions, inputs kept, [findings]) of one target."""
    folders, words = inputs(target), HERE / "corpus" / (target + ".words")
    program, found = WORK / ("fuzz_" + target), WORK / target
    before = set(found.glob("*-*"))
    claimed = target in CLAIMED
    env = dict(os.environ, ASAN_OPTIONS="%s:hard_rss_limit_mb=2048:quarantine_size_mb=8:%s"
               % ("allocator_may_return_null=1:max_allocation_size_mb=32" if claimed else "allocator_may_return_null=0", os.environ.get("ASAN_OPTIONS", "")))
    if lib_fuzzer:
        argv = [program, "-max_total_time=%d" % seconds, "-seed=%d" % seed, "-max_len=%d" % LENGTH_MAX,
                "-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=%d" % (1 << 30 if claimed else 512), "-print_final_stats=1", "-verbosity=0",
                "-artifact_prefix=%s/" % found] + ["-dict=%s" % words] * words.exists() + folders
    else:
        argv = [program, "--time", seconds, "--seed", seed, "--max-length", LENGTH_MAX, "--found", found]
        argv += ["--words", words] * words.exists() + folders
    rc, out = command(argv, env=env)
    (found / "log").write_text(out)
    executions = re.search(r"number_of_executed_units: (\d+)", out) or re.search(r"^(\d+) executions", out, re.M)
    kept = re.search(r"new_units_added: +(\d+)", out) or re.search(r"(\d+) inputs kept", out)
    findings = [str(path) for path in sorted(set(found.glob("*-*")) - before)]
    if rc != 0 and not findings:
        findings = ["no input; see %s" % (found / "log")]
    return int(executions.group(1)) if executions else 0, int(kept.group(1)) if kept else 0, findings


def rounds(options, lib_fuzzer):
    """Hunts until there were as many executions as asked for, once round at least; [findings]."""
    sums, findings, number = {target: [0, 0.0, 0, 0] for target in options.target}, [], 0

    def turn(target, seconds):
        begun = time.monotonic()
        executions, kept, found = hunt(target, options, lib_fuzzer, seconds, options.seed + number)
        for i, value in enumerate((executions, time.monotonic() - begun, kept, len(found))):
            sums[target][i] += value
        if not options.executions:
            tell(target, sums[target])
        findings.extend("%s: %s" % (target, one) for one in found)

    while True:
        for target in options.target:
            turn(target, options.time)
        number += 1
        total = sum(one[0] for one in sums.values())
        if total >= options.executions or findings:
            break
        quickest = max(sums, key=lambda target: sums[target][0] / sums[target][1])
        turn(quickest, options.time * 4 * max(len(options.target) - 1, 1))
        say("%d executions after %d round%s" % (sum(one[0] for one in sums.values()), number, "s" * (number > 1)))
    if options.executions:
        for target in options.target:
            tell(target, sums[target])
    say("%d executions, %d findings" % (total, len(findings)))
    return findings


def tell(target, sums):
    executions, seconds, kept, found = sums
    print("%-10s %12d %10d %8d  %d" % (target, executions, executions / max(seconds, 1), kept, found), flush=True)


def options_parse():
    there = sorted(path.stem[5:] for path in HERE.glob("fuzz_*.c"))
    words = __doc__.split("\n", 1)
    parser = argparse.ArgumentParser(prog="fuzz.py", description=words[0], epilog=words[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", metavar="TARGET", help="only these: " + ", ".join(there))
    parser.add_argument("--time", type=int, default=20, help="seconds for each target (20)")
    parser.add_argument("--executions", type=int, default=0, help="go round until there were so many in all")
    parser.add_argument("--seed", type=int, default=1, help="of what the inputs are changed by (1)")
    options = parser.parse_args()
    unknown = [name for name in options.target if name not in there]
    if unknown:
        parser.error("there is no target %s; there are %s" % (unknown[0], ", ".join(there)))
    options.target = options.target or there
    return options


def main():
    options = options_parse()
    try:
        compiler, name, flags, lib_fuzzer = toolchain()
        say("%s (%s), %d s for each of %d targets" % (name, " ".join(compiler), options.time, len(options.target)))
        build(options.target, compiler, flags, lib_fuzzer)
        print("%-10s %12s %10s %8s  %s" % ("target", "executions", "each s", "kept", "findings"), flush=True)
        findings = rounds(options, lib_fuzzer)
    except (Trouble, OSError) as e:
        print("fuzz: %s" % e, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    for one in findings:
        say("found " + one)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
