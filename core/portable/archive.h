// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/value_pool.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace forkpoint::align {
struct Side;
}

// Values as bytes and back (FORKCMP.md section 3). One function says what a struct consists of, and serves both directions:
//
//     template <class Archive> void fields(Archive& archive, Point& point) { archive(point.step, point.value); }
//
// Reading trusts nothing: the first thing that is wrong is kept as a text and everything after it is left at its default, so that code which
// lists fields has no branches; ask problem() at the end.
namespace forkpoint::portable {

/// How many values an enumeration has, counted from 0. To be specialised for each that is stored.
template <class Enum> inline constexpr unsigned kValuesOf = 0;

template <class T> struct IsVector : std::false_type { };
template <class T> struct IsVector<std::vector<T>> : std::true_type { };
template <class T> struct IsArray : std::false_type { };
template <class T, std::size_t N> struct IsArray<std::array<T, N>> : std::true_type { };
template <class T> struct IsOptional : std::false_type { };
template <class T> struct IsOptional<std::optional<T>> : std::true_type { };
template <class T> struct IsMap : std::false_type { };
template <class K, class V> struct IsMap<std::map<K, V>> : std::true_type { };
template <class T> struct IsShared : std::false_type { };
template <class T> struct IsShared<bundle::SharedValue<T>> : std::true_type { };
template <class T> struct IsPair : std::false_type { };
template <class A, class B> struct IsPair<std::pair<A, B>> : std::true_type { };

class FieldWriter {
public:
    static constexpr bool kReads = false;

    template <class... T> void operator()(const T&... values) { (write(values), ...); }
    template <class T> void appended(const T& value) { write(value); }
    std::string take() { return std::move(m_bytes); }

    const align::Side* sides[2] = { nullptr, nullptr }; ///< A and B, as of the reader
    const align::Side* side = nullptr;

private:
    void number(std::uint64_t value)
    {
        for (; value >= 0x80; value >>= 7) {
            m_bytes.push_back(static_cast<char>(value | 0x80));
        }
        m_bytes.push_back(static_cast<char>(value));
    }

    void fixed(std::uint64_t value, int bytes)
    {
        for (int i = 0; i < bytes; ++i) {
            m_bytes.push_back(static_cast<char>(value >> (8 * i)));
        }
    }

    template <class T> void write(const T& value)
    {
        if constexpr (std::is_same_v<T, bool>) {
            number(value ? 1 : 0);
        } else if constexpr (std::is_enum_v<T>) {
            static_assert(kValuesOf<T> > 0);
            number(static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            const auto wide = static_cast<std::int64_t>(value);
            number(static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
        } else if constexpr (std::is_integral_v<T>) {
            number(value);
        } else if constexpr (std::is_same_v<T, double>) {
            fixed(std::bit_cast<std::uint64_t>(value), 8);
        } else if constexpr (std::is_same_v<T, std::string>) {
            number(value.size());
            m_bytes += value;
        } else if constexpr (IsVector<T>::value || IsMap<T>::value) {
            number(value.size());
            for (const auto& item : value) {
                write(item);
            }
        } else if constexpr (IsArray<T>::value) {
            for (const auto& item : value) {
                write(item);
            }
        } else if constexpr (IsOptional<T>::value) {
            number(value ? 1 : 0);
            if (value) {
                write(*value);
            }
        } else if constexpr (IsShared<T>::value) {
            write(*value);
        } else if constexpr (IsPair<T>::value) {
            write(value.first);
            write(value.second);
        } else {
            const std::size_t place = m_bytes.size();
            fixed(0, 4);
            fields(*this, const_cast<T&>(value)); // the same function reads; here it only looks
            const std::size_t size = m_bytes.size() - place - 4;
            for (int i = 0; i < 4; ++i) {
                m_bytes[place + static_cast<std::size_t>(i)] = static_cast<char>(size >> (8 * i));
            }
        }
    }

    std::string m_bytes;
};

class FieldReader {
public:
    static constexpr bool kReads = true;

    explicit FieldReader(std::span<const std::byte> bytes)
        : m_bytes(bytes)
        , m_end(bytes.size())
    {
    }

    template <class... T> void operator()(T&... values) { (read(values), ...); }
    template <class T> void appended(T& value) ///< a field that a minor version appended to a record: files of older ones lack it
    {
        if (m_at < m_end) {
            read(value);
        }
    }

    /// A and B, and the one whose parts are read next: parts refer to records by number.
    const align::Side* sides[2] = { nullptr, nullptr };
    const align::Side* side = nullptr;

    bool ok() const { return m_problem.empty(); }
    const std::string& problem() const { return m_problem; }
    bool atEnd() const { return m_at == m_bytes.size(); }
    void complain(std::string problem) ///< also for contradictions found outside; the first one is kept
    {
        if (m_problem.empty()) {
            m_problem = std::move(problem);
        }
    }

private:
    std::uint64_t number()
    {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint64_t byte = fixed(1);
            if (shift == 63 && byte > 1) {
                break;
            }
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) {
                return ok() ? value : 0;
            }
        }
        complain("a number is longer than 64 bits");
        return 0;
    }

