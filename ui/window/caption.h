// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/session/session.h"

#include <QImage>

namespace forkpoint::ui {

/// `image` with a strip below it that says what it shows: runs, step, pair, floor, version. For every picture that leaves the program.
QImage withCaption(const QImage& image, const Session& session);

/// The strip's text, for pictures and for tests.
QString captionText(const Session& session);

} // namespace forkpoint::ui
