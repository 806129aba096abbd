// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/range_bar.h"

#include "ui/heatmap/range_handle.h"
#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QLineEdit>
#include <QLocale>
#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <limits>

namespace forkpoint::ui {

using heatmap::Histogram;
using heatmap::LogBins;
using heatmap::RangeScale;

namespace {

constexpr int kMargin = RangeHandle::kOutwards + 2;
constexpr int kBars = 38, kStrip = 10;
constexpr int kLeastAxis = 360; ///< with less, NaN and infinities go below
constexpr int kBeside = 20;
constexpr double kSnap = 4;

double rounded(double value, int digits)
{
    return QString::number(value, 'g', digits).toDouble();
}

} // namespace

RangeBar::RangeBar(QWidget* parent)
    : QWidget(parent)
    , m_special(heatmap::specialColours(heatmap::ColourMap::Viridis))
    , m_low(new RangeHandle(false, this))
    , m_high(new RangeHandle(true, this))
{
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    for (auto* handle : { m_low, m_high }) {
        const bool high = handle == m_high;
        connect(handle, &RangeHandle::taken, this, [this] { m_before = m_range.range; });
        connect(handle, &RangeHandle::draggedTo, this, [this, high](double x) { dragTo(high, x); });
        connect(handle, &RangeHandle::dropped, this, [this] {
            emit rangeDragged(m_range.range);
            layOut();
        });
        connect(handle, &RangeHandle::dragCancelled, this, [this] {
            m_range.range = m_before;
            layOut();
            emit rangeDragged(m_range.range);
        });
        connect(handle, &RangeHandle::steps, this, [this, high](double pixels) { step(high, pixels); });
        connect(handle, &RangeHandle::fitWanted, this, &RangeBar::fitRequested);
        connect(handle, &RangeHandle::numberWanted, this, [this, high] { askForNumber(high); });
    }
    layOut();
}

void RangeBar::setHistogram(std::shared_ptr<const Histogram> histogram)
{
    if (histogram == m_histogram) {
        return;
    }
    m_histogram = std::move(histogram);
    updateGeometry();
    layOut();
}

void RangeBar::setRange(const heatmap::Normalisation& normalisation)
{
    if (normalisation == m_range) {
        return;
    }
    m_range = normalisation;
    layOut();
}

void RangeBar::setColours(heatmap::ColourMap map, const heatmap::SpecialColours& special)
{
    m_map = map;
    m_special = special;
    layOut();
}

void RangeBar::setPartial(bool partial)
{
    m_partial = partial;
    layOut();
}

bool RangeBar::hasClasses() const
{
    return m_histogram && m_histogram->mode == heatmap::Mode::OverTolerance;
}

bool RangeBar::isMirrored() const
{
    return heatmap::isDiverging(m_map) && m_range.scale != RangeScale::Log;
}

// Places.

bool RangeBar::isNarrow(int width) const
{
    return width - 2 * kMargin - kBeside - specialWidth() < kLeastAxis;
}

int RangeBar::heightForWidth(int width) const
{
    const int line = fontMetrics().height();
    return 3 + line + 3 + kBars + 2 + kStrip + 2 + line + 3 + (isNarrow(width) && !hasClasses() ? line + 3 : 0);
}

QSize RangeBar::sizeHint() const
{
    return { 640, heightForWidth(640) };
}

QSize RangeBar::minimumSizeHint() const
{
    return { 240, heightForWidth(std::max(width(), 240)) };
}

RangeBar::Parts RangeBar::parts() const
{
    const int line = fontMetrics().height();
    const bool narrow = isNarrow(width());
    const int left = kMargin, wide = width() - 2 * kMargin - (narrow || hasClasses() ? 0 : kBeside + specialWidth());
    const int bars = kBars + std::max(0, height() - heightForWidth(width()));
    Parts p;
    int y = 3;
    const auto row = [&](int height, int gap) {
        const QRect box(left, y, wide, height);
        y += height + gap;
        return box;
    };
    p.top = row(line, 3);
    p.bars = row(bars, 2);
    p.strip = row(kStrip, 2);
    p.ticks = row(line, 3);
    p.special = narrow ? row(line, 0) : QRect(left + wide + kBeside, p.top.top(), specialWidth(), p.ticks.bottom() - p.top.top());
    return p;
}

void RangeBar::layOut()
{
    const Parts p = parts();
    if (!m_low->isHeld() && !m_high->isHeld()) { // an axis that moves under a handle runs away from it
        m_axis = RangeAxis(m_histogram.get(), m_range, isMirrored());
    }
    m_axis.setPlace(p.bars.left(), p.bars.width());
    const QRect rows(0, p.bars.top() - 2, width(), p.strip.bottom() + 1 - p.bars.top() + 4);
    m_low->place(m_axis.positionOf(m_range.range.low), rows);
    m_high->place(m_axis.positionOf(m_range.range.high), rows);
    m_low->setVisible(!hasClasses());
    m_high->setVisible(!hasClasses());
    describe();
    update();
}

void RangeBar::describe()
{
    const QLocale locale;
    m_low->setAccessibleName(tr("Low end of the range: %1").arg(number(m_range.range.low)));
    m_high->setAccessibleName(tr("High end of the range: %1").arg(number(m_range.range.high)));
    QStringList words;
    if (!m_histogram) {
        words += tr("the values are being counted");
    } else if (hasClasses()) {
        const auto& classes = m_histogram->classes;
        words += tr("equal %1").arg(locale.toString(classes[0]));
        words += tr("within the tolerance %1").arg(locale.toString(classes[1]));
        words += tr("over the tolerance %1").arg(locale.toString(classes[2]));
    } else {
        const auto outside = heatmap::outside(*m_histogram, m_range.range);
        words += tr("%1 finite values, %2 below the range, %3 above")
                     .arg(locale.toString(m_histogram->finite()), locale.toString(outside.below), locale.toString(outside.above));
        words += tr("NaN %1, +Inf %2, -Inf %3")
                     .arg(locale.toString(m_histogram->nan), locale.toString(m_histogram->positiveInf), locale.toString(m_histogram->negativeInf));
    }
    setAccessibleName(tr("Range of the colours"));
    setAccessibleDescription(words.join(QStringLiteral("; ")));
}

void RangeBar::resizeEvent(QResizeEvent*)
{
    closeNumber();
    layOut();
}

void RangeBar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange || event->type() == QEvent::LocaleChange) {
        updateGeometry();
        layOut();
    }
}

