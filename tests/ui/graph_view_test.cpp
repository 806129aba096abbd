// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/graph_run.h"
#include "ui/graph/graph_minimap.h"
#include "ui/graph/graph_view.h"
#include "ui/graph/graph_words.h"
#include "ui/graph/phase_switch.h"

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QPainterPath>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include <gtest/gtest.h>

namespace forkpoint::test {
namespace {

using graph::NodeId;
using ui::GraphView;

class GraphTest : public testing::Test {
protected:
    std::filesystem::path folder(const char* name) const { return std::filesystem::path(m_folder.path().toStdString()) / (std::string(name) + ".forkpoint"); }

    void open(const GraphShape& a, const GraphShape& b, QSize size = { 800, 640 })
    {
        m_a = std::make_unique<GraphRun>(folder("a"), a);
        m_b = std::make_unique<GraphRun>(folder("b"), b);
        m_view.resize(size);
        m_view.show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&m_view));
        m_session.open(QString::fromStdString(folder("a").string()), QString::fromStdString(folder("b").string()));
        ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == ui::Session::State::Ready || m_session.state() == ui::Session::State::Failed; }, 60000));
        ASSERT_EQ(m_session.state(), ui::Session::State::Ready) << (m_session.error() ? m_session.error()->text() : "");
        settle();
    }
    void settle() { ASSERT_TRUE(QTest::qWaitFor([&] { return !m_view.isBusy(); }, 30000)); }

    const graph::UnionGraph& graph() { return *m_view.scene()->graph; }
    NodeId node(const std::string& path)
    {
        const auto id = graph().find(path);
        EXPECT_NE(id, graph::kNoNode) << path;
        return id;
    }
    bool visible(const std::string& path) { return m_view.scene()->visible.items[m_view.scene()->itemOf(node(path))].node == node(path); }
    bool expanded(const std::string& path) { return m_view.scene()->expansion.contains(node(path)); }
    QRectF box(const std::string& path) { return m_view.canvas().viewRect(m_view.scene()->itemOf(node(path))); }
    /// Where a click means the node: of a frame its title.
    QPoint handle(const std::string& path)
    {
        const auto r = box(path);
        const bool frame = m_view.scene()->visible.items[m_view.scene()->itemOf(node(path))].frame;
        return frame ? QPoint(static_cast<int>(r.center().x()), static_cast<int>(r.top() + 15 * m_view.canvas().camera().scale)) : r.center().toPoint();
    }
    void click(const std::string& path) { QTest::mouseClick(&m_view.canvas(), Qt::LeftButton, {}, handle(path)); }
    void doubleClick(const std::string& path)
    {
        QTest::mouseDClick(&m_view.canvas(), Qt::LeftButton, {}, handle(path));
        settle();
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(&m_view.canvas(), key, modifiers);
        settle();
    }
    std::string focus() { return m_view.canvas().focusNode() ? graph().nodes[*m_view.canvas().focusNode()].path : "none"; }
    std::string selectedPair()
    {
        const auto pair = m_session.selection().pair;
        return pair ? m_session.comparison()->structure().alignment.pairs[*pair].id : "none";
    }
    std::size_t pairIndex(bundle::Phase phase, const std::string& module)
    {
        const auto& pairs = m_session.comparison()->structure().alignment.pairs;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            if (pairs[i].key.phase == phase && pairs[i].key.module == module) {
                return i;
            }
        }
        ADD_FAILURE() << module;
        return 0;
    }
    void select(bundle::Phase phase, const std::string& module)
    {
        m_session.selectPair(pairIndex(phase, module));
        settle();
    }

    QTemporaryDir m_folder;
    ui::JobRunner m_jobs;
    ui::Session m_session { m_jobs };
    GraphView m_view { m_session };
    std::unique_ptr<GraphRun> m_a, m_b;
};

