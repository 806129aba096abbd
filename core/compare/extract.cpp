// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/extract.h"

#include "core/align/samples.h"
#include "core/align/whole.h"
#include "core/bundle/sketch.h"
#include "core/import/tensor_writer.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::compare {

namespace {

using align::Assembly;
using align::Part;

constexpr std::size_t kMaxFileName = 200; ///< bytes; file systems allow 255

/// The id as a file's name: no path, no control characters, never longer than file systems allow.
std::string fileName(const std::string& id, std::size_t number)
{
    std::string out;
    for (const char c : id) {
        const auto byte = static_cast<unsigned char>(c);
        out += c == '/' || c == '\\' ? '-' : byte < 0x20 || byte == 0x7f ? '_' : c;
    }
    return out.size() <= kMaxFileName ? out : fmt::format("{}...{}", out.substr(0, kMaxFileName), number);
}

Assembly alone(const Part& part)
{
    Assembly out;
    out.parts = part;
    out.shape = part.record->shape;
    out.dtype = part.record->dtype;
    return out;
}

bool sameBits(const std::vector<Assembly>& replicas)
{
    return std::all_of(replicas.begin(), replicas.end(), [&](const Assembly& replica) {
        const auto &x = replica.parts.front(), &y = replicas.front().parts.front();
        return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                          [](const Part& p, const Part& q) { return bundle::sameBits(*p.record, *q.record).value_or(false); });
    });
}

struct Piece {
    std::string name;
    Assembly assembly;
};

/// What is written of a tensor: one whole, or the ranks' parts.
std::vector<Piece> piecesOf(const align::RunTensor& tensor, const align::RankMesh& mesh, bool perRank)
{
    const std::string id = align::pairId(tensor.key);
    if (tensor.parts.size() == 1) {
        return { { id, alone(tensor.parts.front()) } };
    }
    if (!perRank) {
        if (auto wholes = align::declaredWholes(tensor, mesh); !wholes.empty() && sameBits(wholes)) {
            return { { id, std::move(wholes.front()) } };
        }
    }
    std::vector<Piece> out;
    for (const auto& part : tensor.parts) {
        out.push_back({ fmt::format("{}@r{}", id, part.rank->rank), alone(part) });
    }
    return out;
}

/// What was recorded in place of the bytes.
std::string_view recordedInstead(const Assembly& assembly)
{
    for (const auto& part : assembly.parts.front()) {
        if (!part.record->bytes && part.record->detail != bundle::Detail::Full) {
            return bundle::name(part.record->detail);
        }
    }
    return "sketch";
}

} // namespace

Result<Extracted> extract(const align::Side& side, const ExtractOptions& options, Progress* progress, std::stop_token stop)
{
    const auto tensors = align::tensorsOf(side, options.pattern);
    if (!tensors) {
        return tl::unexpected(tensors.error());
    }
    if (tensors->empty()) {
        return fail(ErrorCode::Usage,
                    options.pattern.empty()
                        ? std::string("holds no tensor that was observed")
                        : fmt::format("no tensor matches '{}'; patterns are matched with whole names or ids, * stands for any characters", options.pattern),
                    side.label);
    }
    std::error_code error;
    std::filesystem::create_directories(options.folder, error);
    if (error) {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be created: {}", error.message()), options.folder.string());
    }
    const auto mesh = align::declaredMesh(side);
    Extracted out;
    std::vector<import::NamedTensor> together;
    for (std::size_t i = 0; i < tensors->size(); ++i) {
        if (stop.stop_requested()) {
            return fail(ErrorCode::Cancelled, "cancelled while extracting");
        }
        if (progress) {
            progress->report("extract", static_cast<double>(i) / static_cast<double>(tensors->size()));
        }
        for (auto& piece : piecesOf((*tensors)[i], mesh, options.perRank)) {
            if (align::isSampled(piece.assembly)) {
                out.refused.push_back(fmt::format("{}: only a {} was recorded", piece.name, recordedInstead(piece.assembly)));
                continue;
            }
            auto source = align::open(*side.bundle, piece.assembly);
            if (!source) {
                out.refused.push_back(fmt::format("{}: {}", piece.name, source.error().text()));
                continue;
            }
            ++out.written;
            out.apart += piece.name.find("@r") != std::string::npos ? 1u : 0u;
            if (options.format == ExtractFormat::Safetensors) {
                together.push_back({ std::move(piece.name), std::move(*source) });
            } else if (auto done = import::writeNpy(options.folder / (fileName(piece.name, out.written) + ".npy"), *source); !done) {
                return tl::unexpected(done.error());
            }
        }
    }
    if (!together.empty()) {
        if (auto done = import::writeSafetensors(options.folder / "tensors.safetensors", together); !done) {
            return tl::unexpected(done.error());
        }
    }
    return out;
}

} // namespace forkpoint::compare