// Moving.

void RangeBar::ask(bool high, double value)
{
    if (std::isnan(value)) {
        return;
    }
    value = std::clamp(value, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
    heatmap::ValueRange range = m_range.range;
    if (m_range.scale == RangeScale::Log) {
        value = std::max(value, m_axis.bandEdge());
    }
    if (isMirrored()) {
        const double size = high ? std::max(value, m_axis.bandEdge() / 2) : std::max(-value, m_axis.bandEdge() / 2);
        range = { -size, size };
    } else if (high) { // the other end stays, a pixel away
        const double least = m_axis.valueAt(m_axis.positionOf(range.low) + 1);
        range.high = value > range.low ? value : std::max(least, std::nextafter(range.low, std::numeric_limits<double>::max()));
    } else {
        const double most = m_axis.valueAt(m_axis.positionOf(range.high) - 1);
        range.low = value < range.high ? value : std::min(most, std::nextafter(range.high, -std::numeric_limits<double>::max()));
        if (m_range.scale == RangeScale::Log && range.low <= 0) {
            range.low = range.high / 2;
        }
    }
    if (!(range.low < range.high)) {
        return;
    }
    m_range.range = range;
    layOut();
    emit rangeDragged(range);
}

void RangeBar::dragTo(bool high, double x)
{
    double value = rounded(m_axis.valueAt(x), m_axis.usefulDigits());
    if (m_range.scale != RangeScale::Log && std::abs(x - m_axis.positionOf(0)) <= kSnap) {
        value = 0;
    }
    ask(high, value);
}

void RangeBar::step(bool high, double pixels)
{
    const double now = high ? m_range.range.high : m_range.range.low;
    const double exact = m_axis.valueAt(m_axis.positionOf(now) + pixels);
    const double even = rounded(exact, m_axis.usefulDigits());
    ask(high, (pixels > 0) == (even > now) && even != now ? even : exact);
}

void RangeBar::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && !hasClasses()) {
        emit fitRequested();
    }
}

// A number instead of a place.

void RangeBar::askForNumber(bool high)
{
    closeNumber();
    m_numberIsHigh = high;
    m_number = new QLineEdit(this);
    m_number->setObjectName(QStringLiteral("rangeNumber"));
    m_number->setAccessibleName(high ? tr("High end of the range") : tr("Low end of the range"));
    const double value = high ? m_range.range.high : m_range.range.low;
    m_number->setText(QLocale().toString(value, 'g', QLocale::FloatingPointShortest));
    m_number->selectAll();
    const Parts p = parts();
    const int wide = std::min(150, p.bars.width()), tall = m_number->sizeHint().height();
    const int x = static_cast<int>(m_axis.positionOf(value)) - (high ? wide : 0);
    m_number->setGeometry(std::clamp(x, p.bars.left(), p.bars.right() + 1 - wide), std::min(p.strip.bottom() + 2, height() - tall), wide, tall);
    m_number->show();
    m_number->setFocus();
    connect(m_number, &QLineEdit::returnPressed, this, &RangeBar::takeNumber);
    connect(m_number, &QLineEdit::editingFinished, this, [this] {
        if (m_number && !m_number->hasFocus()) {
            closeNumber();
        }
    });
    m_number->installEventFilter(this);
}

