// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/curves/curve_plot.h"

#include "ui/curves/plot_marks.h"
#include "ui/theme/theme.h"

#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

constexpr int kLane = 12; ///< height of the lane of recorded steps
constexpr double kMarkerSpacing = 18; ///< pixels per point from which every point is marked
constexpr double kClickReach = 8; ///< pixels
constexpr double kPadding = 0.09; ///< of a value range, above and below the data

QColor mixed(const QColor& colour, const QColor& ground, double share)
{
    const auto part = [&](int c, int g) { return static_cast<int>(std::lround(c * share + g * (1 - share))); };
    return QColor(part(colour.red(), ground.red()), part(colour.green(), ground.green()), part(colour.blue(), ground.blue()));
}

QCPRange padded(const Bounds& bounds, bool log)
{
    if (bounds.isEmpty()) {
        return log ? QCPRange(0.1, 1) : QCPRange(-1, 1);
    }
    if (log) {
        const double room = std::max(std::log(bounds.high / bounds.low) * kPadding, std::log(1.1));
        return QCPRange(bounds.low / std::exp(room), bounds.high * std::exp(room));
    }
    double room = (bounds.high / 2 - bounds.low / 2) * 2 * kPadding;
    if (bounds.high == bounds.low) {
        room = bounds.low == 0 ? 1 : std::abs(bounds.low) * 0.05;
    }
    return QCPRange(bounds.low - room, bounds.high + room);
}

/// Labels as the rest of the window writes numbers.
template <class Ticker> class Labelled : public Ticker {
protected:
    QString getTickLabel(double tick, const QLocale&, QChar, int precision) override { return number(tick, precision); }
};

/// Decades where the range has several, plain numbers where it has not.
QSharedPointer<QCPAxisTicker> tickerFor(const QCPAxis& axis)
{
    if (axis.scaleType() == QCPAxis::stLogarithmic && axis.range().upper / axis.range().lower > 50) {
        return QSharedPointer<Labelled<QCPAxisTickerLog>>::create();
    }
    return QSharedPointer<Labelled<QCPAxisTicker>>::create();
}

qsizetype visiblePoints(const QCPGraph& graph, const QCPRange& range)
{
    const auto data = graph.data();
    return data->findEnd(range.upper, true) - data->findBegin(range.lower, true);
}

} // namespace

CurvePlot::CurvePlot(QWidget* parent)
    : QCustomPlot(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setLocale(QLocale());
    setNoAntialiasingOnDrag(false);
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    plotLayout()->clear();
    plotLayout()->setRowSpacing(8);
    m_upper = new QCPAxisRect(this);
    m_lower = new QCPAxisRect(this);
    plotLayout()->addElement(0, 0, m_upper);
    plotLayout()->addElement(1, 0, m_lower);
    plotLayout()->setRowStretchFactor(0, 1.7);
    auto* margins = new QCPMarginGroup(this);
    for (auto* rect : { m_upper, m_lower }) {
        rect->setMarginGroup(QCP::msLeft | QCP::msRight, margins);
        for (auto* axis : rect->axes()) {
            axis->setLayer(QStringLiteral("axes"));
            axis->grid()->setLayer(QStringLiteral("grid"));
        }
        rect->axis(QCPAxis::atRight)->setVisible(false);
        rect->axis(QCPAxis::atTop)->setVisible(false);
        rect->axis(QCPAxis::atLeft)->setNumberPrecision(6);
        rect->axis(QCPAxis::atLeft)->setSubTicks(false);
        rect->axis(QCPAxis::atLeft)->setTickLength(0, 3);
        rect->axis(QCPAxis::atBottom)->grid()->setVisible(false);
        rect->setRangeDragAxes(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atLeft));
        rect->setRangeZoomAxes(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atLeft));
        rect->setRangeZoomFactor(0.8);
        rect->setMinimumSize(40, 24);
        rect->setMinimumMargins(QMargins(0, 0, 14, 0));
    }
    const auto steps = QSharedPointer<QCPAxisTickerFixed>::create();
    steps->setTickStep(1);
    steps->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    steps->setTickCount(8);
    auto* upperSteps = m_upper->axis(QCPAxis::atBottom);
    upperSteps->setTicks(false);
    upperSteps->setTickLabels(false);
    stepAxis()->setTicker(steps);
    stepAxis()->setSubTicks(false);
    stepAxis()->setTickLength(0, 3);
    stepAxis()->setNumberFormat(QStringLiteral("f"));
    stepAxis()->setNumberPrecision(0);
    stepAxis()->setTickLabelPadding(kLane + 2);
    connect(upperSteps, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this](const QCPRange& r) { stepAxis()->setRange(r); });
    connect(stepAxis(), qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this, upperSteps](const QCPRange& r) {
        upperSteps->setRange(r);
        limitSteps();
    });

    // Raw lines first: no smoothed line may lie under one.
    m_a.raw = addLine(m_upper, "a");
    m_b.raw = addLine(m_upper, "b");
    m_difference.raw = addLine(m_lower, "difference");
    m_a.smooth = addLine(m_upper, "a-smooth");
    m_b.smooth = addLine(m_upper, "b-smooth");
    m_difference.smooth = addLine(m_lower, "difference-smooth");
    new PlotMarks(this);
    addLayer(QStringLiteral("crosshair"));
    m_crosshairLayer = layer(QStringLiteral("crosshair"));
    m_crosshairLayer->setMode(QCPLayer::lmBuffered);
    new PlotCrosshair(this, QStringLiteral("crosshair"));
    connect(this, &QCustomPlot::beforeReplot, this, &CurvePlot::prepareReplot);
    applyTheme();
}