TEST_F(GraphTest, HasEveryRecordedCallAndEdge)
{
    open({}, {});
    m_view.expandAll();
    settle();
    std::set<std::pair<std::string, std::string>> recorded;
    for (const auto& edge : graph().edges) {
        if (edge.kind == graph::EdgeKind::Recorded) {
            recorded.emplace(graph().nodes[edge.from].path, graph().nodes[edge.to].path);
        }
    }
    EXPECT_EQ(recorded, m_a->edges());
    int calls = 0;
    for (const auto& node : graph().nodes) {
        calls += node.called && node.kind == graph::NodeKind::Module ? 1 : 0;
    }
    EXPECT_EQ(calls, m_a->calls());
    // All of them are on screen: every node is an item, every edge is drawn or within an item.
    EXPECT_EQ(m_view.scene()->visible.items.size(), graph().nodes.size());
    EXPECT_EQ(m_view.scene()->visible.merged.size() + m_view.scene()->visible.hidden.size(), graph().edges.size());
    EXPECT_TRUE(m_view.scene()->visible.hidden.empty());
}

TEST_F(GraphTest, AResidualHasTwoProducersAndALineFromEach)
{
    open({}, {});
    m_view.expandAll();
    settle();
    const auto target = node("layers.1.norm2");
    std::set<std::string> producers;
    for (const auto e : graph().producersOf(target)) {
        producers.insert(graph().nodes[graph().edges[e].from].path);
    }
    EXPECT_EQ(producers, (std::set<std::string> { "layers.1.attn", "layers.0" }));
    std::set<std::string> drawn;
    const auto& scene = *m_view.scene();
    for (const auto e : scene.edgesInto(scene.itemOf(target))) {
        if (!scene.layout.segmentsOf(e).empty()) {
            drawn.insert(scene.nodeOf(scene.visible.edges[e].from).path);
        }
    }
    EXPECT_EQ(drawn, producers);
}

TEST_F(GraphTest, GroupsAreCollapsedBelowTheRoot)
{
    open({}, {});
    EXPECT_TRUE(expanded(""));
    EXPECT_TRUE(visible("layers.0"));
    EXPECT_FALSE(expanded("layers.0"));
    EXPECT_FALSE(visible("layers.0.norm1"));
}

TEST_F(GraphTest, DoubleClickAndEnterExpandAndCollapse)
{
    open({}, {});
    const auto before = box("layers.0").topLeft();
    doubleClick("layers.0");
    EXPECT_TRUE(expanded("layers.0"));
    EXPECT_TRUE(visible("layers.0.norm1"));
    EXPECT_NEAR(box("layers.0").left(), before.x(), 1e-6); // stays under the pointer
    EXPECT_NEAR(box("layers.0").top(), before.y(), 1e-6);
    doubleClick("layers.0");
    EXPECT_FALSE(expanded("layers.0"));
    press(Qt::Key_Return);
    EXPECT_TRUE(expanded("layers.0"));
    press(Qt::Key_Return);
    EXPECT_FALSE(expanded("layers.0"));
}

TEST_F(GraphTest, TheSignExpandsWithOneClick)
{
    open({}, {});
    const auto item = m_view.scene()->itemOf(node("layers.1"));
    const auto sign = m_view.canvas().camera().toView(ui::signBox(*m_view.scene(), item)).center().toPoint();
    QTest::mouseClick(&m_view.canvas(), Qt::LeftButton, {}, sign);
    settle();
    EXPECT_TRUE(expanded("layers.1"));
    EXPECT_EQ(selectedPair(), "none");
}

TEST_F(GraphTest, AClickSelectsThePairOfTheGate)
{
    open({}, { .reducedDiffers = "head" });
    m_session.selectGate(diagnose::Gate::Forward);
    click("head");
    EXPECT_EQ(*m_session.selection().pair, pairIndex(bundle::Phase::Forward, "head"));
    m_session.selectGate(diagnose::Gate::Reduce);
    click("head");
    EXPECT_EQ(*m_session.selection().pair, pairIndex(bundle::Phase::Reduce, "head"));
    m_session.selectGate(std::nullopt); // the worst
    m_session.selectPair(std::nullopt);
    click("head");
    EXPECT_EQ(*m_session.selection().pair, pairIndex(bundle::Phase::Reduce, "head"));
    EXPECT_EQ(m_view.canvas().selected(), node("head"));
}

