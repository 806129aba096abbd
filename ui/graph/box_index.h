// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>

#include <cstdint>
#include <vector>

namespace forkpoint::ui {

/// Boxes by place: a grid whose cells list what touches them, for culling and hit tests. What would lie in very many cells (outer frames,
/// edges that run past everything) is kept apart and always looked at. Immutable once built.
class BoxIndex {
public:
    BoxIndex() = default;
    explicit BoxIndex(std::vector<QRectF> boxes);

    /// Numbers of the boxes that touch `area`, ascending.
    std::vector<std::uint32_t> touching(const QRectF& area) const;
    const QRectF& box(std::uint32_t number) const { return m_boxes[number]; }
    std::size_t size() const { return m_boxes.size(); }

private:
    struct Span {
        int left = 0, top = 0, right = -1, bottom = -1; ///< cells, inclusive
        bool isLarge() const;
    };
    Span cellsOf(const QRectF& area) const;

    std::vector<QRectF> m_boxes;
    QPointF m_origin;
    double m_cellWidth = 1, m_cellHeight = 1;
    int m_columns = 0, m_rows = 0;
    std::vector<std::uint32_t> m_begin, m_entries, m_large;
};

} // namespace forkpoint::ui
