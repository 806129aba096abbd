// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/centred_page.h"

#include <QHBoxLayout>
#include <QScrollArea>
#include <QVBoxLayout>

namespace forkpoint::ui {

void showCentred(QWidget& page, QWidget* content)
{
    auto* centred = new QWidget;
    auto* across = new QHBoxLayout(centred);
    across->setContentsMargins(0, 0, 0, 0);
    across->addStretch(1);
    across->addWidget(content, 100);
    across->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setWidget(centred);
    auto* layout = new QVBoxLayout(&page);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(scroll);
}

} // namespace forkpoint::ui
