// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QWidget;

namespace forkpoint::ui {

/// Fills `page` with `content`, in its middle where the page is wider and scrolled where it is smaller.
void showCentred(QWidget& page, QWidget* content);

} // namespace forkpoint::ui
