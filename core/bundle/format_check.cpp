// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/format_check.h"

#include "core/bundle/problem_log.h"

#include <fmt/format.h>
#include <limits>

namespace forkpoint::bundle {

using nlohmann::json;

namespace {

constexpr int kMajor = 1;
constexpr int kMinor = 1;

} // namespace

std::string textOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<int> intOf(const json& value, int min, int max)
{
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        return number <= static_cast<std::uint64_t>(max) && static_cast<std::int64_t>(number) >= min
            ? std::optional(static_cast<int>(number))
            : std::nullopt;
    }
    if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        return number >= min && number <= max ? std::optional(static_cast<int>(number)) : std::nullopt;
    }
    return std::nullopt;
}

Result<void> checkFormat(const json& document, std::string_view expected, const std::string& where, std::vector<Problem>& problems)
{
    const auto format = document.find("format");
    if (format == document.end() || !format->is_string()) {
        problems.push_back({Problem::Level::Warning, where, fmt::format("`format` is not \"{}\": read as if it were", expected)});
    } else if (format->get<std::string>() != expected) {
        return fail(ErrorCode::NotABundle,
                    fmt::format("`format` is \"{}\", not \"{}\": this file was written by another program",
                                shownText(format->get<std::string>()), expected),
                    where);
    }
    const auto version = document.find("version");
    std::optional<int> major, minor;
    if (version != document.end() && version->is_array() && version->size() == 2) {
        major = intOf((*version)[0], 0, std::numeric_limits<int>::max());
        minor = intOf((*version)[1], 0, std::numeric_limits<int>::max());
    }
    if (!major || !minor) {
        problems.push_back(
            {Problem::Level::Warning, where, fmt::format("`version` is not [major, minor]: read as version {}.{}", kMajor, kMinor)});
    } else if (*major > kMajor) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("was written in format version {}.{}, and this program reads up to {}: get a newer Forkpoint", *major,
                                *minor, kMajor),
                    where);
    } else if (*major == kMajor && *minor > kMinor) {
        problems.push_back(
            {Problem::Level::Note, where,
             fmt::format("was written in the newer format version {}.{}: what this program does not know is ignored", *major, *minor)});
    }
    return {};
}

} // namespace forkpoint::bundle
