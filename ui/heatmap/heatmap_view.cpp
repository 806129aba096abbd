// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/heatmap_view.h"

#include "ui/heatmap/element_panel.h"
#include "ui/heatmap/heatmap_bar.h"
#include "ui/heatmap/heatmap_title.h"
#include "ui/heatmap/heatmap_words.h"
#include "ui/heatmap/picture_parts.h"
#include "ui/heatmap/profile_plot.h"
#include "ui/heatmap/range_bar.h"
#include "ui/heatmap/slice_bar.h"
#include "ui/models/detail_rows.h"
#include "ui/models/caption.h"
#include "ui/models/pair_words.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <limits>

namespace forkpoint::ui {

using heatmap::Cell;
using heatmap::Mode;

namespace {

constexpr int kPatience = 120; ///< milliseconds

QString freshTag()
{
    static int count = 0;
    return QStringLiteral("heatmap-%1").arg(++count);
}

bool isSide(Mode mode) { return mode == Mode::A || mode == Mode::B; }

} // namespace

HeatmapView::HeatmapView(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_tag(freshTag())
{
    buildParts();
    buildLayout();
    buildActions();
    m_patience.setSingleShot(true);
    m_patience.setInterval(kPatience);
    connect(&m_patience, &QTimer::timeout, this, [this] {
        if (m_reading) {
            showEmpty(tr("Reading…"));
            updateTitle();
        }
    });
    connect(&session, &Session::structureChanged, this, [this] {
        stopReading();
        m_tensors.reset();
        m_picture.reset();
        m_wanted.reset();
        m_memory.clear();
        m_ranges.clear();
        follow();
    });
    connect(&session, &Session::stateChanged, this, &HeatmapView::follow);
    connect(&session, &Session::resultsChanged, this, &HeatmapView::follow);
    connect(&session, &Session::verdictReady, this, &HeatmapView::follow);
    connect(&session, &Session::pairSelected, this, &HeatmapView::follow);
    connect(&session, &Session::laneSelected, this, &HeatmapView::follow);
    connect(&session, &Session::elementPinned, this, &HeatmapView::followPin);
    connect(&session.jobs(), &JobRunner::finished, this, [this](const QString& tag) {
        if (tag == m_tag && m_reading && !m_starting) { // cancelled from outside
            m_reading = false;
            m_patience.stop();
            showEmpty(whyUnreadable({ ErrorCode::Cancelled, {}, {} }), true);
        }
    });
    m_bar->setMode(m_mode);
    retranslate();
    follow();
}

HeatmapView::~HeatmapView()
{
    disconnect(&m_session.jobs(), nullptr, this, nullptr);
    for (const char* job : { "", "-histogram", "-hover", "-pin", "-profile", "-worst" }) {
        m_session.jobs().cancel(m_tag + QLatin1String(job));
    }
}

bool HeatmapView::isBusy() const
{
    const auto running = [this](const char* job) { return m_session.jobs().isRunning(m_tag + QLatin1String(job)); };
    return m_reading || running("-histogram") || running("-worst") || running("-hover") || running("-pin") || running("-profile")
        || (m_pages->currentIndex() == 0 && m_canvas->isVisible() && m_canvas->isBusy());
}

// --- which tensor ---

QString HeatmapView::tensorKey(std::size_t pair, std::size_t lane) const
{
    auto key = m_session.comparison()->structure().alignment.pairs[pair].key;
    key.step = 0; // the same tensor in every step
    return QStringLiteral("%1@%2").arg(QString::fromStdString(align::pairId(key))).arg(lane);
}

void HeatmapView::follow()
{
    const QString why = whyNothing(m_session);
    if (!why.isEmpty()) {
        stopReading();
        remember();
        m_picture.reset();
        m_wanted.reset();
        m_canvas->setPyramid(nullptr);
        showEmpty(why);
        updateTitle();
        return;
    }
    const auto& comparison = *m_session.comparison();
    const std::size_t pair = *m_session.selection().pair;
    const auto& lanes = comparison.structure().alignment.pairs[pair].lanes;
    const int chosen = m_session.selection().lane;
    const std::size_t lane = std::min(chosen >= 0 ? static_cast<std::size_t>(chosen) : comparison.result(pair).worst, lanes.size() - 1);
    const Wanted wanted { pair, lane };
    if (m_wanted == wanted) {
        return; // shown, being read, or failed: pairs have results as they come
    }
    if (!m_tensors || &m_tensors->comparison().structure() != &comparison.structure()) {
        m_tensors = std::make_shared<const PairTensors>(comparison);
    }
    remember();
    m_wanted = wanted;
    const auto known = m_memory.constFind(tensorKey(pair, lane));
    read(known == m_memory.constEnd() ? std::nullopt : std::optional(known->axes), false);
}

void HeatmapView::remember()
{
    if (m_picture && m_session.comparison() && m_tensors == m_picture->tensors) {
        m_memory[tensorKey(m_picture->pair, m_picture->lane)] = { m_picture->pyramid->slice().axes(), m_canvas->canvasView() };
    }
}

void HeatmapView::stopReading()
{
    m_reading = false;
    m_patience.stop();
    for (const char* job : { "", "-histogram", "-hover", "-pin", "-profile", "-worst" }) {
        m_session.jobs().cancel(m_tag + QLatin1String(job));
    }
}

std::vector<Mode> HeatmapView::missingHistograms(Mode mode) const
{
    std::vector<Mode> out;
    for (const auto needed : isSide(mode) ? std::vector<Mode> { Mode::A, Mode::B } : std::vector<Mode> { mode }) {
        if (!m_picture || !m_picture->histograms.contains(needed)) {
            out.push_back(needed);
        }
    }
    return out;
}

void HeatmapView::read(std::optional<heatmap::SliceAxes> axes, bool sameTensor)
{
    PictureRequest request;
    request.tensors = m_tensors;
    request.pair = m_wanted->pair;
    request.lane = m_wanted->lane;
    request.axes = std::move(axes);
    if (sameTensor && m_picture) {
        request.sources = m_picture->sources;
    }
    request.modes = isSide(seenMode()) ? std::vector<Mode> { Mode::A, Mode::B } : std::vector<Mode> { seenMode() };
    m_starting = true;
    stopReading();
    m_reading = true;
    m_session.jobs().start<Result<PairPicture>>(
        m_tag, tr("Reading %1").arg(tensorName(m_tensors->comparison().structure().alignment.pairs[request.pair].key)), this,
        [request](Progress& progress, std::stop_token stop) { return loadPicture(request, progress, stop); },
        [this](Result<PairPicture> picture) {
            m_reading = false;
            m_patience.stop();
            if (picture) {
                receive(std::move(*picture));
            } else {
                m_picture.reset();
                m_canvas->setPyramid(nullptr);
                showEmpty(whyUnreadable(picture.error()), true);
                updateTitle();
            }
        });
    m_starting = false;
    m_patience.start();
}

void HeatmapView::receive(PairPicture picture)
{
    const bool sameTensor = m_picture && m_picture->tensors == picture.tensors && m_picture->pair == picture.pair && m_picture->lane == picture.lane;
    m_picture = std::move(picture);
    const QString key = tensorKey(m_picture->pair, m_picture->lane);
    m_ranges.setTensor(key);
    m_elements->setHovered(std::nullopt);
    m_canvas->setPyramid(m_picture->pyramid);
    if (!sameTensor) {
        const auto known = m_memory.constFind(key);
        m_canvas->setCanvasView(known == m_memory.constEnd() ? CanvasView {} : known->view);
    }
    m_slice->setTensor(m_picture->shape, m_picture->pyramid->slice().axes());
    m_bar->retranslate(m_picture->pyramid->options());
    m_canvas->setPinned(std::nullopt);
    m_elements->setPinned(std::nullopt);
    m_elements->setLargest(std::nullopt);
    m_elements->setEqual(m_picture->equal);
    m_canvas->setLargest(m_picture->largest);
    if (m_picture->largest) {
        readElement(*m_picture->largest, Reading::Largest);
    }
    m_slice->setVisible(m_picture->pyramid->readable()); // an overview cannot be cut otherwise
    arrange();
    updateParts();
    showPicture();
    followPin();
    updateProfile();
}

void HeatmapView::showEmpty(const QString& text, bool again)
{
    m_empty->setText(text);
    m_again->setVisible(again);
    m_pages->setCurrentIndex(1);
}

// --- how it is seen ---

Mode HeatmapView::seenMode() const
{
    return !m_flipped ? m_mode : m_mode == Mode::A ? Mode::B : m_mode == Mode::B ? Mode::A : m_flipSide;
}

void HeatmapView::setMode(Mode mode)
{
    m_mode = mode;
    m_flipped = m_held = false;
    m_bar->setMode(mode);
    m_bar->flip()->setChecked(false);
    showPicture();
}

void HeatmapView::setFlipped(bool flipped)
{
    if (flipped == m_flipped) {
        return;
    }
    m_flipped = flipped;
    if (flipped && !isSide(m_mode)) {
        m_flipSide = m_flipSide == Mode::A ? Mode::B : Mode::A;
    }
    m_bar->flip()->setChecked(flipped);
    showPicture();
}

heatmap::ColourMap HeatmapView::colourMap(Mode mode) const
{
    return mode == Mode::Difference ? m_differenceMap : isSide(mode) || !heatmap::isDiverging(m_map) ? m_map : heatmap::ColourMap::Viridis;
}

QString HeatmapView::sliceKey() const { return axesText(m_picture->shape, m_picture->pyramid->slice().axes()); }

bool HeatmapView::fitRange(Mode mode)
{
    if (!m_picture || !missingHistograms(mode).empty()) {
        return false;
    }
    const auto& all = m_picture->histograms;
    const bool symmetric = heatmap::isDiverging(colourMap(mode)) && mode != Mode::OverTolerance;
    m_ranges.fit(mode, isSide(mode) ? heatmap::joined(*all.at(Mode::A), *all.at(Mode::B)) : *all.at(mode), sliceKey(), symmetric);
    return true;
}

void HeatmapView::showPicture()
{
    const Mode mode = seenMode();
    m_bar->setColourMap(colourMap(mode), isSide(mode) || mode == Mode::Difference);
    m_bar->setColoured(mode != Mode::OverTolerance);
    m_bar->setLog(m_ranges.isLog(mode), mode != Mode::OverTolerance);
    updateTitle();
    if (!m_picture || m_reading) {
        return;
    }
    auto missing = missingHistograms(mode);
    if (!m_ranges.range(mode, sliceKey()) && !fitRange(mode)) {
        readHistograms(std::move(missing)); // until then the old picture stays
        return;
    }
    heatmap::Style style;
    style.mode = mode;
    style.map = colourMap(mode);
    style.normalisation = m_ranges.range(mode, sliceKey())->normalisation;
    style.special = heatmap::specialColours(style.map);
    if (mode == Mode::OverTolerance) { // NaN and infinities are over it, and counted there
        style.special = { style.classes.over, style.classes.over, style.classes.over };
    }
    m_canvas->setLook(style);
    updateParts();
    showRange();
    m_pages->setCurrentIndex(0);
    updateTitle(); // says what is shown only if it is
    if (missing.empty()) {
        missing = missingHistograms(Mode::A); // so that flipping does not wait
    }
    if (!missing.empty()) {
        readHistograms(std::move(missing));
    }
}

void HeatmapView::showRange()
{
    const Mode mode = m_canvas->look().mode;
    const auto kept = m_ranges.range(mode, sliceKey());
    m_range->setColours(m_canvas->look().map, m_canvas->look().special);
    const auto known = m_picture->histograms.find(mode);
    m_range->setHistogram(known == m_picture->histograms.end() ? nullptr : known->second);
    m_range->setRange(kept->normalisation);
    m_range->setPartial(kept->marked);
}

void HeatmapView::readHistograms(std::vector<Mode> modes)
{
    m_session.jobs().start<Result<Histograms>>(
        m_tag + QStringLiteral("-histogram"), QString(), this,
        [pyramid = m_picture->pyramid, modes = std::move(modes)](Progress& progress, std::stop_token stop) { return loadHistograms(*pyramid, modes, &progress, stop); },
        [this, pyramid = m_picture->pyramid](Result<Histograms> made) {
            if (!m_picture || m_picture->pyramid != pyramid) {
                return;
            }
            if (!made) {
                showEmpty(whyUnreadable(made.error()), true);
                return;
            }
            m_picture->histograms.merge(*made);
            showPicture();
        });
}

void HeatmapView::moveRange(heatmap::ValueRange range)
{
    if (m_picture && range.low < range.high) {
        m_ranges.set(seenMode(), range);
        showPicture();
    }
}

void HeatmapView::updateTitle()
{
    const auto& comparison = m_session.comparison();
    const auto selected = m_session.selection().pair;
    // While another tensor is read, the picture and its title go together.
    const bool shown = m_picture && m_pages->currentIndex() == 0;
    const auto index = shown ? std::optional(m_picture->pair) : selected;
    if (!comparison || !index || *index >= comparison->pairs()) {
        m_title->setTexts(tr("Heatmap"), QString(), QString());
        m_title->setSide(HeatmapTitle::Side::Both, QString());
        return;
    }
    const auto& structure = comparison->structure();
    const auto& pair = structure.alignment.pairs[*index];
    QStringList details { tr("%1, %2", "phase, kind").arg(phaseWord(pair.key.phase), kindWord(pair.key.kind)), shapeText(pair), dtypeText(pair),
        tr("step %1").arg(pair.key.step) };
    QString definition;
    if (shown) {
        if (pair.lanes.size() > 1 || !pair.assembly.empty()) {
            details += laneName(*comparison, *index, m_picture->lane);
        }
        if (m_picture->sources.ofUpdate) {
            details.prepend(tr("update"));
            definition = tr("What the step did to the parameter: after − start. The pair's numbers are of it too.");
        }
        if (!m_picture->pyramid->readable()) {
            const auto& level = m_picture->pyramid->level(m_picture->pyramid->firstStoredLevel());
            const QString cell = tr("%1 × %2", "rows, columns of elements").arg(std::int64_t { 1 } << level.rowShift).arg(std::int64_t { 1 } << level.columnShift);
            details.prepend(tr("overview, a cell is %1 elements").arg(cell));
            definition += (definition.isEmpty() ? QString() : QStringLiteral("\n"))
                + tr("The portable comparison holds an overview of this tensor: a cell stands for %1 elements and shows the most extreme of them. Open the two runs to "
                     "see single elements.")
                      .arg(cell);
        }
        const QString axes = axesText(m_picture->shape, m_picture->pyramid->slice().axes());
        definition += (definition.isEmpty() ? QString() : QStringLiteral("\n")) + axes;
    }
    m_title->setTexts(tensorName(pair.key), details.join(QStringLiteral(" · ")), definition);
    const Mode mode = seenMode();
    const auto& runs = structure.alignment;
    if (!shown) {
        m_title->setSide(HeatmapTitle::Side::Both, QString());
    } else if (mode == Mode::A) {
        m_title->setSide(HeatmapTitle::Side::A, tr("A %1").arg(ui::shown(runs.a.label)));
    } else if (mode == Mode::B) {
        m_title->setSide(HeatmapTitle::Side::B, tr("B %1").arg(ui::shown(runs.b.label)));
    } else {
        m_title->setSide(HeatmapTitle::Side::Both, modeName(mode));
    }
}

QString HeatmapView::title() const { return m_title->text(); }

void HeatmapView::updateParts()
{
    if (!m_picture) {
        m_canvas->setParts({});
        return;
    }
    const Mode mode = m_canvas->look().mode;
    const auto& slice = m_picture->pyramid->slice();
    std::vector<PartLines> parts;
    if (mode != Mode::B) {
        parts = partLines(m_picture->alignedLane().a, slice, false);
    }
    if (mode != Mode::A) {
        auto more = partLines(m_picture->alignedLane().b, slice, true);
        parts.insert(parts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    m_canvas->setParts(std::move(parts));
}

// --- elements ---

void HeatmapView::pin(Cell cell, bool reveal)
{
    m_pinIsOurs = !reveal;
    m_session.pinElement(m_picture->pyramid->slice().indexAt(cell));
    m_pinIsOurs = false;
    if (reveal) {
        m_canvas->reveal(cell);
    }
}

void HeatmapView::followPin()
{
    if (!m_picture || m_reading) {
        return; // receive() looks again
    }
    const auto& index = m_session.selection().element;
    const auto& slice = m_picture->pyramid->slice();
    if (!index) {
        m_canvas->setPinned(std::nullopt);
        m_session.jobs().cancel(m_tag + QStringLiteral("-pin"));
        m_elements->setPinned(std::nullopt);
        updateProfile();
        return;
    }
    const auto cell = slice.cellOf(*index);
    if (cell) {
        m_canvas->setPinned(cell);
        if (!m_pinIsOurs) {
            m_canvas->reveal(*cell);
        }
        readElement(*cell, Reading::Pinned);
        updateProfile();
        return;
    }
    bool inside = index->size() == slice.shape().size();
    for (std::size_t dim = 0; inside && dim < index->size(); ++dim) {
        inside = (*index)[dim] >= 0 && (*index)[dim] < slice.shape()[dim];
    }
    if (inside) { // on another slice
        auto axes = slice.axes();
        axes.fixed = *index;
        read(axes, true);
    }
}

void HeatmapView::movePin(int rows, int columns)
{
    if (!m_picture || m_reading) {
        return;
    }
    const auto& slice = m_picture->pyramid->slice();
    Cell cell;
    if (const auto pinned = m_canvas->pinned() ? m_canvas->pinned() : m_picture->largest) {
        cell = { pinned->row + rows, pinned->column + columns };
        if (slice.folded() && columns != 0 && (cell.column < 0 || cell.column >= slice.columns())) { // a line goes on in the next row
            cell = { pinned->row + columns, columns > 0 ? 0 : slice.columns() - 1 };
        }
    } else {
        const auto view = m_canvas->canvasView();
        cell = { std::clamp<std::int64_t>(static_cast<std::int64_t>(view.row), 0, slice.rows() - 1),
            std::clamp<std::int64_t>(static_cast<std::int64_t>(view.column), 0, slice.columns() - 1) };
    }
    if (slice.contains(cell)) {
        pin(cell, true);
    }
}

void HeatmapView::readElement(Cell cell, Reading reading)
{
    if (!m_picture->pyramid->readable()) {
        return;
    }
    m_session.jobs().start<Result<heatmap::PickedElement>>(
        m_tag + QLatin1String(reading == Reading::Pinned ? "-pin" : reading == Reading::Largest ? "-largest" : "-hover"), QString(), this,
        [pyramid = m_picture->pyramid, cell](Progress&, std::stop_token) { return pyramid->element(cell); },
        [this, reading, pyramid = m_picture->pyramid](Result<heatmap::PickedElement> element) {
            if (!m_picture || m_picture->pyramid != pyramid) {
                return;
            }
            if (!element) {
                showEmpty(whyUnreadable(element.error()), true);
                return;
            }
            const auto& lane = m_picture->alignedLane();
            auto words = elementWords(*element, pyramid->dtypeA(), pyramid->dtypeB(), placeOf(lane.a, element->index), placeOf(lane.b, element->index));
            switch (reading) {
            case Reading::Pinned:
                m_elements->setPinned(std::move(words));
                break;
            case Reading::Largest:
                m_elements->setLargest(std::move(words));
                break;
            case Reading::Hovered:
                m_elements->setHovered(std::move(words));
                break;
            }
        });
}

void HeatmapView::goToWorst()
{
    if (!m_picture || m_reading) {
        return;
    }
    m_session.jobs().start<Result<std::optional<Cell>>>(
        m_tag + QStringLiteral("-worst"), QString(), this,
        [pyramid = m_picture->pyramid, mode = seenMode()](Progress&, std::stop_token) { return pyramid->largest(mode); },
        [this, pyramid = m_picture->pyramid](Result<std::optional<Cell>> cell) {
            if (cell && *cell && m_picture && m_picture->pyramid == pyramid) {
                pin(**cell, true);
            }
        });
}

void HeatmapView::fit() { m_canvas->fit(); }

void HeatmapView::goToIndex()
{
    if (!m_picture || m_pages->currentIndex() != 0) {
        return;
    }
    m_goToProblem->setText(tr("of %1").arg(shapeText(m_picture->shape)));
    m_goTo->show();
    m_goToField->selectAll();
    m_goToField->setFocus();
}

void HeatmapView::closeGoTo()
{
    m_goTo->hide();
    m_canvas->setFocus();
}

void HeatmapView::takeGoTo()
{
    if (!m_picture) {
        return;
    }
    QString problem;
    const auto index = indexFromText(m_goToField->text(), m_picture->shape, problem);
    if (!index) {
        m_goToProblem->setText(problem);
        return;
    }
    closeGoTo();
    m_session.pinElement(index);
    if (const auto cell = m_picture->pyramid->slice().cellOf(*index)) {
        m_canvas->reveal(*cell, true);
    }
}

// --- profile ---

void HeatmapView::setProfileOf(ProfileOf profile)
{
    m_profileOf = profile;
    m_profileActions[static_cast<int>(profile)]->setChecked(true);
    arrange();
    updateProfile();
}

void HeatmapView::updateProfile()
{
    const auto cell = m_canvas->hovered() && !m_reading ? m_canvas->hovered() : m_canvas->pinned() ? m_canvas->pinned() : m_picture ? m_picture->largest : std::nullopt;
    const QString tag = m_tag + QStringLiteral("-profile");
    if (!m_picture || m_reading || m_profile->isHidden() || !cell) {
        m_session.jobs().cancel(tag);
        m_profile->setProfile({});
        m_profile->setMarker(std::numeric_limits<double>::quiet_NaN());
        return;
    }
    const bool column = m_profileOf == ProfileOf::Column;
    m_session.jobs().start<Result<Profile>>(
        tag, QString(), this, [pyramid = m_picture->pyramid, at = *cell, column](Progress&, std::stop_token stop) { return loadProfile(*pyramid, at, column, stop); },
        [this, at = *cell, column](Result<Profile> profile) {
            if (profile) {
                m_profile->setProfile(std::move(*profile));
                m_profile->setMarker(static_cast<double>(column ? at.row : at.column));
                placeProfile();
            }
        });
}

void HeatmapView::placeProfile()
{
    const auto& view = m_canvas->viewport();
    const double scale = m_canvas->devicePixelRatioF();
    if (m_profileOf == ProfileOf::Column) {
        m_profile->setView(view.top, view.rowsPerPixel * scale, 0);
    } else {
        m_profile->setView(view.left, view.columnsPerPixel * scale, 0);
    }
}

// --- keys, words, pictures ---

void HeatmapView::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Space && event->modifiers() == Qt::NoModifier) {
        if (!event->isAutoRepeat() && !m_held && m_picture) {
            m_held = true;
            setFlipped(!m_flipped);
        }
        event->accept();
        return;
    }
    QWidget::keyPressEvent(event);
}

void HeatmapView::keyReleaseEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Space) {
        if (!event->isAutoRepeat()) {
            endHold();
        }
        event->accept();
        return;
    }
    QWidget::keyReleaseEvent(event);
}

