// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/graph/union_graph.h"

#include <QStringList>
#include <QWidget>

#include <vector>

namespace forkpoint::ui {

/// Where the focused node lies: "gpt / layers.0 / attn"; a click goes to that group. The outer ones give way where room is short.
class Breadcrumbs : public QWidget {
    Q_OBJECT
public:
    explicit Breadcrumbs(QWidget* parent = nullptr);

    void setPath(const QStringList& names, const std::vector<graph::NodeId>& nodes);
    const QStringList& names() const { return m_names; }

    QSize sizeHint() const override { return { 220, fontMetrics().height() + 8 }; }
    QSize minimumSizeHint() const override { return { 30, fontMetrics().height() + 8 }; }

signals:
    void clicked(graph::NodeId node);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    struct Part {
        QRect box;
        QString text;
        int index = -1; ///< -1: the ellipsis for those left out
    };
    std::vector<Part> parts() const;
    int partAt(const QPoint& position) const;

    QStringList m_names;
    std::vector<graph::NodeId> m_nodes;
    int m_hover = -1;
};

} // namespace forkpoint::ui
