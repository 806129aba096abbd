// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QLocale>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>
#include <QRegularExpression>
#include <QStyleFactory>

#include <cmath>

namespace forkpoint::ui {

namespace {

using diagnose::Severity;

Theme& storedTheme()
{
    static Theme theme = Theme::light();
    return theme;
}

QPalette paletteOf(const Theme& t)
{
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.panel);
    p.setColor(QPalette::AlternateBase, t.raised);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::Button, t.raised);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::ToolTipBase, t.raised);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::PlaceholderText, t.muted);
    p.setColor(QPalette::Highlight, t.selection);
    p.setColor(QPalette::HighlightedText, t.text);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::Mid, t.border);
    p.setColor(QPalette::Disabled, QPalette::Text, t.muted);
    p.setColor(QPalette::Disabled, QPalette::ButtonText, t.muted);
    p.setColor(QPalette::Disabled, QPalette::WindowText, t.muted);
    return p;
}

QString styleSheetOf(const Theme& t)
{
    return QStringLiteral(
               "QToolTip{background:%3;color:%4;border:1px solid %1;padding:4px}"
               "QPushButton,QToolButton,QComboBox{background:%2;border:1px solid %1;border-radius:5px;padding:3px 10px;color:%4}"
               "QPushButton:hover,QToolButton:hover,QComboBox:hover{border-color:%5}"
               "QPushButton:focus,QToolButton:focus,QComboBox:focus,QLineEdit:focus{border:1px solid %5}"
               "QToolButton:checked,QPushButton:checked{background:%6;border-color:%5;color:%4}"
               "QPushButton:disabled,QToolButton:disabled,QComboBox:disabled{color:%7}"
               "QLineEdit{background:%2;border:1px solid %1;border-radius:5px;padding:3px 8px;color:%4}"
               "QHeaderView::section{background:%8;color:%7;border:none;border-bottom:1px solid %1;padding:4px 3px}"
               "QComboBox{padding-right:20px}QComboBox::drop-down{border:none;width:20px}"
               "QComboBox::down-arrow{image:url(:/icons/chevron-down-%9.svg);width:12px;height:12px}"
               "QCheckBox{spacing:6px;color:%4}QCheckBox::indicator{width:12px;height:12px;border:1px solid %7;border-radius:3px;background:%2}"
               "QCheckBox::indicator:checked{background:%5;border-color:%5;image:url(:/icons/check.svg)}QCheckBox:focus{color:%5}"
               "QComboBox QAbstractItemView{background:%2;border:1px solid %1;selection-background-color:%6;selection-color:%4}"
               "QScrollBar{background:transparent;border:none;margin:0}QScrollBar:vertical{width:10px}QScrollBar:horizontal{height:10px}"
               "QScrollBar::handle{background:%1;border-radius:3px;margin:2px}QScrollBar::handle:hover{background:%7}"
               "QScrollBar::handle:vertical{min-height:28px}QScrollBar::handle:horizontal{min-width:28px}"
               "QScrollBar::add-line,QScrollBar::sub-line{width:0;height:0}QScrollBar::add-page,QScrollBar::sub-page{background:transparent}"
               "QProgressBar{background:%2;border:1px solid %1;border-radius:4px}QProgressBar::chunk{background:%5;border-radius:3px}"
               "QAbstractScrollArea::corner{background:transparent;border:none}QStatusBar::item{border:none}"
               "QTreeView,QTableView,QListView{background:%2;border:none;selection-background-color:%6;selection-color:%4}"
               "QTabBar::tab{background:%3;border:1px solid %1;padding:5px 12px;color:%4}"
               "QTabBar::tab:selected{background:%2;font-weight:bold}"
               "QTabWidget::pane{border:none;border-top:1px solid %1}"
               "QSplitter::handle{background:%1}"
               "QStatusBar{background:%8;color:%7;border-top:1px solid %1}"
               "QMenuBar{background:%2;color:%4}QMenu{background:%2;color:%4;border:1px solid %1}QMenu::item:selected,QMenuBar::item:selected{background:%6}")
        .arg(t.border.name(), t.panel.name(), t.raised.name(), t.text.name(), t.accent.name(), t.selection.name(), t.muted.name(), t.window.name(),
             t.dark ? QStringLiteral("dark") : QStringLiteral("light"));
}

} // namespace

