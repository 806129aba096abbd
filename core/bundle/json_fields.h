// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <simdjson.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::bundle {

/// The keys of one JSON object, read with their types checked. The first thing that is wrong is kept as a text ("`offset` is not an
/// integer") and the reads go on with neutral values, so that code which fills a record has no branches; ask problem() at the end. A key
/// that is null counts as absent. Of a key that is there twice, the first counts. Views live as long as the parser's document.
class JsonFields {
public:
    explicit JsonFields(simdjson::dom::object object, std::string prefix = {});
    JsonFields(JsonFields&&) noexcept = default;
    JsonFields& operator=(JsonFields&&) noexcept = default;
    ~JsonFields();

    bool ok() const { return m_problem.empty(); }
    const std::string& problem() const { return m_problem; }
    void complain(std::string problem); ///< for contradictions found outside; the first one is kept

    bool has(std::string_view key) const { return find(key).has_value(); }
    std::string_view text(std::string_view key);
    std::string_view textOr(std::string_view key, std::string_view absent);
    std::int64_t integer(std::string_view key, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                         std::int64_t max = std::numeric_limits<std::int64_t>::max());
    std::int64_t integerOr(std::string_view key, std::int64_t absent, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                           std::int64_t max = std::numeric_limits<std::int64_t>::max());
    std::int32_t index(std::string_view key); ///< an integer within 0 .. 2^31 - 1
    std::int32_t indexOr(std::string_view key, std::int32_t absent);
    bool flag(std::string_view key);
    bool flagOr(std::string_view key, bool absent);
    double number(std::string_view key); ///< also the strings "NaN", "Infinity", "-Infinity"
    std::vector<std::int64_t> integers(std::string_view key);
    std::vector<std::int64_t> integersOr(std::string_view key); ///< empty if absent
    std::span<const std::int64_t> numbers(std::string_view key);   ///< as integers(), in memory of this object until its next list
    std::span<const std::int64_t> numbersOr(std::string_view key); ///< as integersOr(), likewise
    std::vector<std::string> texts(std::string_view key);
    std::optional<JsonFields> objectOr(std::string_view key); ///< its problems must be passed on with complain()
    void eachObjectOr(std::string_view key, const std::function<void(JsonFields&)>& visit); ///< likewise; none if absent

private:
    std::optional<simdjson::dom::element> find(std::string_view key) const;
    std::optional<simdjson::dom::element> require(std::string_view key);
    std::string keyName(std::string_view key) const;

    /// Memory that objects hand on from one to the next: a line takes a few microseconds, which allocations would double.
    struct Memory {
        std::vector<std::uint64_t> tags; ///< of the keys: length, and some characters; most keys are told apart by these alone
        std::vector<simdjson::dom::key_value_pair> fields;
        std::vector<std::int64_t> numbers;
    };
    static std::vector<Memory>& spares();

    Memory m_memory;
    std::string m_prefix;
    std::string m_problem;
};

} // namespace forkpoint::bundle
