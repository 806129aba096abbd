// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/layout_picture.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::test {

using namespace graph;

namespace {

class Canvas {
public:
    Canvas(double width, double height)
        : m_rows(static_cast<std::size_t>(std::ceil(height / kCellHeight)) + 1, std::string(static_cast<std::size_t>(std::ceil(width / kCellWidth)) + 2, ' '))
    {
    }

    void put(double x, double y, char c)
    {
        const auto row = static_cast<std::size_t>(y / kCellHeight), column = static_cast<std::size_t>(x / kCellWidth);
        if (row < m_rows.size() && column < m_rows[row].size()) {
            m_rows[row][column] = c;
        }
    }

    /// Down the rows; where it moves sideways by more than half a cell per row, it leans.
    void line(const std::vector<Point>& points)
    {
        for (std::size_t i = 1; i < points.size(); ++i) {
            auto a = points[i - 1], b = points[i];
            if (a.y == b.y) {
                for (double x = std::min(a.x, b.x); x <= std::max(a.x, b.x); x += kCellWidth) {
                    put(x, a.y, '-');
                }
                continue;
            }
            if (a.y > b.y) {
                std::swap(a, b);
            }
            const double lean = (b.x - a.x) / (b.y - a.y) * kCellHeight / kCellWidth;
            const char c = std::abs(lean) < 0.5 ? '|' : lean > 0 ? '\\' : '/';
            for (double y = (std::floor(a.y / kCellHeight) + 0.5) * kCellHeight; y < b.y; y += kCellHeight) {
                if (y > a.y) {
                    put(a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y), y, c);
                }
            }
        }
    }

    void node(const Rect& rect, const std::string& name)
    {
        const double y = rect.y + rect.height / 2;
        put(rect.x, y, '[');
        for (std::size_t i = 0; i < name.size(); ++i) {
            put(rect.x + kCellWidth * static_cast<double>(i + 1), y, name[i]);
        }
        put(rect.right() - kCellWidth, y, ']');
    }

    void frame(const Rect& rect, const std::string& name)
    {
        const double left = rect.x, right = rect.right() - 1, top = rect.y, bottom = rect.bottom() - 1;
        for (double x = left; x <= right; x += kCellWidth) {
            put(x, top, '-');
            put(x, bottom, '-');
        }
        for (double y = top; y <= bottom; y += kCellHeight) {
            put(left, y, ':');
            put(right, y, ':');
        }
        for (const auto [x, y] : { Point { left, top }, Point { right, top }, Point { left, bottom }, Point { right, bottom } }) {
            put(x, y, '+');
        }
        for (std::size_t i = 0; i < name.size(); ++i) {
            put(left + kCellWidth * static_cast<double>(i + 2), top, name[i]);
        }
    }

    std::string text() const
    {
        std::string out = "\n";
        for (auto row : m_rows) {
            row.erase(row.find_last_not_of(' ') + 1);
            out += row + "\n";
        }
        while (out.ends_with("\n\n")) {
            out.pop_back();
        }
        return out;
    }

private:
    std::vector<std::string> m_rows;
};

} // namespace

LayoutOptions pictureOptions()
{
    LayoutOptions options;
    options.nodeGap = 2 * kCellWidth;
    options.laneGap = 2 * kCellWidth;
    options.layerGap = 2 * kCellHeight;
    options.pinGap = kCellHeight;
    options.partGap = 4 * kCellWidth;
    options.flatGrowth = 0;
    return options;
}

FrameStyle pictureStyle()
{
    FrameStyle style;
    style.header = kCellHeight;
    style.padding = kCellHeight;
    style.layers = pictureOptions();
    return style;
}

LayoutNode pictureNode(const std::string& name, Pin pin)
{
    const auto cells = static_cast<double>(name.size() + 2);
    return { name.empty() ? 0 : cells * kCellWidth, name.empty() ? 0 : kCellHeight, pin };
}

std::string picture(const LayeredLayout& layout, const std::vector<std::string>& names)
{
    Canvas canvas(layout.width, layout.height);
    for (std::size_t e = 0; e + 1 < layout.pointsBegin.size(); ++e) {
        const auto route = layout.route(e);
        canvas.line({ route.begin(), route.end() });
    }
    for (std::size_t v = 0; v < names.size(); ++v) {
        if (!names[v].empty()) {
            canvas.node(layout.nodes[v], names[v]);
        }
    }
    return canvas.text();
}

std::string picture(const VisibleLayout& layout, const VisibleGraph& graph, const std::vector<std::string>& names)
{
    Canvas canvas(layout.width, layout.height);
    for (ItemId i = 0; i < graph.items.size(); ++i) {
        if (graph.items[i].frame) {
            canvas.frame(layout.items[i], names[i]);
        }
    }
    for (const auto& segment : layout.segments) {
        const auto route = layout.route(segment);
        canvas.line({ route.begin(), route.end() });
    }
    for (ItemId i = 0; i < graph.items.size(); ++i) {
        if (!graph.items[i].frame) {
            canvas.node(layout.items[i], names[i]);
        }
    }
    return canvas.text();
}

} // namespace forkpoint::test
