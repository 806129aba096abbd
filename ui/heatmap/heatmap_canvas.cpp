// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/heatmap_canvas.h"

#include "ui/heatmap/cell_text.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

using heatmap::Cell;
using heatmap::CellRect;
using heatmap::Rgba;
using heatmap::Viewport;

namespace {

// All in pixels of a screen of scale 1.
constexpr double kLargestFitted = 160; ///< side of a cell when a small tensor is fitted
constexpr double kLeastUsed = 0.5;     ///< share of the room that square cells must fill
constexpr double kLargest = 320;
constexpr double kTextWidth = 64, kTextHeight = 22;
constexpr double kGridFrom = 14;
constexpr double kTold = 12; ///< side of a cell that can be told from its neighbours

Rgba rgbaOf(const QColor& colour)
{
    return heatmap::rgba(static_cast<unsigned>(colour.red()), static_cast<unsigned>(colour.green()), static_cast<unsigned>(colour.blue()));
}

} // namespace

HeatmapCanvas::HeatmapCanvas(JobRunner& jobs, const QString& tag, QWidget* parent)
    : QWidget(parent)
    , m_jobs(jobs)
    , m_refineTag(tag + QStringLiteral("-refine"))
    , m_textTag(tag + QStringLiteral("-values"))
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    m_style.background = rgbaOf(Theme::current().panel);
}

HeatmapCanvas::~HeatmapCanvas()
{
    m_jobs.cancel(m_refineTag);
    m_jobs.cancel(m_textTag);
}

std::int64_t HeatmapCanvas::rows() const { return m_pyramid ? m_pyramid->slice().rows() : 0; }
std::int64_t HeatmapCanvas::columns() const { return m_pyramid ? m_pyramid->slice().columns() : 0; }

void HeatmapCanvas::setPyramid(std::shared_ptr<const heatmap::Pyramid> pyramid)
{
    const auto oldRows = rows(), oldColumns = columns();
    m_pyramid = std::move(pyramid);
    m_jobs.cancel(m_textTag);
    m_texts = {};
    m_requestedTexts = {};
    setHovered(std::nullopt);
    if (rows() != oldRows || columns() != oldColumns) {
        m_fitted = true;
    }
    fitToSize();
    invalidate();
}

void HeatmapCanvas::setLook(const heatmap::Style& style)
{
    auto wanted = style;
    wanted.background = rgbaOf(Theme::current().panel);
    if (wanted != m_style) {
        m_style = wanted;
        invalidate();
    }
}

void HeatmapCanvas::setPinned(std::optional<Cell> cell)
{
    if (cell != m_pinned) {
        m_pinned = cell;
        update();
    }
}

void HeatmapCanvas::setLargest(std::optional<Cell> cell)
{
    m_largest = cell;
    update();
}

void HeatmapCanvas::setParts(std::vector<PartLines> parts)
{
    m_parts = std::move(parts);
    update();
}

// --- what is seen ---

Viewport HeatmapCanvas::fittedView() const
{
    const int width = m_view.width, height = m_view.height;
    const int margin = static_cast<int>(std::lround(m_scale)); // for the frame
    const int roomX = std::max(1, width - 2 * margin), roomY = std::max(1, height - 2 * margin);
    auto view = heatmap::fitted(rows(), columns(), roomX, roomY);
    // A long strip of square cells would leave most of the room empty: its cells are stretched.
    const double used = static_cast<double>(rows()) / view.rowsPerPixel * (static_cast<double>(columns()) / view.columnsPerPixel);
    if (used < kLeastUsed * roomX * roomY) {
        view = heatmap::fitted(rows(), columns(), roomX, roomY, true);
    }
    const double smallest = 1 / (kLargestFitted * m_scale);
    view.columnsPerPixel = std::max(view.columnsPerPixel, smallest);
    view.rowsPerPixel = std::max(view.rowsPerPixel, smallest);
    view.width = width;
    view.height = height;
    view.left = (static_cast<double>(columns()) - width * view.columnsPerPixel) / 2;
    view.top = (static_cast<double>(rows()) - height * view.rowsPerPixel) / 2;
    return view;
}

