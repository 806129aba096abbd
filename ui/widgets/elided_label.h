// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace forkpoint::ui {

/// One line of plain text that is cut in the middle where it does not fit, with the whole text as tool tip.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);
    explicit ElidedLabel(const QString& text, QWidget* parent = nullptr);

    void setMuted(bool muted); ///< for what explains other text
    QSize minimumSizeHint() const override;
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    bool m_muted = false;
};

/// A wrapping plain-text label, never wider than it is given.
QLabel* wrappedLabel(QWidget* parent, bool muted = false);

} // namespace forkpoint::ui
