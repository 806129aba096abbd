// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/file_contents.h"
#include "core/files/little_endian.h"
#include "core/import/torch_objects.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_map>

// The two forms of torch.save. The current one is a ZIP archive ROOT/data.pkl, ROOT/data/KEY per storage, where ROOT is whatever the file was
// called. The legacy one is a row of pickles (a magic number, the protocol, facts about the system, the object, the keys of the storages) and
// then, for each key, an element count and the bytes.
namespace forkpoint::import {

namespace {

constexpr std::uint64_t kMaxPickle = 512u << 20;
constexpr std::size_t kLegacyWindow = 64u << 20; ///< the pickles of a legacy file must end within this many bytes

constexpr auto kLegacyMagic = std::to_array<unsigned char>({ 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19 });

/// The root folder: where data.pkl lies.
const ZipEntry* dataPickle(const std::vector<ZipEntry>& entries)
{
    const ZipEntry* found = nullptr;
    for (const auto& entry : entries) {
        const auto slash = entry.name.find('/');
        if (slash != std::string::npos && entry.name.substr(slash + 1) == "data.pkl" && !found) {
            found = &entry;
        }
    }
    return found;
}

} // namespace

Result<FileContents> readTorchZip(const BytesPtr& file, const std::vector<ZipEntry>& entries)
{
    const auto* pickleEntry = dataPickle(entries);
    if (!pickleEntry) {
        return fail(ErrorCode::NotABundle,
                    "is a ZIP archive, but neither of torch.save (it has no data.pkl) nor of numpy.savez (it has no .npy). If it holds files to compare, unpack it",
                    file->label());
    }
    const std::string root = pickleEntry->name.substr(0, pickleEntry->name.size() - std::string_view("data.pkl").size());
    std::unordered_map<std::string, const ZipEntry*> storages;
    const ZipEntry* order = nullptr;
    for (const auto& entry : entries) {
        if (entry.name.starts_with(root + "data/")) {
            storages.emplace(entry.name.substr(root.size() + 5), &entry);
        } else if (entry.name == root + "byteorder") {
            order = &entry;
        }
    }
    bool bigEndian = false;
    if (order && order->size == 3) {
        const auto bytes = openEntry(file, *order).and_then([](const BytesPtr& b) { return b->copy(0, 3); });
        bigEndian = bytes && (*bytes)[0] == std::byte { 'b' };
    }
    if (pickleEntry->size > kMaxPickle) {
        return fail(ErrorCode::Unsupported, fmt::format("its data.pkl has {} bytes, more than the {} that are read", pickleEntry->size,
            kMaxPickle), file->label());
    }
    auto content = openEntry(file, *pickleEntry);
    if (!content) {
        return tl::unexpected(std::move(content.error()));
    }
    const auto bytes = (*content)->copy(0, static_cast<std::size_t>(pickleEntry->size));
    if (!bytes) {
        return tl::unexpected(bytes.error());
    }
    const auto pickle = readPickle(*bytes, fmt::format("{}: {}", file->label(), pickleEntry->name));
    if (!pickle) {
        return tl::unexpected(pickle.error());
    }
    FileContents contents;
    contents.format = "PyTorch file";
    const FindStorage find = [&](const StorageId& id) -> Result<StorageBytes> {
        const auto found = storages.find(id.key);
        if (found == storages.end()) {
            return fail(ErrorCode::Corrupt, fmt::format("its storage {} is not in the archive: not read", id.key));
        }
        if (found->second->deflated) {
            auto unpacked = openEntry(file, *found->second);
            return unpacked ? Result<StorageBytes>(StorageBytes { *unpacked, 0, found->second->size }) : tl::unexpected(unpacked.error());
        }
        return StorageBytes { file, found->second->offset, found->second->size };
    };
    collectTensors(*pickle, find, bigEndian, file->label(), contents);
    return contents;
}

Result<FileContents> readTorchLegacy(const BytesPtr& file)
{
    const auto window = static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), kLegacyWindow));
    const auto bytes = file->copy(0, window);
    if (!bytes) {
        return tl::unexpected(bytes.error());
    }
    std::array<Pickle, 5> parts; // magic number, protocol, system, object, keys
    std::size_t at = 0;
    for (auto& part : parts) {
        auto read = readPickle(std::span(*bytes).subspan(at), file->label(), at);
        if (!read) {
            return tl::unexpected(std::move(read.error()));
        }
        at += read->size;
        part = std::move(*read);
    }
    const auto &protocol = parts[1].top(), &system = parts[2].top(), &keys = parts[4].top();
    if (protocol.type != PickleNode::Type::Integer || protocol.number != 1001) {
        return fail(ErrorCode::Unsupported, "is a PyTorch file of an unknown protocol; save it again with a current PyTorch", file->label());
    }
    bool bigEndian = false;
    for (std::size_t i = 0; system.pairs && i + 1 < system.items.size(); i += 2) {
        const auto &key = parts[2][system.items[i]], &value = parts[2][system.items[i + 1]];
        bigEndian = bigEndian || (key.text == "little_endian" && value.type == PickleNode::Type::Bool && value.number == 0);
    }
    // A storage's size in bytes is known from the object only: the file itself says how many elements.
    std::unordered_map<std::string, StorageId> known;
    for (const auto& node : parts[3].nodes) {
        if (node.type == PickleNode::Type::Persistent) {
            if (auto id = storageId(parts[3], node)) {
                known.emplace(id->key, std::move(*id));
            }
        }
    }
    FileContents contents;
    contents.format = "PyTorch file";
    std::unordered_map<std::string, StorageBytes> found;
    std::uint64_t next = at;
    std::string lost; ///< why storages from here on have no place
    for (const NodeId id : keys.items) {
        const auto& key = parts[4][id];
        const auto storage = known.find(std::string(key.text));
        if (key.type != PickleNode::Type::Text || storage == known.end()) {
            lost = fmt::format("storage {} of the file belongs to no tensor, so its size is unknown", std::string(key.text));
            break;
        }
        if (file->size() < 8 || next > file->size() - 8) {
            lost = fmt::format("the file ends at byte {}, before it: it was cut", file->size());
            break;
        }
        const auto head = file->copy(next, 8);
        if (!head) {
            return tl::unexpected(head.error());
        }
        const std::uint64_t count = le64(*head, 0);
        const bool sized = storage->second.dtype || storage->second.untyped;
        if (!sized || count > file->size() || count != static_cast<std::uint64_t>(storage->second.count)) {
            lost = sized ? fmt::format("storage {} has {} elements in the file, {} in the pickle", storage->first, count, storage->second.count)
                         : unknownType(storage->second.type);
            break;
        }
        const std::uint64_t size = count * (storage->second.untyped ? 1 : itemSize(*storage->second.dtype));
        next += 8;
        if (size > file->size() - next) {
            lost = fmt::format("the file ends at byte {}, within it: it was cut", file->size());
            break;
        }
        found[storage->first] = { file, next, size };
        next += size;
    }
    const FindStorage find = [&](const StorageId& id) -> Result<StorageBytes> {
        const auto entry = found.find(id.key);
        if (entry == found.end()) {
            return fail(ErrorCode::Truncated, fmt::format("its storage is not read: {}", lost.empty() ? "it is not in the file" : lost));
        }
        return entry->second;
    };
    collectTensors(parts[3], find, bigEndian, file->label(), contents);
    return contents;
}

/// A pickle that begins with the magic number, as LONG1 of 10 bytes, with or without PROTO and FRAME.
bool isTorchLegacy(std::span<const std::byte> head)
{
    for (std::size_t at = 0; at + 2 + kLegacyMagic.size() <= head.size() && at <= 11; ++at) {
        if (head[at] == std::byte { 0x8a } && head[at + 1] == std::byte { 10 }
            && std::equal(kLegacyMagic.begin(), kLegacyMagic.end(), head.begin() + static_cast<std::ptrdiff_t>(at) + 2,
                          [](unsigned char x, std::byte y) { return std::byte { x } == y; })) {
            return true;
        }
    }
    return false;
}

} // namespace forkpoint::import
