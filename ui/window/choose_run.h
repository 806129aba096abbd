// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QWidget;

namespace forkpoint::ui {

/// Asks for a run: a bundle's folder or a folder of tensor files, or a file (a packed bundle, tensors), since no dialog of the system offers both.
/// `beside`: a path in whose folder to begin, may be empty. Empty if the user changed their mind.
QString chooseRun(QWidget* parent, const QString& title, const QString& beside);

} // namespace forkpoint::ui