void HeatmapCanvas::fitToSize()
{
    const double scale = devicePixelRatioF();
    if (scale != m_scale) {
        m_view.columnsPerPixel *= m_scale / scale;
        m_view.rowsPerPixel *= m_scale / scale;
        m_scale = scale;
    }
    const int width = std::max(1, static_cast<int>(std::lround(QWidget::width() * scale)));
    const int height = std::max(1, static_cast<int>(std::lround(QWidget::height() * scale)));
    // What was in the middle stays there.
    auto view = m_view;
    view.left += (m_view.width - width) * view.columnsPerPixel / 2;
    view.top += (m_view.height - height) * view.rowsPerPixel / 2;
    view.width = width;
    view.height = height;
    m_view.width = width;
    m_view.height = height;
    setViewport(m_fitted && m_pyramid ? fittedView() : view, m_fitted);
}

void HeatmapCanvas::setViewport(Viewport view, bool fitted)
{
    if (!fitted && m_pyramid) {
        const auto whole = fittedView();
        const double wanted = std::clamp(view.columnsPerPixel, 1 / (kLargest * m_scale), std::max(whole.columnsPerPixel * 4, 1 / (kLargest * m_scale)));
        view = heatmap::zoomed(view, view.columnsPerPixel / wanted, view.width / 2.0, view.height / 2.0);
        // The middle of the view stays on the picture, or it is lost.
        const double middleColumn = std::clamp(view.left + view.width * view.columnsPerPixel / 2, 0.0, static_cast<double>(columns()));
        const double middleRow = std::clamp(view.top + view.height * view.rowsPerPixel / 2, 0.0, static_cast<double>(rows()));
        view.left = middleColumn - view.width * view.columnsPerPixel / 2;
        view.top = middleRow - view.height * view.rowsPerPixel / 2;
    }
    m_fitted = fitted;
    m_view = view;
    invalidate();
    emit viewChanged();
}

void HeatmapCanvas::fit()
{
    m_fitted = true;
    fitToSize();
}

void HeatmapCanvas::zoom(double factor)
{
    if (!m_pyramid) {
        return;
    }
    QPointF at(width() / 2.0, height() / 2.0);
    if (m_pinned && QRectF(rect()).contains(cellRect(*m_pinned).center())) {
        at = cellRect(*m_pinned).center();
    }
    setViewport(heatmap::zoomed(m_view, factor, at.x() * m_scale, at.y() * m_scale), false);
}

void HeatmapCanvas::reveal(Cell cell, bool largeEnough)
{
    if (!m_pyramid) {
        return;
    }
    auto view = m_view;
    bool fitted = m_fitted;
    const double side = std::min(1 / view.columnsPerPixel, 1 / view.rowsPerPixel) / m_scale;
    if (largeEnough && side < kTold) {
        const auto at = heatmap::pixelOf(view, cell);
        view = heatmap::zoomed(view, kTold / side, at.x, at.y);
        fitted = false;
    }
    const auto at = heatmap::pixelOf(view, cell);
    const double w = 1 / view.columnsPerPixel, h = 1 / view.rowsPerPixel;
    const double margin = 8 * m_scale;
    const auto shift = [margin](double begin, double length, int room) {
        if (begin >= 0 && begin + length <= room) {
            return 0.0;
        }
        if (length + 2 * margin > room) {
            return room / 2.0 - (begin + length / 2);
        }
        return begin < 0 ? margin - begin : room - margin - begin - length;
    };
    const double dx = shift(at.x, w, view.width), dy = shift(at.y, h, view.height);
    if (dx != 0 || dy != 0 || view != m_view) {
        setViewport(heatmap::panned(view, dx, dy), fitted && dx == 0 && dy == 0);
    }
}

