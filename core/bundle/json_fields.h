// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <simdjson.h>
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
    std::vector<std::string> texts(std::string_view key);
    std::optional<JsonFields> objectOr(std::string_view key); ///< its problems must be passed on with complain()
    std::vector<JsonFields> objectsOr(std::string_view key);

private:
    std::optional<simdjson::dom::element> find(std::string_view key) const;
    std::optional<simdjson::dom::element> require(std::string_view key);
    std::string keyName(std::string_view key) const;

    std::vector<simdjson::dom::key_value_pair> m_fields;
    std::string m_prefix;
    std::string m_problem;
};

} // namespace forkpoint::bundle
