// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/curves/curves_view.h"

#include "ui/curves/curve_legend.h"
#include "ui/curves/curve_plot.h"
#include "ui/curves/curve_text.h"
#include "ui/models/caption.h"
#include "ui/models/pair_words.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

const QString kTag = QStringLiteral("curves");
constexpr int kSmoothingFrom = 560; ///< width
constexpr std::size_t kLong = 50'000; ///< points from which a series is made ready on a worker

/// The slider is linear in the logarithm of the averaged window, 1 to 1000 points: every part of it is useful.
double smoothingWindow(int slider)
{
    return std::pow(1000.0, slider / 100.0);
}

/// One line that gives way: an ellipsis where there is no room; the whole text is in its tooltip.
class OneLine : public QLabel {
public:
    using QLabel::QLabel;
    QSize minimumSizeHint() const override { return { 40, QLabel::minimumSizeHint().height() }; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setPen(palette().color(foregroundRole()));
        painter.drawText(
            rect(), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, fontMetrics().elidedText(text(), Qt::ElideRight, width()));
    }
};

} // namespace

CurvesView::CurvesView(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
{
    buildControls();
    connect(&session, &Session::structureChanged, this, &CurvesView::onStructureChanged);
    connect(&session, &Session::resultsChanged, this, &CurvesView::refresh);
    connect(&session, &Session::verdictReady, this, &CurvesView::refresh);
    connect(&session, &Session::stateChanged, this, &CurvesView::refresh);
    connect(&session, &Session::curveSelected, this, [this] {
        m_scalars->setCurrentIndex(static_cast<int>(m_session.curveIndex()));
        showScalar();
    });
    connect(&session, &Session::stepSelected, this, [this] {
        m_plot->setCursorStep(m_session.selection().step);
        m_plot->replot(QCustomPlot::rpQueuedReplot);
        updateReadout();
    });
    retranslate();
    onStructureChanged();
}

CurvesView::~CurvesView() = default;

void CurvesView::buildControls()
{
    m_scalars = new QComboBox(this);
    m_scalars->setObjectName(QStringLiteral("scalars"));
    m_scalars->setMaxVisibleItems(20);
    m_scalars->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_scalars->setMinimumContentsLength(10);
    m_definition = new OneLine(this);
    m_definition->setObjectName(QStringLiteral("definition"));
    m_definition->setTextFormat(Qt::PlainText);
    m_definition->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    const auto toggle = [this](const char* name) {
        auto* button = new QToolButton(this);
        button->setObjectName(QString::fromLatin1(name));
        button->setCheckable(true);
        connect(button, &QToolButton::toggled, this, &CurvesView::rebuild);
        return button;
    };
    m_logValues = toggle("logValues");
    m_logDifference = toggle("logDifference");
    m_smoothingTitle = new QLabel(this);
    m_smoothing = new QSlider(Qt::Horizontal, this);
    m_smoothing->setObjectName(QStringLiteral("smoothing"));
    m_smoothing->setRange(0, 100);
    m_smoothing->setPageStep(10);
    m_smoothing->setFixedWidth(84);
    m_smoothingTitle->setBuddy(m_smoothing);
    m_smoothingLabel = new QLabel(this);
    connect(m_smoothing, &QSlider::valueChanged, this, [this] {
        updateSmoothingLabel();
        rebuild();
    });
    m_fit = new QToolButton(this);
    m_fit->setObjectName(QStringLiteral("fit"));

    m_legend = new CurveLegend(this);
    m_plot = new CurvePlot(this);
    m_plot->setObjectName(QStringLiteral("plot"));
    m_plot->setMinimumHeight(110);
    m_notes = new QLabel(this);
    m_notes->setObjectName(QStringLiteral("notes"));
    m_notes->setTextFormat(Qt::PlainText);
    m_notes->setWordWrap(true);
    m_empty = new QLabel(this);
    m_empty->setTextFormat(Qt::PlainText);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_empty->setMargin(24);

    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_scalars);
    controls->addWidget(m_definition, 1);
    controls->addWidget(m_smoothingTitle);
    controls->addWidget(m_smoothing);
    controls->addWidget(m_smoothingLabel);
    controls->addSpacing(6);
    controls->addWidget(m_logValues);
    controls->addWidget(m_logDifference);
    controls->addWidget(m_fit);
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(10, 8, 10, 6);
    column->setSpacing(4);
    column->addLayout(controls);
    column->addWidget(m_legend);
    column->addWidget(m_plot, 1);
    column->addWidget(m_notes);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(page);
    m_pages->addWidget(m_empty);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(m_pages);
    // Roles, not colours: they follow the theme by themselves.
    for (auto* label : { m_definition, m_smoothingTitle, m_smoothingLabel, m_notes, m_empty }) {
        label->setForegroundRole(QPalette::PlaceholderText);
    }
    m_pages->setBackgroundRole(QPalette::Base);
    m_pages->setAutoFillBackground(true);
    setFocusProxy(m_plot);
    setTabOrder(m_scalars, m_smoothing);
    setTabOrder(m_smoothing, m_logValues);
    setTabOrder(m_logValues, m_logDifference);
    setTabOrder(m_logDifference, m_fit);
    setTabOrder(m_fit, m_plot);

    const auto action = [this](QWidget* owner, const QList<QKeySequence>& keys, Qt::ShortcutContext context, auto slot) {
        auto* made = new QAction(this);
        made->setShortcuts(keys);
        made->setShortcutContext(context);
        connect(made, &QAction::triggered, this, slot);
        owner->addAction(made);
        return made;
    };
    // On the plot alone: the slider and the list of scalars have arrows and Home of their own.
    m_previousAction = action(m_plot, { Qt::Key_Left }, Qt::WidgetShortcut, [this] { moveStep(-1); });
    m_nextAction = action(m_plot, { Qt::Key_Right }, Qt::WidgetShortcut, [this] { moveStep(1); });
    m_zoomInAction = action(m_plot, { Qt::Key_Plus, Qt::Key_Equal }, Qt::WidgetShortcut, [this] { m_plot->zoomSteps(0.7); });
    m_zoomOutAction = action(m_plot, { Qt::Key_Minus }, Qt::WidgetShortcut, [this] { m_plot->zoomSteps(1 / 0.7); });
    m_fitAction = action(m_plot, { Qt::Key_Home }, Qt::WidgetShortcut, [this] {
        m_plot->fit();
        m_plot->replot();
    });
    m_copyAction = action(this, { QKeySequence::Copy }, Qt::WidgetWithChildrenShortcut, [this] { copyPicture(); });
    m_plot->addAction(m_copyAction);
    m_plot->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(m_fit, &QToolButton::clicked, m_fitAction, &QAction::trigger);
    connect(m_scalars, &QComboBox::activated, this, [this] { m_session.selectCurve(m_scalars->currentData().toString()); });
    connect(m_plot, &CurvePlot::hovered, this, &CurvesView::onHovered);
    connect(m_plot, &CurvePlot::hoverLeft, this, [this] {
        m_crosshair.reset();
        m_plot->setCrosshair(std::nullopt);
        updateReadout();
    });
    connect(m_plot, &CurvePlot::stepClicked, &m_session, &Session::selectStep);
}

