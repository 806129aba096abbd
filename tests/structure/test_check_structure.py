# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""A check that cannot fail proves nothing: every rule is shown a tree that breaks it, and one that only looks as if it did."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest

import check_structure

COPYRIGHT = "SPDX-" + "FileCopyrightText: 2026 The Forkpoint authors"


def cpp(body, licence="Apache-2.0"):
    return f"// {COPYRIGHT}\n// SPDX-" + f"License-Identifier: {licence}\n#pragma once\n{body}\n"


GOOD = {
    "core/base/result.h": cpp(""),
    "core/tensor/dtype.h": cpp('#include "core/base/result.h"\n#include <vector>'),
    "core/tensor/dtype.cpp": cpp('#include "dtype.h"'),
    "core/report/text.h": cpp('#include "core/tensor/dtype.h"'),
    "ui/plot.h": cpp("#include <QWidget>\n#include <qcustomplot.h>", "GPL-3.0-or-later"),
    "app/forkpoint/main.cpp": cpp('#include "ui/plot.h"', "GPL-3.0-or-later"),
    "app/forkpoint_replay/main.cpp": cpp("#include <torch/script.h>"),
    "app/forkpoint_cli/main.cpp": cpp('#include "core/report/text.h"\n#include <iostream>\nint f() { std::exit(1); }'),
}


