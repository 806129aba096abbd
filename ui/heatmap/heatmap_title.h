// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>

namespace forkpoint::ui {

/// The heatmap's title: the tensor, what it is, and which side is seen, with its colour.
class HeatmapTitle : public QWidget {
    Q_OBJECT
public:
    explicit HeatmapTitle(QWidget* parent = nullptr);

    void setTexts(const QString& name, const QString& details, const QString& definition);
    enum class Side { A, B, Both };
    void setSide(Side side, const QString& text);
    void setCompact(bool compact); ///< one line
    QString text() const; ///< all of it
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_name, m_details, m_sideText;
    Side m_side = Side::Both;
    bool m_compact = false;
};

} // namespace forkpoint::ui
