// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_view.h"

#include "ui/graph/breadcrumbs.h"
#include "ui/graph/graph_legend.h"
#include "ui/graph/graph_minimap.h"
#include "ui/graph/graph_words.h"
#include "ui/graph/phase_switch.h"
#include "ui/models/caption.h"
#include "ui/models/pair_words.h"

#include <QAccessible>
#include <QAction>
#include <QBoxLayout>
#include <QClipboard>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QRegularExpression>
#include <QShortcut>
#include <QStyle>
#include <QToolButton>

#include <algorithm>

namespace forkpoint::ui {

using graph::NodeId;
using graph::UnionGraph;

namespace {

constexpr int kGatherResults = 40; ///< milliseconds
constexpr int kMinimapRoom = 126;
constexpr int kMinimapFrom = 600; ///< canvas width
constexpr int kBesidePhases = 330; ///< what else the header needs
constexpr int kListedNeighbours = 20;

QString freshTag()
{
    static int count = 0;
    return QStringLiteral("graph-%1").arg(++count);
}

/// A tool button with a drawn sign, in the theme's colours of the moment.
class SignButton : public QToolButton {
public:
    enum Sign { Fit, Fork, Collapse, Map };
    SignButton(Sign sign, const QString& name, const QString& tipText)
        : m_sign(sign)
    {
        setAccessibleName(name);
        setToolTip(tip(name, tipText));
        setFixedSize(28, 26);
    }

protected:
    void paintEvent(QPaintEvent* event) override
    {
        QToolButton::paintEvent(event);
        const auto& theme = Theme::current();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(isEnabled() ? theme.text : theme.border, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.translate(width() / 2.0 - 7, height() / 2.0 - 7); // a field of 14
        const auto lines = [&painter](std::initializer_list<QPointF> points) { painter.drawPolyline(points.begin(), static_cast<int>(points.size())); };
        switch (m_sign) {
        case Fit:
            lines({ { 1, 5 }, { 1, 1 }, { 5, 1 } });
            lines({ { 9, 1 }, { 13, 1 }, { 13, 5 } });
            lines({ { 13, 9 }, { 13, 13 }, { 9, 13 } });
            lines({ { 5, 13 }, { 1, 13 }, { 1, 9 } });
            break;
        case Fork:
            lines({ { 7, 1 }, { 7, 5 }, { 3, 9 }, { 3, 13 } });
            painter.setPen(QPen(isEnabled() ? theme.strong(diagnose::Severity::Divergent) : theme.border, 1.6, Qt::SolidLine, Qt::RoundCap));
            lines({ { 7, 5 }, { 11, 9 }, { 11, 13 } });
            break;
        case Collapse:
            lines({ { 3, 1 }, { 7, 5 }, { 11, 1 } });
            lines({ { 3, 13 }, { 7, 9 }, { 11, 13 } });
            break;
        case Map:
            painter.drawRoundedRect(QRectF(0.5, 1.5, 13, 11), 1.5, 1.5);
            painter.drawRect(QRectF(7, 4, 4, 4));
            break;
        }
    }

private:
    Sign m_sign;
};

QString menuText(QString name)
{
    constexpr qsizetype kLongest = 80;
    if (name.size() > kLongest) {
        name = name.left(kLongest / 2) + QStringLiteral("…") + name.right(kLongest / 2);
    }
    return name.replace(QLatin1Char('&'), QStringLiteral("&&"));
}

} // namespace

/// What a layout job hands over.
struct GraphView::Built {
    std::shared_ptr<const GraphScene> scene;
    std::optional<Error> error;
    Wish wish;
};

GraphView::GraphView(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_tag(freshTag())
    , m_canvas(new GraphCanvas)
    , m_minimap(new GraphMinimap(*m_canvas))
    , m_legend(new GraphLegend)
    , m_crumbs(new Breadcrumbs)
    , m_phases(new PhaseSwitch)
    , m_search(new QLineEdit)
    , m_count(new QLabel)
{
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    buildHeader(*rows);
    rows->addWidget(m_canvas, 1);
    rows->addWidget(m_legend);

    auto* copy = new QAction(tr("Copy picture of the graph"), this);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(copy, &QAction::triggered, this, [this] { QGuiApplication::clipboard()->setImage(picture()); });
    addAction(copy);

    m_recolour.setSingleShot(true);
    m_recolour.setInterval(kGatherResults);
    connect(&m_recolour, &QTimer::timeout, this, &GraphView::recolour);
    connect(m_canvas, &GraphCanvas::nodeClicked, this, &GraphView::select);
    connect(m_canvas, &GraphCanvas::nodeReached, this, [this](NodeId node) {
        select(node);
        m_canvas->reveal(node);
    });
    connect(m_canvas, &GraphCanvas::toggleRequested, this, [this](NodeId node) {
        if (m_wanted && m_graph && m_graph->isGroup(node)) {
            expand(node, !m_wanted->contains(node));
        }
    });
    connect(m_canvas, &GraphCanvas::menuRequested, this, &GraphView::showMenu);
    m_canvas->setTipOf(
        [this](NodeId node) { return nodeTip(*m_graph, node, m_canvas->marks().nodes[node], m_session.colourBy()); },
        [this](const std::vector<graph::EdgeId>& edges) { return m_session.comparison() ? edgeTip(*m_graph, *m_session.comparison(), edges) : QString(); });

    connect(&session, &Session::structureChanged, this, &GraphView::followPhase);
    connect(&session, &Session::structureChanged, this, &GraphView::followComparison);
    connect(&session, &Session::stateChanged, this, &GraphView::refreshMessage);
    connect(&session, &Session::resultsChanged, this, &GraphView::followResults);
    connect(&session, &Session::verdictReady, this, &GraphView::followResults);
    connect(&session, &Session::pairSelected, this, &GraphView::followPair);
    connect(&session, &Session::pairSelected, this, [this] {
        if (!m_selecting) { // a click in the graph selects by the phase that is shown
            followPhase();
        }
    });
    connect(&session, &Session::stepSelected, this, &GraphView::followStep);
    connect(&session, &Session::gateSelected, this, &GraphView::followPhase);
    connect(m_phases, &PhaseSwitch::chosen, this, &GraphView::showPhase);
    connect(&session, &Session::colourByChanged, this, &GraphView::recolour);
    followComparison();
}

GraphView::~GraphView() { m_session.jobs().cancel(m_tag); }

void GraphView::buildHeader(QBoxLayout& rows)
{
    auto* header = new QWidget;
    auto* layout = new QHBoxLayout(header);
    layout->setContentsMargins(10, 5, 8, 5);
    layout->setSpacing(6);
    auto* title = new QLabel(tr("Graph"));
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    layout->addWidget(title);
    layout->addWidget(m_crumbs, 3);
    connect(m_crumbs, &Breadcrumbs::clicked, this, [this](NodeId node) {
        select(node);
        m_canvas->reveal(node);
    });

    layout->addWidget(m_phases);
    m_search->setPlaceholderText(tr("Search  Ctrl+F"));
    m_search->setToolTip(tip(tr("Part of a name or class, or a regular expression between slashes. Enter: next, Shift+Enter: previous, Esc: clear.")));
    m_search->setAccessibleName(tr("Search in the graph"));
    m_search->setMinimumWidth(90);
    m_search->setMaximumWidth(180);
    m_count->setTextFormat(Qt::PlainText);
    m_count->setContentsMargins(0, 0, 6, 0);
    auto* inside = new QHBoxLayout(m_search);
    inside->setContentsMargins(0, 0, 2, 0);
    inside->addStretch();
    inside->addWidget(m_count);
    m_count->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_count->setForegroundRole(QPalette::PlaceholderText);
    layout->addWidget(m_search, 2);
    connect(m_search, &QLineEdit::textChanged, this, &GraphView::search);
    connect(m_search, &QLineEdit::returnPressed, this, [this] { goToMatch(1); });
    auto* back = new QShortcut(QKeySequence(Qt::SHIFT | Qt::Key_Return), m_search, [this] { goToMatch(-1); }, Qt::WidgetShortcut);
    back->setAutoRepeat(true);
    new QShortcut(QKeySequence(Qt::Key_Escape), m_search, [this] {
        m_search->clear();
        m_canvas->setFocus();
    }, Qt::WidgetShortcut);
    new QShortcut(QKeySequence(QKeySequence::Find), this, [this] { focusSearch(); }, Qt::WidgetWithChildrenShortcut);

    const auto button = [&](SignButton::Sign sign, const QString& name, const QString& tipText, auto&& run) {
        auto* made = new SignButton(sign, name, tipText);
        layout->addWidget(made);
        connect(made, &QToolButton::clicked, this, run);
        return made;
    };
    m_fork = button(SignButton::Fork, tr("Expand to the fork"), tr("Shows the node where the runs part."), [this] { expandToFork(); });
    m_collapse = button(SignButton::Collapse, tr("Collapse all"), tr("Groups below the root's children become single boxes."), [this] { collapseAll(); });
    m_fit = button(SignButton::Fit, tr("Fit"), tr("The whole graph in the view. Key 0."), [this] { m_canvas->fit(); });
    m_map = button(SignButton::Map, tr("Minimap"), tr("Shows or hides the overview in the corner."), [this] { placeMinimap(); });
    m_map->setCheckable(true);
    m_map->setChecked(true);
    rows.addWidget(header);
    auto* line = new QWidget;
    line->setFixedHeight(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Mid);
    rows.addWidget(line);
}

bool GraphView::isBusy() const { return m_session.jobs().isRunning(m_tag) || m_recolour.isActive(); }

QString GraphView::searchCount() const { return m_count->text(); }

QString GraphView::breadcrumbs() const { return m_crumbs->names().join(QStringLiteral(" / ")); }

void GraphView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && m_graph) {
        layOut({ nameOf(m_canvas->focusNode()), {}, false }); // sizes follow the letters
    }
}

void GraphView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_phases->setVisible(width() >= m_phases->sizeHint().width() + kBesidePhases); // the gates above do the same
    placeMinimap();
}