QCPGraph* CurvePlot::addLine(QCPAxisRect* rect, const char* name)
{
    auto* line = addGraph(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atLeft));
    line->setName(QString::fromLatin1(name));
    line->setSelectable(QCP::stNone);
    return line;
}

const QCPGraph* CurvePlot::graph(const char* name) const
{
    for (const auto& line : { m_a, m_b, m_difference }) {
        for (const auto* g : { line.raw, line.smooth }) {
            if (g->name() == QLatin1String(name)) {
                return g;
            }
        }
    }
    return nullptr;
}

void CurvePlot::assign(Line line, const PlottedLine& shown)
{
    line.raw->setData(shown.raw);
    line.smooth->setData(shown.smooth);
}

void CurvePlot::setCurve(PlottedCurve curve, const QString& name, const CurveOptions& options)
{
    m_curve = std::move(curve);
    m_name = name;
    const auto scale = [](QCPAxis* axis, bool log) {
        axis->setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        axis->setNumberFormat(QStringLiteral("g")); // and no powers of ten set in type
    };
    const bool valuesMoved = options.logValues != m_options.logValues, differenceMoved = options.logDifference != m_options.logDifference;
    m_options = options;
    scale(valueAxis(), options.logValues);
    scale(differenceAxis(), options.logDifference);
    assign(m_a, m_curve.a);
    assign(m_b, m_curve.b);
    assign(m_difference, m_curve.difference);
    if (valuesMoved) {
        Bounds values = m_curve.a.values;
        values.add(m_curve.b.values);
        valueAxis()->setRange(padded(values, options.logValues));
    }
    if (differenceMoved) {
        fitDifference();
    }
    retranslate();
}

void CurvePlot::setOnset(std::optional<std::int32_t> onset)
{
    m_onset = onset;
    updateOnsetLabel();
}

void CurvePlot::updateOnsetLabel()
{
    m_onsetLabel = m_onset ? tr("onset: step %1").arg(QLocale().toString(*m_onset)) : QString();
    // The label has a strip of its own above the plot: it never covers a line.
    m_upper->setMinimumMargins(QMargins(0, m_onset ? fontMetrics().height() + 6 : 8, 14, 0));
}

void CurvePlot::setRecordedSteps(std::vector<int> steps)
{
    std::sort(steps.begin(), steps.end());
    m_recorded = std::move(steps);
    m_hoveredRecorded.reset();
}

void CurvePlot::setCursorStep(std::optional<int> step)
{
    m_cursor = step;
}

void CurvePlot::setCrosshair(std::optional<std::int32_t> step, std::optional<double> a, std::optional<double> b)
{
    if (!step && !m_crosshair) {
        return;
    }
    m_crosshair = step;
    m_crosshairA = a;
    m_crosshairB = b;
    m_crosshairLayer->replot();
}

void CurvePlot::fit()
{
    const double first = m_curve.firstStep, last = m_curve.lastStep;
    const double room = std::max((last - first) * 0.02, last > first ? 0.15 : 0.9);
    stepAxis()->setRange(QCPRange(first - room, last + room));
    fitValues();
}

void CurvePlot::fitValues()
{
    Bounds values = m_curve.a.values;
    values.add(m_curve.b.values);
    valueAxis()->setRange(padded(values, m_options.logValues));
    fitDifference();
}

void CurvePlot::fitDifference()
{
    differenceAxis()->setRange(padded(m_curve.difference.values, m_options.logDifference));
}

void CurvePlot::zoomSteps(double factor)
{
    stepAxis()->scaleRange(factor);
    replot(QCustomPlot::rpQueuedReplot);
}

