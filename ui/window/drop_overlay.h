// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

namespace forkpoint::ui {

/// Lies over the window while bundles are dragged across it: the left half takes the reference, the right half the candidate, two at once
/// are asked about.
class DropOverlay : public QWidget {
    Q_OBJECT
public:
    explicit DropOverlay(QWidget* parent);
    void setDropped(const QStringList& paths);

signals:
    void dropped(bool reference, const QString& path);
    void bothDropped(const QString& first, const QString& second);

protected:
    void paintEvent(QPaintEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    bool isReference(const QPointF& at) const;
    int m_count = 1;
    bool m_portable = false; ///< one file, which has both sides
    bool m_reference = true;
};

} // namespace forkpoint::ui