void GraphView::placeMinimap()
{
    const bool shownNow = m_map->isChecked() && m_canvas->scene() && m_canvas->width() >= kMinimapFrom;
    m_minimap->setVisible(shownNow);
    m_canvas->setRightMargin(shownNow ? kMinimapRoom : 0);
}

int GraphView::microOf(std::optional<std::size_t> pair) const
{
    if (!pair) {
        return m_micro;
    }
    const auto& key = m_session.comparison()->structure().alignment.pairs[*pair].key;
    return key.micro >= 0 ? key.micro : m_micro;
}

std::optional<NodeName> GraphView::nameOf(std::optional<NodeId> node) const
{
    return node && m_canvas->scene() ? std::optional(NodeName(m_canvas->scene()->graph->nodes[*node].path, m_canvas->scene()->graph->nodes[*node].call))
                                     : std::nullopt;
}

void GraphView::followComparison()
{
    m_session.jobs().cancel(m_tag);
    m_recolour.stop();
    m_canvas->setScene(nullptr);
    m_graph.reset();
    m_wanted.reset();
    m_graphStale = true;
    m_micro = 0;
    m_problem.clear();
    search();
    if (m_session.comparison()) {
        layOut({ {}, m_session.selection().pair, true });
    }
    refreshMessage();
    refreshLegend();
    refreshFocus();
}

