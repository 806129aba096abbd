// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/diagnose/verdict.h"

#include <QWidget>

#include <array>
#include <optional>

class QToolButton;

namespace forkpoint::ui {

/// Which phase of the step the graph is coloured by: a row of buttons, one of them down, or none for all phases together.
class PhaseSwitch : public QWidget {
    Q_OBJECT
public:
    static constexpr std::array kPhases { diagnose::Gate::Forward, diagnose::Gate::Backward, diagnose::Gate::Reduce, diagnose::Gate::Optimizer };

    explicit PhaseSwitch(QWidget* parent = nullptr);

    void setPhase(std::optional<diagnose::Gate> phase); ///< emits nothing; a gate that is none of kPhases leaves all buttons up
    QToolButton* button(diagnose::Gate phase) const;

signals:
    void chosen(std::optional<forkpoint::diagnose::Gate> phase); ///< nullopt: the button that was down is let up

private:
    std::array<QToolButton*, kPhases.size()> m_buttons {};
};

} // namespace forkpoint::ui