void CurvesView::retranslate()
{
    setAccessibleName(tr("Curves"));
    m_scalars->setAccessibleName(tr("Scalar"));
    m_logValues->setText(tr("log"));
    m_logValues->setToolTip(tr("Logarithmic axis for A and B. Values at or below zero cannot be shown on it; their number is told below."));
    m_logValues->setAccessibleName(tr("Logarithmic values"));
    m_logDifference->setText(tr("log |B - A|"));
    m_logDifference->setToolTip(tr("Logarithmic axis for the size of the difference. Steps with equal values cannot be shown on it."));
    m_logDifference->setAccessibleName(tr("Logarithmic difference"));
    m_smoothingTitle->setText(tr("smooth"));
    m_smoothing->setAccessibleName(tr("Smoothing"));
    m_fit->setText(tr("Fit"));
    m_fit->setToolTip(tr("Show all steps and values (Home, or a double click)"));
    m_plot->setAccessibleName(tr("Plot of A, B and B - A over the steps"));
    m_fitAction->setText(tr("Fit"));
    m_zoomInAction->setText(tr("Zoom in"));
    m_zoomOutAction->setText(tr("Zoom out"));
    m_copyAction->setText(tr("Copy picture of the curves"));
    updateSmoothingLabel();
    m_plot->setLocale(QLocale());
    m_plot->retranslate();
    updateStepActions();
    updateWords();
    updateEmpty();
    updateReadout();
}

void CurvesView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    // Smoothing gives way before words of the other controls are cut.
    for (QWidget* part : { static_cast<QWidget*>(m_smoothingTitle), static_cast<QWidget*>(m_smoothing), static_cast<QWidget*>(m_smoothingLabel) }) {
        part->setVisible(width() >= kSmoothingFrom);
    }
}

void CurvesView::applyTheme()
{
    m_plot->applyTheme();
    m_legend->setDifferenceColour(m_plot->differenceColour());
    m_plot->replot();
}

void CurvesView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    switch (event->type()) {
    case QEvent::PaletteChange:
    case QEvent::FontChange:
        applyTheme();
        break;
    case QEvent::LanguageChange:
    case QEvent::LocaleChange:
        retranslate();
        m_plot->replot();
        break;
    default:
        break;
    }
}