void RangeBar::takeNumber()
{
    bool isNumber = false;
    double value = QLocale().toDouble(m_number->text().trimmed(), &isNumber);
    if (!isNumber) {
        value = QLocale::c().toDouble(m_number->text().trimmed(), &isNumber);
    }
    const auto& range = m_range.range;
    QString wrong;
    if (!isNumber || !std::isfinite(value)) {
        wrong = tr("Type a number, such as 0.001 or 1e-3.");
    } else if (m_range.scale == RangeScale::Log && value <= 0) {
        wrong = tr("A logarithmic range begins above 0.");
    } else if (isMirrored() && value == 0) {
        wrong = tr("The range reaches as far below 0 as above: type another number than 0.");
    } else if (!isMirrored() && m_numberIsHigh && value <= range.low) {
        wrong = tr("The high end must be above the low end, %1.").arg(number(range.low));
    } else if (!isMirrored() && !m_numberIsHigh && value >= range.high) {
        wrong = tr("The low end must be below the high end, %1.").arg(number(range.high));
    }
    if (!wrong.isEmpty()) {
        m_number->setToolTip(wrong);
        QToolTip::showText(m_number->mapToGlobal(QPoint(0, m_number->height())), wrong, m_number);
        m_number->selectAll();
        return;
    }
    if (isMirrored()) {
        m_range.range = { -std::abs(value), std::abs(value) };
    } else {
        (m_numberIsHigh ? m_range.range.high : m_range.range.low) = value;
    }
    (m_numberIsHigh ? m_high : m_low)->setFocus();
    closeNumber();
    layOut();
    emit rangeDragged(m_range.range);
}

void RangeBar::closeNumber()
{
    if (auto* number = std::exchange(m_number, nullptr)) {
        number->disconnect(this);
        number->hide();
        number->deleteLater();
    }
}

bool RangeBar::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_number && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        (m_numberIsHigh ? m_high : m_low)->setFocus();
        closeNumber();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

bool RangeBar::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = toolTipAt(help->pos());
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

QString RangeBar::toolTipAt(const QPoint& place) const
{
    const Parts p = parts();
    const QLocale locale;
    const QString axes = tr("Values are on a logarithmic axis, with a linear piece about zero up to %1. Bars are counts, on a logarithmic axis too; of "
                            "several bins under one pixel the largest is drawn.")
                             .arg(number(m_axis.bandEdge()));
    const QString keys = tr("Drag an end, or move it with the arrow keys. Double click an end to type its number; double click elsewhere to fit.");
    if (!m_histogram || hasClasses()) {
        return m_histogram ? QString() : tip(keys);
    }
    if (!p.bars.contains(place)) {
        return tip(axes, keys);
    }
    const double value = m_axis.valueAt(place.x() + 0.5), size = std::abs(value);
    if (size < m_axis.bandEdge()) {
        const auto count = countInBand(*m_histogram, m_axis);
        return tip(tr("zero: %1").arg(locale.toString(m_histogram->zeros)),
                   tr("other values up to %1: %2").arg(number(m_axis.bandEdge()), locale.toString(count - m_histogram->zeros)) + QLatin1Char('\n') + keys);
    }
    const LogBins& bins = value < 0 ? m_histogram->negative : m_histogram->positive;
    const auto bin = LogBins::binOf(size);
    const bool isThere = bin >= bins.first && bin < bins.first + static_cast<std::int64_t>(bins.counts.size());
    const double from = LogBins::edge(value < 0 ? bin + 1 : bin), to = LogBins::edge(value < 0 ? bin : bin + 1);
    const auto count = isThere ? bins.counts[static_cast<std::size_t>(bin - bins.first)] : 0;
    return tip(tr("%1 to %2: %3").arg(number(value < 0 ? -from : from), number(value < 0 ? -to : to), locale.toString(count)),
               tr("%1 to %2 in all").arg(number(m_histogram->min, 7), number(m_histogram->max, 7)) + QLatin1Char('\n') + keys);
}

} // namespace forkpoint::ui