bool CurvePlot::showsSteps() const
{
    const QCPRange range = stepAxis()->range();
    return range.lower <= m_curve.lastStep && range.upper >= m_curve.firstStep;
}

void CurvePlot::limitSteps()
{
    if (m_limiting || (m_curve.a.points == 0 && m_curve.b.points == 0)) {
        return;
    }
    const double first = m_curve.firstStep, last = m_curve.lastStep;
    QCPRange range = stepAxis()->range();
    const double widest = std::max((last - first) * 3, 8.0), size = std::clamp(range.size(), 1.0, widest);
    double centre = std::clamp(range.center(), first, last); // the data never leaves the window altogether
    range = QCPRange(centre - size / 2, centre + size / 2);
    if (std::abs(range.lower - stepAxis()->range().lower) > 1e-9 * size
        || std::abs(range.upper - stepAxis()->range().upper) > 1e-9 * size) {
        m_limiting = true;
        stepAxis()->setRange(range);
        m_limiting = false;
    }
}

QRect CurvePlot::stepLane() const
{
    const QRect rect = differenceRect();
    return QRect(rect.left(), rect.bottom() + 3, rect.width(), kLane);
}

QColor CurvePlot::differenceColour() const
{
    const auto& theme = Theme::current();
    return m_onset ? theme.strong(diagnose::Severity::Divergent) : theme.muted;
}

void CurvePlot::applyTheme()
{
    const auto& theme = Theme::current();
    setBackground(QBrush(theme.panel));
    for (auto* rect : { m_upper, m_lower }) {
        for (auto* axis : { rect->axis(QCPAxis::atLeft), rect->axis(QCPAxis::atBottom) }) {
            axis->setBasePen(QPen(theme.border, 1));
            axis->setTickPen(QPen(theme.border, 1));
            axis->setTickLabelColor(theme.muted);
            axis->setLabelColor(theme.text);
            axis->setTickLabelFont(font());
            axis->setLabelFont(font());
            axis->grid()->setPen(QPen(mixed(theme.border, theme.panel, 0.5), 1));
            axis->grid()->setZeroLinePen(QPen(theme.border, 1));
        }
    }
    updateOnsetLabel();
}

void CurvePlot::retranslate()
{
    updateOnsetLabel();
    differenceAxis()->setLabel(m_options.logDifference ? tr("|B - A|") : tr("B - A"));
    stepAxis()->setLabel(QString());
}

void CurvePlot::styleLine(const Line& line, const QColor& colour, Qt::PenStyle style, QCPScatterStyle::ScatterShape marker)
{
    const auto& theme = Theme::current();
    const QCPRange range = stepAxis()->range();
    const double width = std::max(this->width() - 90, 1); // before the layout: the rectangles may still be those of another size
    const bool smoothed = !line.smooth->data()->isEmpty();
    for (auto* graph : { line.raw, line.smooth }) {
        const auto visible = static_cast<double>(visiblePoints(*graph, range));
        const bool dense = visible > width;
        const bool under = smoothed && graph == line.raw;
        // A pen wider than one pixel on a noisy curve takes seconds, and dashes on it cannot be told apart. A band of noise is paler than a
        // line, or it would be the loudest thing in the window.
        const bool band = dense && graph == line.raw;
        QPen pen(under ? mixed(colour, theme.panel, 0.35)
                : band ? mixed(colour, theme.panel, 0.75)
                       : colour,
            under || (dense && graph == line.raw) ? 1 : 1.7);
        pen.setCosmetic(band);
        if (!dense && !under && style == Qt::DashLine) {
            pen.setDashPattern({ 4, 2.5 });
            pen.setCapStyle(Qt::FlatCap);
        }
        pen.setJoinStyle(Qt::RoundJoin);
        graph->setPen(pen);
        graph->setAntialiased(!dense);
        const bool marked = !under && visible > 0 && width / visible >= kMarkerSpacing;
        graph->setScatterStyle(marked ? QCPScatterStyle(marker, QPen(colour, 1.4), Qt::NoBrush, marker == QCPScatterStyle::ssDisc ? 5 : 8)
                                      : QCPScatterStyle(QCPScatterStyle::ssNone));
    }
}

