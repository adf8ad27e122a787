"""The pages of the manual with the parts that tables of the program have; `make manual` writes them."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tap import BUILD, SOURCE

PAGES = sorted(path.name for path in (SOURCE / "man").glob("*.[1-9]"))


def part(name):
    got = subprocess.run([BUILD / "tests/lint/manual_parts", name], capture_output=True, text=True)
    assert got.returncode == 0, got
    return got.stdout


def written(name):
    """The page as it is to be: parts between marks, and the head of each scenario key."""
    text = (SOURCE / "man" / name).read_text()
    text = re.sub(r'^(\.\\" begin (\w+)[^\n]*\n).*?^(\.\\" end \2$)',
                  lambda found: found.group(1) + part(found.group(2)) + found.group(3), text, flags=re.MULTILINE | re.DOTALL)
    if name == "kvfall-scenario.5":
        for head in re.findall(r"^\.It Sy .*\n(?:(?!\.It ).*\n)*", part("keys"), re.MULTILINE):
            first = head.split("\n", 1)[0]
            text, count = re.subn(r"^%s\n(?:(?!\.br\n|\.It ).*\n)+\.br\n.*\n" % re.escape(first), lambda _: head, text,
                                  flags=re.MULTILINE)
            assert count == 1, "%s has no item %s" % (name, first)
    return text


if __name__ == "__main__":
    for page in PAGES:
        (SOURCE / "man" / page).write_text(written(page))