Theme Theme::light()
{
    Theme t;
    t.window = QColor(0xF7F8FA);
    t.panel = QColor(0xFFFFFF);
    t.raised = QColor(0xF1F3F6);
    t.border = QColor(0xD3D8E0);
    t.text = QColor(0x1B2330);
    t.muted = QColor(0x5B6675);
    t.accent = QColor(0x2B6CB0);
    t.selection = QColor(0xDCE8F5);
    t.a = QColor(0x2B6CB0);
    t.b = QColor(0xC8620A);
    t.edge = QColor(0x8A94A3);
    t.verdictGood = QColor(0xE9F5EC);
    t.verdictWarn = QColor(0xFDF3DC);
    t.verdictBad = QColor(0xFBE7E9);
    return t;
}

Theme Theme::darkTheme()
{
    Theme t;
    t.dark = true;
    t.window = QColor(0x16191F);
    t.panel = QColor(0x1C2027);
    t.raised = QColor(0x252A33);
    t.border = QColor(0x39414D);
    t.text = QColor(0xE6EAF0);
    t.muted = QColor(0x9AA5B4);
    t.accent = QColor(0x6CA8E8);
    t.selection = QColor(0x2A415C);
    t.a = QColor(0x6CA8E8);
    t.b = QColor(0xF0974A);
    t.edge = QColor(0x77828F);
    t.verdictGood = QColor(0x1B3325);
    t.verdictWarn = QColor(0x3A3018);
    t.verdictBad = QColor(0x43222A);
    return t;
}

const Theme& Theme::current() { return storedTheme(); }

QColor Theme::strong(Severity severity) const
{
    switch (severity) {
    case Severity::Identical:
        return dark ? QColor(0x9FB1C4) : QColor(0x5F7388);
    case Severity::Noise:
        return dark ? QColor(0x6FCF97) : QColor(0x2E7D4F);
    case Severity::Unmatched:
        return dark ? QColor(0xB3B9C2) : QColor(0x68707B);
    case Severity::Drift:
        return dark ? QColor(0xF2C14E) : QColor(0x9A6700);
    case Severity::Divergent:
        return dark ? QColor(0xFF7A85) : QColor(0xC62F45);
    case Severity::Invalid:
        return dark ? QColor(0xC99BF5) : QColor(0x7436AA);
    }
    return text;
}

QColor Theme::fill(Severity severity) const
{
    switch (severity) {
    case Severity::Identical:
        return dark ? QColor(0x2B3643) : QColor(0xDDE4EC);
    case Severity::Noise:
        return dark ? QColor(0x244233) : QColor(0xCDE8D6);
    case Severity::Unmatched:
        return dark ? QColor(0x272B32) : QColor(0xF1F3F6);
    case Severity::Drift:
        return dark ? QColor(0x51411A) : QColor(0xF8E2A8);
    case Severity::Divergent:
        return dark ? QColor(0x5E2932) : QColor(0xF3B0B8);
    case Severity::Invalid:
        return dark ? QColor(0x47305F) : QColor(0xDCC4F0);
    }
    return panel;
}

void applyTheme(QApplication& app, ThemeChoice choice)
{
    const bool dark = choice == ThemeChoice::Dark || (choice == ThemeChoice::System && app.palette().color(QPalette::Window).lightness() < 128);
    storedTheme() = dark ? Theme::darkTheme() : Theme::light();
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(paletteOf(storedTheme()));
    app.setStyleSheet(styleSheetOf(storedTheme()));
}

void paintSeverity(QPainter& painter, const QRectF& box, Severity severity, const QColor& colour)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const double side = std::min(box.width(), box.height());
    const QRectF r(box.center().x() - side / 2, box.center().y() - side / 2, side, side);
    const double line = std::max(1.2, side / 7);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    switch (severity) {
    case Severity::Identical:
        painter.drawRect(QRectF(r.left() + side * 0.1, r.top() + side * 0.28, side * 0.8, line));
        painter.drawRect(QRectF(r.left() + side * 0.1, r.top() + side * 0.60, side * 0.8, line));
        break;
    case Severity::Noise:
        painter.drawEllipse(r.adjusted(side * 0.14, side * 0.14, -side * 0.14, -side * 0.14));
        break;
    case Severity::Unmatched:
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colour, line, Qt::DotLine));
        painter.drawEllipse(r.adjusted(side * 0.16, side * 0.16, -side * 0.16, -side * 0.16));
        break;
    case Severity::Drift:
        painter.drawPolygon(QPolygonF({ { r.center().x(), r.top() }, { r.right(), r.center().y() }, { r.center().x(), r.bottom() }, { r.left(), r.center().y() } }));
        break;
    case Severity::Divergent:
        painter.drawPolygon(QPolygonF({ { r.center().x(), r.top() + side * 0.06 }, { r.right(), r.bottom() - side * 0.06 }, { r.left(), r.bottom() - side * 0.06 } }));
        break;
    case Severity::Invalid:
        painter.setPen(QPen(colour, line * 1.3, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(r.topLeft() + QPointF(side * 0.15, side * 0.15), r.bottomRight() - QPointF(side * 0.15, side * 0.15));
        painter.drawLine(r.topRight() + QPointF(-side * 0.15, side * 0.15), r.bottomLeft() + QPointF(side * 0.15, -side * 0.15));
        break;
    }
    painter.restore();
}