TEST_F(GraphTest, TheGraphShowsThePhaseOfTheSelectedPair)
{
    using diagnose::Gate;
    using diagnose::Severity;
    GraphShape reduced;
    reduced.reducedDiffers = "head";
    open({}, reduced);
    const auto severity = [&](const char* path) { return m_view.canvas().marks().nodes[node(path)].severity; };
    m_session.goToFork();
    settle();
    EXPECT_EQ(m_view.phase(), Gate::Reduce);
    EXPECT_TRUE(m_view.phaseSwitch()->button(Gate::Reduce)->isChecked());
    EXPECT_EQ(severity("head"), Severity::Divergent);
    m_session.selectPair(pairIndex(bundle::Phase::Forward, "tok"));
    settle();
    EXPECT_EQ(m_view.phase(), Gate::Forward);
    EXPECT_EQ(severity("head"), Severity::Identical); // its forward pass agrees
    QTest::mouseClick(m_view.phaseSwitch()->button(Gate::Forward), Qt::LeftButton);
    EXPECT_EQ(m_view.phase(), std::nullopt); // all phases: the worst
    EXPECT_EQ(severity("head"), Severity::Divergent);
    QTest::mouseClick(m_view.phaseSwitch()->button(Gate::Optimizer), Qt::LeftButton);
    EXPECT_EQ(severity("head"), std::nullopt); // nothing recorded
    EXPECT_EQ(m_session.selection().gate, std::nullopt); // lists show what they showed
    m_session.selectGate(Gate::Reduce);
    settle();
    EXPECT_EQ(m_view.phase(), Gate::Reduce);
    m_session.selectGate(std::nullopt);
    EXPECT_EQ(m_view.phase(), Gate::Forward); // of the pair again
}

TEST_F(GraphTest, CopyingTheGraphGivesItsPictureWithACaption)
{
    GraphShape b;
    b.reducedDiffers = "head";
    open({}, b);
    m_session.goToFork();
    settle();
    QApplication::clipboard()->clear();
    press(Qt::Key_C, Qt::ControlModifier);
    const QImage image = QApplication::clipboard()->image();
    EXPECT_EQ(image.width(), m_view.width());
    EXPECT_GT(image.height(), m_view.height());
    EXPECT_EQ(m_view.caption(), QStringLiteral("A a, B b  ·  step 0  ·  reduce  ·  coloured by severity  ·  floor: estimated  ·  Forkpoint 0.1.0"));
}

TEST_F(GraphTest, AClickOnAGroupExpandsNothing)
{
    open({}, {});
    m_session.selectGate(diagnose::Gate::Reduce);
    const auto layouts = m_view.layoutsMade();
    click("layers.0"); // has no gradient itself: the worst below it
    settle();
    EXPECT_NE(selectedPair(), "none");
    EXPECT_EQ(m_view.layoutsMade(), layouts);
    EXPECT_FALSE(expanded("layers.0"));
    EXPECT_EQ(focus(), "layers.0");
}

TEST_F(GraphTest, ASelectionElsewhereRevealsItsNode)
{
    open({ .blocks = 12 }, { .blocks = 12 }, { 640, 400 });
    select(bundle::Phase::Forward, "layers.11.ff.down");
    EXPECT_TRUE(visible("layers.11.ff.down"));
    EXPECT_TRUE(QRectF(m_view.canvas().rect()).contains(box("layers.11.ff.down")));
    EXPECT_EQ(m_view.canvas().selected(), node("layers.11.ff.down"));
    EXPECT_EQ(m_view.breadcrumbs(), QStringLiteral("GPT / layers.11 / ff / down"));
    // What is on screen already moves nothing.
    const auto camera = m_view.canvas().camera();
    select(bundle::Phase::Forward, "layers.11.ff.up");
    EXPECT_TRUE(m_view.canvas().camera() == camera);
}

