// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/picture_parts.h"

#include <QCoreApplication>

namespace forkpoint::ui {

namespace {

constexpr std::int64_t kMostLines = 512;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Heatmap)
};

QString labelOf(const PartSpan& span, bool ofB)
{
    const QString side = ofB ? QStringLiteral("B") : QStringLiteral("A");
    if (span.rank >= 0 && span.micro >= 0) {
        return Words::tr("%1 rank %2, micro-step %3", "side").arg(side).arg(span.rank).arg(span.micro);
    }
    return span.rank >= 0 ? Words::tr("%1 rank %2", "side").arg(side).arg(span.rank) : Words::tr("%1 micro-step %2", "side").arg(side).arg(span.micro);
}

std::int64_t lengthOf(const Shape& shape, std::size_t first, std::size_t end)
{
    std::int64_t length = 1;
    for (std::size_t dim = first; dim < end; ++dim) {
        length *= shape[dim];
    }
    return length;
}

} // namespace

std::vector<PartLines> partLines(const align::Assembly& assembly, const heatmap::Slice& slice, bool ofB)
{
    std::vector<PartLines> out;
    const auto& axes = slice.axes();
    const auto& shape = slice.shape();
    for (const auto& part : partAxes(assembly)) {
        const bool onRows = axes.rows.contains(part.dim), onColumns = axes.columns.contains(part.dim);
        if ((!onRows && !onColumns) || slice.folded()) {
            continue;
        }
        const auto& dims = onRows ? axes.rows : axes.columns;
        const std::int64_t outer = lengthOf(shape, dims.first, part.dim), inner = lengthOf(shape, part.dim + 1, dims.end());
        if (outer * static_cast<std::int64_t>(part.spans.size()) > kMostLines) {
            continue;
        }
        PartLines lines { onRows, ofB, {} };
        for (std::int64_t i = 0; i < outer; ++i) {
            for (const auto& span : part.spans) {
                lines.spans.push_back({ (i * shape[part.dim] + span.begin) * inner, (i * shape[part.dim] + span.end) * inner, labelOf(span, ofB) });
            }
        }
        out.push_back(std::move(lines));
    }
    return out;
}

} // namespace forkpoint::ui
