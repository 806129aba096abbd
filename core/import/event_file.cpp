// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/files/bytes.h"
#include "core/files/little_endian.h"
#include "core/import/series.h"

#include <array>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <optional>

// TensorBoard's event files: TFRecords (length, masked CRC-32C of it, data, masked CRC-32C of that) of protocol buffers, of which only the few
// fields with numbers are looked at: Event { step = 2, summary = 5 }, Summary { value = 1 }, Value { tag = 1, simple_value = 2, tensor = 8 },
// TensorProto { dtype = 1, tensor_content = 4, float_val = 5, double_val = 6 }.
namespace forkpoint::import {

using namespace files;

namespace {

using View = std::span<const std::byte>;

std::uint32_t crc32c(View bytes)
{
    static const auto table = [] {
        std::array<std::uint32_t, 256> out {};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
            }
            out[i] = value;
        }
        return out;
    }();
    std::uint32_t crc = ~0u;
    for (const std::byte b : bytes) {
        crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(b)) & 0xff];
    }
    return ~crc;
}

std::uint32_t maskedCrc(View bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

struct Field {
    std::uint32_t number = 0;
    std::uint32_t wire = 0;
    std::uint64_t value = 0; ///< varint, or the bits of a fixed one
    View bytes;              ///< of a length-delimited one
};

/// Walks the fields of a message; stops at what it cannot read.
class Fields {
public:
    explicit Fields(View bytes)
        : m_rest(bytes)
    {
    }
    bool next(Field& out)
    {
        const auto key = varint();
        if (!key || m_rest.empty()) {
            return false;
        }
        out = { static_cast<std::uint32_t>(*key >> 3), static_cast<std::uint32_t>(*key & 7), 0, {} };
        if (out.wire == 0) {
            const auto value = varint();
            out.value = value.value_or(0);
            return value.has_value();
        }
        if (out.wire == 2) {
            const auto size = varint();
            if (!size || *size > m_rest.size()) {
                return false;
            }
            out.bytes = m_rest.first(static_cast<std::size_t>(*size));
            m_rest = m_rest.subspan(static_cast<std::size_t>(*size));
            return true;
        }
        const std::size_t size = out.wire == 1 ? 8 : out.wire == 5 ? 4 : 0;
        if (size == 0 || size > m_rest.size()) {
            return false;
        }
        out.value = littleEndian(m_rest, 0, size);
        m_rest = m_rest.subspan(size);
        return true;
    }

private:
    std::optional<std::uint64_t> varint()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !m_rest.empty(); shift += 7) {
            const auto byte = static_cast<std::uint64_t>(m_rest.front());
            m_rest = m_rest.subspan(1);
            value |= (byte & 0x7f) << shift;
            if ((byte & 0x80) == 0) {
                return value;
            }
        }
        return std::nullopt;
    }
    View m_rest;
};

double floatOf(std::uint64_t bits) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))); }

/// A single number in a TensorProto, as TensorFlow 2 and Keras write scalars.
std::optional<double> scalarOf(View tensor)
{
    std::uint64_t dtype = 0;
    std::optional<double> value;
    Fields fields(tensor);
    for (Field field; fields.next(field);) {
        if (field.number == 1 && field.wire == 0) {
            dtype = field.value;
        } else if (field.number == 5 && (field.wire == 5 || field.bytes.size() == 4)) {
            value = floatOf(field.wire == 5 ? field.value : littleEndian(field.bytes, 0, 4));
        } else if (field.number == 6 && (field.wire == 1 || field.bytes.size() == 8)) {
            value = std::bit_cast<double>(field.wire == 1 ? field.value : littleEndian(field.bytes, 0, 8));
        } else if (field.number == 4 && field.bytes.size() == 4 && dtype == 1) {
            value = floatOf(littleEndian(field.bytes, 0, 4));
        } else if (field.number == 4 && field.bytes.size() == 8 && dtype == 2) {
            value = std::bit_cast<double>(littleEndian(field.bytes, 0, 8));
        }
    }
    return value;
}

void readSummary(View summary, std::int64_t step, const std::string& prefix, SeriesCollector& out)
{
    Fields values(summary);
    for (Field value; values.next(value);) {
        if (value.number != 1 || value.wire != 2) {
            continue;
        }
        std::string tag;
        std::optional<double> number;
        Fields fields(value.bytes);
        for (Field field; fields.next(field);) {
            if (field.number == 1 && field.wire == 2) {
                tag.assign(reinterpret_cast<const char*>(field.bytes.data()), std::min<std::size_t>(field.bytes.size(), 1000));
            } else if (field.number == 2 && field.wire == 5) {
                number = floatOf(field.value);
            } else if (field.number == 8 && field.wire == 2 && !number) {
                number = scalarOf(field.bytes);
            }
        }
        if (number && !tag.empty()) {
            out.add({ { prefix.empty() ? tag : prefix + "/" + tag, *number } }, step);
        }
    }
}

void readEvent(View event, const std::string& prefix, SeriesCollector& out)
{
    std::int64_t step = 0;
    View summary;
    Fields fields(event);
    for (Field field; fields.next(field);) {
        if (field.number == 2 && field.wire == 0) {
            step = static_cast<std::int64_t>(field.value);
        } else if (field.number == 5 && field.wire == 2) {
            summary = field.bytes;
        }
    }
    readSummary(summary, step, prefix, out);
}

} // namespace

bool isEventFile(std::string_view head)
{
    const auto bytes = std::as_bytes(std::span(head));
    return bytes.size() >= 12 && maskedCrc(bytes.first(8)) == le32(bytes, 8);
}

Result<void> readEvents(const std::filesystem::path& path, const std::string& prefix, SeriesFile& out, const std::stop_token& stop)
{
    constexpr std::uint64_t kMaxRecord = 256u << 20;
    out.format = "TensorBoard events";
    const auto file = FilePool::create()->file(path, path.filename().string());
    if (!file) {
        return tl::unexpected(file.error());
    }
    SeriesCollector collector(out);
    ReadBuffer buffer;
    const std::uint64_t size = (*file)->size();
    std::uint64_t at = 0;
    std::string_view problem;
    while (at < size && problem.empty() && !stop.stop_requested()) {
        if (size - at < 12) {
            problem = "is cut";
            break;
        }
        const auto head = (*file)->read(at, 12, buffer);
        if (!head) {
            return tl::unexpected(head.error());
        }
        const std::uint64_t length = le64(*head, 0);
        if (maskedCrc(head->first(8)) != le32(*head, 8) || length > kMaxRecord) {
            problem = "is damaged";
        } else if (length > size - at - 12 || size - at - 12 - length < 4) {
            problem = "is cut";
        } else {
            const auto data = (*file)->read(at + 12, static_cast<std::size_t>(length) + 4, buffer);
            if (!data) {
                return tl::unexpected(data.error());
            }
            const auto event = data->first(static_cast<std::size_t>(length));
            if (maskedCrc(event) != le32(*data, static_cast<std::size_t>(length))) {
                problem = "is damaged";
            } else {
                readEvent(event, prefix, collector);
                at += length + 16;
            }
        }
    }
    if (!problem.empty()) {
        out.notes.push_back(fmt::format("{}: the record at byte {} {}: what follows is not read", path.filename().string(), at, problem));
    }
    collector.finish();
    return {};
}

} // namespace forkpoint::import
