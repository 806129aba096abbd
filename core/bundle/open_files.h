// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/files/open_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

// Files of a bundle, opened so that a bundle from a stranger reaches nothing outside its folder or archive.
namespace forkpoint::bundle {

using files::OpenFile;
using files::OpenFilePtr;

/// True for a name that FORMAT.md section 1 allows: not empty, no separators, no "..", no control characters.
bool isPlainName(std::string_view name);

/// The two levels of files of a bundle: those of its root, and those of the folders in it. They lie in a folder, or in an archive that is
/// read in place (archive_files.h). Safe to use from many threads.
class BundleFiles {
public:
    struct Entry {
        enum class Type { File, Folder, Link };
        std::string name;
        Type type = Type::File;
    };

    virtual ~BundleFiles() = default;
    const std::filesystem::path& root() const { return m_root; } ///< what the user named

    /// What is in `folder` (as for open), in any order. Unreadable.
    virtual Result<std::vector<Entry>> entries(const std::filesystem::path& folder) const = 0;

    /// `folder` is root(), or root() and the name of a folder in it. NotFound, Corrupt (a link, a folder, a device; not to be unpacked),
    /// Unreadable, Unsupported (larger than what is unpacked).
    virtual Result<OpenFilePtr> open(const std::filesystem::path& folder, const std::string& name) = 0;

protected:
    explicit BundleFiles(std::filesystem::path root)
        : m_root(std::move(root))
    {
    }

private:
    std::filesystem::path m_root;
};

/// Opens `folder`/`name` without following a link in the folder's last part (unless the folder is `root` itself, which the user named) or
/// in the name. NotFound, Corrupt (a link, a folder, a device), Unreadable.
Result<OpenFilePtr> openFile(const std::filesystem::path& root, const std::filesystem::path& folder, const std::string& name);

/// Those of a folder, kept open between reads, the most recently used ones only: a run of a thousand ranks has more files than a process may
/// open.
class OpenFiles final : public BundleFiles {
public:
    explicit OpenFiles(std::filesystem::path root, std::size_t limit = 128);
    Result<std::vector<Entry>> entries(const std::filesystem::path& folder) const override;
    Result<OpenFilePtr> open(const std::filesystem::path& folder, const std::string& name) override;

private:
    struct ByName { ///< also of views: looking up must not allocate
        using is_transparent = void;
        bool operator()(const auto& x, const auto& y) const
        {
            const int order = std::string_view(x.first).compare(std::string_view(y.first));
            return order < 0 || (order == 0 && std::string_view(x.second) < std::string_view(y.second));
        }
    };
    struct Opened {
        OpenFilePtr file;
        std::uint64_t lastUse = 0;
    };
    std::size_t m_limit;
    std::mutex m_mutex;
    std::uint64_t m_uses = 0;
    std::map<std::pair<std::string, std::string>, Opened, ByName> m_opened;
};

} // namespace forkpoint::bundle
