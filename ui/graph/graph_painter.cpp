// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_painter.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace forkpoint::ui {

using diagnose::Severity;
using graph::ItemId;
using graph::NodeId;
using graph::Sides;

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(GraphPainter)
};

constexpr double kDotsBelow = 5, kBoxesBelow = 12; ///< pixels of a node's height
constexpr double kRadius = 5, kFrameRadius = 7;
constexpr double kBar = 4;
constexpr double kArrow = 6;
constexpr std::size_t kCurvesUpTo = 2500; ///< segments; more are drawn as plain lines
constexpr double kEdgesFrom = 0.035;      ///< zoom below which edges would only be grey

QColor mixed(const QColor& x, const QColor& y, double share)
{
    const auto mix = [share](int a, int b) { return static_cast<int>(std::lround(a * (1 - share) + b * share)); };
    return { mix(x.red(), y.red()), mix(x.green(), y.green()), mix(x.blue(), y.blue()) };
}

bool oneSided(const graph::Node& node) { return node.sides == Sides::A || node.sides == Sides::B; }

QColor nodeBorder(const graph::Node& node, const NodeMark& mark, const Theme& theme)
{
    if (oneSided(node)) {
        return node.sides == Sides::A ? theme.a : theme.b;
    }
    return mark.severity ? mixed(theme.fill(*mark.severity), theme.strong(*mark.severity), 0.55) : theme.border;
}

QColor frameFill(const GraphScene& scene, ItemId item, const Theme& theme)
{
    int depth = 0;
    for (auto at = scene.visible.items[item].parent; at != graph::kNoItem; at = scene.visible.items[at].parent) {
        ++depth;
    }
    return depth % 2 == 0 ? theme.window : theme.panel;
}

/// Boxes straight into the pixels: many thousands per frame. Clips; at least one pixel large.
class PixelBoxes {
public:
    explicit PixelBoxes(QImage& image)
        : m_image(image)
        , m_ratio(image.devicePixelRatio())
    {
    }
    void fill(const QRectF& view, QRgb colour)
    {
        const auto [left, top, right, bottom] = pixels(view);
        const int from = std::max(left, 0), to = std::min(right, m_image.width());
        for (int y = std::max(top, 0); from < to && y < std::min(bottom, m_image.height()); ++y) {
            auto* line = reinterpret_cast<QRgb*>(m_image.scanLine(y));
            std::fill(line + from, line + to, colour);
        }
    }
    /// With a border of one pixel if there is room for it.
    void box(const QRectF& view, QRgb inside, QRgb border)
    {
        const auto [left, top, right, bottom] = pixels(view);
        fill(view, border);
        if (right - left > 2 && bottom - top > 2) {
            fill({ (left + 1) / m_ratio, (top + 1) / m_ratio, (right - left - 2) / m_ratio, (bottom - top - 2) / m_ratio }, inside);
        }
    }

private:
    struct Pixels {
        int left, top, right, bottom;
    };
    Pixels pixels(const QRectF& view) const
    {
        const auto at = [this](double v) { return static_cast<int>(std::floor(std::clamp(v * m_ratio, -1e8, 1e8) + 0.5)); };
        const int left = at(view.left()), top = at(view.top());
        return { left, top, std::max(left + 1, at(view.right())), std::max(top + 1, at(view.bottom())) };
    }
    QImage& m_image;
    double m_ratio;
};

void paintBar(QPainter& painter, const QRectF& box, const NodeMark& mark, const Theme& theme)
{
    const double all = mark.all();
    if (all == 0) {
        return;
    }
    constexpr std::array kWorstFirst { Severity::Invalid, Severity::Divergent, Severity::Drift, Severity::Unmatched, Severity::Noise, Severity::Identical };
    QPainterPath clip;
    clip.addRoundedRect(box, box.height() / 2, box.height() / 2);
    painter.save();
    painter.setClipPath(clip, Qt::IntersectClip);
    painter.fillRect(box, mixed(theme.panel, theme.border, 0.6)); // what is left: pending
    double x = box.left();
    for (const auto severity : kWorstFirst) {
        const auto count = mark.counts[static_cast<std::size_t>(severity)];
        if (count == 0) {
            continue;
        }
        const double width = std::max(count / all * box.width(), 2.0); // one bad node among a thousand stays visible
        painter.fillRect(QRectF(x, box.top(), std::min(width, box.right() - x), box.height()),
                         mixed(theme.strong(severity), theme.fill(severity), severity >= Severity::Drift ? 0.1 : 0.45));
        x += width;
    }
    painter.restore();
}