void HeatmapView::endHold()
{
    if (m_held) {
        m_held = false;
        setFlipped(!m_flipped);
    }
}

bool HeatmapView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_canvas && event->type() == QEvent::FocusOut) {
        endHold(); // the release will go elsewhere
        m_canvas->update();
    }
    if (watched == m_goToField && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        closeGoTo();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void HeatmapView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    const bool hadProfile = !m_profile->isHidden();
    arrange();
    if (hadProfile == m_profile->isHidden()) {
        updateProfile();
    }
}

void HeatmapView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    switch (event->type()) {
    case QEvent::PaletteChange:
        update();
        break;
    case QEvent::LanguageChange:
    case QEvent::LocaleChange:
        retranslate();
        if (m_pages->currentIndex() == 1 && !m_reading && !m_again->isVisible()) {
            showEmpty(whyNothing(m_session));
        }
        break;
    default:
        break;
    }
}

QString HeatmapView::emptyText() const { return m_pages->currentIndex() == 1 ? m_empty->text() : QString(); }

QString HeatmapView::caption() const
{
    if (!m_picture || m_pages->currentIndex() != 0) {
        return {};
    }
    const auto& look = m_canvas->look();
    const auto& options = m_picture->pyramid->options();
    return captionText(m_session, { fullName(m_picture->alignedPair().key), axesText(m_picture->shape, m_picture->pyramid->slice().axes()), modeName(look.mode),
                                      look.mode == Mode::OverTolerance ? tr("rtol %1, atol %2").arg(number(options.rtol), number(options.atol))
                                                                       : tr("%1, %2", "colour map, range").arg(colourMapWord(look.map), rangeText(look.normalisation)) });
}

QImage HeatmapView::picture() { return withCaption(grab().toImage(), caption()); }

void HeatmapView::copyPicture()
{
    if (m_picture && m_pages->currentIndex() == 0) {
        QGuiApplication::clipboard()->setImage(picture());
    }
}

void HeatmapView::copyRange() { QGuiApplication::clipboard()->setText(rangeToText(m_range->range().range)); }

void HeatmapView::pasteRange()
{
    if (const auto range = rangeFromText(QGuiApplication::clipboard()->text())) {
        moveRange(*range);
    }
}

} // namespace forkpoint::ui