    std::uint64_t fixed(std::size_t bytes)
    {
        if (!ok() || bytes > m_end - m_at) {
            complain("a record ends before its content does");
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i) {
            value |= static_cast<std::uint64_t>(m_bytes[m_at + i]) << (8 * i);
        }
        m_at += bytes;
        return value;
    }

    /// Of things that need a byte each at least.
    std::size_t count()
    {
        const std::uint64_t claimed = number();
        if (claimed > m_end - m_at) {
            complain("a list claims more entries than there are bytes");
            return 0;
        }
        return static_cast<std::size_t>(claimed);
    }

    template <class T> void read(T& value)
    {
        if (!ok()) {
            return;
        }
        if constexpr (std::is_same_v<T, bool>) {
            value = below(2) != 0;
        } else if constexpr (std::is_enum_v<T>) {
            static_assert(kValuesOf<T> > 0);
            value = static_cast<T>(below(kValuesOf<T>));
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            const std::uint64_t packed = number();
            const auto wide = static_cast<std::int64_t>(packed >> 1 ^ (~(packed & 1) + 1));
            if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
                complain("a number is out of range");
                return;
            }
            value = static_cast<T>(wide);
        } else if constexpr (std::is_integral_v<T>) {
            const std::uint64_t wide = number();
            if (wide > std::numeric_limits<T>::max()) {
                complain("a number is out of range");
                return;
            }
            value = static_cast<T>(wide);
        } else if constexpr (std::is_same_v<T, double>) {
            value = std::bit_cast<double>(fixed(8));
        } else if constexpr (std::is_same_v<T, std::string>) {
            const std::size_t size = count();
            value.assign(reinterpret_cast<const char*>(m_bytes.data() + m_at), size);
            m_at += size;
        } else if constexpr (IsVector<T>::value) {
            const std::size_t size = count();
            value.clear();
            for (std::size_t i = 0; i < size && ok(); ++i) { // grows with what is there, not with what is claimed
                typename T::value_type item {};
                read(item);
                value.push_back(std::move(item));
            }
        } else if constexpr (IsMap<T>::value) {
            const std::size_t size = count();
            value.clear();
            for (std::size_t i = 0; i < size && ok(); ++i) {
                typename T::key_type key {};
                typename T::mapped_type item {};
                read(key);
                read(item);
                value.emplace(std::move(key), std::move(item));
            }
        } else if constexpr (IsArray<T>::value) {
            for (auto& item : value) {
                read(item);
            }
        } else if constexpr (IsOptional<T>::value) {
            value.reset();
            if (below(2) != 0) {
                read(value.emplace());
            }
        } else if constexpr (IsShared<T>::value) {
            std::remove_cvref_t<decltype(*value)> plain;
            read(plain);
            value = shared(std::move(plain));
        } else if constexpr (IsPair<T>::value) {
            read(value.first);
            read(value.second);
        } else {
            const std::uint64_t size = fixed(4);
            if (size > m_end - m_at) {
                complain("a record claims more bytes than there are");
                return;
            }
            const std::size_t outer = m_end;
            m_end = m_at + static_cast<std::size_t>(size);
            fields(*this, value);
            m_at = m_end; // what a newer version has added is passed over
            m_end = outer;
        }
    }

    /// Equal values are one in memory, as they were before they were written.
    bundle::SharedText shared(std::string value) { return m_pool.text(value); }
    bundle::SharedShape shared(Shape value) { return m_pool.shape(value); }
    template <class T> bundle::SharedValue<T> shared(T value) { return value; }

    std::uint64_t below(std::uint64_t limit)
    {
        const std::uint64_t value = number();
        if (value >= limit) {
            complain("a value is unknown to this version of Forkpoint");
            return 0;
        }
        return value;
    }

    std::span<const std::byte> m_bytes;
    std::size_t m_at = 0, m_end = 0; ///< m_end: of the record that is being read
    std::string m_problem;
    bundle::ValuePool m_pool;
};

} // namespace forkpoint::portable