TEST_F(GraphTest, TheForkIsExpandedOnceTheVerdictIsThere)
{
    open({}, { .differsFrom = "layers.1.attn.proj" });
    EXPECT_TRUE(visible("layers.1.attn.proj"));
    EXPECT_EQ(m_view.canvas().marks().fork, node("layers.1.attn.proj"));
    EXPECT_TRUE(m_view.canvas().marks().nodes[node("layers.1")].fork);
    EXPECT_FALSE(m_view.canvas().marks().nodes[node("layers.0")].fork);
    m_view.collapseAll();
    settle();
    EXPECT_FALSE(visible("layers.1.attn.proj"));
    m_view.expandToFork();
    settle();
    EXPECT_TRUE(visible("layers.1.attn.proj"));
}

TEST_F(GraphTest, ArrowKeysFollowEdgesAndSiblings)
{
    open({}, {});
    m_session.selectGate(diagnose::Gate::Forward);
    click("tok");
    m_view.canvas().setFocus();
    press(Qt::Key_Down);
    EXPECT_EQ(focus(), "layers.0");
    press(Qt::Key_Down);
    EXPECT_EQ(focus(), "layers.1");
    press(Qt::Key_Down);
    EXPECT_EQ(focus(), "head");
    EXPECT_EQ(*m_session.selection().pair, pairIndex(bundle::Phase::Forward, "head"));
    press(Qt::Key_Up);
    press(Qt::Key_Up);
    EXPECT_EQ(focus(), "layers.0");
    press(Qt::Key_Return);
    press(Qt::Key_Down);
    EXPECT_EQ(focus(), "layers.0.norm1") << "into the frame";
    press(Qt::Key_Down);
    EXPECT_EQ(focus(), "layers.0.attn");
}

TEST_F(GraphTest, SearchCountsAndWalks)
{
    open({}, {});
    QTest::keyClick(&m_view.canvas(), Qt::Key_F, Qt::ControlModifier);
    EXPECT_TRUE(m_view.searchField()->hasFocus());
    QTest::keyClicks(m_view.searchField(), "norm");
    EXPECT_EQ(m_view.searchCount(), QStringLiteral("4"));
    QTest::keyClick(m_view.searchField(), Qt::Key_Return);
    settle();
    EXPECT_EQ(m_view.searchCount(), QStringLiteral("1 of 4"));
    EXPECT_EQ(focus(), "layers.0.norm1");
    EXPECT_TRUE(visible("layers.0.norm1"));
    QTest::keyClick(m_view.searchField(), Qt::Key_Return);
    settle();
    EXPECT_EQ(focus(), "layers.0.norm2");
    QTest::keyClick(m_view.searchField(), Qt::Key_Return, Qt::ShiftModifier);
    settle();
    EXPECT_EQ(focus(), "layers.0.norm1");
    m_view.searchField()->setText(QStringLiteral("/ff\\.(up|down)$/"));
    EXPECT_EQ(m_view.searchCount(), QStringLiteral("4"));
    m_view.searchField()->setText(QStringLiteral("/(/"));
    EXPECT_EQ(m_view.searchCount(), QStringLiteral("not valid"));
    QTest::keyClick(m_view.searchField(), Qt::Key_Escape);
    EXPECT_EQ(m_view.searchCount(), QString());
}

TEST_F(GraphTest, WhatOnlyOneRunHasIsMarkedAsSuch)
{
    open({}, { .extra = "probe" });
    EXPECT_EQ(graph().nodes[node("probe")].sides, graph::Sides::B);
    EXPECT_EQ(graph().nodes[node("head")].sides, graph::Sides::Both);
    const auto tip = ui::nodeTip(graph(), node("probe"), m_view.canvas().marks().nodes[node("probe")], ui::ColourBy::Severity);
    EXPECT_TRUE(tip.contains(QStringLiteral("only in B")));
    // The dashed border has B's colour.
    const auto image = m_view.canvas().grab().toImage();
    const auto r = box("probe");
    bool found = false;
    for (int x = static_cast<int>(r.left()) + 8; x < static_cast<int>(r.right()) - 8; ++x) {
        for (int y = static_cast<int>(r.bottom()) - 2; y <= static_cast<int>(r.bottom()) + 1; ++y) {
            const QColor pixel = image.pixelColor(static_cast<int>(x * image.devicePixelRatio()), static_cast<int>(y * image.devicePixelRatio()));
            found = found || (pixel.red() > pixel.green() + 20 && pixel.green() > pixel.blue() + 10); // B's orange, thinned by antialiasing
        }
    }
    EXPECT_TRUE(found);
}