void GraphView::followStep()
{
    if (m_session.comparison()) {
        m_graphStale = true;
        layOut({ nameOf(m_canvas->focusNode() ? m_canvas->focusNode() : m_canvas->selected()), m_session.selection().pair, false });
    }
}

void GraphView::followPair()
{
    const auto pair = m_session.selection().pair;
    if (!m_session.comparison()) {
        return;
    }
    if (const int micro = microOf(pair); micro != m_micro) {
        m_micro = micro;
        m_graphStale = true;
    }
    const bool underWay = m_session.jobs().isRunning(m_tag);
    if (m_graphStale || underWay) {
        if (!m_selecting) {
            layOut({ m_wish.anchor ? m_wish.anchor : nameOf(m_canvas->focusNode()), pair, underWay && m_wish.start });
        }
        return;
    }
    if (!m_canvas->scene()) {
        return;
    }
    const auto node = pair ? nodeOfPair(*pair) : std::nullopt;
    m_canvas->setSelected(node);
    if (m_selecting) {
        return;
    }
    m_canvas->setFocusNode(node);
    refreshFocus();
    if (!node) {
        return;
    }
    const auto& scene = *m_canvas->scene();
    if (scene.visible.items[scene.itemOf(*node)].node != *node) {
        auto wanted = *m_wanted;
        wanted.expandTo(*m_graph, *node);
        setWanted(std::move(wanted), { nameOf(scene.visible.items[scene.itemOf(*node)].node), pair, false });
    } else {
        m_canvas->reveal(*node);
    }
}