void CurvesView::onStructureChanged()
{
    m_session.jobs().cancel(kTag);
    m_curves.clear();
    m_crosshair.reset();
    m_fitPending = true;
    m_plot->setRecordedSteps(m_session.steps());
    m_plot->setCrosshair(std::nullopt);
    const auto names = runNames(m_session);
    m_legend->setRuns(names.first, names.second);
    updateStepActions();
    refresh();
}

void CurvesView::refresh()
{
    m_plot->setCursorStep(m_session.comparison() ? std::optional(m_session.selection().step) : std::nullopt);
    if (auto curves = m_session.overlays(); !curves.empty() && curves != m_curves) {
        m_curves = std::move(curves);
        m_plot->setRecordedSteps(m_session.steps());
        fillScalars();
        showScalar();
    }
    updateEmpty();
    updateReadout();
}

void CurvesView::fillScalars()
{
    const QSignalBlocker blocker(m_scalars);
    m_scalars->clear();
    for (const auto& curve : m_curves) {
        const QString name = QString::fromStdString(curve->name);
        m_scalars->addItem(name.size() > 80 ? name.left(60) + QStringLiteral("...") + name.right(16) : name, name);
    }
    m_scalars->setCurrentIndex(static_cast<int>(m_session.curveIndex()));
}

Session::Curve CurvesView::overlay() const
{
    const int index = m_scalars->currentIndex();
    return index >= 0 && static_cast<std::size_t>(index) < m_curves.size() ? m_curves[static_cast<std::size_t>(index)] : nullptr;
}

/// The same curve with what is known of two logs; null of recorded runs.
const curves::SeriesOverlay* CurvesView::logged() const
{
    return m_session.logs() && overlay() ? &m_session.logs()->overlays[static_cast<std::size_t>(m_scalars->currentIndex())] : nullptr;
}

QString CurvesView::scalar() const
{
    const auto curve = overlay();
    return curve ? QString::fromStdString(curve->name) : QString();
}

void CurvesView::showScalar()
{
    m_fitValuesPending = true;
    rebuild();
}

CurveOptions CurvesView::options() const
{
    CurveOptions options;
    options.smoothing = m_smoothing->value() == 0 ? 0 : 1 - 1 / smoothingWindow(m_smoothing->value());
    options.logValues = m_logValues->isChecked();
    options.logDifference = m_logDifference->isChecked();
    return options;
}

bool CurvesView::isBusy() const
{
    return m_session.jobs().isRunning(kTag);
}

void CurvesView::rebuild()
{
    const auto curve = overlay();
    if (!curve) {
        return;
    }
    const CurveOptions wanted = options();
    if (curve->a.size() + curve->b.size() < kLong) {
        m_session.jobs().cancel(kTag);
        take(plotted(*curve, wanted), wanted);
        return;
    }
    m_session.jobs().start<PlottedCurve>(
        kTag, QString(), this, [curve, wanted](Progress&, std::stop_token) { return plotted(*curve, wanted); },
        [this, wanted](PlottedCurve ready) { take(std::move(ready), wanted); });
}

void CurvesView::take(PlottedCurve ready, const CurveOptions& wanted)
{
    const auto curve = overlay();
    if (!curve) {
        return;
    }
    m_plot->setOnset(curve->onset);
    m_plot->setCurve(std::move(ready), QString::fromStdString(curve->name), wanted);
    m_legend->setDifferenceColour(m_plot->differenceColour());
    if (m_fitPending || (m_fitValuesPending && !m_plot->showsSteps())) {
        m_plot->fit();
    } else if (m_fitValuesPending) {
        m_plot->fitValues();
    }
    m_fitPending = m_fitValuesPending = false;
    updateWords();
    updateReadout();
    m_plot->replot();
}

void CurvesView::updateWords()
{
    const auto curve = overlay();
    if (!curve) {
        m_notes->hide();
        return;
    }
    QString tip;
    QStringList notes;
    if (const auto* log = logged()) {
        m_definition->setText(curveDefinition(*log, *m_session.logs()));
        tip = curveDefinitionToolTip(*log, *m_session.logs());
        notes = onsetNotes(*log, *m_session.logs());
    } else {
        const auto& alignment = m_session.comparison()->structure().alignment;
        m_definition->setText(curveDefinition(*curve, alignment));
        tip = curveDefinitionToolTip(*curve, alignment);
        if (m_curves.front()->name != "loss") {
            notes += tr("No loss was recorded, so there is no onset.");
        }
        notes += onsetNotes(*curve, m_plot->curve());
    }
    m_definition->setToolTip(tip);
    m_scalars->setToolTip(tip);
    notes += curveNotes(*curve, m_plot->curve(), options());
    m_notes->setText(notes.join(QStringLiteral("   ")));
    m_notes->setVisible(!notes.isEmpty());
}