CanvasView HeatmapCanvas::canvasView() const
{
    CanvasView out;
    out.fitted = m_fitted;
    out.rowsPerPixel = m_view.rowsPerPixel * m_scale;
    out.columnsPerPixel = m_view.columnsPerPixel * m_scale;
    out.row = m_view.top + m_view.height * m_view.rowsPerPixel / 2;
    out.column = m_view.left + m_view.width * m_view.columnsPerPixel / 2;
    return out;
}

void HeatmapCanvas::setCanvasView(const CanvasView& view)
{
    if (view.fitted) {
        fit();
        return;
    }
    auto wanted = m_view;
    wanted.rowsPerPixel = view.rowsPerPixel / m_scale;
    wanted.columnsPerPixel = view.columnsPerPixel / m_scale;
    wanted.top = view.row - wanted.height * wanted.rowsPerPixel / 2;
    wanted.left = view.column - wanted.width * wanted.columnsPerPixel / 2;
    setViewport(wanted, false);
}

// --- pixels ---

bool HeatmapCanvas::isBusy() const { return m_stale || m_jobs.isRunning(m_refineTag) || m_jobs.isRunning(m_textTag); }

void HeatmapCanvas::invalidate()
{
    m_jobs.cancel(m_refineTag);
    m_stale = m_pyramid != nullptr;
    update();
}

HeatmapCanvas::Drawn HeatmapCanvas::draw(const heatmap::Pyramid& pyramid, const Viewport& view, const heatmap::Style& style, heatmap::Reads reads,
                                         std::stop_token stop)
{
    Drawn out;
    out.image = QImage(view.width, view.height, QImage::Format_RGBX8888);
    const auto stride = static_cast<std::size_t>(out.image.bytesPerLine()) / sizeof(Rgba);
    const std::span<Rgba> pixels(reinterpret_cast<Rgba*>(out.image.bits()), stride * static_cast<std::size_t>(view.height));
    const auto info = heatmap::renderRegion(pyramid, view, style, pixels, stride, reads, stop);
    if (info) {
        out.complete = info->complete;
    } else {
        out.error = info.error();
    }
    return out;
}

void HeatmapCanvas::render()
{
    m_stale = false;
    auto drawn = draw(*m_pyramid, m_view, m_style, heatmap::Reads::Forbidden, {});
    if (drawn.error) {
        emit failed(*drawn.error);
        return;
    }
    m_image = std::move(drawn.image);
    m_image.setDevicePixelRatio(m_scale);
    if (!drawn.complete) {
        refine();
    }
}

void HeatmapCanvas::refine()
{
    m_jobs.start<Drawn>(
        m_refineTag, QString(), this,
        [pyramid = m_pyramid, view = m_view, style = m_style](Progress&, std::stop_token stop) { return draw(*pyramid, view, style, heatmap::Reads::Allowed, stop); },
        [this](Drawn drawn) {
            if (drawn.error) {
                emit failed(*drawn.error);
                return;
            }
            m_image = std::move(drawn.image);
            m_image.setDevicePixelRatio(m_scale);
            update();
        });
}

const QImage& HeatmapCanvas::image()
{
    if (m_stale) {
        render();
    }
    return m_image;
}

// --- places ---

QRectF HeatmapCanvas::cellRect(Cell cell) const
{
    const auto at = heatmap::pixelOf(m_view, cell);
    return { at.x / m_scale, at.y / m_scale, 1 / m_view.columnsPerPixel / m_scale, 1 / m_view.rowsPerPixel / m_scale };
}

QRectF HeatmapCanvas::pictureRect() const
{
    return QRectF(cellRect({ 0, 0 }).topLeft(), cellRect({ rows(), columns() }).topLeft());
}

std::optional<Cell> HeatmapCanvas::cellAtPoint(const QPointF& point) const
{
    if (!m_pyramid || !rect().contains(point.toPoint())) {
        return std::nullopt;
    }
    const auto cell = heatmap::cellAt(m_view, static_cast<int>(std::floor(point.x() * m_scale)), static_cast<int>(std::floor(point.y() * m_scale)));
    return m_pyramid->slice().contains(cell) ? std::optional(cell) : std::nullopt;
}

