// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/run_bar.h"

#include "ui/models/detail_rows.h"
#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QSignalBlocker>
#include <QToolButton>

#include <algorithm>

namespace forkpoint::ui {

namespace {

constexpr int kChipPadding = 10;
constexpr int kChipGap = 6;
constexpr int kChipSquare = 11;

QFont bold(QFont font)
{
    font.setBold(true);
    return font;
}

QLabel* caption(const QString& text, QWidget* buddy)
{
    auto* label = new QLabel(text);
    label->setBuddy(buddy);
    label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

} // namespace

RunChip::RunChip(Role role, QWidget* parent)
    : QAbstractButton(parent)
    , m_role(role)
{
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setRun({}, {}, {});
}

QString RunChip::letter() const
{
    return m_role == Role::Reference ? QStringLiteral("A") : m_role == Role::Candidate ? QStringLiteral("B") : QStringLiteral("A′");
}

QString RunChip::lead() const
{
    return m_role == Role::Reference ? tr("reference:") : m_role == Role::Candidate ? tr("candidate:") : tr("noise run:");
}

void RunChip::setRun(const QString& name, const QString& ranks, const QString& path)
{
    m_name = name.isEmpty() ? tr("none", "no run") : name;
    m_ranks = ranks;
    setAccessibleName(QStringLiteral("%1 %2 %3 %4").arg(letter(), lead(), m_name, ranks));
    setToolTip(tip(path.isEmpty() ? QStringLiteral("%1 %2").arg(lead(), m_name) : shown(path.toStdString())));
    updateGeometry();
    update();
}

QSize RunChip::sizeHint() const
{
    const QFontMetrics plain(font()), strong(bold(font()));
    int width = 2 * kChipPadding + strong.horizontalAdvance(letter()) + kChipGap + plain.horizontalAdvance(lead() + QLatin1Char(' ') + m_name) + 2;
    width += m_role == Role::Noise ? 0 : kChipSquare + kChipGap;
    width += m_ranks.isEmpty() ? 0 : plain.horizontalAdvance(m_ranks) + kChipGap;
    return { std::min(width, 420), plain.height() + 10 };
}

QSize RunChip::minimumSizeHint() const { return { 64, sizeHint().height() }; }

void RunChip::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(hasFocus() || underMouse() ? theme.accent : theme.border, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    QRect box = rect().adjusted(kChipPadding, 0, -kChipPadding, 0);
    if (m_role != Role::Noise) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(m_role == Role::Reference ? theme.a : theme.b);
        painter.drawRoundedRect(QRectF(box.left(), box.center().y() - kChipSquare / 2.0 + 0.5, kChipSquare, kChipSquare), 2, 2);
        box.setLeft(box.left() + kChipSquare + kChipGap);
    }
    painter.setFont(bold(font()));
    painter.setPen(theme.text);
    painter.drawText(box, Qt::AlignVCenter, letter());
    box.setLeft(box.left() + QFontMetrics(painter.font()).horizontalAdvance(letter()) + kChipGap);
    painter.setFont(font());
    const QFontMetrics metrics(font());
    const int ranks = m_ranks.isEmpty() ? 0 : metrics.horizontalAdvance(m_ranks) + kChipGap;
    const bool roomForRanks = box.width() - ranks > metrics.averageCharWidth() * 8;
    const int room = box.width() - (roomForRanks ? ranks : 0);
    // The role's word gives way before the name does.
    const QString whole = lead() + QLatin1Char(' ') + m_name;
    const QString text = metrics.horizontalAdvance(whole) <= room + 1 ? whole : metrics.elidedText(m_name, Qt::ElideMiddle, room);
    painter.setPen(m_role == Role::Noise ? theme.muted : theme.text);
    painter.drawText(box, Qt::AlignVCenter | Qt::TextSingleLine, text);
    if (roomForRanks) {
        painter.setPen(theme.muted);
        painter.drawText(box, Qt::AlignVCenter | Qt::AlignRight | Qt::TextSingleLine, m_ranks);
    }
}

RunBar::RunBar(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_a(new RunChip(RunChip::Role::Reference))
    , m_b(new RunChip(RunChip::Role::Candidate))
    , m_noise(new RunChip(RunChip::Role::Noise))
    , m_swap(new QToolButton)
    , m_previous(new QToolButton)
    , m_next(new QToolButton)
    , m_step(new QComboBox)
    , m_lane(new QComboBox)
    , m_colour(new QComboBox)
    , m_shownControls(new QWidget)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(10, 6, 10, 6);
    layout->setSpacing(8);
    layout->addWidget(m_a);
    layout->addWidget(m_swap);
    layout->addWidget(m_b);
    layout->addWidget(m_noise);
    layout->addStretch(1);

    m_previous->setText(QStringLiteral("‹"));
    m_next->setText(QStringLiteral("›"));
    m_previous->setAccessibleName(tr("Previous step"));
    m_next->setAccessibleName(tr("Next step"));
    m_previous->setFixedWidth(28);
    m_next->setFixedWidth(28);
    connect(m_previous, &QToolButton::clicked, this, [this] { goToStep(-1); });
    connect(m_next, &QToolButton::clicked, this, [this] { goToStep(1); });
    m_step->setAccessibleName(tr("Step"));
    m_lane->setAccessibleName(tr("Rank"));
    m_colour->setAccessibleName(tr("Colour by"));
    m_colour->addItem(tr("severity"), static_cast<int>(ColourBy::Severity));
    m_colour->addItem(tr("output error"), static_cast<int>(ColourBy::OutputError));
    m_colour->addItem(tr("new error here"), static_cast<int>(ColourBy::AddedError));
    m_colour->setItemData(0, tip(tr("Severity: how far the error is above the floor.")), Qt::ToolTipRole);
    m_colour->setItemData(1, tip(tr("The error of each pair itself.")), Qt::ToolTipRole);
    m_colour->setItemData(2, tip(tr("What each pair adds to the error of its inputs.")), Qt::ToolTipRole);
    for (auto* box : { m_step, m_lane, m_colour }) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        box->setMinimumContentsLength(box == m_step ? 3 : 7);
    }
    auto* controls = new QHBoxLayout(m_shownControls);
    controls->setContentsMargins(0, 0, 0, 0);
    controls->setSpacing(8);
    controls->addWidget(caption(tr("step"), m_step));
    controls->addWidget(m_previous);
    controls->addWidget(m_step);
    controls->addWidget(m_next);
    controls->addSpacing(6);
    controls->addWidget(caption(tr("rank"), m_lane));
    controls->addWidget(m_lane);
    controls->addSpacing(6);
    controls->addWidget(caption(tr("colour by"), m_colour));
    controls->addWidget(m_colour);
    layout->addWidget(m_shownControls);

