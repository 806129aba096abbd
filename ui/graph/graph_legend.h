// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

#include <vector>

class QPainter;

namespace forkpoint::ui {

/// What colours, shapes and numbers of the graph mean: as many lines as the width needs.
class GraphLegend : public QWidget {
    Q_OBJECT
public:
    explicit GraphLegend(QWidget* parent = nullptr);

    void setMeaning(const QString& meaning); ///< of the number, and whose pairs colour the nodes

    QSize sizeHint() const override { return { 300, heightForWidth(300) }; }
    QSize minimumSizeHint() const override { return { 80, 20 }; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return flow(width, nullptr); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int flow(int width, QPainter* painter) const; ///< the height

    QString m_meaning;
};

} // namespace forkpoint::ui