void GraphView::followResults()
{
    if (m_session.comparison() && m_session.comparison()->outcome()) {
        m_recolour.stop();
        recolour();
    } else if (!m_recolour.isActive()) {
        m_recolour.start();
    }
}

/// Of a parameter that several calls share: one in the focused group, else the first.
std::optional<NodeId> GraphView::nodeOfPair(std::size_t pair) const
{
    const auto nodes = m_graph->nodesOf(pair);
    if (nodes.empty()) {
        return std::nullopt;
    }
    if (const auto focus = m_canvas->focusNode()) {
        for (const auto node : nodes) {
            if (*focus <= node && node < m_graph->nodes[*focus].end) {
                return node;
            }
        }
    }
    return nodes.front();
}

void GraphView::setWanted(graph::Expansion expansion, Wish wish)
{
    m_wanted = std::move(expansion);
    layOut(std::move(wish));
}

void GraphView::layOut(Wish wish)
{
    // While a job is under way its wishes live on in the one that replaces it.
    if (m_session.jobs().isRunning(m_tag)) {
        wish.start = wish.start || m_wish.start;
        wish.anchor = wish.anchor ? wish.anchor : m_wish.anchor;
    }
    m_wish = wish;
    struct Input {
        compare::Snapshot comparison;
        graph::UnionOptions options;
        std::shared_ptr<const UnionGraph> graph; ///< null: to be made
        std::optional<graph::Expansion> expansion;
        std::vector<NodeName> names;
        LetterWidths widths;
        Wish wish;
    };
    Input input { *m_session.comparison(), {}, m_graphStale ? nullptr : m_graph, {}, {}, LetterWidths(m_canvas->font()), wish };
    input.options.step = m_session.selection().step;
    input.options.micro = m_micro;
    if (input.graph) {
        input.expansion = m_wanted;
    } else if (m_graph && m_wanted) {
        input.names = expandedNames(*m_graph, *m_wanted);
    }
    const auto work = [input = std::move(input)](Progress& progress, std::stop_token stop) -> Built {
        Built out { nullptr, {}, input.wish };
        auto graph = input.graph;
        if (!graph) {
            auto made = graph::unionGraph(input.comparison.structure().alignment, input.options, stop);
            if (!made) {
                out.error = made.error();
                return out;
            }
            graph = std::make_shared<const UnionGraph>(std::move(*made));
        }
        auto expansion = input.expansion        ? *input.expansion
            : input.wish.start || input.names.empty() ? graph::Expansion::toDepth(*graph, 1)
                                                : expansionOf(*graph, input.names);
        if (input.wish.reveal) {
            if (const auto nodes = graph->nodesOf(*input.wish.reveal); !nodes.empty()) {
                expansion.expandTo(*graph, nodes.front());
            }
        }
        auto scene = buildScene(graph, std::move(expansion), input.widths, stop, &progress);
        if (scene) {
            out.scene = std::move(*scene);
        } else {
            out.error = scene.error();
        }
        return out;
    };
    m_session.jobs().start<Built>(m_tag, m_graphStale ? tr("Laying out the graph") : QString(), this, work, [this](Built built) { receive(std::move(built)); });
}