void paintSign(QPainter& painter, const QRectF& box, bool expanded, const QColor& line)
{
    painter.setPen(QPen(line, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 2.5, 2.5);
    painter.setPen(QPen(line, 1.3));
    const QPointF middle = box.center();
    const double arm = box.width() * 0.24;
    painter.drawLine(QPointF(middle.x() - arm, middle.y()), QPointF(middle.x() + arm, middle.y()));
    if (!expanded) {
        painter.drawLine(QPointF(middle.x(), middle.y() - arm), QPointF(middle.x(), middle.y() + arm));
    }
}

QString sideText(const graph::Node& node) { return node.sides == Sides::A ? Words::tr("only A") : Words::tr("only B"); }

/// "fork", on the upper border at the right.
void paintForkTag(QPainter& painter, const QRectF& rect, const QFont& font, const Theme& theme)
{
    QFont small = font;
    small.setPointSizeF(font.pointSizeF() * 0.8);
    small.setBold(true);
    const QString text = Words::tr("fork", "tag on the node where the runs fork");
    const double width = QFontMetricsF(small).horizontalAdvance(text) + 10;
    const QRectF tag(rect.right() - width - 8, rect.top() - 7, width, 14);
    painter.setPen(QPen(theme.panel, 1));
    painter.setBrush(theme.strong(Severity::Divergent));
    painter.drawRoundedRect(tag, 4, 4);
    painter.setPen(theme.panel);
    painter.setFont(small);
    painter.drawText(tag, Qt::AlignCenter, text);
    painter.setFont(font);
}

class Painting {
public:
    Painting(QImage& image, const GraphScene& scene, const GraphMarks& marks, const GraphCamera& camera, const QFont& font)
        : m_image(image)
        , m_scene(scene)
        , m_marks(marks)
        , m_camera(camera)
        , m_font(font)
        , m_bold(font)
        , m_detail(detailAt(camera.scale))
        , m_view(QRectF(QPointF(), QSizeF(image.size()) / image.devicePixelRatio()))
    {
        m_bold.setBold(true);
        const double margin = 12 / camera.scale;
        const auto area = camera.toScene(m_view).adjusted(-margin, -margin, margin, margin);
        m_items = scene.items.touching(area);
        if (camera.scale >= kEdgesFrom || scene.visible.items.size() < 400) {
            m_segments = scene.segments.touching(area);
        }
    }

    void run()
    {
        m_image.fill(m_theme.panel);
        if (m_detail == GraphDetail::Full) {
            QPainter painter(&m_image);
            prepare(painter);
            frames(painter);
            edges(painter);
            for (const auto item : m_items) {
                m_scene.visible.items[item].frame ? title(painter, item) : node(painter, item);
            }
            return;
        }
        PixelBoxes boxes(m_image);
        for (const auto item : m_items) {
            if (m_scene.visible.items[item].frame) {
                const QColor fill = m_detail == GraphDetail::Dots ? m_theme.window : frameFill(m_scene, item, m_theme);
                boxes.box(m_camera.toView(m_scene.rect(item)), fill.rgb(), m_theme.border.rgb());
            }
        }
        if (!m_segments.empty()) {
            QPainter painter(&m_image);
            prepare(painter);
            edges(painter);
        }
        nodeBoxes(boxes);
    }

private:
    void prepare(QPainter& painter) const
    {
        painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
        painter.scale(m_camera.scale, m_camera.scale);
        painter.translate(-m_camera.origin);
        painter.setFont(m_font);
    }

    const NodeMark& markOf(ItemId item) const { return m_marks.nodes[m_scene.visible.items[item].node]; }

    void frames(QPainter& painter) const
    {
        for (const auto item : m_items) {
            if (!m_scene.visible.items[item].frame) {
                continue;
            }
            const auto& node = m_scene.nodeOf(item);
            QPen pen(oneSided(node) ? nodeBorder(node, {}, m_theme) : m_theme.border, 1, oneSided(node) ? Qt::DashLine : Qt::SolidLine);
            pen.setCosmetic(true);
            painter.setPen(pen);
            painter.setBrush(frameFill(m_scene, item, m_theme));
            painter.drawRoundedRect(m_scene.rect(item), kFrameRadius, kFrameRadius);
        }
    }

    /// Lines that look alike are one path.
    void edges(QPainter& painter) const
    {
        const bool curves = m_detail != GraphDetail::Dots && m_segments.size() <= kCurvesUpTo;
        painter.setRenderHint(QPainter::Antialiasing, curves);
        painter.setBrush(Qt::NoBrush);
        struct Style {
            Qt::PenStyle line;
            QColor colour;
        };
        const std::array<Style, 5> styles { {
            { Qt::SolidLine, m_theme.edge },
            { Qt::SolidLine, mixed(m_theme.edge, m_theme.panel, 0.45) }, // not recorded as such
            { Qt::DotLine, mixed(m_theme.edge, m_theme.panel, 0.3) },    // implied
            { Qt::DashLine, m_theme.a },
            { Qt::DashLine, m_theme.b },
        } };
        std::array<std::vector<std::uint32_t>, 5> byStyle;
        for (const auto s : m_segments) {
            const auto& segment = m_scene.layout.segments[s];
            byStyle[segment.sides == Sides::A ? 3u : segment.sides == Sides::B ? 4u : segment.implied ? 2u : segment.recorded ? 0u : 1u].push_back(s);
        }
        for (std::size_t i = 0; i < styles.size(); ++i) {
            if (byStyle[i].empty()) {
                continue;
            }
            QPen pen(m_detail == GraphDetail::Full ? styles[i].colour : mixed(styles[i].colour, m_theme.panel, 0.35), m_detail == GraphDetail::Full ? 1.2 : 1,
                     m_detail == GraphDetail::Dots ? Qt::SolidLine : styles[i].line);
            pen.setCosmetic(true);
            painter.setPen(pen);
            if (!curves) {
                drawPlain(painter, byStyle[i]);
                continue;
            }
            QPainterPath path;
            for (const auto s : byStyle[i]) {
                path.addPath(segmentPath(m_scene, s));
            }
            painter.drawPath(path);
            for (const auto s : byStyle[i]) {
                if (m_detail == GraphDetail::Full && m_scene.layout.segments[s].arrives) {
                    paintArrow(painter, m_scene, s, styles[i].colour);
                }
            }
        }
        painter.setRenderHint(QPainter::Antialiasing, true);
    }

    void drawPlain(QPainter& painter, const std::vector<std::uint32_t>& segments) const
    {
        std::vector<QLineF> lines;
        for (const auto s : segments) {
            const auto route = m_scene.layout.route(m_scene.layout.segments[s]);
            for (std::size_t p = 1; p < route.size(); ++p) {
                lines.emplace_back(route[p - 1].x, route[p - 1].y, route[p].x, route[p].y);
            }
        }
        painter.drawLines(lines.data(), static_cast<int>(lines.size()));
    }

    /// Milder ones first, so that where several share a pixel the worst is seen.
    void nodeBoxes(PixelBoxes& boxes) const
    {
        std::array<std::vector<ItemId>, kMarkLevels + 1> byLevel;
        for (const auto item : m_items) {
            if (!m_scene.visible.items[item].frame) {
                const auto severity = markOf(item).severity;
                byLevel[severity ? static_cast<std::size_t>(*severity) + 1 : 0].push_back(item);
            }
        }
        for (const auto& items : byLevel) {
            for (const auto item : items) {
                const auto& mark = markOf(item);
                const auto box = m_camera.toView(m_scene.rect(item));
                const QColor border = nodeBorder(m_scene.nodeOf(item), mark, m_theme);
                if (m_detail == GraphDetail::Boxes) {
                    boxes.box(box, nodeFill(mark, m_theme).rgb(), border.rgb());
                } else {
                    const bool loud = mark.severity && *mark.severity >= Severity::Drift;
                    boxes.fill(box, (loud ? m_theme.strong(*mark.severity) : border).rgb());
                }
            }
        }
    }

    /// Name, then class, from `left` to `right`; the class gives way first.
    void words(QPainter& painter, ItemId item, double left, double right, const QRectF& line, bool bold, const QColor& colour) const
    {
        const auto& text = m_scene.texts[item];
        const QFont& font = bold ? m_bold : m_font;
        const QFontMetricsF metrics(font);
        double room = right - left;
        const QString name = metrics.elidedText(text.name, Qt::ElideMiddle, room);
        painter.setFont(font);
        painter.setPen(colour);
        painter.drawText(QRectF(left, line.top(), room, line.height()), Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine, name);
        const double used = metrics.horizontalAdvance(name) + kGapInNode;
        room -= used;
        if (!text.className.isEmpty() && room > 24) {
            painter.setFont(m_font);
            painter.setPen(mixed(colour, nodeFill(markOf(item), m_theme), 0.35));
            painter.drawText(QRectF(left + used, line.top(), room, line.height()), Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine,
                             QFontMetricsF(m_font).elidedText(text.className, Qt::ElideRight, room));
        }
    }

    void severityMark(QPainter& painter, const NodeMark& mark, double left, const QRectF& line) const
    {
        const QRectF box(left, line.center().y() - kMarkSize / 2, kMarkSize, kMarkSize);
        if (mark.severity) {
            paintSeverity(painter, box, *mark.severity, m_theme.strong(*mark.severity));
        } else if (mark.pending > 0) {
            painter.setPen(QPen(m_theme.muted, 1, Qt::DotLine));
            painter.setBrush(Qt::NoBrush);
            painter.drawEllipse(box.adjusted(2, 2, -2, -2));
        }
    }

    void node(QPainter& painter, ItemId item) const
    {
        const auto& data = m_scene.nodeOf(item);
        const auto& mark = markOf(item);
        const QRectF rect = m_scene.rect(item);
        const bool group = m_scene.graph->isGroup(m_scene.visible.items[item].node);
        QPen pen(nodeBorder(data, mark, m_theme), oneSided(data) ? 1.4 : 1, oneSided(data) ? Qt::DashLine : Qt::SolidLine);
        pen.setCosmetic(true);
        painter.setPen(pen);
        painter.setBrush(nodeFill(mark, m_theme));
        painter.drawRoundedRect(rect, kRadius, kRadius);
        const QRectF line = group ? rect.adjusted(0, 1, 0, -kBar - 5) : rect;
        double left = rect.left() + kNodePadding, right = rect.right() - kNodePadding;
        if (group) {
            paintSign(painter, signBox(m_scene, item), false, mixed(nodeFill(mark, m_theme), m_theme.text, 0.6));
            left += kSignSize + kGapInNode;
            paintBar(painter, QRectF(rect.left() + kNodePadding, rect.bottom() - kBar - 5, rect.width() - 2 * kNodePadding, kBar), mark, m_theme);
        }
        severityMark(painter, mark, left, line);
        left += kMarkSize + kGapInNode;
        const QColor colour = mark.severity || mark.pending > 0 ? m_theme.text : m_theme.muted;
        const QString number = oneSided(data) ? sideText(data) : markNumber(mark);
        if (!number.isEmpty()) {
            const double width = QFontMetricsF(m_font).horizontalAdvance(number);
            painter.setFont(m_font);
            painter.setPen(oneSided(data) ? nodeBorder(data, mark, m_theme) : mixed(nodeFill(mark, m_theme), m_theme.text, 0.78));
            painter.drawText(QRectF(right - width - 2, line.top(), width + 2, line.height()), Qt::AlignVCenter | Qt::AlignRight | Qt::TextSingleLine, number);
            right -= width + kGapInNode;
        }
        words(painter, item, left, right, line, false, colour);
        if (m_marks.fork && mark.fork) {
            paintForkTag(painter, rect, m_font, m_theme);
        }
    }

    void title(QPainter& painter, ItemId item) const
    {
        const auto& data = m_scene.nodeOf(item);
        const auto& mark = markOf(item);
        const QRectF rect = m_scene.rect(item), line = frameTitle(m_scene, item);
        const double bar = rect.right() - kNodePadding - kFrameBarWidth;
        double left = rect.left() + kNodePadding + kSignSize + kGapInNode;
        paintSign(painter, signBox(m_scene, item), true, m_theme.muted);
        severityMark(painter, mark, left, line);
        left += kMarkSize + kGapInNode;
        words(painter, item, left, bar - kGapInNode, line, true, m_theme.text);
        paintBar(painter, QRectF(bar, line.center().y() - 3, kFrameBarWidth, 6), mark, m_theme);
        if (oneSided(data)) {
            painter.setFont(m_font);
            painter.setPen(nodeBorder(data, mark, m_theme));
            painter.drawText(QRectF(rect.right() - 70, rect.bottom() - 20, 60, 18), Qt::AlignRight | Qt::AlignVCenter, sideText(data));
        }
        if (m_marks.fork == m_scene.visible.items[item].node) {
            paintForkTag(painter, rect, m_font, m_theme);
        }
    }

    QImage& m_image;
    const GraphScene& m_scene;
    const GraphMarks& m_marks;
    const GraphCamera& m_camera;
    const QFont& m_font;
    QFont m_bold;
    GraphDetail m_detail;
    QRectF m_view;
    const Theme& m_theme = Theme::current();
    std::vector<ItemId> m_items;
    std::vector<std::uint32_t> m_segments;
};

} // namespace

