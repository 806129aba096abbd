// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/file_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace forkpoint::import {

namespace {

constexpr auto kSuffixes = std::to_array<std::string_view>({ ".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npy", ".npz" });
constexpr int kMaxNumber = (1 << 20) - 1;
constexpr int kMaxTries = 20'000; ///< several * can be tried in many ways

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isSeparator(char c) { return c == '_' || c == '-' || c == '.' || c == '='; }

std::string_view withoutSuffix(std::string_view name)
{
    for (const auto suffix : kSuffixes) {
        if (name.size() > suffix.size() && name.ends_with(suffix)) {
            return name.substr(0, name.size() - suffix.size());
        }
    }
    return name;
}

std::optional<int> numberOf(std::string_view digits)
{
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value <= kMaxNumber ? std::optional(value) : std::nullopt;
}

/// Takes `word` and the number behind it out of `name`, with the separators in front.
std::optional<int> takeNumber(std::string& name, std::string_view word)
{
    for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
        if (at > 0 && isLetter(name[at - 1])) {
            continue; // rerank2
        }
        std::size_t digits = at + word.size();
        while (digits < name.size() && isSeparator(name[digits])) {
            ++digits;
        }
        std::size_t end = digits;
        while (end < name.size() && isDigit(name[end])) {
            ++end;
        }
        const auto number = numberOf(std::string_view(name).substr(digits, end - digits));
        if (end == digits || !number || (end < name.size() && isLetter(name[end]))) {
            continue;
        }
        std::size_t from = at;
        while (from > 0 && isSeparator(name[from - 1])) {
            --from;
        }
        if (from == 0) { // in front: the separators behind it go too
            while (end < name.size() && isSeparator(name[end])) {
                ++end;
            }
        }
        name.erase(from, end - from);
        return number;
    }
    return std::nullopt;
}

} // namespace

Result<NamePattern> NamePattern::parse(std::string_view text)
{
    const auto bad = [&](std::string why) {
        return fail(ErrorCode::Usage,
            fmt::format("the pattern '{}' {}. A pattern is a file name with {{layer}}, {{rank}}, {{step}} and *, as hook_{{layer}}_rank{{rank}}.pt", text, why));
    };
    NamePattern out;
    out.m_wholePath = text.find('/') != std::string_view::npos;
    out.m_suffix = withoutSuffix(text).size() != text.size();
    std::array<bool, 5> seen {};
    std::string_view rest = text;
    while (!rest.empty()) {
        if (rest.front() == '*') {
            out.m_tokens.push_back({ Token::Type::Any, {} });
            rest.remove_prefix(1);
            continue;
        }
        if (rest.front() == '{') {
            const auto end = rest.find('}');
            if (end == std::string_view::npos) {
                return bad("has a { without }");
            }
            const auto field = rest.substr(1, end - 1);
            const auto type = field == "layer" || field == "name" ? Token::Type::Layer
                : field == "rank" || field == "r"                 ? Token::Type::Rank
                : field == "step"                                 ? Token::Type::Step
                                                                  : Token::Type::Text;
            if (type == Token::Type::Text) {
                return bad(fmt::format("has the unknown field {{{}}}", field));
            }
            if (std::exchange(seen[static_cast<std::size_t>(type)], true)) {
                return bad(fmt::format("has {{{}}} twice", field));
            }
            out.m_tokens.push_back({ type, {} });
            rest.remove_prefix(end + 1);
            continue;
        }
        const auto end = std::min(rest.find_first_of("{*"), rest.size());
        out.m_tokens.push_back({ Token::Type::Text, std::string(rest.substr(0, end)) });
        rest.remove_prefix(end);
    }
    if (out.m_tokens.empty() || out.m_tokens.size() > 32) {
        return bad(out.m_tokens.empty() ? "is empty" : "is too long");
    }
    return out;
}

bool NamePattern::matchFrom(std::size_t token, std::string_view rest, FileName& out, int& steps) const
{
    if (++steps > kMaxTries) {
        return false;
    }
    if (token == m_tokens.size()) {
        return rest.empty();
    }
    const auto& it = m_tokens[token];
    if (it.type == Token::Type::Text) {
        return rest.starts_with(it.text) && matchFrom(token + 1, rest.substr(it.text.size()), out, steps);
    }
    const bool isNumber = it.type == Token::Type::Rank || it.type == Token::Type::Step;
    for (std::size_t size = rest.size() + 1; size-- > (it.type == Token::Type::Any ? 0u : 1u);) { // the longest first
        const auto value = rest.substr(0, size);
        if (value.find('/') != std::string_view::npos || (isNumber && !std::all_of(value.begin(), value.end(), isDigit))) {
            continue;
        }
        if (!matchFrom(token + 1, rest.substr(size), out, steps)) {
            continue;
        }
        if (it.type == Token::Type::Layer) {
            out.name = std::string(value);
        } else if (isNumber) {
            (it.type == Token::Type::Rank ? out.rank : out.step) = numberOf(value);
        }
        return true;
    }
    return false;
}

std::optional<FileName> NamePattern::match(std::string_view path) const
{
    const auto slash = path.rfind('/');
    const auto folder = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
    auto subject = m_wholePath || slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!m_suffix) {
        subject = withoutSuffix(subject);
    }
    FileName out;
    int steps = 0;
    if (!matchFrom(0, subject, out, steps)) {
        return std::nullopt;
    }
    const FileName usual = readName(path), usualFolder = folder.empty() ? FileName() : readName(std::string(folder) + "/x");
    out.kind = usual.kind;
    out.rank = out.rank ? out.rank : usualFolder.rank; // what the pattern leaves to the folders
    out.step = out.step ? out.step : usualFolder.step;
    return out;
}

FileName readName(std::string_view path)
{
    FileName out;
    const auto slash = path.rfind('/');
    std::string folders(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
    std::string name(withoutSuffix(path.substr(slash == std::string_view::npos ? 0 : slash + 1)));
    if (const auto rank = takeNumber(name, "rank")) {
        out.rank = rank;
    }
    for (const auto word : { "step", "iter" }) {
        if (const auto step = takeNumber(name, word)) {
            out.step = step;
        }
    }
    for (const auto word : { "step", "iter" }) {
        if (const auto step = takeNumber(folders, word); step && !out.step) {
            out.step = step;
        }
    }
    if (const auto rank = takeNumber(folders, "rank"); rank && !out.rank) {
        out.rank = rank;
    }
    for (const auto& [prefix, kind] : { std::pair("hook_", bundle::Kind::Output), std::pair("grad_", bundle::Kind::Grad) }) {
        if (name.starts_with(prefix)) {
            out.kind = kind;
            name.erase(0, 5);
            break;
        }
    }
    out.name = std::move(name);
    return out;
}

bool naturalLess(std::string_view a, std::string_view b)
{
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (!isDigit(a[i]) || !isDigit(b[j])) {
            if (a[i] != b[j]) {
                return a[i] < b[j];
            }
            ++i;
            ++j;
            continue;
        }
        const auto number = [](std::string_view text, std::size_t& at) {
            const std::size_t from = at;
            while (at < text.size() && isDigit(text[at])) {
                ++at;
            }
            auto digits = text.substr(from, at - from);
            digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
            return digits;
        };
        const auto x = number(a, i), y = number(b, j);
        if (x.size() != y.size() || x != y) {
            return x.size() != y.size() ? x.size() < y.size() : x < y;
        }
    }
    return a.size() - i < b.size() - j || (a.size() - i == b.size() - j && a < b);
}

} // namespace forkpoint::import
