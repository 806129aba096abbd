// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the heatmap view is made of: widgets, their places, actions and words.
#include "ui/heatmap/heatmap_view.h"

#include "ui/heatmap/element_panel.h"
#include "ui/heatmap/heatmap_bar.h"
#include "ui/heatmap/heatmap_title.h"
#include "ui/heatmap/heatmap_words.h"
#include "ui/heatmap/profile_plot.h"
#include "ui/heatmap/range_bar.h"
#include "ui/heatmap/slice_bar.h"
#include "ui/models/pair_words.h"
#include "ui/session/session.h"

#include <QAction>
#include <QActionGroup>
#include <QClipboard>
#include <QComboBox>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

using heatmap::Mode;

namespace {

constexpr int kWideFrom = 760;        ///< the elements stand beside the picture
constexpr int kProfileFrom = 540;     ///< height with the elements below the picture
constexpr int kWideProfileFrom = 420; ///< height without
constexpr int kLeastPicture = 80;     ///< height
constexpr int kSides = 20, kGaps = 30; ///< margins left and right; margins and spacing of the rows

} // namespace

void HeatmapView::buildParts()
{
    m_title = new HeatmapTitle(this);
    m_bar = new HeatmapBar(this);
    m_slice = new SliceBar(this);
    m_goTo = new QWidget(this);
    m_goToField = new QLineEdit(m_goTo);
    m_goToField->setObjectName(QStringLiteral("index"));
    m_goToField->setMaximumWidth(220);
    m_goToProblem = new QLabel(m_goTo);
    m_goToProblem->setObjectName(QStringLiteral("indexProblem"));
    m_goToProblem->setTextFormat(Qt::PlainText);
    m_goToProblem->setWordWrap(true);
    m_goToProblem->setForegroundRole(QPalette::PlaceholderText);
    auto* line = new QHBoxLayout(m_goTo);
    line->setContentsMargins(0, 0, 0, 0);
    line->addWidget(m_goToField);
    line->addWidget(m_goToProblem, 1);
    m_goTo->hide();
    m_canvas = new HeatmapCanvas(m_session.jobs(), m_tag, this);
    m_canvas->setObjectName(QStringLiteral("canvas"));
    m_range = new RangeBar(this);
    m_profile = new ProfilePlot(this);
    m_elements = new ElementPanel(this);
    m_elements->setObjectName(QStringLiteral("elements"));
    m_empty = new QLabel(this);
    m_empty->setTextFormat(Qt::PlainText);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setMargin(16);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_empty->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_again = new QPushButton(this);
    m_again->setObjectName(QStringLiteral("again"));
    m_canvas->installEventFilter(this);
    m_goToField->installEventFilter(this);

    connect(m_bar, &HeatmapBar::modeChosen, this, [this](Mode mode) {
        setMode(mode);
        m_canvas->setFocus();
    });
    connect(m_bar->flip(), &QToolButton::clicked, this, [this](bool checked) {
        setFlipped(checked);
        m_canvas->setFocus();
    });
    connect(m_bar, &HeatmapBar::colourMapChosen, this, [this](heatmap::ColourMap map) {
        (seenMode() == Mode::Difference ? m_differenceMap : m_map) = map;
        if (heatmap::isDiverging(map) && m_picture) {
            const auto kept = m_ranges.range(seenMode(), sliceKey());
            if (kept && m_ranges.isByHand(seenMode())) {
                const double size = std::max(std::abs(kept->normalisation.range.low), std::abs(kept->normalisation.range.high));
                m_ranges.set(seenMode(), { -size, size });
            } else {
                fitRange(seenMode());
            }
        }
        showPicture();
    });
    connect(m_bar->log(), &QToolButton::clicked, this, [this](bool checked) {
        m_ranges.setLog(seenMode(), checked);
        showPicture();
    });
    connect(m_bar->lock(), &QToolButton::clicked, this, [this](bool checked) {
        m_ranges.setLocked(checked);
        showPicture();
    });
    connect(m_bar->fit(), &QToolButton::clicked, this, &HeatmapView::fit);
    connect(m_bar->goTo(), &QToolButton::clicked, this, &HeatmapView::goToIndex);
    connect(m_bar->worst(), &QToolButton::clicked, this, &HeatmapView::goToWorst);
    connect(m_slice, &SliceBar::axesChanged, this, [this](const heatmap::SliceAxes& axes) { read(axes, true); });
    connect(m_goToField, &QLineEdit::returnPressed, this, &HeatmapView::takeGoTo);
    connect(m_goToField, &QLineEdit::textEdited, m_goToProblem, &QLabel::clear);
    connect(m_canvas, &HeatmapCanvas::pinRequested, this, [this](heatmap::Cell cell) {
        if (m_picture && !m_reading) {
            pin(cell, false);
        }
    });
    connect(m_canvas, &HeatmapCanvas::hoverChanged, this, [this](std::optional<heatmap::Cell> cell) {
        if (cell && m_picture && !m_reading) {
            readElement(*cell, Reading::Hovered);
        } else {
            m_session.jobs().cancel(m_tag + QStringLiteral("-hover"));
            m_elements->setHovered(std::nullopt);
        }
        updateProfile();
    });
    connect(m_canvas, &HeatmapCanvas::viewChanged, this, &HeatmapView::placeProfile);
    connect(m_canvas, &HeatmapCanvas::failed, this, [this](const Error& error) { showEmpty(whyUnreadable(error), true); });
    connect(m_range, &RangeBar::rangeDragged, this, &HeatmapView::moveRange);
    connect(m_range, &RangeBar::fitRequested, this, [this] {
        if (fitRange(seenMode())) {
            showPicture();
        }
    });
    connect(m_again, &QPushButton::clicked, this, [this] {
        m_wanted.reset();
        m_picture.reset();
        follow();
    });
}