GraphDetail detailAt(double scale)
{
    return scale * kNodeHeight < kDotsBelow ? GraphDetail::Dots : scale * kNodeHeight < kBoxesBelow ? GraphDetail::Boxes : GraphDetail::Full;
}

QColor nodeFill(const NodeMark& mark, const Theme& theme) { return mark.severity ? theme.fill(*mark.severity) : theme.panel; }

QRectF signBox(const GraphScene& scene, ItemId item)
{
    const QRectF rect = scene.rect(item);
    const double middle = scene.visible.items[item].frame ? frameTitle(scene, item).center().y() : rect.top() + 1 + (rect.height() - kBar - 6) / 2;
    return { rect.left() + kNodePadding, middle - kSignSize / 2, kSignSize, kSignSize };
}

QRectF frameTitle(const GraphScene& scene, ItemId item)
{
    const QRectF rect = scene.rect(item);
    return { rect.left(), rect.top() + 2, rect.width(), kFrameHeader - 2 };
}

QPainterPath segmentPath(const GraphScene& scene, std::uint32_t segment)
{
    const auto route = scene.layout.route(scene.layout.segments[segment]);
    QPainterPath path(QPointF(route[0].x, route[0].y));
    for (std::size_t p = 1; p < route.size(); ++p) {
        const auto &from = route[p - 1], &to = route[p];
        if (from.x == to.x || from.y == to.y) {
            path.lineTo(to.x, to.y);
        } else {
            const double middle = (from.y + to.y) / 2;
            path.cubicTo(from.x, middle, to.x, middle, to.x, to.y);
        }
    }
    return path;
}

void paintArrow(QPainter& painter, const GraphScene& scene, std::uint32_t segment, const QColor& colour)
{
    const auto route = scene.layout.route(scene.layout.segments[segment]);
    const auto& end = route.back();
    const double up = end.y < route[route.size() - 2].y ? 1 : -1;
    QPainterPath head(QPointF(end.x, end.y));
    head.lineTo(end.x - kArrow * 0.5, end.y + up * kArrow);
    head.lineTo(end.x + kArrow * 0.5, end.y + up * kArrow);
    head.closeSubpath();
    painter.fillPath(head, colour);
}

void paintGraph(QImage& image, const GraphScene& scene, const GraphMarks& marks, const GraphCamera& camera, const QFont& font)
{
    Painting(image, scene, marks, camera, font).run();
}

} // namespace forkpoint::ui
