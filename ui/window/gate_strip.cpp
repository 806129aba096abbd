// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/gate_strip.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>

#include <algorithm>

namespace forkpoint::ui {

namespace {

constexpr int kPadding = 9;
constexpr int kIcon = 10;
constexpr int kGap = 6;
constexpr int kArrow = 14; ///< between two gates

QString countsOf(diagnose::Gate gate, const diagnose::GateSummary& tally, const compare::Snapshot& comparison)
{
    const auto n = [](std::size_t value) { return QLocale().toString(static_cast<qulonglong>(value)); };
    if (gate == diagnose::Gate::Environment && tally.all() == 0) {
        const auto context = countContext(comparison);
        return context.all < 0 ? QString() : QString::number(context.unexpected);
    }
    if (tally.all() == 0) {
        return {};
    }
    if (tally.above + tally.invalid > 0) {
        return GateStrip::tr("%1 of %2", "pairs above the floor, pairs").arg(n(tally.above + tally.invalid), n(tally.all()));
    }
    return n(tally.all());
}

QString tipOf(diagnose::Gate gate, const diagnose::GateSummary& tally, const compare::Snapshot& comparison)
{
    QString text = gateStateWord(tally.state);
    if (gate == diagnose::Gate::Environment) {
        const auto context = countContext(comparison);
        text += QLatin1Char('\n')
            + (context.all < 0 ? GateStrip::tr("Neither run recorded its environment.")
                               : GateStrip::tr("%1 unexpected differences of environment, configuration and code; %2 expected ones.")
                                     .arg(context.unexpected)
                                     .arg(context.all - context.unexpected));
    } else if (tally.all() > 0) {
        text += QLatin1Char('\n') + gateDetail(tally) + QLatin1Char('\n') + GateStrip::tr("In the selected step. Click to show only this phase.");
    }
    return text;
}

/// The coverage at the right: text that opens its details.
class CoverageLink : public QAbstractButton {
public:
    explicit CoverageLink(QWidget* parent)
        : QAbstractButton(parent)
    {
        setFocusPolicy(Qt::StrongFocus);
        setCursor(Qt::PointingHandCursor);
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    QSize sizeHint() const override { return { fontMetrics().horizontalAdvance(text()) + 8, fontMetrics().height() + 8 }; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        QFont drawn = font();
        drawn.setUnderline(underMouse() || hasFocus());
        painter.setFont(drawn);
        painter.setPen(Theme::current().muted);
        painter.drawText(rect().adjusted(4, 0, -4, 0), Qt::AlignVCenter | Qt::AlignRight, fontMetrics().elidedText(text(), Qt::ElideRight, width() - 8));
    }
};

} // namespace

GateButton::GateButton(diagnose::Gate gate, QWidget* parent)
    : QAbstractButton(parent)
    , m_gate(gate)
{
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    setText(gateWord(gate));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void GateButton::setTally(const diagnose::GateSummary& tally, const QString& counts, const QString& tipText)
{
    m_tally = tally;
    m_counts = counts;
    setToolTip(tip(text(), tipText));
    setAccessibleName(QStringLiteral("%1: %2 %3").arg(text(), gateStateWord(tally.state), counts));
    updateGeometry();
    update();
}

void GateButton::setShowCounts(bool show)
{
    if (show != m_showCounts) {
        m_showCounts = show;
        updateGeometry();
        update();
    }
}

int GateButton::widthWith(bool counts) const
{
    QFont strong = font();
    strong.setBold(m_tally.state == diagnose::GateState::Fork);
    int width = 2 * kPadding + kIcon + kGap + fontMetrics().horizontalAdvance(text());
    if (counts && !m_counts.isEmpty()) {
        width += kGap + QFontMetrics(strong).horizontalAdvance(m_counts);
    }
    return width + 1;
}

QSize GateButton::sizeHint() const { return { widthWith(m_showCounts), fontMetrics().height() + 8 }; }

diagnose::Severity GateButton::mark() const
{
    using diagnose::GateState;
    using diagnose::Severity;
    switch (m_tally.state) {
    case GateState::NotCompared:
    case GateState::NotRecorded:
        return Severity::Unmatched;
    case GateState::Fork:
        return std::max(m_tally.worst, Severity::Drift);
    case GateState::Differs:
        return std::max(m_tally.worst, Severity::Drift);
    case GateState::Ok:
        break;
    }
    return m_tally.pending > 0 && m_tally.pending == m_tally.all() ? Severity::Unmatched : m_tally.noise > 0 ? Severity::Noise : Severity::Identical;
}

void GateButton::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    const bool fork = m_tally.state == diagnose::GateState::Fork;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor red = theme.strong(diagnose::Severity::Divergent);
    const bool marked = hasFocus() || underMouse() || isChecked();
    painter.setPen(QPen(marked ? theme.accent : fork ? red : theme.border, isChecked() ? 2 : 1));
    painter.setBrush(isChecked() ? theme.selection : fork ? theme.verdictBad : theme.panel);
    const double inset = isChecked() ? 1 : 0.5;
    painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 5, 5);
    const auto severity = mark();
    paintSeverity(painter, QRectF(kPadding, (height() - kIcon) / 2.0, kIcon, kIcon), severity, theme.strong(severity));
    QRect box = rect().adjusted(kPadding + kIcon + kGap, 0, -kPadding, 0);
    painter.setPen(m_tally.state == diagnose::GateState::NotRecorded ? theme.muted : theme.text);
    painter.drawText(box, Qt::AlignVCenter, text());
    if (m_showCounts && !m_counts.isEmpty()) {
        QFont strong = font();
        strong.setBold(fork);
        painter.setFont(strong);
        painter.setPen(fork ? red : theme.muted);
        painter.drawText(box, Qt::AlignVCenter | Qt::AlignRight, m_counts);
    }
}

GateStrip::GateStrip(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_coverage(new CoverageLink(this))
{
    setAccessibleName(tr("Gates of the step"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(10, 6, 10, 6);
    layout->setSpacing(kArrow);
    for (std::size_t g = 0; g < diagnose::kGates; ++g) {
        const auto gate = static_cast<diagnose::Gate>(g);
        m_buttons[g] = new GateButton(gate, this);
        m_buttons[g]->installEventFilter(this);
        layout->addWidget(m_buttons[g]);
        connect(m_buttons[g], &GateButton::clicked, this, [this, gate](bool checked) {
            m_session.selectGate(checked ? std::optional(gate) : std::nullopt);
        });
    }
    layout->addWidget(m_coverage, 1);
    connect(m_coverage, &QAbstractButton::clicked, this, &GateStrip::coverageRequested);
    connect(&session, &Session::structureChanged, this, &GateStrip::refresh);
    connect(&session, &Session::resultsChanged, this, &GateStrip::refresh);
    connect(&session, &Session::verdictReady, this, &GateStrip::refresh);
    connect(&session, &Session::gateSelected, this, &GateStrip::refresh);
    connect(&session, &Session::stepSelected, this, &GateStrip::refresh);
    refresh();
}

void GateStrip::refresh()
{
    const auto& comparison = m_session.comparison();
    const auto tallies = comparison ? gatesOf(*comparison, m_session.selection().step) : diagnose::Gates {};
    for (std::size_t g = 0; g < diagnose::kGates; ++g) {
        const auto gate = static_cast<diagnose::Gate>(g);
        m_buttons[g]->setTally(tallies[g], comparison ? countsOf(gate, tallies[g], *comparison) : QString(),
                               comparison ? tipOf(gate, tallies[g], *comparison) : QString());
        m_buttons[g]->setChecked(m_session.selection().gate == gate);
    }
    m_coverage->setText(comparison ? coverageText(*comparison) : QString());
    m_coverage->setToolTip(comparison ? tip(m_coverage->text() + QLatin1Char('\n') + tr("Click for what was not seen, and why.")) : QString());
    fit();
}

/// Counts give way where the gates would not fit; their tool tips keep them.
void GateStrip::fit()
{
    int needed = 20 + kArrow * static_cast<int>(diagnose::kGates);
    for (const auto* button : m_buttons) {
        needed += button->widthWith(true);
    }
    for (auto* button : m_buttons) {
        button->setShowCounts(needed <= width());
    }
}

void GateStrip::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fit();
}

void GateStrip::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(Theme::current().muted);
    for (std::size_t g = 1; g < diagnose::kGates; ++g) {
        const QRect gap(m_buttons[g - 1]->geometry().right() + 1, 0, m_buttons[g]->x() - m_buttons[g - 1]->geometry().right() - 1, height());
        painter.drawText(gap, Qt::AlignCenter, QStringLiteral("›"));
    }
}

bool GateStrip::eventFilter(QObject* object, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        const auto at = std::find(m_buttons.begin(), m_buttons.end(), object);
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (at != m_buttons.end() && (key == Qt::Key_Left || key == Qt::Key_Right)) {
            const auto index = static_cast<std::size_t>(at - m_buttons.begin());
            const std::size_t next = key == Qt::Key_Left ? (index + diagnose::kGates - 1) % diagnose::kGates : (index + 1) % diagnose::kGates;
            m_buttons[next]->setFocus(Qt::TabFocusReason);
            return true;
        }
    }
    return QWidget::eventFilter(object, event);
}

} // namespace forkpoint::ui