TEST_F(GraphTest, DraggingTheMinimapMovesTheView)
{
    open({ .blocks = 30 }, { .blocks = 30 }, { 700, 400 });
    m_view.canvas().zoom(2, { 100, 100 });
    auto& map = m_view.minimap();
    ASSERT_TRUE(map.isVisible());
    const auto before = m_view.canvas().camera();
    const QPoint from = map.viewport().center().toPoint();
    QTest::mousePress(&map, Qt::LeftButton, {}, from);
    QTest::mouseMove(&map, from + QPoint(0, 40));
    QTest::mouseRelease(&map, Qt::LeftButton, {}, from + QPoint(0, 40));
    EXPECT_GT(m_view.canvas().camera().origin.y(), before.origin.y() + 200);
    EXPECT_DOUBLE_EQ(m_view.canvas().camera().scale, before.scale);
}

TEST_F(GraphTest, RecolouringMovesNothing)
{
    open({}, { .differsFrom = "layers.1.attn.proj", .reducedDiffers = "tok" });
    m_view.canvas().zoom(1.3, { 50, 60 });
    const auto camera = m_view.canvas().camera();
    const auto layouts = m_view.layoutsMade();
    const auto severity = [&](const std::string& path) { return m_view.canvas().marks().nodes[node(path)].severity; };
    m_session.selectGate(diagnose::Gate::Forward);
    settle();
    EXPECT_EQ(severity("tok"), diagnose::Severity::Identical);
    EXPECT_EQ(severity("head"), diagnose::Severity::Divergent);
    m_session.selectGate(diagnose::Gate::Reduce);
    m_session.setColourBy(ui::ColourBy::OutputError);
    settle();
    EXPECT_EQ(severity("tok"), diagnose::Severity::Divergent);
    EXPECT_EQ(severity("head"), diagnose::Severity::Identical);
    emit m_session.resultsChanged();
    settle();
    EXPECT_TRUE(m_view.canvas().camera() == camera);
    EXPECT_EQ(m_view.layoutsMade(), layouts);
}

TEST_F(GraphTest, AddedErrorIsAtTheForkOnly)
{
    open({}, { .differsFrom = "layers.0.ff.down" });
    m_session.selectGate(diagnose::Gate::Forward);
    m_session.setColourBy(ui::ColourBy::OutputError);
    settle();
    EXPECT_EQ(m_view.canvas().marks().nodes[node("layers.0.ff.down")].severity, diagnose::Severity::Divergent);
}

TEST_F(GraphTest, ZoomKeepsWhatIsUnderThePointer)
{
    open({}, {});
    const QPointF at(200, 150);
    const auto fixed = m_view.canvas().camera().toScene(at);
    const auto scale = m_view.canvas().camera().scale;
    QWheelEvent wheel(at, m_view.canvas().mapToGlobal(at), {}, { 0, 120 }, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&m_view.canvas(), &wheel);
    EXPECT_GT(m_view.canvas().camera().scale, scale);
    EXPECT_NEAR(m_view.canvas().camera().toScene(at).x(), fixed.x(), 1e-6);
    EXPECT_NEAR(m_view.canvas().camera().toScene(at).y(), fixed.y(), 1e-6);
    press(Qt::Key_Plus);
    press(Qt::Key_Minus);
    press(Qt::Key_0);
    EXPECT_TRUE(QRectF(m_view.canvas().rect()).contains(m_view.canvas().camera().toView(m_view.scene()->bounds())));
}