QIcon severityIcon(Severity severity)
{
    QIcon icon;
    for (const int scale : { 1, 2, 3 }) {
        QPixmap pixmap(14 * scale, 14 * scale);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paintSeverity(painter, QRectF(1.5 * scale, 1.5 * scale, 11 * scale, 11 * scale), severity, Theme::current().strong(severity));
        painter.end();
        pixmap.setDevicePixelRatio(scale);
        icon.addPixmap(pixmap);
        icon.addPixmap(pixmap, QIcon::Selected); // or the style tints it, and the colour no longer says what it means
    }
    return icon;
}

QString severityWord(Severity severity)
{
    switch (severity) {
    case Severity::Identical:
        return QApplication::translate("Severity", "identical");
    case Severity::Noise:
        return QApplication::translate("Severity", "noise");
    case Severity::Unmatched:
        return QApplication::translate("Severity", "unmatched");
    case Severity::Drift:
        return QApplication::translate("Severity", "drift");
    case Severity::Divergent:
        return QApplication::translate("Severity", "divergent");
    case Severity::Invalid:
        return QApplication::translate("Severity", "invalid");
    }
    return {};
}

QString gateWord(diagnose::Gate gate)
{
    switch (gate) {
    case diagnose::Gate::Environment:
        return QApplication::translate("Gate", "environment");
    case diagnose::Gate::Data:
        return QApplication::translate("Gate", "data");
    case diagnose::Gate::Weights:
        return QApplication::translate("Gate", "weights");
    case diagnose::Gate::Forward:
        return QApplication::translate("Gate", "forward");
    case diagnose::Gate::Loss:
        return QApplication::translate("Gate", "loss");
    case diagnose::Gate::Backward:
        return QApplication::translate("Gate", "backward");
    case diagnose::Gate::Reduce:
        return QApplication::translate("Gate", "reduce");
    case diagnose::Gate::Optimizer:
        return QApplication::translate("Gate", "optimizer");
    }
    return {};
}

QString gateStateWord(diagnose::GateState state)
{
    switch (state) {
    case diagnose::GateState::Ok:
        return QApplication::translate("GateState", "ok");
    case diagnose::GateState::Differs:
        return QApplication::translate("GateState", "differs");
    case diagnose::GateState::Fork:
        return QApplication::translate("GateState", "fork");
    case diagnose::GateState::NotCompared:
        return QApplication::translate("GateState", "not compared");
    case diagnose::GateState::NotRecorded:
        return QApplication::translate("GateState", "not recorded");
    }
    return {};
}

QFont monospace(const QFont& like)
{
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPointSizeF(like.pointSizeF());
    return font;
}

QString number(double value, int digits)
{
    if (std::isnan(value)) {
        return QStringLiteral("NaN");
    }
    if (std::isinf(value)) {
        return value > 0 ? QStringLiteral("+Inf") : QStringLiteral("-Inf");
    }
    // "1.5e5" and "1e-7": an exponent's plus sign and leading zero say nothing and cost room.
    static const QRegularExpression padding(QStringLiteral("[eE]([+-]?)0*(\\d)"));
    QString text = QLocale().toString(value, 'g', digits);
    if (const auto match = padding.match(text); match.hasMatch()) {
        const QString sign = match.captured(1) == QLatin1String("-") ? match.captured(1) : QString();
        text.replace(match.capturedStart(), match.capturedLength(), QLatin1Char('e') + sign + match.captured(2));
    }
    return text;
}

} // namespace forkpoint::ui
