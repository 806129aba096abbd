# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The window's catalogues: every text is translated, and takes the same arguments as the English one."""

import pathlib
import re
import unittest
import xml.etree.ElementTree as ElementTree

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "resources" / "translations"
ARGUMENT = re.compile(r"%(?:L?\d|n)")


class TranslationsTest(unittest.TestCase):
    def messages(self):
        catalogues = sorted(FOLDER.glob("*.ts"))
        self.assertGreaterEqual(len(catalogues), 2)
        for path in catalogues:
            for context in ElementTree.parse(path).getroot().iter("context"):
                for message in context.iter("message"):
                    yield path.name, context.findtext("name"), message

    def test_nothing_is_left_to_translate(self):
        left = [f"{name}: {context}: {message.findtext('source')!r}" for name, context, message in self.messages()
                if message.find("translation").get("type") or not "".join(message.find("translation").itertext()).strip()]
        self.assertEqual(left, [], "run `ninja update_translations` and translate these")

    def test_arguments_are_those_of_the_source(self):
        for name, context, message in self.messages():
            translation = message.find("translation")
            source = set(ARGUMENT.findall(message.findtext("source")))
            for form in translation.iter("numerusform") if message.get("numerus") else [translation]:
                used = set(ARGUMENT.findall(form.text or ""))
                # A singular may spell its number out; nothing else may lose an argument or invent one.
                self.assertLessEqual(used, source, f"{name}: {context}: {form.text!r}")
                self.assertLessEqual(source - used, {"%n"} if message.get("numerus") else set(), f"{name}: {context}: {form.text!r}")


if __name__ == "__main__":
    unittest.main()