TEST_F(GraphTest, DraggingPansWithBothButtons)
{
    open({ .blocks = 20 }, { .blocks = 20 });
    for (const auto button : { Qt::LeftButton, Qt::MiddleButton }) {
        const auto before = m_view.canvas().camera();
        QTest::mousePress(&m_view.canvas(), button, {}, { 30, 300 });
        QTest::mouseMove(&m_view.canvas(), { 30, 260 });
        QTest::mouseMove(&m_view.canvas(), { 30, 250 });
        QTest::mouseRelease(&m_view.canvas(), button, {}, { 30, 250 });
        EXPECT_NEAR(m_view.canvas().camera().origin.y() - before.origin.y(), 50 / before.scale, 1e-6);
    }
    EXPECT_EQ(selectedPair(), "none");
}

TEST_F(GraphTest, AnEdgeSaysItsTensor)
{
    open({}, {});
    const auto& scene = *m_view.scene();
    const auto target = scene.itemOf(node("head"));
    ASSERT_FALSE(scene.edgesInto(target).empty());
    const auto segment = scene.layout.segmentsOf(scene.edgesInto(target).front()).back();
    const auto middle = m_view.canvas().camera().toView(ui::segmentPath(scene, segment).pointAtPercent(0.5));
    const auto edges = m_view.canvas().edgesAt(middle);
    ASSERT_EQ(edges.size(), 1u);
    const auto ids = scene.visible.edgesOf(scene.visible.edges[edges[0]]);
    const auto tip = ui::edgeTip(graph(), *m_session.comparison(), std::vector<graph::EdgeId>(ids.begin(), ids.end()));
    EXPECT_TRUE(tip.contains(QStringLiteral("layers.1 → head: float32 [2, 2]"))) << tip.toStdString();
}

TEST_F(GraphTest, HostileNamesAreText)
{
    const std::string hostile = "<img src=x>\n\xE2\x80\xAE&" + std::string(500, 'w');
    open({ .embedding = hostile }, { .embedding = hostile });
    const auto id = node(hostile);
    EXPECT_LE(box(hostile).width() / m_view.canvas().camera().scale, 330);
    const auto tip = ui::nodeTip(graph(), id, m_view.canvas().marks().nodes[id], ui::ColourBy::Severity);
    EXPECT_TRUE(tip.contains(QStringLiteral("&lt;img")));
    EXPECT_FALSE(tip.contains(QChar(0x202E)));
    click(hostile);
    EXPECT_FALSE(m_view.breadcrumbs().contains(QLatin1Char('\n')));
    EXPECT_FALSE(m_view.grab().isNull());
}

TEST_F(GraphTest, ARunWithoutGraphSaysSo)
{
    open({ .graph = false }, { .graph = false });
    m_view.canvas().setFocus();
    press(Qt::Key_Down);
    press(Qt::Key_Return);
    m_view.expandAll();
    m_view.collapseAll();
    m_view.expandToFork();
    settle();
    EXPECT_FALSE(m_view.grab().isNull());
    m_session.close();
    EXPECT_EQ(m_view.scene(), nullptr);
    EXPECT_TRUE(m_view.canvas().accessibleDescription().contains(QStringLiteral("No runs are open")));
    EXPECT_FALSE(m_view.grab().isNull());
}

TEST_F(GraphTest, TheFocusedNodeIsSpokenOf)
{
    open({}, { .differsFrom = "head" });
    click("head");
    const auto spoken = m_view.canvas().accessibleDescription();
    EXPECT_TRUE(spoken.startsWith(QStringLiteral("head, Linear, divergent"))) << spoken.toStdString();
    EXPECT_TRUE(spoken.contains(QStringLiteral("fork")));
}

TEST_F(GraphTest, ManyTogglesEndInTheLastState)
{
    open({}, {});
    for (int i = 0; i < 5; ++i) {
        m_view.expand(node("layers.0"), i % 2 == 0);
        m_view.expand(node("layers.1"), i % 2 == 1);
    }
    settle();
    EXPECT_TRUE(expanded("layers.0"));
    EXPECT_FALSE(expanded("layers.1"));
}

} // namespace
} // namespace forkpoint::test
