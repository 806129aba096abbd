// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/report/ranks_report.h"

#include "core/align/assembly.h"
#include "core/report/terminal.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace forkpoint::report {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kTensors = 12; ///< shown as text
constexpr std::size_t kRanks = 16;   ///< shown as a matrix

Json number(double value)
{
    return std::isfinite(value) ? Json(value) : std::isnan(value) ? Json("NaN") : Json(value > 0 ? "Infinity" : "-Infinity");
}

std::string cell(const compare::RankMatrix& matrix, std::size_t i, std::size_t j)
{
    if (i == j) {
        return "-";
    }
    return matrix.differ[i][j] == 0 ? "=" : matrix.worst[i][j] > 0 ? fmt::format("{:.1e}", matrix.worst[i][j]) : "differs";
}

std::string matrixText(const compare::RankMatrix& matrix, const TextOptions& options)
{
    std::string out = "\n" + toned("Largest relative difference, rank against rank", Tone::Bold, options) + "\n        ";
    for (const int rank : matrix.ranks) {
        out += padded(fmt::format("{}", rank), 9);
    }
    out += "\n";
    for (std::size_t i = 0; i < matrix.ranks.size(); ++i) {
        out += "  " + padded(fmt::format("{}", matrix.ranks[i]), 6);
        for (std::size_t j = 0; j < matrix.ranks.size(); ++j) {
            out += padded(cell(matrix, i, j), 9);
        }
        out += "\n";
    }
    return out;
}

} // namespace

std::string ranksText(const compare::RankMatrix& matrix, const align::Side& side, const TextOptions& given)
{
    TextOptions options = given;
    options.width = std::max(options.width, 50);
    const auto width = static_cast<std::size_t>(options.width);
    std::string out = fmt::format("{}: {} tensors should be equal on their ranks: {}\n", printable(side.label), matrix.tensors,
                                  matrix.differing.empty() && matrix.unknown == 0 ? "all are"
                                      : matrix.differing.empty()                  ? "none is known to differ"
                                                                 : fmt::format("{} {}", matrix.differing.size(), matrix.differing.size() == 1 ? "differs" : "differ"));
    std::string why;
    for (std::size_t r = 0; r < matrix.byReason.size(); ++r) {
        if (matrix.byReason[r] > 0) {
            why += fmt::format("{}{} {}", why.empty() ? "" : ", ", matrix.byReason[r], compare::name(static_cast<compare::ReplicaReason>(r)));
        }
    }
    const auto line = [&](const std::string& text) { out += "  " + wrapped(text, width, 2, 4) + "\n"; };
    if (!why.empty()) {
        line("why: " + why);
    }
    if (matrix.others > 0) {
        line(fmt::format("{} more are on several ranks, but nothing says that they should be equal", matrix.others));
    }
    if (matrix.unknown > 0) {
        line(fmt::format("{} could not be compared: neither digest nor fold was recorded on all ranks", matrix.unknown));
    }
    if (matrix.differing.empty()) {
        return out;
    }
    if (matrix.ranks.size() <= kRanks && 8 + 9 * matrix.ranks.size() <= width) {
        out += matrixText(matrix, options);
    }
    out += "\n" + toned("Ranks that agree", Tone::Bold, options) + "\n";
    for (std::size_t i = 0; i < std::min(matrix.differing.size(), kTensors); ++i) {
        const auto& tensor = matrix.differing[i];
        std::string groups;
        for (std::size_t g = 0; g < tensor.groups.size(); ++g) {
            groups += (g == 0 ? "" : " | ") + align::rankList(tensor.groups[g]);
        }
        double worst = 0;
        bool known = false;
        for (const auto& row : tensor.difference) {
            for (const auto& d : row) {
                known = known || (d && *d > 0);
                worst = std::max(worst, d.value_or(0));
            }
        }
        line(printable(fmt::format("{}: {}; {} ({})", tensor.id, groups, known ? fmt::format("relative difference {:.2g}", worst) : "by how much is not known",
                                   compare::name(tensor.reason))));
    }
    if (matrix.differing.size() > kTensors) {
        out += fmt::format("  ... {} more: see --json\n", matrix.differing.size() - kTensors);
    }
    return out;
}

Json ranksJson(const compare::RankMatrix& matrix, const align::Side& side)
{
    Json out { { "schema", "forkpoint-ranks/1" }, { "run", side.label }, { "ranks", matrix.ranks }, { "tensors", matrix.tensors }, { "others", matrix.others },
               { "unknown", matrix.unknown } };
    out["reasons"] = { { "declared", matrix.byReason[0] }, { "wrapped", matrix.byReason[1] }, { "equal_at_first", matrix.byReason[2] } };
    out["differ"] = matrix.differ;
    out["worst"] = Json::array();
    for (const auto& row : matrix.worst) {
        auto& line = out["worst"].emplace_back(Json::array());
        for (const double value : row) {
            line.push_back(number(value));
        }
    }
    out["differing"] = Json::array();
    for (const auto& tensor : matrix.differing) {
        auto differences = Json::array();
        for (const auto& row : tensor.difference) {
            auto& line = differences.emplace_back(Json::array());
            for (const auto& value : row) {
                line.push_back(value ? number(*value) : Json(nullptr));
            }
        }
        out["differing"].push_back({ { "id", tensor.id }, { "why_replica", compare::name(tensor.reason) }, { "groups", tensor.groups }, { "difference", std::move(differences) } });
    }
    return out;
}

} // namespace forkpoint::report
