#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules that keep the parts of Forkpoint apart. ARCHITECTURE.md gives the reasons.

    check_structure.py ROOT             the source tree
    check_structure.py --program FILE   the shared objects a built program loads

Prints one line per violation, FILE:LINE: what and what to do, and exits with 1 if there is any.
"""

import os
import re
import subprocess
import sys

# The folders of core in the order data flows through them. A folder may include itself and those before it.
CORE_ORDER = ["base", "tensor", "files", "bundle", "import", "align", "metrics", "heatmap", "graph", "curves", "diagnose", "replay", "compare", "portable", "report"]

# What belongs to the project; build trees and recorded runs lie beside it and are nobody's business here.
PARTS = [".ci", "app", "cmake", "core", "packaging", "resources", "tests", "ui"]
SKIPPED = ["tests/data"]  # input of tests, some of it broken on purpose

CPP = (".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh")
SOURCE = CPP + (".py", ".sh", ".cmake")

APACHE = "Apache-2.0"
GPL = "GPL-3.0-or-later"
GPL_PARTS = ["ui/", "app/forkpoint/", "app/forkpoint.cpp", "tests/ui/"]

QT_INCLUDE = re.compile(r"^(Q[A-Z]\w*|Qt\w*/.*|<q\w+\.h|qcustomplot.*)$")  # <qobject.h> is Qt's, "queue.h" may be ours
TORCH_INCLUDE = re.compile(r"^(torch|ATen|c10|caffe2)/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

# Text with a way out of the library: to a terminal, or out of the process. snprintf and files are fine.
PRINTS = re.compile(r"\bstd\s*::\s*w?(?:cout|cerr|clog)\b|\b(?:stdout|stderr)\b|\b(?:fmt|std)\s*::\s*print(?:ln)?\b|"
                    r"(?<![\w.>])v?printf\s*\(|(?<![\w.>])(?:puts|putchar|perror)\s*\(")
EXITS = re.compile(r"(?<![\w.>:])(?:std\s*::\s*|::\s*)?(?:_exit|_Exit|quick_exit|exit|abort|terminate)\s*\(|\b__builtin_trap\b")

LEXEMES = re.compile(
    r"(?P<number>\b\d[\w.']*)"  # before characters: 1'000 holds no character
    r"|(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)"
    r"|(?P<raw>R\"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)\")"
    r"|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.DOTALL)


def without_comments(code, keep_text):
    """C++ with comments blanked, and literals too unless keep_text. Line numbers stay."""
    def blank(match):
        if match.lastgroup == "number" or (keep_text and match.lastgroup != "comment"):
            return match.group()
        return " " + "\n" * match.group().count("\n")
    return LEXEMES.sub(blank, code)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def includes(code):
    """(line, quoted, path) of every include."""
    text = without_comments(code, keep_text=True)
    return [(line_of(text, m.start(1)), m.group(1) == '"', m.group(2)) for m in INCLUDE.finditer(text)]


def is_source(path, text):
    name = os.path.basename(path)
    return path.endswith(SOURCE) or name == "CMakeLists.txt" or text.startswith("#!")


def is_gpl(path):
    return any(path.startswith(part) for part in GPL_PARTS)


def read_tree(root):
    """{path relative to root: text} of the project's own files that are text."""
    paths = [name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name))]
    for part in PARTS:
        for folder, folders, names in os.walk(os.path.join(root, part)):
            relative = os.path.relpath(folder, root)
            folders[:] = [f for f in folders if f != "__pycache__" and f"{relative}/{f}" not in SKIPPED and not f.endswith(".forkpoint")]
            paths += [f"{relative}/{name}" for name in names]
    tree = {}
    for path in sorted(paths):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                tree[path] = file.read()
        except UnicodeDecodeError:
            pass  # a picture, a recorded tensor
    return tree


def check_licence(path, text):
    if not is_source(path, text):
        return
    head = "\n".join(text.splitlines()[:5])
    if "SPDX-FileCopyrightText:" not in head:
        yield 1, "no SPDX-FileCopyrightText line at the top"
    found = re.search(r"SPDX-License-Identifier:\s*(\S+)", head)
    expected = GPL if is_gpl(path) else APACHE
    if not found:
        yield 1, f"no SPDX-License-Identifier line at the top; this part is under {expected}"
    elif found.group(1) != expected:
        yield 1, f"licence is {found.group(1)}, this part is under {expected} (see LICENSE)"


