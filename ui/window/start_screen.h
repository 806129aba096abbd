// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"
#include "ui/window/known_runs.h"

#include <QWidget>

class QGridLayout;
class QLabel;
class QLineEdit;
class QMimeData;
class QPushButton;
class QVBoxLayout;

namespace forkpoint::ui {

/// One side to be opened: takes a dropped bundle, or a click that asks for a folder.
class DropZone : public QWidget {
    Q_OBJECT
public:
    DropZone(bool reference, QWidget* parent = nullptr);
    void setPath(const QString& path);
    const QString& path() const { return m_path; }

signals:
    void dropped(const QStringList& paths);
    void clicked();

protected:
    void paintEvent(QPaintEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    bool m_reference;
    bool m_hovered = false;
    QString m_path;
};

/// What the window shows while nothing is open: two zones for the runs, pairs opened before, samples, and how to record one's own.
class StartScreen : public QWidget {
    Q_OBJECT
public:
    explicit StartScreen(QWidget* parent = nullptr);

    void refresh(); ///< recent pairs and samples, as they are now
    DropZone* zone(bool reference) const { return reference ? m_a : m_b; }
    QPushButton* compareButton() const { return m_compare; }
    QPushButton* portableButton() const { return m_portable; }
    QLineEdit* command() const { return m_command; }
    void setSide(bool reference, const QString& path);

signals:
    void compareRequested(const forkpoint::ui::RunPair& pair);
    void portableRequested(); ///< which file is to be asked
    void bothDropped(const QString& first, const QString& second); ///< two at once: their order is to be confirmed

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void choose(bool reference);
    QWidget* makeList(const QString& title, QVBoxLayout** list);

    DropZone *m_a, *m_b;
    QPushButton *m_portable, *m_compare;
    QVBoxLayout *m_recent = nullptr, *m_samples = nullptr;
    QLineEdit* m_command;
};

/// Paths of local files of a drop; empty if it carries anything else.
QStringList droppedPaths(const QMimeData* data);

} // namespace forkpoint::ui