    for (auto* chip : { m_a, m_b, m_noise }) {
        connect(chip, &RunChip::clicked, this, [this, chip] { showMenu(chip); });
    }
    connect(m_step, &QComboBox::activated, this, [this](int i) { m_session.selectStep(m_step->itemData(i).toInt()); });
    connect(m_lane, &QComboBox::activated, this, [this](int i) { m_session.selectLane(m_lane->itemData(i).toInt()); });
    connect(m_colour, &QComboBox::activated, this, [this](int i) { m_session.setColourBy(static_cast<ColourBy>(m_colour->itemData(i).toInt())); });
    connect(&session, &Session::stateChanged, this, &RunBar::refreshRuns);
    connect(&session, &Session::sideOpened, this, &RunBar::refreshRuns);
    connect(&session, &Session::structureChanged, this, [this] {
        refreshRuns();
        refreshSteps();
        refreshLanes();
    });
    connect(&session, &Session::stepSelected, this, &RunBar::refreshSteps);
    connect(&session, &Session::pairSelected, this, &RunBar::refreshLanes);
    connect(&session, &Session::laneSelected, this, &RunBar::refreshLanes);
    connect(&session, &Session::colourByChanged, this, [this] { m_colour->setCurrentIndex(m_colour->findData(static_cast<int>(m_session.colourBy()))); });
    refreshRuns();
    refreshSteps();
    refreshLanes();
}

RunChip* RunBar::chip(RunChip::Role role) const { return role == RunChip::Role::Reference ? m_a : role == RunChip::Role::Candidate ? m_b : m_noise; }

/// Where there is little room, the chip that says "none" goes first. Logs have no noise run.
void RunBar::refreshNoise()
{
    constexpr int kRoomy = 1040;
    m_noise->setVisible(!m_session.logs() && (width() >= kRoomy || !m_session.noisePath().isEmpty()));
}

void RunBar::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    refreshNoise();
}

void RunBar::goToStep(int direction)
{
    const int index = m_step->currentIndex() + direction;
    if (index >= 0 && index < m_step->count()) {
        m_session.selectStep(m_step->itemData(index).toInt());
    }
}