void CurvesView::updateEmpty()
{
    QString text;
    switch (m_session.state()) {
    case Session::State::Empty:
        text = tr("Open two runs to see their curves.");
        break;
    case Session::State::Loading:
        text = tr("The curves appear when the runs are compared.");
        break;
    case Session::State::Partial:
        text = tr("The comparison was stopped before it came to the curves.");
        break;
    case Session::State::Failed:
        text = tr("There are no curves: the runs could not be compared.");
        break;
    case Session::State::Ready:
        text = tr("No scalars were recorded.\n\nThe recorder writes the loss of every step by itself when backward() runs; other numbers "
                  "are added in the "
                  "training script:\nrec.scalar(\"grad_norm\", value)\n\nTo record a run:\nforkpoint-cli record -o RUN -- COMMAND");
        break;
    }
    const bool curves = overlay() != nullptr;
    m_empty->setText(curves ? QString() : text);
    m_pages->setCurrentIndex(curves ? 0 : 1);
}

QString CurvesView::emptyText() const
{
    return m_empty->text();
}
QString CurvesView::notes() const
{
    return overlay() ? m_notes->text() : QString();
}

void CurvesView::updateReadout()
{
    const auto curve = overlay();
    if (!curve) {
        m_legend->setReadout(std::nullopt);
        return;
    }
    m_legend->setReadout(readoutAt(*curve, readStep()));
    m_plot->setAccessibleDescription(readout());
}

QString CurvesView::readout() const
{
    const auto& shown = m_legend->readout();
    return shown ? shown->text() : QString();
}

void CurvesView::updateSmoothingLabel()
{
    const double window = smoothingWindow(m_smoothing->value());
    const bool off = m_smoothing->value() == 0;
    m_smoothingLabel->setText(off ? tr("off") : tr("%1 points").arg(QLocale().toString(window, 'f', window < 10 ? 1 : 0)));
    // Room for the longest text: the controls must not jump under the mouse.
    m_smoothingLabel->setMinimumWidth(m_smoothingLabel->fontMetrics().horizontalAdvance(tr("%1 points").arg(1000)));
    m_smoothing->setToolTip(off
            ? tr("Moving average, off. The recorded line stays below it.")
            : tr("Exponential moving average, weight of the past %1. The recorded line stays below it; the readout is of "
                 "recorded values.")
                  .arg(QLocale().toString(1 - 1 / window, 'f', 3)));
}

/// Where no mouse is: the session's step; of logs, which select none, the onset or where they are furthest apart.
std::int32_t CurvesView::readStep() const
{
    if (m_crosshair) {
        return *m_crosshair;
    }
    const auto* log = logged();
    return log ? log->curve.onset.value_or(log->at.value_or(m_plot->curve().firstStep)) : m_session.selection().step;
}

void CurvesView::updateStepActions()
{
    m_previousAction->setText(m_session.logs() ? tr("Previous step") : tr("Previous recorded step"));
    m_nextAction->setText(m_session.logs() ? tr("Next step") : tr("Next recorded step"));
}

void CurvesView::moveStep(int direction)
{
    if (m_session.logs()) {
        const auto curve = overlay();
        if (const auto step = curve ? neighbourStep(*curve, readStep(), direction) : std::nullopt) {
            showCrosshair(*step);
        }
        return;
    }
    const auto steps = m_session.steps();
    const int now = m_session.selection().step;
    std::optional<int> best;
    for (const int step : steps) {
        if ((step - now) * direction > 0 && (!best || (step - *best) * direction < 0)) {
            best = step;
        }
    }
    if (best) {
        m_session.selectStep(*best);
    }
}

void CurvesView::onHovered(double step)
{
    const auto curve = overlay();
    if (!curve) {
        return;
    }
    if (const auto nearest = nearestStep(*curve, step)) {
        showCrosshair(*nearest);
    }
}

void CurvesView::showCrosshair(std::int32_t step)
{
    const auto curve = overlay();
    m_crosshair = step;
    m_plot->setCrosshair(step, valueAt(curve->a, step), valueAt(curve->b, step));
    updateReadout();
}

QString CurvesView::caption() const
{
    const auto curve = overlay();
    if (!curve) {
        return {};
    }
    QStringList about { shown(curve->name) };
    if (m_smoothing->value() > 0) {
        about += tr("smoothed over %1").arg(m_smoothingLabel->text());
    }
    return captionText(m_session, about);
}

QImage CurvesView::picture() { return withCaption(grab().toImage(), caption()); }

void CurvesView::copyPicture()
{
    if (overlay()) {
        QGuiApplication::clipboard()->setImage(picture());
    }
}

} // namespace forkpoint::ui
