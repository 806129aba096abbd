// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QApplication;

namespace forkpoint::ui {

/// Installs the translators of a language ("en", "zh_CN"; empty: the one chosen before, else the system's) and its locale for numbers.
/// Returns the language that is shown. Call before any widget is made.
QString installLanguage(QApplication& app, const QString& language);

QString languageTitle(const QString& language); ///< in itself: "English", "简体中文"
void rememberLanguage(const QString& language); ///< for the next start

} // namespace forkpoint::ui