void GraphView::receive(Built built)
{
    ++m_layouts;
    m_problem.clear();
    if (built.error) {
        m_problem = shown(built.error->text());
        m_canvas->setScene(nullptr);
        m_graph.reset();
        m_wanted.reset();
        refreshMessage();
        refreshFocus();
        return;
    }
    const bool newGraph = built.scene->graph != m_graph;
    const auto focus = nameOf(m_canvas->focusNode());
    m_graph = built.scene->graph;
    m_wanted = built.scene->expansion;
    m_graphStale = false;
    if (m_graph->nodes.empty()) {
        m_canvas->setScene(nullptr);
        refreshMessage();
        refreshFocus();
        return;
    }
    m_canvas->setScene(built.scene, built.wish.anchor);
    if (newGraph) {
        recolour();
        search();
        m_canvas->setFocusNode(focus ? findNode(*m_graph, *focus) : std::nullopt);
    }
    placeMinimap();
    const auto pair = m_session.selection().pair;
    const auto node = pair ? nodeOfPair(*pair) : std::nullopt;
    m_canvas->setSelected(node);
    if (built.wish.start) {
        m_canvas->showStart();
    }
    if (node && built.wish.reveal) {
        m_canvas->setFocusNode(node);
        m_canvas->reveal(*node);
    }
    refreshMessage();
    refreshFocus();
}

void GraphView::followPhase()
{
    using diagnose::Gate;
    const auto& comparison = m_session.comparison();
    const auto& selection = m_session.selection();
    auto phase = selection.gate;
    if (!phase && comparison && selection.pair) {
        phase = diagnose::gateOf(comparison->structure().alignment.pairs[*selection.pair].key);
        phase = phase == Gate::Data || phase == Gate::Loss ? Gate::Forward : phase; // the batch and the loss are its ends
    }
    showPhase(phase == Gate::Environment ? std::nullopt : phase);
}

void GraphView::showPhase(std::optional<diagnose::Gate> phase)
{
    m_phase = phase;
    m_phases->setPhase(phase);
    recolour();
}

void GraphView::recolour()
{
    refreshLegend();
    const auto& comparison = m_session.comparison();
    if (!comparison || !m_canvas->scene()) {
        return;
    }
    m_canvas->setMarks(graphMarks(*m_canvas->scene()->graph, *comparison, m_phase, m_session.colourBy()));
    m_fork->setEnabled(comparison->outcome() && comparison->outcome()->verdict.fork);
    refreshFocus();
}

void GraphView::refreshMessage()
{
    using State = Session::State;
    QString text;
    if (!m_problem.isEmpty()) {
        text = tr("The graph could not be drawn: %1").arg(m_problem);
    } else if (!m_session.comparison()) {
        text = m_session.state() == State::Loading ? tr("Reading the runs…")
            : m_session.state() == State::Failed   ? tr("No graph: the runs could not be compared.")
                                                   : tr("No runs are open.");
    } else if (m_graph && m_graph->nodes.empty()) {
        text = tr("No graph was recorded for this step: neither calls nor modules. All that was recorded is in the list of pairs.");
    } else {
        text = tr("Laying out the graph…");
    }
    m_canvas->setMessage(text);
    const bool usable = m_canvas->scene() != nullptr;
    for (auto* button : { m_fit, m_collapse, m_map }) {
        button->setEnabled(usable);
    }
    m_fork->setEnabled(usable && m_session.comparison() && m_session.comparison()->outcome() && m_session.comparison()->outcome()->verdict.fork);
    m_search->setEnabled(usable);
    placeMinimap();
    if (!usable) {
        m_canvas->setAccessibleDescription(text);
    }
}

void GraphView::refreshLegend()
{
    const QString meaning = numberMeaning(m_session.colourBy());
    m_legend->setMeaning(m_phase ? tr("%1: %2", "phase: meaning of the number").arg(gateWord(*m_phase), meaning) : meaning);
}

