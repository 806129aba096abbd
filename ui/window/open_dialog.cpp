// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/open_dialog.h"

#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/window/choose_run.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace forkpoint::ui {

OpenDialog::OpenDialog(const RunPair& start, QWidget* parent)
    : QDialog(parent)
    , m_swap(new QPushButton(tr("Swap A and B")))
{
    setWindowTitle(tr("Open two runs"));
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(10);
    auto* text = wrappedLabel(this, true);
    text->setText(tr("A is the run you trust. Every difference is shown as B − A. RUN@1 takes rank 1 of a run alone. Tensors and logs of both runs open too."));
    layout->addWidget(text);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(8);
    m_a = addRow(grid, 0, QStringLiteral("A"), Theme::current().a, tr("reference"), start.reference);
    m_b = addRow(grid, 1, QStringLiteral("B"), Theme::current().b, tr("candidate"), start.candidate);
    m_noise = addRow(grid, 2, QStringLiteral("A′"), Theme::current().muted, tr("noise run"), start.noise);
    m_noise->setPlaceholderText(tr("optional: the reference recorded again"));
    layout->addLayout(grid);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    m_compare = buttons->addButton(tr("Compare"), QDialogButtonBox::AcceptRole);
    buttons->addButton(m_swap, QDialogButtonBox::ResetRole);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_swap, &QPushButton::clicked, this, [this] {
        const QString a = m_a->text();
        m_a->setText(m_b->text());
        m_b->setText(a);
    });
    const auto enable = [this] { m_compare->setEnabled(!m_a->text().trimmed().isEmpty() && !m_b->text().trimmed().isEmpty()); };
    connect(m_a, &QLineEdit::textChanged, this, enable);
    connect(m_b, &QLineEdit::textChanged, this, enable);
    enable();
    resize(620, sizeHint().height());
}

QLineEdit* OpenDialog::addRow(QGridLayout* grid, int row, const QString& letter, const QColor& colour, const QString& role, const QString& path)
{
    auto* mark = new QLabel(letter);
    QFont bold = mark->font();
    bold.setBold(true);
    mark->setFont(bold);
    QPalette palette = mark->palette();
    palette.setColor(QPalette::WindowText, colour);
    mark->setPalette(palette);
    auto* box = new QLineEdit(path);
    auto* label = new QLabel(role);
    label->setBuddy(box);
    box->setAccessibleName(role);
    auto* browse = new QToolButton;
    browse->setText(tr("Browse…"));
    browse->setFocusPolicy(Qt::StrongFocus);
    connect(browse, &QToolButton::clicked, this, [this, box, role] {
        const QString chosen = chooseRun(this, tr("Choose: %1").arg(role), box->text());
        if (!chosen.isEmpty()) {
            box->setText(chosen);
        }
    });
    grid->addWidget(mark, row, 0);
    grid->addWidget(label, row, 1);
    grid->addWidget(box, row, 2);
    grid->addWidget(browse, row, 3);
    return box;
}

RunPair OpenDialog::runs() const { return { m_a->text().trimmed(), m_b->text().trimmed(), m_noise->text().trimmed() }; }

} // namespace forkpoint::ui
