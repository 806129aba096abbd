// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/pyramid.h"
#include "core/heatmap/render.h"
#include "ui/jobs/job_runner.h"

#include <QImage>
#include <QString>
#include <QWidget>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace forkpoint::ui {

/// What of a picture was seen, whatever the size and scale of the screen.
struct CanvasView {
    bool fitted = true;
    double row = 0, column = 0;                       ///< in the middle
    double rowsPerPixel = 1, columnsPerPixel = 1;     ///< of a screen of scale 1
};

/// Ranks' parts along one axis of the picture, for one side.
struct PartLines {
    struct Span {
        std::int64_t begin = 0, end = 0; ///< cells
        QString label;
    };
    bool onRows = true;
    bool ofB = false;
    std::vector<Span> spans;
};

/// A pyramid as a picture that is zoomed, panned and pointed at. What is in memory is painted at once, however coarse; a quiet job reads what is
/// missing. Pixels are the screen's own. The wheel zooms at the mouse, dragging pans, a click asks for an element to be pinned.
class HeatmapCanvas : public QWidget {
    Q_OBJECT
public:
    HeatmapCanvas(JobRunner& jobs, const QString& tag, QWidget* parent = nullptr);
    ~HeatmapCanvas() override;

    /// Null: nothing is shown. The view is kept if the picture has the same size, else it is fitted.
    void setPyramid(std::shared_ptr<const heatmap::Pyramid> pyramid);
    const std::shared_ptr<const heatmap::Pyramid>& pyramid() const { return m_pyramid; }
    void setLook(const heatmap::Style& style); ///< its background is the theme's
    const heatmap::Style& look() const { return m_style; }
    void setPinned(std::optional<heatmap::Cell> cell);
    void setLargest(std::optional<heatmap::Cell> cell); ///< framed while none is pinned; must be on the picture
    std::optional<heatmap::Cell> pinned() const { return m_pinned; }
    std::optional<heatmap::Cell> hovered() const { return m_hovered; }
    void setParts(std::vector<PartLines> parts);

    void fit();
    bool isFitted() const { return m_fitted; }
    void zoom(double factor); ///< at the pinned element if it is in view, else the middle
    void reveal(heatmap::Cell cell, bool largeEnough = false); ///< pans as little as needed; `largeEnough`: zooms in until cells can be told apart
    CanvasView canvasView() const;
    void setCanvasView(const CanvasView& view);
    const heatmap::Viewport& viewport() const { return m_view; } ///< in the screen's pixels

    bool isBusy() const; ///< something is still being read
    QRectF cellRect(heatmap::Cell cell) const; ///< in the widget
    std::optional<heatmap::Cell> cellAtPoint(const QPointF& point) const; ///< nullopt: beside the picture
    const QImage& image(); ///< the pixels below the marks, as painted now

    QSize sizeHint() const override { return { 360, 260 }; }
    QSize minimumSizeHint() const override { return { 120, 90 }; }

signals:
    void hoverChanged(std::optional<heatmap::Cell> cell);
    void pinRequested(heatmap::Cell cell);
    void viewChanged();
    void failed(const Error& error); ///< elements could not be read

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Drawn {
        QImage image;
        bool complete = true;
        std::optional<Error> error;
    };
    struct CellTexts {
        std::shared_ptr<const heatmap::Pyramid> pyramid;
        heatmap::Mode mode = heatmap::Mode::A;
        heatmap::RegionValues values;
    };
    static Drawn draw(const heatmap::Pyramid& pyramid, const heatmap::Viewport& view, const heatmap::Style& style, heatmap::Reads reads, std::stop_token stop);

    std::int64_t rows() const;
    std::int64_t columns() const;
    heatmap::Viewport fittedView() const;
    void setViewport(heatmap::Viewport view, bool fitted);
    void fitToSize();
    void invalidate();
    void render();
    void refine();
    heatmap::CellRect visibleCells() const;
    bool showsTexts() const;
    void requestTexts(const heatmap::CellRect& visible);
    void setHovered(std::optional<heatmap::Cell> cell);
    QRectF pictureRect() const;
    void paintGrid(QPainter& painter);
    void paintTexts(QPainter& painter);
    void paintParts(QPainter& painter);
    void paintMarks(QPainter& painter);

    JobRunner& m_jobs;
    const QString m_refineTag, m_textTag;
    std::shared_ptr<const heatmap::Pyramid> m_pyramid;
    heatmap::Style m_style;
    heatmap::Viewport m_view;
    double m_scale = 1; ///< of the screen that m_view is for
    bool m_fitted = true;
    QImage m_image;
    bool m_stale = true;
    CellTexts m_texts;
    heatmap::CellRect m_requestedTexts;
    std::optional<heatmap::Cell> m_largest, m_pinned, m_hovered;
    std::vector<PartLines> m_parts;
    std::optional<QPointF> m_pressed; ///< where the button went down
    QPointF m_dragged;                ///< up to where the picture followed the mouse
    bool m_panning = false;
};

} // namespace forkpoint::ui