/// Breadcrumbs, and what a screen reader says.
void GraphView::refreshFocus()
{
    const auto& scene = m_canvas->scene();
    const auto node = m_canvas->focusNode() ? m_canvas->focusNode() : m_canvas->selected();
    QStringList names;
    std::vector<NodeId> nodes;
    if (scene) {
        const auto modules = std::find_if(scene->graph->nodes.begin(), scene->graph->nodes.end(), [](const auto& n) { return n.kind == graph::NodeKind::Module; });
        const auto root = modules == scene->graph->nodes.end() ? graph::kNoNode : static_cast<NodeId>(modules - scene->graph->nodes.begin());
        for (auto at = node.value_or(root); at != graph::kNoNode; at = scene->graph->nodes[at].parent) {
            names.prepend(nodeLabel(*scene->graph, at));
            nodes.insert(nodes.begin(), at);
        }
    }
    m_crumbs->setPath(names, nodes);
    if (!scene || !node) {
        return;
    }
    const auto& item = scene->visible.items[scene->itemOf(*node)];
    const QString sentence = nodeSentence(*scene->graph, item.node, m_canvas->marks().nodes[item.node], m_session.colourBy(), item.frame);
    if (sentence != m_canvas->accessibleDescription()) {
        m_canvas->setAccessibleDescription(sentence);
        m_canvas->setAccessibleName(tr("Graph, %1").arg(nodeName(*scene->graph, item.node)));
        QAccessibleEvent changed(m_canvas, QAccessible::NameChanged);
        QAccessible::updateAccessibility(&changed);
    }
}

void GraphView::select(NodeId node)
{
    const auto& comparison = m_session.comparison();
    if (!comparison || !m_graph || node >= m_graph->nodes.size()) {
        return;
    }
    m_canvas->setFocusNode(node);
    if (const auto pair = pairToSelect(*m_graph, m_canvas->marks(), *comparison, node, m_phase)) {
        m_selecting = true;
        m_session.selectPair(pair);
        m_selecting = false;
        m_canvas->setSelected(m_session.selection().pair ? nodeOfPair(*m_session.selection().pair) : std::nullopt);
    } else {
        m_canvas->setSelected(node); // nothing of it to look at; still the place where one is
    }
    refreshFocus();
}

QString GraphView::caption() const
{
    return captionText(m_session, { m_phase ? gateWord(*m_phase) : tr("all phases"), colouringCaption(m_session) });
}

QImage GraphView::picture() { return withCaption(grab().toImage(), caption()); }

void GraphView::expand(NodeId node, bool expanded)
{
    if (!m_wanted || m_graphStale || m_wanted->contains(node) == expanded) {
        return;
    }
    auto wanted = *m_wanted;
    wanted.set(node, expanded);
    if (!expanded) {
        const auto focus = m_canvas->focusNode();
        if (focus && node < *focus && *focus < m_graph->nodes[node].end) {
            m_canvas->setFocusNode(node);
        }
    }
    setWanted(std::move(wanted), { NodeName(m_graph->nodes[node].path, m_graph->nodes[node].call), {}, false });
}

void GraphView::expandToFork()
{
    const auto* outcome = m_session.comparison() ? m_session.comparison()->outcome() : nullptr;
    if (!outcome || !outcome->verdict.fork) {
        return;
    }
    if (m_session.selection().pair == outcome->verdict.fork->pair) {
        followPair(); // the selection is there already, but the view may have moved on
        if (const auto node = m_canvas->selected(); node && !isBusy()) {
            m_canvas->reveal(*node);
        }
    } else {
        m_session.goToFork();
    }
}

void GraphView::collapseAll()
{
    if (m_graph && !m_graphStale) {
        setWanted(graph::Expansion::toDepth(*m_graph, 1), { {}, {}, true });
    }
}

void GraphView::expandAll()
{
    if (m_graph && !m_graphStale) {
        setWanted(graph::Expansion::all(*m_graph), { nameOf(m_canvas->focusNode()), {}, false });
    }
}

