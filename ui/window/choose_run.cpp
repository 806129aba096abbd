// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/choose_run.h"

#include <QCoreApplication>
#include <QCursor>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>

namespace forkpoint::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Words)
};

} // namespace

QString chooseRun(QWidget* parent, const QString& title, const QString& beside)
{
    const QString folder = QFileInfo(beside).absolutePath();
    QMenu kinds(parent);
    const auto* asFolder = kinds.addAction(Words::tr("Folder of a run, of tensor files or of logs…"));
    const auto* asFile = kinds.addAction(Words::tr("File: an archive of a run, tensors, or a log…"));
    const auto* chosen = kinds.exec(QCursor::pos());
    if (chosen == asFolder) {
        return QFileDialog::getExistingDirectory(parent, title, folder);
    }
    if (chosen == asFile) {
        return QFileDialog::getOpenFileName(parent, title, folder,
                                            Words::tr("Runs and tensors (*.zip *.pt *.pth *.safetensors *.npy *.npz);;"
                                                      "Logs (*.csv *.tsv *.jsonl *.json *.log *.txt *tfevents*);;All files (*)"));
    }
    return {};
}

} // namespace forkpoint::ui