void HeatmapView::buildLayout()
{
    auto* page = new QWidget(this);
    m_body = new QGridLayout(page);
    m_body->setContentsMargins(0, 0, 0, 0);
    m_body->setHorizontalSpacing(10);
    m_body->setVerticalSpacing(4);
    m_body->setColumnStretch(0, 1);
    m_body->addWidget(m_bar, 0, 0, 1, 2);
    m_body->addWidget(m_slice, 1, 0, 1, 2);
    m_body->addWidget(m_goTo, 2, 0, 1, 2);
    m_body->addWidget(m_canvas, 3, 0);
    m_body->addWidget(m_range, 4, 0);
    m_body->addWidget(m_profile, 6, 0);
    m_body->setRowStretch(3, 1);

    auto* nothing = new QWidget(this);
    auto* column = new QVBoxLayout(nothing);
    column->addStretch();
    column->addWidget(m_empty);
    column->addWidget(m_again, 0, Qt::AlignHCenter);
    column->addStretch();
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(page);
    m_pages->addWidget(nothing);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(10, 6, 10, 6);
    all->setSpacing(4);
    all->setSizeConstraint(QLayout::SetNoConstraint); // the wide arrangement must not keep the view from becoming narrow
    all->addWidget(m_title);
    all->addWidget(m_pages, 1);
    setBackgroundRole(QPalette::Base);
    setAutoFillBackground(true);
    setFocusProxy(m_canvas);
    arrange();
}

void HeatmapView::arrange()
{
    const bool wide = width() >= kWideFrom;
    if (m_wide != (wide ? 1 : 0)) {
        m_wide = wide ? 1 : 0;
        m_body->removeWidget(m_elements);
        m_elements->setTall(wide);
        if (wide) {
            m_body->addWidget(m_elements, 3, 1, 4, 1, Qt::AlignTop);
        } else {
            m_body->addWidget(m_elements, 5, 0);
        }
        m_body->setHorizontalSpacing(wide ? 10 : 0);
    }
    m_title->setCompact(!wide && height() < kProfileFrom);
    // Where there is little height, the numbers of an element give way to the picture and to the numbers of its range.
    const int beside = m_range->heightForWidth(width() - kSides - (wide ? m_elements->sizeHint().width() + m_body->horizontalSpacing() : 0));
    m_range->setMinimumHeight(beside);
    int room = height() - m_title->sizeHint().height() - m_bar->sizeHint().height() - beside - kGaps;
    room -= m_slice->isHidden() ? 0 : m_slice->sizeHint().height();
    const bool hasElements = !m_picture || m_picture->pyramid->readable();
    m_elements->setVisible(hasElements && (wide || room - m_elements->sizeHint().height() >= kLeastPicture));
    m_profile->setVisible(m_profileOf != ProfileOf::Nothing && height() >= (wide ? kWideProfileFrom : kProfileFrom));
}

