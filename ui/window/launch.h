// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"
#include "ui/window/main_window.h"

#include <QSize>
#include <QString>

#include <optional>

class QApplication;

namespace forkpoint::ui {

/// What the command line asks for.
struct Launch {
    RunPair runs;
    QString sample;
    std::optional<int> step;
    QString select;     ///< pair id
    QString screenshot; ///< PNG to write, of the window or of the page that says what is wrong; empty: a window for people
    ShownPanel panel = ShownPanel::All;
    QSize size;
    std::optional<ThemeChoice> theme;
    QString language;
};

// Exit statuses of the programs (DESIGN section 10).
inline constexpr int kSuccess = 0, kUsage = 2, kUnreadable = 3;

/// Opens the window and runs until it is closed, or until the picture is written. A line on standard error says why it failed.
int launch(QApplication& app, const Launch& request);

} // namespace forkpoint::ui
