// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/element_panel.h"

#include "core/metrics/ulp.h"
#include "ui/heatmap/heatmap_words.h"
#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QEvent>
#include <QHelpEvent>
#include <QLocale>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <bit>

namespace forkpoint::ui {

namespace {

constexpr int kPadding = 6;
constexpr int kGap = 18; ///< between two columns
constexpr std::size_t kLines = 8;

/// Bytes of one real number of a type.
int bytesOf(DType dtype) { return static_cast<int>(itemSize(dtype)) / (isComplex(dtype) ? 2 : 1); }

QString hex(std::uint64_t bits, int bytes) { return QStringLiteral("0x%1").arg(bits, bytes * 2, 16, QLatin1Char('0')); }

/// An integer beyond 2^53 is exact in its bits only.
qlonglong integerOf(double value, std::uint64_t bits, DType dtype) { return dtype == DType::Int64 ? std::bit_cast<qlonglong>(bits) : static_cast<qlonglong>(value); }

/// Enough digits to tell neighbours apart.
QString valueText(double value, std::uint64_t bits, DType dtype)
{
    return isInteger(dtype) ? QLocale().toString(integerOf(value, bits, dtype)) : number(value, bytesOf(dtype) > 4 ? 12 : bytesOf(dtype) > 2 ? 9 : 5);
}

QString differenceText(const heatmap::PickedElement& element, DType a, DType b)
{
    if (!isInteger(a) || !isInteger(b)) {
        return number(element.difference, 7);
    }
    const auto from = integerOf(element.a, element.bitsA, a), to = integerOf(element.b, element.bitsB, b);
    const auto size = to >= from ? static_cast<qulonglong>(to) - static_cast<qulonglong>(from) : static_cast<qulonglong>(from) - static_cast<qulonglong>(to);
    return (to < from ? QLocale().negativeSign() : QString()) + QLocale().toString(size);
}

} // namespace

QString ElementWords::text() const
{
    QStringList parts { place.isEmpty() ? index : QStringLiteral("%1  %2").arg(index, place) };
    for (const auto& line : lines) {
        parts += QStringLiteral("%1: %2").arg(line.label, line.value);
    }
    return parts.join(QLatin1Char('\n'));
}

ElementWords elementWords(const heatmap::PickedElement& element, DType a, DType b, const PartPlace& placeA, const PartPlace& placeB)
{
    ElementWords out;
    out.index = element.index.empty() ? ElementPanel::tr("scalar") : indexText(element.index);
    const auto place = [](const PartPlace& p) {
        const QString where = p.rank ? ElementPanel::tr("rank %1").arg(*p.rank) : p.weighted ? ElementPanel::tr("weighted sum of all ranks") : ElementPanel::tr("sum of all ranks");
        const QString micro = p.micro && *p.micro > 0 ? ElementPanel::tr(", micro-step %1").arg(*p.micro) : QString();
        return where + micro + QLatin1Char(' ') + (p.index.empty() ? QString() : indexText(p.index));
    };
    const QString first = place(placeA).trimmed(), second = place(placeB).trimmed();
    out.place = first == second ? first : ElementPanel::tr("A %1, B %2", "places of both sides").arg(first, second);
    out.lines = {
        { QStringLiteral("A"), valueText(element.a, element.bitsA, a) },
        { QStringLiteral("B"), valueText(element.b, element.bitsB, b) },
        { QStringLiteral("B − A"), differenceText(element, a, b) },
        { ElementPanel::tr("relative"), number(element.relative, 5) },
        { ElementPanel::tr("ULP"), element.ulp == metrics::kUlpUndefined ? ElementPanel::tr("undefined") : QLocale().toString(static_cast<qulonglong>(element.ulp)) },
        { ElementPanel::tr("bits A"), hex(element.bitsA, bytesOf(a)) },
        { ElementPanel::tr("bits B"), hex(element.bitsB, bytesOf(b)) },
        { ElementPanel::tr("A xor B"), bytesOf(a) == bytesOf(b) ? hex(element.bitsA ^ element.bitsB, bytesOf(a)) : QStringLiteral("-") },
    };
    return out;
}

ElementPanel::ElementPanel(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    describe();
}

void ElementPanel::setPinned(std::optional<ElementWords> words)
{
    m_pinned = std::move(words);
    describe();
    update();
}

void ElementPanel::setLargest(std::optional<ElementWords> words)
{
    m_largest = std::move(words);
    describe();
    update();
}

void ElementPanel::setEqual(bool equal)
{
    m_equal = equal;
    describe();
    update();
}

QString ElementPanel::hint() const
{
    const QString text = tr("Click an element to pin it, or press an arrow key.");
    return m_equal ? tr("No difference.") + QLatin1Char('\n') + text : text;
}

ElementPanel::Staying ElementPanel::staying() const
{
    return m_pinned ? Staying { &*m_pinned, tr("pinned") } : m_largest ? Staying { &*m_largest, tr("largest |B − A|") } : Staying { nullptr, tr("pinned") };
}

void ElementPanel::setHovered(std::optional<ElementWords> words)
{
    m_hovered = std::move(words);
    describe();
    update();
}

void ElementPanel::setTall(bool tall)
{
    if (tall != m_tall) {
        m_tall = tall;
        updateGeometry();
        update();
    }
}

void ElementPanel::describe()
{
    setAccessibleName(tr("Element"));
    setAccessibleDescription(m_hovered ? m_hovered->text() : staying().words ? staying().title + QLatin1Char(' ') + staying().words->text() : m_equal ? tr("No difference.") : QString());
}

int ElementPanel::lineHeight() const { return fontMetrics().height() + 2; }

int ElementPanel::blockHeight() const { return static_cast<int>(m_tall ? kLines + 2 : kLines / 2 + 1) * lineHeight() + 2 * kPadding; }

QSize ElementPanel::sizeHint() const { return { m_tall ? fontMetrics().averageCharWidth() * 38 : 340, m_tall ? 2 * blockHeight() + kPadding : blockHeight() }; }

QSize ElementPanel::minimumSizeHint() const { return { m_tall ? sizeHint().width() : 200, sizeHint().height() }; }

void ElementPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (m_tall) {
        const QRect first(0, 0, width(), blockHeight());
        paintBlock(painter, first, staying().title, staying().words, hint());
        paintBlock(painter, first.translated(0, blockHeight() + kPadding), tr("under the mouse"), m_hovered ? &*m_hovered : nullptr, tr("Point at an element."));
        return;
    }
    const auto* words = m_hovered ? &*m_hovered : staying().words;
    paintBlock(painter, rect(), m_hovered ? QString() : staying().title, words, hint());
}

