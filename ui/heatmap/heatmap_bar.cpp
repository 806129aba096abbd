// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/heatmap_bar.h"

#include "ui/heatmap/heatmap_words.h"
#include "ui/models/pair_words.h"

#include <QBoxLayout>
#include <QButtonGroup>
#include <QComboBox>
#include <QMenu>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>

namespace forkpoint::ui {

namespace {

QBoxLayout* rowOf(QWidget* widget, int spacing)
{
    auto* row = new QHBoxLayout(widget);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(spacing);
    return row;
}

} // namespace

HeatmapBar::HeatmapBar(QWidget* parent)
    : QWidget(parent)
    , m_first(new QWidget(this))
    , m_second(new QWidget(this))
    , m_rows(new QBoxLayout(QBoxLayout::LeftToRight, this))
{
    // All of it has to do with 360 pixels: less padding than elsewhere.
    setStyleSheet(QStringLiteral("QToolButton{padding:2px 1px}QComboBox{padding:2px 16px 2px 5px}QComboBox::drop-down{width:16px}"
                                 "QToolButton::menu-indicator{image:none}"));
    const auto button = [this](QBoxLayout* row, const char* name, bool checkable) {
        auto* made = new QToolButton(this);
        made->setObjectName(QString::fromLatin1(name));
        made->setCheckable(checkable);
        made->setFocusPolicy(Qt::TabFocus); // a click leaves the keys with the picture
        row->addWidget(made);
        return made;
    };
    auto* modes = rowOf(m_first, 2);
    auto* group = new QButtonGroup(this);
    const char* names[] = { "modeA", "modeB", "modeDifference", "modeAbs", "modeRelative", "modeUlp", "modeOver" };
    for (const auto mode : heatmap::kModes) {
        auto* made = button(modes, names[static_cast<std::size_t>(mode)], true);
        m_modes[static_cast<std::size_t>(mode)] = made;
        group->addButton(made);
        connect(made, &QToolButton::clicked, this, [this, mode] { emit modeChosen(mode); });
    }
    m_flip = button(modes, "flip", true);
    modes->insertSpacing(modes->count() - 1, 6);
    modes->addStretch();
    auto* tools = rowOf(m_second, 2);
    m_maps = new QComboBox(this);
    m_maps->setObjectName(QStringLiteral("colourMap"));
    m_maps->setFocusPolicy(Qt::TabFocus);
    m_maps->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_maps->setMinimumContentsLength(8);
    tools->addWidget(m_maps);
    m_log = button(tools, "log", true);
    m_lock = button(tools, "lock", true);
    m_profile = button(tools, "profile", false);
    m_profile->setPopupMode(QToolButton::InstantPopup);
    m_profile->setMenu(new QMenu(m_profile));
    tools->addStretch();
    m_fit = button(tools, "fit", false);
    m_goTo = button(tools, "goTo", false);
    m_worst = button(tools, "worst", false);
    for (const auto map : heatmap::kColourMaps) {
        m_maps->addItem(QString(), static_cast<int>(map));
    }
    connect(m_maps, &QComboBox::activated, this, [this] { emit colourMapChosen(static_cast<heatmap::ColourMap>(m_maps->currentData().toInt())); });
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setSpacing(4);
    m_rows->addWidget(m_first);
    m_rows->addWidget(m_second, 1);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void HeatmapBar::setMode(heatmap::Mode mode) { m_modes[static_cast<std::size_t>(mode)]->setChecked(true); }

void HeatmapBar::setColourMap(heatmap::ColourMap map, bool divergingAllowed)
{
    const QSignalBlocker blocker(m_maps);
    auto* items = qobject_cast<QStandardItemModel*>(m_maps->model());
    for (int i = 0; i < m_maps->count(); ++i) {
        const auto it = static_cast<heatmap::ColourMap>(m_maps->itemData(i).toInt());
        items->item(i)->setEnabled(divergingAllowed || !heatmap::isDiverging(it));
        if (it == map) {
            m_maps->setCurrentIndex(i);
        }
    }
}

void HeatmapBar::setColoured(bool coloured) { m_maps->setEnabled(coloured); }

void HeatmapBar::setLog(bool log, bool offered)
{
    const QSignalBlocker blocker(m_log);
    m_log->setChecked(log);
    m_log->setEnabled(offered);
}

void HeatmapBar::retranslate(const heatmap::PyramidOptions& options)
{
    for (const auto mode : heatmap::kModes) {
        auto* it = m_modes[static_cast<std::size_t>(mode)];
        it->setText(modeWord(mode));
        it->setAccessibleName(modeName(mode));
        it->setToolTip(tip(tr("%1, key %2", "mode").arg(modeName(mode)).arg(static_cast<int>(mode) + 1), modeDefinition(mode, options)));
    }
    const auto set = [](QToolButton* button, const QString& text, const QString& name, const QString& words) {
        button->setText(text);
        button->setAccessibleName(name);
        button->setToolTip(tip(name, words));
    };
    set(m_flip, tr("Flip"), tr("Flip A and B, hold Space"),
        tr("Shows B for A, or A for B, in the same place and range. From a difference: A, and B the next time."));
    set(m_log, tr("log", "logarithmic"), tr("Logarithmic colours"), tr("Spreads the colours over the magnitudes, to both sides of zero where values have a sign."));
    set(m_lock, tr("Lock"), tr("Lock the ranges"), tr("Keeps the range of each mode for other tensors, so that colours can be compared."));
    set(m_profile, tr("Profile"), tr("Profile"), tr("The values of A and B along the row or column of the element under the mouse, else of the pinned one."));
    set(m_fit, tr("Fit"), tr("Fit, 0 or F"), tr("The whole picture in the view."));
    set(m_goTo, tr("Go to"), tr("Go to index, Ctrl+G"), tr("Pins the element of an index that you type."));
    set(m_worst, tr("Worst"), tr("Worst element, W"), tr("Pins the element of largest finite magnitude in this mode, on this picture."));
    m_maps->setAccessibleName(tr("Colour map"));
    m_maps->setToolTip(tip(tr("Colour map"), tr("Diverging: blue below zero, near-white at zero, orange above; for values with a sign.")));
    for (int i = 0; i < m_maps->count(); ++i) {
        m_maps->setItemText(i, colourMapWord(static_cast<heatmap::ColourMap>(m_maps->itemData(i).toInt())));
    }
    arrange();
}

void HeatmapBar::arrange()
{
    const bool one = width() >= m_first->sizeHint().width() + m_second->sizeHint().width() + 12;
    m_rows->setDirection(one ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

void HeatmapBar::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

} // namespace forkpoint::ui
