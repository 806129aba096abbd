// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/verdict_bar.h"

#include "ui/models/log_words.h"
#include "ui/models/pair_words.h"
#include "ui/models/verdict_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"

#include <QAction>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

namespace forkpoint::ui {

namespace {

constexpr int kIconSize = 20;

QPixmap largeIcon(diagnose::Severity severity, double ratio)
{
    QPixmap pixmap(QSize(kIconSize, kIconSize) * ratio);
    pixmap.fill(Qt::transparent);
    pixmap.setDevicePixelRatio(ratio);
    QPainter painter(&pixmap);
    paintSeverity(painter, QRectF(1, 1, kIconSize - 2, kIconSize - 2), severity, Theme::current().strong(severity));
    return pixmap;
}

} // namespace

VerdictBar::VerdictBar(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_icon(new QLabel)
    , m_headline(wrappedLabel(nullptr))
    , m_detail(wrappedLabel(nullptr, true))
    , m_buttons(new QWidget)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(14, 8, 10, 9);
    layout->setSpacing(14);
    m_icon->setFixedSize(kIconSize, kIconSize);
    layout->addWidget(m_icon);
    auto* text = new QVBoxLayout;
    text->setSpacing(2);
    QFont font = m_headline->font();
    font.setBold(true);
    font.setPointSizeF(font.pointSizeF() * 1.2);
    m_headline->setFont(font);
    text->addWidget(m_headline);
    text->addWidget(m_detail);
    layout->addLayout(text, 1);
    auto* buttons = new QHBoxLayout(m_buttons);
    buttons->setContentsMargins(0, 0, 0, 0);
    buttons->setSpacing(8);
    layout->addWidget(m_buttons);
    connect(&session, &Session::stateChanged, this, &VerdictBar::refresh);
    connect(&session, &Session::structureChanged, this, &VerdictBar::refresh);
    connect(&session, &Session::resultsChanged, this, &VerdictBar::refresh);
    connect(&session, &Session::verdictReady, this, &VerdictBar::refresh);
    refresh();
}

void VerdictBar::addAction(QAction* action, bool showShortcut)
{
    auto* button = new QToolButton;
    button->setDefaultAction(action);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    if (showShortcut) {
        button->setText(QStringLiteral("%1  %2").arg(action->iconText(), action->shortcut().toString(QKeySequence::NativeText)));
    }
    button->setFocusPolicy(Qt::StrongFocus);
    m_buttons->layout()->addWidget(button);
}

QString VerdictBar::headline() const { return m_headline->text(); }

QString VerdictBar::detail() const { return m_detail->text(); }

void VerdictBar::refresh()
{
    const auto& comparison = m_session.comparison();
    const auto progress = [&] {
        return comparison ? tr("%1 of %n pair(s) compared.", nullptr, static_cast<int>(comparison->pairs())).arg(comparison->ready()) : QString();
    };
    QString headline, detail;
    switch (m_session.state()) {
    case Session::State::Empty:
        break;
    case Session::State::Loading:
        headline = comparison ? tr("Comparing the runs…") : tr("Reading the runs…");
        detail = progress();
        break;
    case Session::State::Partial:
        headline = tr("Stopped before the end: there is no verdict.");
        detail = progress();
        break;
    case Session::State::Failed:
        headline = tr("The comparison failed.");
        detail = m_session.error() ? shown(m_session.error()->text()) : QString();
        break;
    case Session::State::Ready:
        headline = m_session.logs() ? logsHeadline(*m_session.logs()) : verdictHeadline(*comparison);
        detail = m_session.logs() ? logsDetail(*m_session.logs()) : verdictDetail(*comparison);
        break;
    }
    m_headline->setText(headline);
    m_detail->setText(detail);
    m_detail->setVisible(!detail.isEmpty());
    recolour();
}

void VerdictBar::recolour()
{
    using diagnose::Severity;
    const auto& theme = Theme::current();
    auto severity = Severity::Unmatched;
    m_background = theme.panel;
    if (m_session.state() == Session::State::Ready) {
        severity = m_session.logs() ? severityOf(*m_session.logs()) : m_session.comparison()->outcome()->verdict.severity;
        m_background = severity == Severity::Drift ? theme.verdictWarn
            : diagnose::isAboveFloor(severity)     ? theme.verdictBad
            : severity == Severity::Unmatched      ? theme.verdictWarn
                                                   : theme.verdictGood;
    } else if (m_session.state() == Session::State::Failed) {
        severity = Severity::Invalid;
        m_background = theme.verdictBad;
    } else if (m_session.state() == Session::State::Partial) {
        m_background = theme.verdictWarn;
    }
    m_icon->setPixmap(largeIcon(severity, devicePixelRatioF()));
    m_icon->setAccessibleName(severityWord(severity));
    update();
}

void VerdictBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), m_background);
    painter.setPen(Theme::current().border);
    painter.drawLine(0, 0, width(), 0);
    painter.drawLine(0, height() - 1, width(), height() - 1);
}

void VerdictBar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::ApplicationPaletteChange) {
        recolour();
    }
}

} // namespace forkpoint::ui
