// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/box_index.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

constexpr double kCell = 240;        ///< at least
constexpr double kCellsPerBox = 4;   ///< at most
constexpr int kLargeCells = 24;

/// QRectF::intersects is false for boxes without area, which straight edges have.
bool touches(const QRectF& x, const QRectF& y)
{
    return x.left() <= y.right() && y.left() <= x.right() && x.top() <= y.bottom() && y.top() <= x.bottom();
}

} // namespace

bool BoxIndex::Span::isLarge() const { return (right - left + 1) * (bottom - top + 1) > kLargeCells; }

BoxIndex::BoxIndex(std::vector<QRectF> boxes)
    : m_boxes(std::move(boxes))
{
    if (m_boxes.empty()) {
        return;
    }
    double left = m_boxes[0].left(), top = m_boxes[0].top(), right = left, bottom = top;
    for (const auto& box : m_boxes) {
        left = std::min(left, box.left());
        top = std::min(top, box.top());
        right = std::max(right, box.right());
        bottom = std::max(bottom, box.bottom());
    }
    m_origin = { left, top };
    const double width = std::max(1.0, right - left), height = std::max(1.0, bottom - top);
    const double budget = kCellsPerBox * static_cast<double>(m_boxes.size()) + 16;
    const double grow = std::max(1.0, std::sqrt(width / kCell * height / kCell / budget));
    m_cellWidth = std::min(kCell * grow, width);
    m_cellHeight = std::max(kCell, width * height / budget / m_cellWidth);
    m_columns = static_cast<int>(width / m_cellWidth) + 1;
    m_rows = static_cast<int>(height / m_cellHeight) + 1;

    m_begin.assign(static_cast<std::size_t>(m_columns) * static_cast<std::size_t>(m_rows) + 1, 0);
    const auto forEachCell = [this](const Span& span, auto&& visit) {
        for (int row = span.top; row <= span.bottom; ++row) {
            for (int column = span.left; column <= span.right; ++column) {
                visit(static_cast<std::size_t>(row) * static_cast<std::size_t>(m_columns) + static_cast<std::size_t>(column));
            }
        }
    };
    for (std::uint32_t i = 0; i < m_boxes.size(); ++i) {
        const auto span = cellsOf(m_boxes[i]);
        if (span.isLarge()) {
            m_large.push_back(i);
        } else {
            forEachCell(span, [this](std::size_t cell) { ++m_begin[cell + 1]; });
        }
    }
    for (std::size_t cell = 1; cell < m_begin.size(); ++cell) {
        m_begin[cell] += m_begin[cell - 1];
    }
    m_entries.resize(m_begin.back());
    auto next = m_begin;
    for (std::uint32_t i = 0; i < m_boxes.size(); ++i) {
        const auto span = cellsOf(m_boxes[i]);
        if (!span.isLarge()) {
            forEachCell(span, [&](std::size_t cell) { m_entries[next[cell]++] = i; });
        }
    }
}

BoxIndex::Span BoxIndex::cellsOf(const QRectF& area) const
{
    const auto at = [](double distance, double cell, int count) {
        return static_cast<int>(std::clamp(std::floor(distance / cell), 0.0, static_cast<double>(count - 1)));
    };
    return { at(area.left() - m_origin.x(), m_cellWidth, m_columns), at(area.top() - m_origin.y(), m_cellHeight, m_rows),
             at(area.right() - m_origin.x(), m_cellWidth, m_columns), at(area.bottom() - m_origin.y(), m_cellHeight, m_rows) };
}

std::vector<std::uint32_t> BoxIndex::touching(const QRectF& area) const
{
    std::vector<std::uint32_t> out;
    if (m_boxes.empty()) {
        return out;
    }
    for (const auto i : m_large) {
        if (touches(m_boxes[i], area)) {
            out.push_back(i);
        }
    }
    const auto asked = cellsOf(area);
    for (int row = asked.top; row <= asked.bottom; ++row) {
        for (int column = asked.left; column <= asked.right; ++column) {
            const auto cell = static_cast<std::size_t>(row) * static_cast<std::size_t>(m_columns) + static_cast<std::size_t>(column);
            for (auto e = m_begin[cell]; e < m_begin[cell + 1]; ++e) {
                const auto i = m_entries[e];
                const auto span = cellsOf(m_boxes[i]);
                // Once only: in the first cell that box and area share.
                if (row == std::max(span.top, asked.top) && column == std::max(span.left, asked.left) && touches(m_boxes[i], area)) {
                    out.push_back(i);
                }
            }
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace forkpoint::ui