class StructureTest(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **files}.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return check_structure.check_tree(root)

    def assert_holds(self, files):
        self.assertEqual(self.check(files), [])

    def assert_violation(self, files, where, what):
        lines = self.check(files)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(where + ": "), lines[0])
        self.assertIn(what, lines[0])

    def test_a_good_tree_holds(self):
        self.assert_holds({})

    def test_the_order_of_core(self):
        order = check_structure.CORE_ORDER
        for earlier, later in zip(order, order[1:]):
            later_file = {f"core/{later}/x.h": cpp("")}
            earlier_file = {f"core/{earlier}/x.h": cpp("")}
            self.assert_holds({**earlier_file, f"core/{later}/x.h": cpp(f'#include "core/{earlier}/x.h"')})
            self.assert_violation({**later_file, f"core/{earlier}/x.h": cpp(f'#include "core/{later}/x.h"')},
                                  f"core/{earlier}/x.h:4", f"core/{earlier} includes core/{later}/x.h")

    def test_an_include_in_a_comment_is_none(self):
        self.assert_holds({"core/base/a.h": cpp('// #include "core/report/text.h"\n/*\n#include <QString>\n*/')})

    def test_core_includes_are_written_from_the_root(self):
        self.assert_violation({"core/tensor/a.h": cpp('#include "../base/result.h"')}, "core/tensor/a.h:4", "from the root")
        self.assert_violation({"core/tensor/a.h": cpp('#include "result.h"')}, "core/tensor/a.h:4", "from the root")

    def test_unknown_folders_of_core(self):
        self.assert_violation({"core/helpers/a.h": cpp("")}, "core/helpers/a.h:1", "one folder per job")
        self.assert_violation({"core/a.h": cpp("")}, "core/a.h:1", "one folder per job")

    def test_qt_stays_in_ui(self):
        for include in ("<QString>", "<QtCore/QString>", '"QString"', "<qglobal.h>"):
            self.assertTrue(any("Qt stays in ui" in line for line in self.check({"core/base/a.h": cpp("#include " + include)})), include)
        self.assert_violation({"app/forkpoint_cli/a.h": cpp("# include <QString>")}, "app/forkpoint_cli/a.h:4", "Qt stays in ui")
        self.assert_violation({"tests/core/base/a.cpp": cpp("#include <QTest>")}, "tests/core/base/a.cpp:4", "Qt stays in ui")
        self.assert_holds({"core/base/queue.h": cpp(""), "core/base/a.h": cpp('#include "queue.h"\n#include <queue>')})

    def test_nobody_depends_on_ui(self):
        self.assert_violation({"app/forkpoint_cli/a.h": cpp('#include "ui/plot.h"')}, "app/forkpoint_cli/a.h:4", "ui depends on the rest")
        self.assert_violation({"ui/a.h": cpp('#include "app/forkpoint/x.h"', "GPL-3.0-or-later")}, "ui/a.h:4", "neither programs nor tests")

    def test_torch_stays_in_replay(self):
        for include in ("<torch/script.h>", "<ATen/ATen.h>", "<c10/core/Device.h>"):
            self.assert_violation({"core/base/a.h": cpp("#include " + include)}, "core/base/a.h:4", "only app/forkpoint_replay")

    def test_one_plot_wrapper(self):
        self.assert_violation({"ui/zoom.h": cpp('#include "qcustomplot.h"', "GPL-3.0-or-later")}, "ui/zoom.h:1", "the one wrapper, ui/plot.h")

    def test_core_never_prints(self):
        for code in ("std::cout << 1;", "std::cerr << 1;", 'printf("%d", 1);', 'std::printf("");', "fprintf(stderr, m);", 'fmt::print("x");',
                     "puts(text);", 'perror("x");', "#include <iostream>"):
            self.assert_violation({"core/base/a.cpp": cpp("\n" + code)}, "core/base/a.cpp:5", "core never prints")

    def test_core_never_ends_the_process(self):
        for code in ("exit(1);", "std::exit(1);", "::exit(1);", "abort();", "std::terminate();", "std::quick_exit (1);", "_exit(2);"):
            self.assert_violation({"core/base/a.cpp": cpp("\n" + code)}, "core/base/a.cpp:5", "core never ends the process")

    def test_names_of_temporary_files(self):
        for path in ("core/base/a.cpp", "tests/support/a.h", "app/forkpoint_cli/a.cpp"):
            self.assert_violation({path: cpp("\nauto name = std::to_string(::getpid());")}, path + ":5", "mkstemp")

    def test_what_only_looks_like_it(self):
        self.assert_holds({"core/base/a.cpp": cpp('\n'.join([
            "// printf(x); exit(1)", "/* std::cout */", 'auto a = "exit(1) // std::cerr";', 'auto b = R"x(abort())x";', "char c = '\"'; // exit(1)",
            "int n = 1'000'000;", "std::snprintf(buffer, 8, format);", "graph.exit(node);", "node->abort();", "Scope::exit(node);",
            "onExit(1);", "#include <cstdio>"]))})

    def test_code_after_a_literal_is_seen(self):
        self.assert_violation({"core/base/a.cpp": cpp("char c = '\"'; int n = 1'000; exit(1); char d = '\"';")}, "core/base/a.cpp:4", "exit(")

    def test_licences(self):
        self.assert_violation({"core/base/a.h": f"// {COPYRIGHT}\n"}, "core/base/a.h:1", "no SPDX-License-Identifier")
        self.assert_violation({"core/base/a.h": cpp("", "GPL-3.0-or-later")}, "core/base/a.h:1", "this part is under Apache-2.0")
        self.assert_violation({"ui/a.h": cpp("")}, "ui/a.h:1", "this part is under GPL-3.0-or-later")
        for path in ("resources/recorder/a.py", "tests/core/CMakeLists.txt", "cmake/a.cmake", "packaging/a.sh"):
            self.assertEqual(len(self.check({path: "x = 1\n"})), 2, path)
        self.assertEqual(len(self.check({".ci/run": "#!/bin/sh\n"})), 2)
        self.assert_holds({"resources/a.json": "{}", "README.md": "x", "tests/data/broken.py": "x", "build/generated.cpp": "x"})

    def test_core_links_no_qt(self):
        text = "# " + COPYRIGHT + "\n# SPDX-" + "License-Identifier: Apache-2.0\ntarget_link_libraries(forkpoint_core PUBLIC Qt6::Core)\n"
        self.assert_violation({"core/CMakeLists.txt": text}, "core/CMakeLists.txt:3", "link neither Qt nor LibTorch")

    def test_links_of_the_documents(self):
        self.assert_holds({"README.md": "[a](core/base/result.h), [b](https://example.org/x), [c](#here)"})
        self.assert_violation({"README.md": "\n[a](core/gone.h)"}, "README.md:2", "links to core/gone.h")

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertIn("nothing was checked", check_structure.check_tree(root)[0])

    def test_objects_of_a_program(self):
        ldd = "\tlinux-vdso.so.1 (0x0)\n\tlibcrypto.so.3 => /lib/libcrypto.so.3 (0x0)\n"
        self.assertEqual(check_structure.check_objects(ldd), [])
        self.assertEqual(check_structure.check_objects(ldd + "\tlibQt6Core.so.6 => /lib/libQt6Core.so.6 (0x0)\n"), ["loads libQt6Core.so.6"])
        self.assertEqual(check_structure.check_objects("\tlibtorch_cpu.so.1.13 => not found\n"), ["loads libtorch_cpu.so.1.13"])

    def test_exit_status(self):
        def status(*arguments):
            with contextlib.redirect_stdout(io.StringIO()):
                return check_structure.main(list(arguments))
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(status(root), 1)
            pathlib.Path(root, "core/base").mkdir(parents=True)
            pathlib.Path(root, "core/base/a.h").write_text(cpp(""), encoding="utf-8")
            self.assertEqual(status(root), 0)
        self.assertEqual(status(), 2)
        self.assertEqual(status("--program", os.path.realpath("/bin/sh")), 0)


if __name__ == "__main__":
    unittest.main()
