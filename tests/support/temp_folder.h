// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace forkpoint::test {

/// A new, empty folder of its own, removed with everything in it. Never one that is there already: what a killed process left behind has a name
/// with the number of a process, and numbers come again.
class TempFolder {
public:
    TempFolder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "forkpoint-test-XXXXXX").string();
        if (!::mkdtemp(name.data())) {
            throw std::runtime_error(name + " cannot be made");
        }
        m_path = name;
    }
    ~TempFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

} // namespace forkpoint::test