CellRect HeatmapCanvas::visibleCells() const
{
    const auto first = heatmap::cellAt(m_view, 0, 0), last = heatmap::cellAt(m_view, m_view.width - 1, m_view.height - 1);
    const auto row = std::clamp<std::int64_t>(first.row, 0, rows()), column = std::clamp<std::int64_t>(first.column, 0, columns());
    return { row, column, std::clamp<std::int64_t>(last.row + 1, row, rows()) - row, std::clamp<std::int64_t>(last.column + 1, column, columns()) - column };
}

bool HeatmapCanvas::showsTexts() const
{
    const auto cell = cellRect({ 0, 0 });
    return m_pyramid && m_pyramid->readable() && cell.width() >= kTextWidth && cell.height() >= kTextHeight;
}

void HeatmapCanvas::requestTexts(const CellRect& visible)
{
    const auto covers = [&](const CellRect& r) {
        return r.row <= visible.row && r.column <= visible.column && r.row + r.rows >= visible.row + visible.rows
            && r.column + r.columns >= visible.column + visible.columns;
    };
    const bool known = m_texts.pyramid == m_pyramid && m_texts.mode == m_style.mode && covers(m_texts.values.rect);
    if (known || visible.cells() == 0 || (m_jobs.isRunning(m_textTag) && m_requestedTexts == visible)) {
        return;
    }
    m_requestedTexts = visible;
    // More than is seen, so that panning does not wait for each row.
    const std::int64_t row = std::max<std::int64_t>(0, visible.row - visible.rows), column = std::max<std::int64_t>(0, visible.column - visible.columns);
    const CellRect wanted { row, column, std::min(rows(), visible.row + 2 * visible.rows) - row, std::min(columns(), visible.column + 2 * visible.columns) - column };
    m_jobs.start<Result<heatmap::RegionValues>>(
        m_textTag, QString(), this,
        [pyramid = m_pyramid, wanted, mode = m_style.mode](Progress&, std::stop_token stop) { return pyramid->region(0, wanted, mode, stop); },
        [this, pyramid = m_pyramid, mode = m_style.mode](Result<heatmap::RegionValues> values) {
            if (values) {
                m_texts = { pyramid, mode, std::move(*values) };
                update();
            } else {
                emit failed(values.error());
            }
        });
}

// --- painting ---

void HeatmapCanvas::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const auto& theme = Theme::current();
    if (!m_pyramid) {
        painter.fillRect(rect(), theme.panel);
        return;
    }
    if (devicePixelRatioF() != m_scale) {
        fitToSize(); // moved to another screen
    }
    if (m_stale) {
        render();
    }
    painter.drawImage(QPointF(0, 0), m_image);
    paintGrid(painter);
    if (showsTexts()) {
        paintTexts(painter);
    }
    paintParts(painter);
    paintMarks(painter);
}

void HeatmapCanvas::paintGrid(QPainter& painter)
{
    const auto cell = cellRect({ 0, 0 });
    painter.setRenderHint(QPainter::Antialiasing, false);
    const auto picture = pictureRect();
    if (std::min(cell.width(), cell.height()) >= kGridFrom) {
        QColor line = Theme::current().panel;
        line.setAlpha(110);
        const auto visible = visibleCells();
        const auto shown = picture.intersected(rect());
        // Filled, as a stroked line with alpha costs ten times as much.
        const double thick = 1 / m_scale;
        for (std::int64_t row = std::max<std::int64_t>(1, visible.row); row < visible.row + visible.rows; ++row) {
            painter.fillRect(QRectF(shown.left(), cellRect({ row, 0 }).top(), shown.width(), thick), line);
        }
        for (std::int64_t column = std::max<std::int64_t>(1, visible.column); column < visible.column + visible.columns; ++column) {
            painter.fillRect(QRectF(cellRect({ 0, column }).left(), shown.top(), thick, shown.height()), line);
        }
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(Theme::current().border, 1));
    painter.drawRect(picture.adjusted(-0.5, -0.5, 0.5, 0.5).intersected(QRectF(rect()).adjusted(-2, -2, 2, 2)));
}