def check_includes(path, text, tree):
    if not path.endswith(CPP):
        return
    for line, quoted, name in includes(text):
        if TORCH_INCLUDE.match(name) and not path.startswith("app/forkpoint_replay"):
            yield line, f"includes {name}: only app/forkpoint_replay knows LibTorch"
        if (QT_INCLUDE.match(name) or not quoted and QT_INCLUDE.match("<" + name)) and not is_gpl(path):
            yield line, f"includes {name}: Qt stays in ui and the desktop program"
        if name.startswith("ui/") and not is_gpl(path):
            yield line, f"includes {name}: ui depends on the rest, never the other way"
        if name.startswith(("app/", "tests/")) and path.startswith(("core/", "ui/")):
            yield line, f"includes {name}: libraries know neither programs nor tests"
        if path.startswith("core/") and quoted:
            yield from check_order(path, line, name, tree)


def check_order(path, line, name, tree):
    own = path.split("/")[1]
    if not name.startswith("core/"):
        if "/" in name or f"{os.path.dirname(path)}/{name}" not in tree:
            yield line, f'includes "{name}": write core headers from the root, as core/FOLDER/FILE.h'
        return
    other = name.split("/")[1]
    if own in CORE_ORDER and other in CORE_ORDER and CORE_ORDER.index(other) > CORE_ORDER.index(own):
        yield line, f"core/{own} includes {name}: the order is {' < '.join(CORE_ORDER)}"


def check_core(path, text):
    if not path.startswith("core/"):
        return
    if path.endswith(CPP):
        parts = path.split("/")
        if len(parts) == 2 or parts[1] not in CORE_ORDER:
            yield 1, "core has one folder per job: move it into one, or add the new folder to CORE_ORDER of check_structure.py"
        code = without_comments(text, keep_text=False)
        for pattern, what in ((PRINTS, "core never prints: return an Error, or report progress"),
                              (EXITS, "core never ends the process: return an Error")):
            for match in pattern.finditer(code):
                yield line_of(code, match.start()), f"{' '.join(match.group().split())}: {what}"
        for line, _, name in includes(text):
            if name == "iostream":
                yield line, "includes iostream: core never prints"


def check_temporary_names(path, text):
    if path.endswith(CPP):
        code = without_comments(text, keep_text=False)
        for match in re.finditer(r"\bgetpid\s*\(", code):
            yield line_of(code, match.start()), "getpid: numbers of processes come again, and on other nodes: name temporary files with mkstemp or mkdtemp"


def check_cmake(path, text):
    if os.path.basename(path) != "CMakeLists.txt" or is_gpl(path):
        return
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("#")[0]
        if path.startswith(("core/", "app/forkpoint_cli/")) and re.search(r"\bQt\d?::|QCustomPlot|TORCH_LIBRARIES|\btorch\b", code):
            yield number, "core and the command line link neither Qt nor LibTorch"


def check_links(path, text, root):
    if not path.endswith(".md"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if not re.match(r"[a-z]+:", target) and not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
                yield number, f"links to {target}, which is not there"


def check_plot_wrapper(tree):
    users = [p for p, text in tree.items() if p.endswith(CPP) and any(os.path.basename(n) == "qcustomplot.h" for _, _, n in includes(text))]
    for path in users[1:]:
        yield path, 1, f"includes qcustomplot.h: go through the one wrapper, {users[0]}"


def check_tree(root):
    """Every violation in the tree at root, as lines ready to be printed."""
    tree = read_tree(root)
    lines = []
    for path, text in tree.items():
        found = [*check_licence(path, text), *check_includes(path, text, tree), *check_core(path, text),
                 *check_temporary_names(path, text), *check_cmake(path, text), *check_links(path, text, root)]
        lines += [f"{path}:{line}: {message}" for line, message in sorted(found)]
    lines += [f"{path}:{line}: {message}" for path, line, message in check_plot_wrapper(tree)]
    # An empty tree passes every rule; a wrong ROOT must not.
    if not any(path.startswith("core/") and path.endswith(CPP) for path in tree):
        lines.append(f"{root}: holds no core/**/*.cpp or *.h, so nothing was checked")
    return lines


def check_objects(ldd_output):
    """Shared objects that a program without Qt and LibTorch must not load, as lines ready to be printed."""
    names = re.findall(r"^\s*(\S+)", ldd_output, re.MULTILINE)
    return [f"loads {name}" for name in names if re.match(r"lib(Qt\d|qcustomplot|torch|c10)", os.path.basename(name), re.IGNORECASE)]


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--program":
        output = subprocess.run(["ldd", arguments[1]], check=True, capture_output=True, text=True).stdout
        lines = [f"{arguments[1]}: {line}" for line in check_objects(output)]
    elif len(arguments) == 1 and not arguments[0].startswith("-"):
        lines = check_tree(arguments[0])
    else:
        print(__doc__)
        return 2
    for line in lines:
        print(line)
    print(f"{len(lines)} violations" if lines else "structure holds")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
