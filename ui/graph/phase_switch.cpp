// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/phase_switch.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QToolButton>

#include <algorithm>

namespace forkpoint::ui {

PhaseSwitch::PhaseSwitch(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Phase that the graph shows"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    for (std::size_t i = 0; i < kPhases.size(); ++i) {
        auto* button = new QToolButton;
        button->setText(gateWord(kPhases[i]));
        button->setCheckable(true);
        button->setFocusPolicy(Qt::StrongFocus);
        button->setToolTip(tip(tr("Colours the graph by this phase of the step; once more: by the worst of all phases. Selecting a pair shows its phase.")));
        layout->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, i](bool down) { emit chosen(down ? std::optional(kPhases[i]) : std::nullopt); });
        m_buttons[i] = button;
    }
}

void PhaseSwitch::setPhase(std::optional<diagnose::Gate> phase)
{
    for (std::size_t i = 0; i < kPhases.size(); ++i) {
        m_buttons[i]->setChecked(phase == kPhases[i]);
    }
}

QToolButton* PhaseSwitch::button(diagnose::Gate phase) const
{
    const auto at = std::find(kPhases.begin(), kPhases.end(), phase);
    return at == kPhases.end() ? nullptr : m_buttons[static_cast<std::size_t>(at - kPhases.begin())];
}

} // namespace forkpoint::ui
