// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/json_fields.h"

#include <algorithm>
#include <fmt/format.h>

namespace forkpoint::bundle {

using simdjson::dom::element;

namespace {

std::uint64_t tagOf(std::string_view key)
{
    const auto at = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(key[i])); };
    const std::size_t size = key.size();
    return size == 0 ? 0 : size << 24 | at(0) << 16 | at(size / 2) << 8 | at(size - 1);
}

} // namespace

std::vector<JsonFields::Memory>& JsonFields::spares()
{
    thread_local std::vector<Memory> spares;
    return spares;
}

JsonFields::JsonFields(simdjson::dom::object object, std::string prefix)
    : m_prefix(std::move(prefix))
{
    if (std::vector<Memory>& spare = spares(); !spare.empty()) {
        m_memory = std::move(spare.back());
        spare.pop_back();
    }
    m_memory.tags.clear();
    m_memory.fields.clear();
    for (const simdjson::dom::key_value_pair field : object) {
        if (field.value.is_null())
            continue;
        m_memory.tags.push_back(tagOf(field.key));
        m_memory.fields.push_back(field);
    }
}

JsonFields::~JsonFields()
{
    constexpr std::size_t kSpares = 8;
    constexpr std::size_t kKept = 4096; // entries; what more a strange line had goes back
    const std::size_t entries = std::max(m_memory.fields.capacity(), m_memory.numbers.capacity());
    if (entries > 0 && entries <= kKept && spares().size() < kSpares)
        spares().push_back(std::move(m_memory));
}

void JsonFields::complain(std::string problem)
{
    if (m_problem.empty())
        m_problem = std::move(problem);
}

std::string JsonFields::keyName(std::string_view key) const
{
    return fmt::format("`{}{}`", m_prefix, key);
}

std::optional<element> JsonFields::find(std::string_view key) const
{
    const std::uint64_t tag = tagOf(key);
    for (std::size_t i = 0; i < m_memory.tags.size(); ++i) {
        if (m_memory.tags[i] == tag && m_memory.fields[i].key == key)
            return m_memory.fields[i].value;
    }
    return std::nullopt;
}

std::optional<element> JsonFields::require(std::string_view key)
{
    const std::optional<element> value = find(key);
    if (!value)
        complain(fmt::format("the key {} is missing", keyName(key)));
    return value;
}

std::string_view JsonFields::text(std::string_view key)
{
    return require(key) ? textOr(key, {}) : std::string_view{};
}

std::string_view JsonFields::textOr(std::string_view key, std::string_view absent)
{
    const std::optional<element> value = find(key);
    if (!value)
        return absent;
    std::string_view text;
    if (value->get(text) != simdjson::SUCCESS) {
        complain(fmt::format("{} is not a string", keyName(key)));
        return absent;
    }
    return text;
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t min, std::int64_t max)
{
    return require(key) ? integerOr(key, 0, min, max) : 0;
}

std::int64_t JsonFields::integerOr(std::string_view key, std::int64_t absent, std::int64_t min, std::int64_t max)
{
    const std::optional<element> value = find(key);
    if (!value)
        return absent;
    std::int64_t integer = 0;
    if (!value->is_int64() || value->get(integer) != simdjson::SUCCESS) {
        complain(fmt::format("{} is not an integer", keyName(key)));
        return absent;
    }
    if (integer < min || integer > max) {
        complain(fmt::format("{} is {}, which is out of range", keyName(key), integer));
        return absent;
    }
    return integer;
}

std::int32_t JsonFields::index(std::string_view key)
{
    return static_cast<std::int32_t>(integer(key, 0, std::numeric_limits<std::int32_t>::max()));
}

std::int32_t JsonFields::indexOr(std::string_view key, std::int32_t absent)
{
    return static_cast<std::int32_t>(integerOr(key, absent, 0, std::numeric_limits<std::int32_t>::max()));
}

bool JsonFields::flag(std::string_view key)
{
    return require(key) && flagOr(key, false);
}