void ElementPanel::paintBlock(QPainter& painter, const QRect& box, const QString& title, const ElementWords* words, const QString& empty) const
{
    const auto& theme = Theme::current();
    painter.setPen(theme.border);
    painter.setBrush(theme.raised);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    const QRect inside = box.adjusted(kPadding, kPadding, -kPadding, -kPadding);
    const int line = lineHeight();
    painter.setFont(font());
    if (!words) {
        QRect room = inside;
        painter.setPen(theme.muted);
        if (!title.isEmpty() && m_tall) {
            painter.drawText(QRect(inside.left(), inside.top(), inside.width(), line), Qt::AlignLeft | Qt::AlignVCenter, title);
            room.setTop(inside.top() + line);
        }
        painter.drawText(room, Qt::AlignCenter | Qt::TextWordWrap, empty);
        return;
    }
    // Head: index, what it is, where it was recorded.
    QFont bold = font();
    bold.setBold(true);
    const QFontMetrics boldMetrics(bold), metrics(font());
    QRect head(inside.left(), inside.top(), inside.width(), line);
    painter.setFont(bold);
    painter.setPen(theme.text);
    const QString index = boldMetrics.elidedText(words->index, Qt::ElideMiddle, head.width());
    painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, index);
    head.setLeft(head.left() + boldMetrics.horizontalAdvance(index) + 8);
    painter.setFont(font());
    painter.setPen(theme.muted);
    if (!title.isEmpty() && head.width() > 20) {
        painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, metrics.elidedText(title, Qt::ElideRight, head.width()));
        head.setLeft(head.left() + metrics.horizontalAdvance(title) + 10);
    }
    if (m_tall) {
        head = QRect(inside.left(), inside.top() + line, inside.width(), line);
    }
    if (head.width() > 20) {
        painter.drawText(head, (m_tall ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter | Qt::TextSingleLine,
                         metrics.elidedText(words->place, Qt::ElideMiddle, head.width()));
    }
    // Lines.
    const QFont digits = monospace(font());
    const QFontMetrics digitMetrics(digits);
    const int columns = m_tall ? 1 : 2;
    const int width = (inside.width() - (columns - 1) * kGap) / columns;
    const std::size_t perColumn = (words->lines.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
    for (std::size_t i = 0; i < words->lines.size(); ++i) {
        const auto& it = words->lines[i];
        const QRect at(inside.left() + static_cast<int>(i / perColumn) * (width + kGap), inside.top() + (static_cast<int>(i % perColumn) + (m_tall ? 2 : 1)) * line, width, line);
        painter.setFont(font());
        painter.setPen(i == 0 ? theme.a : i == 1 ? theme.b : theme.muted);
        painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, it.label);
        painter.setFont(digits);
        painter.setPen(theme.text);
        const int room = width - metrics.horizontalAdvance(it.label) - 6;
        painter.drawText(at, Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, digitMetrics.elidedText(it.value, Qt::ElideRight, room));
    }
}

bool ElementPanel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const auto* words = (m_tall && help->y() < blockHeight()) || !m_hovered ? staying().words : &*m_hovered;
        QToolTip::showText(help->globalPos(), words ? tip(words->text()) : QString(), this);
        return true;
    }
    return QWidget::event(event);
}

void ElementPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) {
        describe();
    }
    if (event->type() == QEvent::FontChange) {
        updateGeometry();
    }
    update();
}

} // namespace forkpoint::ui
