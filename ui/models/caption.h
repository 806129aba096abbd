// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QImage>
#include <QStringList>

#include <utility>

namespace forkpoint::ui {

/// `image` with a strip below it that says what it shows. For every picture that leaves the program.
QImage withCaption(const QImage& image, const QString& text);

/// Runs, step, what a view says about itself, floor, version; and how much is compared while a comparison is under way.
QString captionText(const Session& session, const QStringList& about);

/// What A and B are called, as soon as both are known; else empty.
std::pair<QString, QString> runNames(const Session& session);

QString pairCaption(const Session& session);     ///< the selected pair; empty without one
QString colouringCaption(const Session& session); ///< "coloured by severity"

} // namespace forkpoint::ui