void HeatmapView::buildActions()
{
    const auto action = [this](QWidget* owner, const QList<QKeySequence>& keys, Qt::ShortcutContext context, auto slot) {
        auto* made = new QAction(this);
        made->setShortcuts(keys);
        made->setShortcutContext(context);
        connect(made, &QAction::triggered, this, slot);
        owner->addAction(made);
        return made;
    };
    for (const auto mode : heatmap::kModes) {
        m_modeActions.push_back(action(this, { QKeySequence(Qt::Key_1 + static_cast<int>(mode)) }, Qt::WindowShortcut, [this, mode] { setMode(mode); }));
    }
    // On the picture alone: handles, sliders and fields have arrows and letters of their own.
    m_left = action(m_canvas, { Qt::Key_Left }, Qt::WidgetShortcut, [this] { movePin(0, -1); });
    m_right = action(m_canvas, { Qt::Key_Right }, Qt::WidgetShortcut, [this] { movePin(0, 1); });
    m_up = action(m_canvas, { Qt::Key_Up }, Qt::WidgetShortcut, [this] { movePin(-1, 0); });
    m_down = action(m_canvas, { Qt::Key_Down }, Qt::WidgetShortcut, [this] { movePin(1, 0); });
    m_unpin = action(m_canvas, { Qt::Key_Escape }, Qt::WidgetShortcut, [this] { m_session.pinElement(std::nullopt); });
    m_zoomIn = action(m_canvas, { Qt::Key_Plus, Qt::Key_Equal }, Qt::WidgetShortcut, [this] { m_canvas->zoom(1.5); });
    m_zoomOut = action(m_canvas, { Qt::Key_Minus }, Qt::WidgetShortcut, [this] { m_canvas->zoom(1 / 1.5); });
    m_fitAction = action(m_canvas, { Qt::Key_0, Qt::Key_F, Qt::Key_Home }, Qt::WidgetShortcut, [this] { fit(); });
    m_worstAction = action(m_canvas, { Qt::Key_W }, Qt::WidgetShortcut, [this] { goToWorst(); });
    m_goToAction = action(this, { QKeySequence(Qt::CTRL | Qt::Key_G) }, Qt::WindowShortcut, [this] { goToIndex(); });
    m_copyPicture = action(this, { QKeySequence::Copy }, Qt::WidgetWithChildrenShortcut, [this] { copyPicture(); });
    m_flipAction = action(this, {}, Qt::WidgetWithChildrenShortcut, [this] { setFlipped(!flipped()); });
    m_copyElement = action(this, {}, Qt::WidgetWithChildrenShortcut, [this] {
        if (!m_elements->pinnedText().isEmpty()) {
            QGuiApplication::clipboard()->setText(m_elements->pinnedText());
        }
    });
    m_fitRange = action(this, {}, Qt::WidgetWithChildrenShortcut, [this] { emit m_range->fitRequested(); });
    m_copyRange = action(this, {}, Qt::WidgetWithChildrenShortcut, [this] { copyRange(); });
    m_pasteRange = action(this, {}, Qt::WidgetWithChildrenShortcut, [this] { pasteRange(); });
    m_profileGroup = new QActionGroup(this);
    for (int i = 0; i < 3; ++i) {
        m_profileActions[i] = m_profileGroup->addAction(QString());
        m_profileActions[i]->setCheckable(true);
        m_profileActions[i]->setChecked(i == static_cast<int>(m_profileOf));
        m_bar->profile()->menu()->addAction(m_profileActions[i]);
        connect(m_profileActions[i], &QAction::triggered, this, [this, i] { setProfileOf(static_cast<ProfileOf>(i)); });
    }
    const auto menuOn = [this](QWidget* widget) {
        widget->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(widget, &QWidget::customContextMenuRequested, this, [this, widget](const QPoint& at) {
            QMenu menu(this);
            menu.addActions({ m_goToAction, m_worstAction, m_fitAction, m_flipAction });
            menu.addSeparator();
            menu.addActions({ m_fitRange, m_copyRange, m_pasteRange });
            menu.addSeparator();
            menu.addActions({ m_copyElement, m_copyPicture });
            m_copyElement->setEnabled(!m_elements->pinnedText().isEmpty());
            menu.exec(widget->mapToGlobal(at));
        });
    };
    menuOn(m_canvas);
    menuOn(m_range);
    menuOn(m_elements);
}

void HeatmapView::retranslate()
{
    setAccessibleName(tr("Heatmap"));
    m_canvas->setAccessibleName(tr("Picture of the tensor's elements"));
    m_goToField->setPlaceholderText(tr("Index, e.g. 12, 77"));
    m_goToField->setToolTip(tip(tr("One number per dim, or one flat index. Enter pins the element, Esc closes.")));
    m_goToField->setAccessibleName(tr("Index to go to"));
    m_again->setText(tr("Read again"));
    for (const auto mode : heatmap::kModes) {
        m_modeActions[static_cast<std::size_t>(mode)]->setText(tr("Heatmap: %1").arg(modeName(mode)));
    }
    m_left->setText(tr("Pin the element to the left"));
    m_right->setText(tr("Pin the element to the right"));
    m_up->setText(tr("Pin the element above"));
    m_down->setText(tr("Pin the element below"));
    m_unpin->setText(tr("Unpin the element"));
    m_zoomIn->setText(tr("Zoom in"));
    m_zoomOut->setText(tr("Zoom out"));
    m_fitAction->setText(tr("Fit the picture"));
    m_worstAction->setText(tr("Worst element"));
    m_goToAction->setText(tr("Go to index…"));
    m_flipAction->setText(tr("Flip A and B (hold Space)"));
    m_copyElement->setText(tr("Copy the pinned element"));
    m_copyPicture->setText(tr("Copy picture of the heatmap"));
    m_fitRange->setText(tr("Fit the range"));
    m_copyRange->setText(tr("Copy the range"));
    m_pasteRange->setText(tr("Paste a range"));
    m_profileActions[0]->setText(tr("No profile"));
    m_profileActions[1]->setText(tr("Profile of the row"));
    m_profileActions[2]->setText(tr("Profile of the column"));
    m_bar->retranslate(m_picture ? m_picture->pyramid->options() : heatmap::PyramidOptions {});
    updateTitle();
    updateParts();
    updateProfile();
    if (m_picture && m_canvas->pinned()) {
        readElement(*m_canvas->pinned(), Reading::Pinned);
    }
}

} // namespace forkpoint::ui
