// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/joined_files.h"

#include <algorithm>

namespace forkpoint::bundle {

JoinedFiles::JoinedFiles(std::filesystem::path root, std::vector<std::shared_ptr<BundleFiles>> parts)
    : BundleFiles(std::move(root))
    , m_parts(std::move(parts))
{
}

const std::shared_ptr<BundleFiles>* JoinedFiles::partOf(const std::filesystem::path& folder) const
{
    const auto part = std::find_if(m_parts.begin(), m_parts.end(),
                                   [&](const auto& files) { return folder == files->root() || folder.parent_path() == files->root(); });
    return part == m_parts.end() ? nullptr : &*part;
}

Result<std::vector<BundleFiles::Entry>> JoinedFiles::entries(const std::filesystem::path& folder) const
{
    if (folder == root())
        return m_parts.front()->entries(m_parts.front()->root());
    const auto* part = partOf(folder);
    return part ? (*part)->entries(folder) : fail(ErrorCode::Usage, "lies in none of the bundles that were joined", folder.string());
}

Result<OpenFilePtr> JoinedFiles::open(const std::filesystem::path& folder, const std::string& name)
{
    if (folder == root())
        return m_parts.front()->open(m_parts.front()->root(), name);
    const auto* part = partOf(folder);
    if (!part)
        return fail(ErrorCode::Usage, "lies in none of the bundles that were joined", folder.string());
    Result<OpenFilePtr> file = (*part)->open(folder, name);
    if (!file)
        file.error().where = (*part)->root().filename().string() + "/" + file.error().where;
    return file;
}

} // namespace forkpoint::bundle