void RunBar::refreshRuns()
{
    const auto show = [](RunChip* chip, const std::optional<align::Side>& side, const QString& path) {
        if (side) {
            chip->setRun(shown(side->label), ranksText(side->ranks.size(), side->bundle->worldSize()), path);
        } else {
            chip->setRun(path.isEmpty() ? QString() : shown(QFileInfo(path).fileName().toStdString()), {}, path);
        }
    };
    const auto& comparison = m_session.comparison();
    const auto& logs = m_session.logs();
    m_shownControls->setVisible(!logs);
    refreshNoise();
    if (logs) {
        m_a->setRun(shown(logs->a.name), QString::fromStdString(logs->a.format), m_session.referencePath());
        m_b->setRun(shown(logs->b.name), QString::fromStdString(logs->b.format), m_session.candidatePath());
    } else if (comparison && comparison->structure().kept) {
        const auto& from = comparison->structure().kept->provenance();
        const auto path = [this](const compare::Origin& origin) {
            return tr("%1, in the portable comparison %2").arg(QString::fromStdString(origin.path.empty() ? origin.label : origin.path), m_session.referencePath());
        };
        show(m_a, m_session.reference(), path(from.a));
        show(m_b, m_session.candidate(), path(from.b));
    } else {
        show(m_a, m_session.reference(), m_session.referencePath());
        show(m_b, m_session.candidate(), m_session.candidatePath());
    }
    const QString noise = comparison && comparison->structure().noiseLabel ? shown(*comparison->structure().noiseLabel)
                                                                          : QFileInfo(m_session.noisePath()).fileName();
    m_noise->setRun(noise, {}, m_session.noisePath());
    if (noise.isEmpty()) {
        m_noise->setToolTip(tip(tr("A repeat of the reference measures the noise floor. Click to choose one.")));
    }
    m_swap->setEnabled(m_session.state() != Session::State::Empty && !m_session.isPortable());
}

void RunBar::refreshSteps()
{
    const QSignalBlocker block(m_step);
    const auto steps = m_session.steps();
    if (m_step->count() != static_cast<int>(steps.size()) || (!steps.empty() && m_step->itemData(0).toInt() != steps.front())
        || (!steps.empty() && m_step->itemData(m_step->count() - 1).toInt() != steps.back())) {
        m_step->clear();
        for (const int step : steps) {
            m_step->addItem(QString::number(step), step);
        }
    }
    m_step->setCurrentIndex(m_step->findData(m_session.selection().step));
    m_step->setToolTip(tip(tr("Compared steps: %1").arg(stepsText(steps))));
    m_step->setEnabled(steps.size() > 1);
    m_previous->setEnabled(m_step->currentIndex() > 0);
    m_next->setEnabled(m_step->currentIndex() >= 0 && m_step->currentIndex() + 1 < m_step->count());
}

void RunBar::refreshLanes()
{
    const QSignalBlocker block(m_lane);
    m_lane->clear();
    const auto& comparison = m_session.comparison();
    const auto pair = m_session.selection().pair;
    std::size_t lanes = 0;
    if (comparison && pair) {
        lanes = comparison->structure().alignment.pairs[*pair].lanes.size();
        if (lanes == 1) {
            m_lane->addItem(laneName(*comparison, *pair, 0), -1);
        } else if (lanes > 1) {
            m_lane->addItem(tr("worst"), -1);
            for (std::size_t i = 0; i < lanes; ++i) {
                m_lane->addItem(laneName(*comparison, *pair, i), static_cast<int>(i));
            }
        }
    }
    if (m_lane->count() == 0) {
        m_lane->addItem(QStringLiteral("–"), -1);
    }
    m_lane->setEnabled(lanes > 1);
    m_lane->setCurrentIndex(std::max(0, m_lane->findData(m_session.selection().lane)));
    m_lane->setToolTip(tip(lanes > 1 ? tr("Which rank's result of the selected pair is shown.")
                                     : tr("The selected pair has one result: one rank, or the whole assembled from all ranks.")));
}

void RunBar::showMenu(RunChip* chip)
{
    QMenu menu;
    menu.addAction(chip->role() == RunChip::Role::Reference ? tr("Open another reference…")
                       : chip->role() == RunChip::Role::Candidate ? tr("Open another candidate…")
                                                                  : tr("Open a repeat of the reference…"),
                   this, [this, chip] { emit openRequested(chip->role()); });
    if (chip->role() == RunChip::Role::Noise && !m_session.noisePath().isEmpty()) {
        menu.addAction(tr("Compare without the noise run"), this, &RunBar::noiseRemoved);
    }
    menu.exec(chip->mapToGlobal(QPoint(0, chip->height() + 2)));
}

} // namespace forkpoint::ui
