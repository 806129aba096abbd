# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""packaging/setup.sh against stand-ins for apt, dpkg, CMake and the programs: what it calls, in which order, and how it ends."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each stand-in appends its name and arguments to $LOG; what it answers is steered by environment variables.
STANDINS = {
    "dpkg-query": 'case " $ABSENT " in *" ${!#} "*) exit 1 ;; *" rc:${!#} "*) echo config-files ;; *) echo " installed " ;; esac',
    "apt-get": 'exit $(case "$*" in *update*) echo "${UPDATE_STATUS:-0}" ;; *) echo 0 ;; esac)',
    "sudo": 'exec "$@"',
    "id": 'echo "${USER_ID:-0}"',
    "cmake": "exit ${CMAKE_STATUS:-0}",
    "ctest": 'echo "100% tests passed"; exit ${CTEST_STATUS:-0}',
    "python": 'case "$*" in *socket*) echo 12345 ;; esac',
}
SILENT = ("dpkg-query", "id", "python")  # asked too often to be worth a line
CLI = 'case $1 in compare) exit ${COMPARE_STATUS:-1} ;; record) exit ${RECORD_STATUS:-0} ;; esac'


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="forkpoint setup ")  # a space in the path, on purpose
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name, "source tree")
        self.bin = pathlib.Path(folder.name, "bin")
        self.log = pathlib.Path(folder.name, "log")
        for script in ("packaging/setup.sh", ".ci/run"):
            (self.tree / script).parent.mkdir(parents=True)
            shutil.copy(ROOT / script, self.tree / script)
        for name, body in STANDINS.items():
            self.stand_in(self.bin / name, body, name not in SILENT)
        for build in ("build", "build-dev"):
            self.stand_in(self.tree / build / "bin/forkpoint-cli", CLI, True)
            self.stand_in(self.tree / build / "bin/forkpoint", "exit ${WINDOW_STATUS:-0}", True)

    def stand_in(self, path, body, logged):
        path.parent.mkdir(parents=True, exist_ok=True)
        note = f'echo "{path.name} $*" >> "$LOG"\n' if logged else ""
        path.write_text(f"#!/bin/bash\n{note}{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def run_setup(self, *arguments, script="packaging/setup.sh", **environment):
        """(exit status, output, calls made)"""
        self.log.write_text("")
        result = subprocess.run(
            [str(self.tree / script), *arguments], cwd="/", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={"PATH": f"{self.bin}:/usr/bin:/bin", "LOG": str(self.log), "ABSENT": "", "FORKPOINT_PYTHON": str(self.bin / "python"),
                 **environment})
        return result.returncode, result.stdout, self.log.read_text().splitlines()

    def test_build_with_everything_installed_asks_nobody(self):
        status, output, calls = self.run_setup("build")
        self.assertEqual((status, calls), (0, ["cmake --preset default", f"cmake --build --preset default --parallel {os_cores()}"]), output)

    def test_missing_packages_are_installed_and_only_these(self):
        status, output, calls = self.run_setup("build", ABSENT="ninja-build rc:libtbb-dev")
        self.assertEqual(status, 0, output)
        self.assertIn("update", calls[0])
        self.assertTrue(calls[1].startswith("apt-get -q -y ") and calls[1].endswith(" install --no-install-recommends ninja-build libtbb-dev"), calls[1])
        self.assertEqual(calls[2], "cmake --preset default")

    def test_a_broken_source_list_does_not_stop_the_installation(self):
        status, output, calls = self.run_setup("build", ABSENT="ccache", UPDATE_STATUS="100")
        self.assertEqual((status, calls[-1][:5]), (0, "cmake"), output)

    def test_a_user_needs_sudo(self):
        status, output, calls = self.run_setup("build", ABSENT="ccache", USER_ID="1000")
        self.assertEqual((status, calls[0].split()[0]), (0, "sudo"), output)

    def test_no_install_names_what_is_missing(self):
        status, output, calls = self.run_setup("build", "--no-install", ABSENT="ccache libzstd-dev")
        self.assertEqual((status, calls), (2, []))
        self.assertIn("apt-get install --no-install-recommends ccache libzstd-dev", output)

    def test_a_failing_build_stops_it(self):
        status, _, calls = self.run_setup("test", CMAKE_STATUS="1")
        self.assertEqual((status, calls), (1, ["cmake --preset default"]))

    def test_tests_run_by_preset(self):
        status, output, calls = self.run_setup("test", "--preset", "dev")
        self.assertEqual((status, calls[-1]), (0, f"ctest --preset dev --parallel {os_cores()}"), output)
        self.assertTrue(output.endswith("100% tests passed\n== test: passed (preset dev)\n"), output)

    def test_failing_tests_fail_it(self):
        status, output, _ = self.run_setup("test", CTEST_STATUS="8")
        self.assertEqual(status, 8)
        self.assertIn("test: FAILED (preset default)", output.splitlines()[-1])

    def test_ci_runs_the_tests(self):
        status, output, calls = self.run_setup(script=".ci/run")
        self.assertEqual((status, calls[-1].split()[:3]), (0, ["ctest", "--preset", "default"]), output)

    def test_demo_records_two_runs_and_expects_a_difference(self):
        for _ in range(2):
            status, output, calls = self.run_setup("demo")
            self.assertEqual(status, 0, output)
            build, single, ddp, compare = calls[-8:-4]
            self.assertTrue(build.endswith("--target forkpoint-cli --target forkpoint"), "the demo waits for no test to be compiled")
            self.assertIn("build/demo/single --steps 0:3 --overwrite --", single)
            self.assertIn("torch.distributed.run --nproc_per_node 2 --master_port 12345 -r 0:1,1:1 -t 0:1,1:1", ddp)
            self.assertIn("single.forkpoint", compare)
            self.assertEqual(output.splitlines()[-1], "== demo: done")

    def test_demo_opens_the_window_where_there_is_a_display(self):
        for display in ("DISPLAY", "WAYLAND_DISPLAY"):
            status, output, calls = self.run_setup("demo", **{display: ":1"})
            self.assertEqual(status, 0, output)
            self.assertRegex(calls[-1], r"^forkpoint \S.*/single\.forkpoint \S.*/ddp2\.forkpoint$")
        self.assertEqual(self.run_setup("demo", DISPLAY=":1", WINDOW_STATUS="3")[0], 3)

    def test_demo_writes_pictures_where_there_is_none(self):
        status, output, calls = self.run_setup("demo")
        self.assertEqual(status, 0, output)
        for call, view in zip(calls[-4:], ("all", "graph", "heatmap", "curves")):
            self.assertTrue(call.endswith(f"/{view}.png --view {view}"), call)
            self.assertIn(f"/{view}.png\n", output)
        self.assertEqual(self.run_setup("demo", WINDOW_STATUS="1")[0], 1)

    def test_demo_uses_the_programs_of_its_preset(self):
        status, output, calls = self.run_setup("demo", "--preset", "dev")
        self.assertEqual(status, 0, output)
        self.assertIn("/build-dev/demo/single", calls[-7])

    def test_demo_fails_where_the_bug_is_not_seen_or_the_programs_fail(self):
        for environment, expected in (({"COMPARE_STATUS": "0"}, 1), ({"COMPARE_STATUS": "3"}, 3), ({"RECORD_STATUS": "2"}, 2)):
            status, output, _ = self.run_setup("demo", **environment)
            self.assertEqual(status, expected, output)
            self.assertNotIn("demo: done", output)

    def test_usage(self):
        self.assertEqual(self.run_setup("--help")[0], 0)
        for arguments in ([], ["install"], ["build", "--fast"], ["test", "--preset"], ["test", "--preset", "debug"], ["test", "--torch", "2.0"],
                          ["build", "--torch", "newest"]):
            status, output, calls = self.run_setup(*arguments)
            self.assertEqual((status, calls), (2, []), output)
            self.assertIn("setup.sh", output)


def os_cores():
    return int(subprocess.run(["nproc"], env={"PATH": "/usr/bin:/bin"}, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    unittest.main()
