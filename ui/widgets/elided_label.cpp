// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/elided_label.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QEvent>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace forkpoint::ui {

namespace {

/// A label whose colour follows the theme, also when it changes.
class WrappedLabel : public QLabel {
public:
    WrappedLabel(QWidget* parent, bool muted)
        : QLabel(parent)
        , m_muted(muted)
    {
        setTextFormat(Qt::PlainText);
        setWordWrap(true);
        setTextInteractionFlags(Qt::TextSelectableByMouse);
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        recolour();
    }

protected:
    void changeEvent(QEvent* event) override
    {
        QLabel::changeEvent(event);
        if (event->type() == QEvent::ApplicationPaletteChange) {
            recolour();
        }
    }

private:
    void recolour()
    {
        QPalette p = palette();
        p.setColor(QPalette::WindowText, m_muted ? Theme::current().muted : Theme::current().text);
        setPalette(p);
    }
    bool m_muted;
};

} // namespace

ElidedLabel::ElidedLabel(QWidget* parent)
    : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

ElidedLabel::ElidedLabel(const QString& text, QWidget* parent)
    : ElidedLabel(parent)
{
    setText(text);
}

void ElidedLabel::setMuted(bool muted)
{
    m_muted = muted;
    update();
}

QSize ElidedLabel::minimumSizeHint() const { return { fontMetrics().averageCharWidth() * 3, fontMetrics().height() }; }

QSize ElidedLabel::sizeHint() const
{
    const auto margins = contentsMargins();
    return { fontMetrics().horizontalAdvance(text()) + margins.left() + margins.right() + 1, fontMetrics().height() + margins.top() + margins.bottom() };
}

void ElidedLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(m_muted ? Theme::current().muted : Theme::current().text);
    const QRect box = contentsRect();
    painter.drawText(box, static_cast<int>(alignment()) | Qt::TextSingleLine, fontMetrics().elidedText(text(), Qt::ElideMiddle, box.width()));
}

bool ElidedLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && fontMetrics().horizontalAdvance(text()) > contentsRect().width()) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tip(text()), this);
        return true;
    }
    return QLabel::event(event);
}

QLabel* wrappedLabel(QWidget* parent, bool muted) { return new WrappedLabel(parent, muted); }

} // namespace forkpoint::ui