void GraphView::focusSearch()
{
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

void GraphView::search()
{
    m_found.clear();
    m_foundAt.reset();
    const QString text = m_search->text().trimmed();
    std::vector<std::uint8_t> matches;
    QString count;
    if (!text.isEmpty() && m_graph) {
        const bool isExpression = text.size() > 2 && text.startsWith(QLatin1Char('/')) && text.endsWith(QLatin1Char('/'));
        const QRegularExpression expression(isExpression ? text.mid(1, text.size() - 2) : QRegularExpression::escape(text),
                                            QRegularExpression::CaseInsensitiveOption);
        matches.assign(m_graph->nodes.size(), 0);
        for (NodeId id = 0; id < m_graph->nodes.size() && expression.isValid(); ++id) {
            if (expression.match(nodeName(*m_graph, id)).hasMatch() || expression.match(classText(m_graph->nodes[id])).hasMatch()) {
                matches[id] = 1;
                m_found.push_back(id);
            }
        }
        count = expression.isValid() ? QLocale().toString(static_cast<qulonglong>(m_found.size())) : tr("not valid", "regular expression");
    }
    showCount(count);
    m_canvas->setMatches(std::move(matches));
}

/// Within the field; what is typed keeps clear of it.
void GraphView::showCount(const QString& count)
{
    m_count->setText(count);
    m_search->setTextMargins(0, 0, count.isEmpty() ? 0 : m_count->sizeHint().width(), 0);
}

void GraphView::goToMatch(int direction)
{
    if (m_found.empty()) {
        return;
    }
    const auto n = m_found.size();
    m_foundAt = m_foundAt ? (*m_foundAt + n + static_cast<std::size_t>(direction < 0 ? n - 1 : 1)) % n : direction > 0 ? 0 : n - 1;
    showCount(tr("%1 of %2", "number of a match, matches").arg(*m_foundAt + 1).arg(n));
    const auto node = m_found[*m_foundAt];
    select(node);
    const auto& scene = *m_canvas->scene();
    const auto item = scene.itemOf(node);
    if (scene.visible.items[item].node != node) {
        auto wanted = *m_wanted;
        wanted.expandTo(*m_graph, node);
        setWanted(std::move(wanted), { nameOf(scene.visible.items[item].node), m_session.selection().pair, false });
    } else {
        m_canvas->reveal(node);
    }
}

/// Expand and collapse, and the neighbours by name.
void GraphView::showMenu(NodeId node, const QPoint& position)
{
    QMenu menu(this);
    if (m_graph->isGroup(node)) {
        const bool expanded = m_wanted->contains(node);
        menu.addAction(expanded ? tr("Collapse") : tr("Expand"), this, [this, node, expanded] { expand(node, !expanded); });
    }
    menu.addAction(tr("Focus"), this, [this, node] {
        select(node);
        m_canvas->focusOn(node);
    });
    menu.addAction(tr("Expand all groups"), this, &GraphView::expandAll);
    menu.addSeparator();
    for (const bool producers : { true, false }) {
        std::vector<NodeId> neighbours;
        if (producers) {
            for (const auto e : m_graph->producersOf(node)) {
                neighbours.push_back(m_graph->edges[e].from);
            }
        } else {
            for (const auto& edge : m_graph->consumersOf(node)) {
                neighbours.push_back(edge.to);
            }
        }
        std::sort(neighbours.begin(), neighbours.end());
        neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
        const int count = static_cast<int>(neighbours.size());
        auto* list = menu.addMenu(producers ? tr("%n producer(s)", nullptr, count) : tr("%n consumer(s)", nullptr, count));
        list->setEnabled(count > 0);
        for (int i = 0; i < std::min(count, kListedNeighbours); ++i) {
            const auto other = neighbours[static_cast<std::size_t>(i)];
            list->addAction(menuText(nodeName(*m_graph, other)), this, [this, other] {
                select(other);
                auto wanted = *m_wanted;
                wanted.expandTo(*m_graph, other);
                setWanted(std::move(wanted), { nameOf(m_canvas->scene()->visible.items[m_canvas->scene()->itemOf(other)].node), m_session.selection().pair, false });
            });
        }
    }
    menu.exec(position);
}

} // namespace forkpoint::ui