void CurvePlot::prepareReplot()
{
    const int room = std::max(60, height() / 2 - 40); // of the name along its axis
    valueAxis()->setLabel(QFontMetrics(font()).elidedText(m_name, Qt::ElideMiddle, room));
    const auto& theme = Theme::current();
    styleLine(m_a, theme.a, Qt::SolidLine, QCPScatterStyle::ssDisc);
    styleLine(m_b, theme.b, Qt::DashLine, QCPScatterStyle::ssSquare);
    styleLine(m_difference, differenceColour(), Qt::SolidLine, QCPScatterStyle::ssDisc);
    // Fast polylines have no joins: only where nobody sees them.
    setPlottingHint(QCP::phFastPolylines, !m_a.raw->antialiased() || !m_b.raw->antialiased());
    for (auto* axis : { valueAxis(), differenceAxis() }) {
        const auto ticker = tickerFor(*axis);
        ticker->setTickCount(std::clamp((axis == valueAxis() ? height() * 3 / 5 : height() / 3) / 32, 1, 6));
        axis->setTicker(ticker);
    }
    stepAxis()->ticker()->setTickCount(std::clamp(width() / 80, 2, 12));
}

std::optional<int> CurvePlot::recordedStepAt(const QPoint& position) const
{
    const QRect lane = stepLane().adjusted(-6, -3, 6, 4);
    if (!lane.contains(position) || m_recorded.empty()) {
        return std::nullopt;
    }
    const double at = stepAxis()->pixelToCoord(position.x());
    const auto next = std::lower_bound(m_recorded.begin(), m_recorded.end(), at, [](int step, double x) { return step < x; });
    std::optional<int> best;
    double reach = kClickReach;
    for (auto it = next == m_recorded.begin() ? next : next - 1; it != m_recorded.end() && it <= next; ++it) {
        const double distance = std::abs(stepAxis()->coordToPixel(*it) - position.x());
        if (distance <= reach) {
            reach = distance;
            best = *it;
        }
    }
    return best;
}

void CurvePlot::mousePressEvent(QMouseEvent* event)
{
    m_pressedInLane = event->button() == Qt::LeftButton && event->position().y() > differenceRect().bottom();
    if (!m_pressedInLane) {
        QCustomPlot::mousePressEvent(event);
    }
}

void CurvePlot::mouseMoveEvent(QMouseEvent* event)
{
    const QPoint position = event->position().toPoint();
    const auto recorded = event->buttons() ? std::nullopt : recordedStepAt(position);
    if (recorded != m_hoveredRecorded) {
        m_hoveredRecorded = recorded;
        setCursor(recorded ? Qt::PointingHandCursor : Qt::ArrowCursor);
        QToolTip::showText(event->globalPosition().toPoint(),
            recorded ? tr("recorded step %1: click to select it").arg(QLocale().toString(*recorded)) : QString(), this);
        replot(QCustomPlot::rpQueuedReplot);
    }
    const bool inside = position.x() >= valuesRect().left() - 4 && position.x() <= valuesRect().right() + 4
        && position.y() >= valuesRect().top() && position.y() <= stepLane().bottom();
    if (inside) {
        emit hovered(stepAxis()->pixelToCoord(position.x()));
    } else {
        emit hoverLeft();
    }
    if (!m_pressedInLane) {
        QCustomPlot::mouseMoveEvent(event);
    }
}

void CurvePlot::mouseReleaseEvent(QMouseEvent* event)
{
    if (!m_pressedInLane) {
        QCustomPlot::mouseReleaseEvent(event);
        return;
    }
    m_pressedInLane = false;
    if (const auto step = recordedStepAt(event->position().toPoint())) {
        emit stepClicked(*step);
    }
}

void CurvePlot::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && event->position().y() <= differenceRect().bottom()) {
        fit();
        replot();
    }
}

void CurvePlot::wheelEvent(QWheelEvent* event)
{
    const bool values = event->modifiers().testFlag(Qt::ControlModifier) || event->position().x() < valuesRect().left();
    for (auto* rect : { m_upper, m_lower }) {
        rect->setRangeZoom(values ? Qt::Vertical : Qt::Horizontal);
    }
    QCustomPlot::wheelEvent(event);
    event->accept();
}

void CurvePlot::leaveEvent(QEvent* event)
{
    QCustomPlot::leaveEvent(event);
    if (m_hoveredRecorded) {
        m_hoveredRecorded.reset();
        replot(QCustomPlot::rpQueuedReplot);
    }
    emit hoverLeft();
}

void CurvePlot::focusInEvent(QFocusEvent* event)
{
    QCustomPlot::focusInEvent(event);
    m_showFocus
        = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason || event->reason() == Qt::ShortcutFocusReason;
    replot(QCustomPlot::rpQueuedReplot);
}

void CurvePlot::focusOutEvent(QFocusEvent* event)
{
    QCustomPlot::focusOutEvent(event);
    m_showFocus = false;
    replot(QCustomPlot::rpQueuedReplot);
}

} // namespace forkpoint::ui
