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
        heads = re.findall(r"^\.It Sy .*\n(?:(?!\.It ).*\n)*", part("keys"), re.MULTILINE)
        for index, head in enumerate(heads):
            first = head.split("\n", 1)[0]
            text, count = re.subn(r"^%s\n(?:(?!\.br\n|\.It ).*\n)+\.br\n.*\n" % re.escape(first), lambda _: head, text,
                                  flags=re.MULTILINE)
            if count == 0:
                text = with_item(name, text, head, heads[index + 1:])
    return text


def with_item(name, text, head, behind):
    """The page with the item of a new key, in front of the next key of its section."""
    section = head.split("\n", 1)[0].rpartition(".")[0] + "."
    for follower in behind:
        at = text.find("\n%s\n" % follower.split("\n", 1)[0])
        if follower.startswith(section) and at >= 0:
            return text[:at + 1] + head + text[at + 1:]
    sys.exit("man/%s lacks this item, and no key of its section follows; put it where it belongs:\n%s" % (name, head))


if __name__ == "__main__":
    for page in PAGES:
        (SOURCE / "man" / page).write_text(written(page))