void HeatmapCanvas::paintTexts(QPainter& painter)
{
    const auto visible = visibleCells();
    requestTexts(visible);
    if (m_texts.pyramid != m_pyramid || m_texts.mode != m_style.mode) {
        return;
    }
    painter.save();
    QFont font = monospace(this->font());
    font.setPointSizeF(font.pointSizeF() * 0.88);
    painter.setFont(font);
    const auto& known = m_texts.values.rect;
    for (std::int64_t row = std::max(visible.row, known.row); row < std::min(visible.row + visible.rows, known.row + known.rows); ++row) {
        for (std::int64_t column = std::max(visible.column, known.column); column < std::min(visible.column + visible.columns, known.column + known.columns); ++column) {
            if (!m_pyramid->slice().contains({ row, column })) {
                continue;
            }
            const auto at = static_cast<std::size_t>((row - known.row) * known.columns + column - known.column);
            const auto box = cellRect({ row, column });
            // The colour below it is that of the middle of what is seen of the cell.
            const QPointF middle = box.intersected(rect()).center() * m_scale;
            const QColor below = m_image.pixelColor(std::clamp(static_cast<int>(middle.x()), 0, m_image.width() - 1), std::clamp(static_cast<int>(middle.y()), 0, m_image.height() - 1));
            painter.setPen(heatmap::okLab(rgbaOf(below)).lightness > 0.62 ? QColor(0x10, 0x14, 0x1a) : QColor(0xf6, 0xf8, 0xfa));
            painter.drawText(box, Qt::AlignCenter | Qt::TextSingleLine,
                             cellText(m_texts.mode, m_texts.values.values[at], m_texts.values.flags[at], painter.fontMetrics(), static_cast<int>(box.width()) - 10));
        }
    }
    painter.restore();
}

