"""A first script: five tools change files on disk, and only what is printed here comes back.

Run it with `hermes exec examples/hello.py`. It works in .cache/hello of the present directory, which git ignores here.
"""

from pathlib import Path

from hermes_tools import check, patch, read_file, search_files, shell_quote, terminal, write_file

# check() turns the {"error": ...} of a failed call into an exception.
place = Path(".cache/hello").absolute()
for name in ("north", "south", "west"):
    check(write_file(place / f"{name}.txt", f"Good morning, {name}.\nGood night, {name}.\n"))

found = check(search_files("Good morning", path=place))
for match in found["matches"]:
    check(patch(path=match["path"], old_string="Good morning", new_string="Hello"))

count = check(terminal(f"cat {shell_quote(place)}/*.txt | grep -c Hello"))
print(f"{count['output'].strip()} of {found['total_count']} greetings changed in {place}")
print(check(read_file(place / "north.txt"))["content"], end="")