bool JsonFields::flagOr(std::string_view key, bool absent)
{
    const std::optional<element> value = find(key);
    if (!value)
        return absent;
    bool flag = false;
    if (value->get(flag) != simdjson::SUCCESS) {
        complain(fmt::format("{} is neither true nor false", keyName(key)));
        return absent;
    }
    return flag;
}

double JsonFields::number(std::string_view key)
{
    const std::optional<element> value = require(key);
    if (!value)
        return 0;
    double number = 0;
    std::string_view text;
    if (value->get(number) == simdjson::SUCCESS)
        return number;
    if (value->get(text) == simdjson::SUCCESS) {
        if (text == "NaN")
            return std::numeric_limits<double>::quiet_NaN();
        if (text == "Infinity")
            return std::numeric_limits<double>::infinity();
        if (text == "-Infinity")
            return -std::numeric_limits<double>::infinity();
    }
    complain(fmt::format("{} is neither a number nor \"NaN\", \"Infinity\", \"-Infinity\"", keyName(key)));
    return 0;
}

std::vector<std::int64_t> JsonFields::integers(std::string_view key)
{
    const std::span<const std::int64_t> found = numbers(key);
    return {found.begin(), found.end()};
}

std::vector<std::int64_t> JsonFields::integersOr(std::string_view key)
{
    const std::span<const std::int64_t> found = numbersOr(key);
    return {found.begin(), found.end()};
}

std::span<const std::int64_t> JsonFields::numbers(std::string_view key)
{
    return require(key) ? numbersOr(key) : std::span<const std::int64_t>{};
}

std::span<const std::int64_t> JsonFields::numbersOr(std::string_view key)
{
    const std::optional<element> value = find(key);
    if (!value)
        return {};
    std::vector<std::int64_t>& integers = m_memory.numbers;
    integers.clear();
    simdjson::dom::array array;
    bool good = value->get(array) == simdjson::SUCCESS;
    if (good) {
        for (const element item : array) {
            std::int64_t integer = 0;
            if (!item.is_int64() || item.get(integer) != simdjson::SUCCESS) {
                good = false;
                break;
            }
            integers.push_back(integer);
        }
    }
    if (!good) {
        complain(fmt::format("{} is not a list of integers", keyName(key)));
        return {};
    }
    return integers;
}

std::vector<std::string> JsonFields::texts(std::string_view key)
{
    std::vector<std::string> texts;
    const std::optional<element> value = require(key);
    if (!value)
        return texts;
    simdjson::dom::array array;
    bool good = value->get(array) == simdjson::SUCCESS;
    if (good) {
        for (const element item : array) {
            std::string_view text;
            if (item.get(text) != simdjson::SUCCESS) {
                good = false;
                break;
            }
            texts.emplace_back(text);
        }
    }
    if (!good) {
        complain(fmt::format("{} is not a list of strings", keyName(key)));
        return {};
    }
    return texts;
}

std::optional<JsonFields> JsonFields::objectOr(std::string_view key)
{
    const std::optional<element> value = find(key);
    if (!value)
        return std::nullopt;
    simdjson::dom::object object;
    if (value->get(object) != simdjson::SUCCESS) {
        complain(fmt::format("{} is not an object", keyName(key)));
        return std::nullopt;
    }
    return JsonFields(object, m_prefix + std::string(key) + ".");
}

void JsonFields::eachObjectOr(std::string_view key, const std::function<void(JsonFields&)>& visit)
{
    const std::optional<element> value = find(key);
    if (!value)
        return;
    simdjson::dom::array array;
    bool good = value->get(array) == simdjson::SUCCESS;
    if (good) {
        std::size_t index = 0;
        for (const element item : array) {
            simdjson::dom::object object;
            if (item.get(object) != simdjson::SUCCESS) {
                good = false;
                break;
            }
            JsonFields fields(object, fmt::format("{}{}[{}].", m_prefix, key, index++));
            visit(fields);
        }
    }
    if (!good)
        complain(fmt::format("{} is not a list of objects", keyName(key)));
}

} // namespace forkpoint::bundle