void HeatmapCanvas::paintParts(QPainter& painter)
{
    const auto& theme = Theme::current();
    const auto shown = pictureRect().intersected(rect());
    if (m_parts.empty() || shown.isEmpty()) {
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    QFont font = this->font();
    font.setPointSizeF(font.pointSizeF() * 0.88);
    painter.setFont(font);
    const QFontMetrics metrics(font);
    constexpr double kPadding = 5, kBar = 3;
    int lane = 0; // labels of several axes must not lie on each other
    for (const auto& part : m_parts) {
        for (const auto& span : part.spans) {
            const double begin = part.onRows ? cellRect({ span.begin, 0 }).top() : cellRect({ 0, span.begin }).left();
            const double end = part.onRows ? cellRect({ span.end, 0 }).top() : cellRect({ 0, span.end }).left();
            const double from = part.onRows ? shown.top() : shown.left(), to = part.onRows ? shown.bottom() : shown.right();
            if (end <= from || begin >= to) {
                continue;
            }
            if (span.begin > 0 && begin > from) {
                const QLineF line = part.onRows ? QLineF(shown.left(), begin, shown.right(), begin) : QLineF(begin, shown.top(), begin, shown.bottom());
                painter.setPen(QPen(QColor(0, 0, 0), 1.5));
                painter.drawLine(line);
                QPen dashes(QColor(255, 255, 255), 1.5);
                dashes.setDashPattern({ 4, 4 });
                dashes.setCapStyle(Qt::FlatCap);
                painter.setPen(dashes);
                painter.drawLine(line);
            }
            const double width = metrics.horizontalAdvance(span.label) + 2 * kPadding + kBar, height = metrics.height() + 2;
            const double room = std::min(end, to) - std::max(begin, from);
            if (room < (part.onRows ? height : width) + 6) {
                continue;
            }
            const double along = std::max(begin, from) + 3, across = (part.onRows ? shown.left() : shown.top()) + 3 + lane;
            const QRectF box = part.onRows ? QRectF(across, along, width, height) : QRectF(along, across, width, height);
            QColor ground = theme.panel;
            ground.setAlpha(225);
            painter.fillRect(box, ground);
            painter.fillRect(QRectF(box.left(), box.top(), kBar, box.height()), part.ofB ? theme.b : theme.a);
            painter.setPen(theme.text);
            painter.drawText(box.adjusted(kBar + kPadding - 1, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, span.label);
        }
        lane += metrics.height() + 6;
    }
    painter.restore();
}

void HeatmapCanvas::paintMarks(QPainter& painter)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    // Two frames, dark around light: one of them is seen on every colour.
    const auto frame = [&](Cell cell, double smallest, double thick) {
        QRectF box = cellRect(cell);
        const double grow = std::max(0.0, (smallest - std::min(box.width(), box.height())) / 2);
        box.adjust(-grow, -grow, grow, grow);
        painter.setPen(QPen(QColor(0x10, 0x14, 0x1a), thick + 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(box);
        painter.setPen(QPen(QColor(255, 255, 255), thick, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(box);
    };
    if (m_hovered && std::min(cellRect(*m_hovered).width(), cellRect(*m_hovered).height()) >= 4 && m_hovered != m_pinned) {
        frame(*m_hovered, 4, 1);
    }
    if (!m_pinned && m_largest) {
        frame(*m_largest, 9, 1);
    }
    if (m_pinned && m_pyramid->slice().contains(*m_pinned)) {
        frame(*m_pinned, 9, 2);
    }
    if (hasFocus()) {
        painter.setPen(QPen(Theme::current().accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
    painter.restore();
}

// --- mouse ---

void HeatmapCanvas::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitToSize();
}

void HeatmapCanvas::wheelEvent(QWheelEvent* event)
{
    if (!m_pyramid || event->angleDelta().y() == 0) {
        event->ignore();
        return;
    }
    const auto at = event->position();
    auto view = m_view;
    const double largest = 1 / (kLargest * m_scale), smallest = fittedView().columnsPerPixel * 4;
    const double wanted = std::clamp(view.columnsPerPixel / std::pow(1.0016, event->angleDelta().y()), std::min(largest, smallest), std::max(largest, smallest));
    setViewport(heatmap::zoomed(view, view.columnsPerPixel / wanted, at.x() * m_scale, at.y() * m_scale), false);
    setHovered(cellAtPoint(at));
    event->accept();
}

void HeatmapCanvas::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton) {
        m_pressed = m_dragged = event->position();
        m_panning = false;
    }
}

void HeatmapCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const auto at = event->position();
    if (m_pressed && (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) && m_pyramid) {
        m_panning = m_panning || (at - *m_pressed).manhattanLength() >= QApplication::startDragDistance();
        if (m_panning) {
            setCursor(Qt::ClosedHandCursor);
            const QPointF moved = (at - m_dragged) * m_scale;
            m_dragged = at;
            setViewport(heatmap::panned(m_view, moved.x(), moved.y()), false);
            return;
        }
    }
    setHovered(cellAtPoint(at));
}

void HeatmapCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    const bool click = m_pressed && !m_panning && event->button() == Qt::LeftButton;
    m_pressed.reset();
    m_panning = false;
    unsetCursor();
    if (const auto cell = click ? cellAtPoint(event->position()) : std::nullopt) {
        emit pinRequested(*cell);
    }
    setHovered(cellAtPoint(event->position()));
}

void HeatmapCanvas::leaveEvent(QEvent*) { setHovered(std::nullopt); }

void HeatmapCanvas::setHovered(std::optional<Cell> cell)
{
    if (cell != m_hovered) {
        m_hovered = cell;
        update();
        emit hoverChanged(cell);
    }
}

void HeatmapCanvas::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::ApplicationPaletteChange) {
        setLook(m_style);
        update();
    }
}

} // namespace forkpoint::ui
