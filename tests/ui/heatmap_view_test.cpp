// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/heatmap_run.h"

#include "ui/heatmap/heatmap_words.h"
#include "ui/heatmap/profile_plot.h"
#include "ui/heatmap/slice_bar.h"
#include "ui/theme/theme.h"

#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QToolButton>
#include <QTranslator>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace forkpoint::test {

using heatmap::Cell;
using heatmap::ColourMap;
using heatmap::Mode;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> changed(std::vector<float> values, const std::function<float(std::size_t, float)>& change)
{
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = change(i, values[i]);
    }
    return values;
}

/// 0, 1, 2, ...
std::vector<float> counting(std::size_t count)
{
    std::vector<float> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>(i);
    }
    return out;
}

/// A language in which every text is itself in brackets.
class Brackets : public QTranslator {
public:
    QString translate(const char*, const char* source, const char*, int) const override
    {
        return QStringLiteral("[") + QString::fromUtf8(source) + QStringLiteral("]");
    }
    bool isEmpty() const override { return false; }
};

} // namespace

class HeatmapViewTest : public HeatmapFixture { };

TEST_F(HeatmapViewTest, OneBadElementOf4096x4096IsVisibleAtFit)
{
    const std::vector<float> a(4096 * 4096, 1.0f);
    auto b = a;
    b[2900u * 4096 + 1234] = 3;
    compare({ { "fc", { 4096, 4096 }, a } }, { { "fc", { 4096, 4096 }, b } });
    ASSERT_TRUE(m_view.canvas().isFitted());
    const auto map = heatmap::colours(ColourMap::Viridis);
    EXPECT_EQ(colourAt({ 100, 100 }), colourOf(map.front()));
    int bad = 0;
    QPoint where;
    const QImage& image = m_view.canvas().image();
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            const QColor c = image.pixelColor(x, y);
            if (c != colourOf(map.front()) && c != ui::Theme::current().panel) {
                ++bad;
                where = { x, y };
            }
        }
    }
    EXPECT_GE(bad, 1);
    EXPECT_LE(bad, 4);
    const QPointF expected = m_view.canvas().cellRect({ 2900, 1234 }).center();
    EXPECT_LE((QPointF(where) - expected).manhattanLength(), 3) << where.x() << " " << where.y();
}

TEST_F(HeatmapViewTest, KeysChooseModes)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, wave(64, 2) } });
    EXPECT_EQ(m_view.mode(), Mode::AbsDifference);
    const Qt::Key keys[] = { Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4, Qt::Key_5, Qt::Key_6, Qt::Key_7 };
    const char* buttons[] = { "modeA", "modeB", "modeDifference", "modeAbs", "modeRelative", "modeUlp", "modeOver" };
    for (std::size_t i = 0; i < 7; ++i) {
        key(keys[i]);
        EXPECT_EQ(m_view.mode(), heatmap::kModes[i]);
        EXPECT_EQ(m_view.canvas().look().mode, heatmap::kModes[i]);
        EXPECT_TRUE(child<QToolButton>(buttons[i])->isChecked());
        EXPECT_FALSE(child<QToolButton>(buttons[i])->toolTip().isEmpty());
    }
    for (std::size_t i = 7; i-- > 0;) {
        QTest::mouseClick(child<QToolButton>(buttons[i]), Qt::LeftButton);
        settle();
        EXPECT_EQ(m_view.mode(), heatmap::kModes[i]);
        EXPECT_TRUE(m_view.canvas().hasFocus());
    }
}

TEST_F(HeatmapViewTest, HeldSpaceFlipsAndKeepsZoomAndRange)
{
    compare({ { "fc", { 32, 32 }, wave(1024, 1) } }, { { "fc", { 32, 32 }, changed(wave(1024, 1), [](std::size_t, float v) { return 3 * v; }) } });
    key(Qt::Key_1);
    key(Qt::Key_Plus);
    key(Qt::Key_Plus);
    const auto view = m_view.canvas().viewport();
    const auto range = m_view.canvas().look().normalisation;
    const QColor before = colourAt({ 16, 16 });
    QTest::keyPress(&m_view.canvas(), Qt::Key_Space);
    settle();
    EXPECT_TRUE(m_view.flipped());
    EXPECT_TRUE(child<QToolButton>("flip")->isChecked());
    EXPECT_EQ(m_view.canvas().look().mode, Mode::B);
    EXPECT_TRUE(m_view.title().contains("B ddp")) << m_view.title().toStdString();
    EXPECT_EQ(m_view.canvas().viewport(), view);
    EXPECT_EQ(m_view.canvas().look().normalisation, range);
    EXPECT_NE(colourAt({ 16, 16 }), before);
    QTest::keyRelease(&m_view.canvas(), Qt::Key_Space);
    settle();
    EXPECT_FALSE(m_view.flipped());
    EXPECT_EQ(m_view.canvas().look().mode, Mode::A);
    EXPECT_EQ(colourAt({ 16, 16 }), before);
    // The button stays until it is clicked again.
    QTest::mouseClick(child<QToolButton>("flip"), Qt::LeftButton);
    settle();
    EXPECT_EQ(m_view.canvas().look().mode, Mode::B);
    QTest::keyPress(&m_view.canvas(), Qt::Key_Space);
    settle();
    EXPECT_EQ(m_view.canvas().look().mode, Mode::A);
    QTest::keyRelease(&m_view.canvas(), Qt::Key_Space);
    settle();
    EXPECT_EQ(m_view.canvas().look().mode, Mode::B);
}

TEST_F(HeatmapViewTest, FromADifferenceSpaceShowsAThenB)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, wave(64, 2) } });
    for (const auto side : { Mode::A, Mode::B, Mode::A }) {
        QTest::keyPress(&m_view.canvas(), Qt::Key_Space);
        settle();
        EXPECT_EQ(m_view.canvas().look().mode, side);
        QTest::keyRelease(&m_view.canvas(), Qt::Key_Space);
        settle();
        EXPECT_EQ(m_view.canvas().look().mode, Mode::AbsDifference);
    }
}

TEST_F(HeatmapViewTest, SpaceEndsWhenTheFocusLeaves)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, wave(64, 2) } });
    key(Qt::Key_1);
    QTest::keyPress(&m_view.canvas(), Qt::Key_Space);
    EXPECT_TRUE(m_view.flipped());
    child<QComboBox>("colourMap")->setFocus();
    EXPECT_FALSE(m_view.flipped());
}

TEST_F(HeatmapViewTest, NaNAndInfinitiesHaveTheirOwnColoursAndCounts)
{
    const auto a = wave(64, 1);
    auto b = a;
    b[3] = kNaN;
    b[10] = kNaN;
    b[20] = kInf;
    b[30] = -kInf;
    compare({ { "fc", { 8, 8 }, a } }, { { "fc", { 8, 8 }, b } });
    key(Qt::Key_2);
    const auto special = m_view.canvas().look().special;
    EXPECT_EQ(colourAt({ 0, 3 }), colourOf(special.nan));
    EXPECT_EQ(colourAt({ 1, 2 }), colourOf(special.nan));
    EXPECT_EQ(colourAt({ 2, 4 }), colourOf(special.positiveInf));
    EXPECT_EQ(colourAt({ 3, 6 }), colourOf(special.negativeInf));
    const QString words = m_view.rangeBar().accessibleDescription();
    EXPECT_TRUE(words.contains("2")) << words.toStdString();
    // They take no part in the range.
    EXPECT_TRUE(std::isfinite(m_view.canvas().look().normalisation.range.high));
    EXPECT_LT(m_view.canvas().look().normalisation.range.high, 2);
    key(Qt::Key_7); // over tolerance, each of them
    EXPECT_EQ(colourAt({ 0, 3 }), colourOf(heatmap::ClassColours {}.over));
    EXPECT_EQ(colourAt({ 0, 4 }), colourOf(heatmap::ClassColours {}.equal));
}

TEST_F(HeatmapViewTest, NaNEverywhere)
{
    compare({ { "fc", { 8, 8 }, std::vector<float>(64, kNaN) } }, { { "fc", { 8, 8 }, std::vector<float>(64, kNaN) } });
    EXPECT_TRUE(m_view.emptyText().isEmpty());
    for (const auto each : { Qt::Key_1, Qt::Key_3, Qt::Key_4, Qt::Key_5, Qt::Key_6 }) {
        key(each);
        EXPECT_EQ(colourAt({ 4, 4 }), colourOf(m_view.canvas().look().special.nan));
    }
    key(Qt::Key_W); // no finite value: nothing to go to
    EXPECT_FALSE(m_session.selection().element);
}

TEST_F(HeatmapViewTest, EmptyScalarAndVector)
{
    compare({ { "nothing", { 0, 8 }, {} }, { "loss", {}, { 1.5f } }, { "bias", { 3000 }, wave(3000, 1) } },
            { { "nothing", { 0, 8 }, {} }, { "loss", {}, { 1.25f } }, { "bias", { 3000 }, wave(3000, 2) } });
    EXPECT_TRUE(m_view.emptyText().contains("no elements")) << m_view.emptyText().toStdString();
    EXPECT_TRUE(m_view.emptyText().contains("[0, 8]"));
    EXPECT_TRUE(m_view.caption().isEmpty());
    select(1);
    EXPECT_TRUE(m_view.emptyText().isEmpty());
    EXPECT_TRUE(m_view.title().contains("scalar"));
    QTest::mouseClick(&m_view.canvas(), Qt::LeftButton, {}, m_view.canvas().cellRect({ 0, 0 }).center().toPoint());
    settle();
    ASSERT_TRUE(m_session.selection().element);
    EXPECT_TRUE(m_session.selection().element->empty());
    EXPECT_TRUE(m_view.elements().pinnedText().contains("B − A: -0.25")) << m_view.elements().pinnedText().toStdString();
    select(2); // folded: right of the last column the line goes on in the next row
    const auto& slice = m_view.canvas().pyramid()->slice();
    ASSERT_TRUE(slice.folded());
    m_session.pinElement(std::vector<std::int64_t> { slice.columns() - 1 });
    settle();
    key(Qt::Key_Right);
    EXPECT_EQ(m_session.selection().element, std::vector<std::int64_t> { slice.columns() });
    key(Qt::Key_Left);
    EXPECT_EQ(m_session.selection().element, std::vector<std::int64_t> { slice.columns() - 1 });
}

TEST_F(HeatmapViewTest, WhatCannotBeShownIsSaidInWords)
{
    compare({ { "a", { 2, 3 }, wave(6, 1) }, { "both", { 4, 4 }, wave(16, 1) }, { "shapes", { 5, 7 }, wave(35, 1) } },
            { { "b", { 2, 3 }, wave(6, 1) }, { "both", { 4, 4 }, wave(16, 1) }, { "shapes", { 3, 3 }, wave(9, 1) } });
    std::set<QString> texts;
    int shownPairs = 0;
    for (std::size_t pair = 0; pair < m_session.comparison()->pairs(); ++pair) {
        select(pair);
        const auto status = m_session.comparison()->structure().alignment.pairs[pair].status;
        EXPECT_EQ(m_view.emptyText().isEmpty(), status == align::PairStatus::Matched);
        shownPairs += m_view.emptyText().isEmpty() ? 1 : 0;
        texts.insert(m_view.emptyText());
    }
    EXPECT_EQ(shownPairs, 1);
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& t) { return t.startsWith("Only the reference"); }));
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& t) { return t.startsWith("Only the candidate"); }));
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& t) { return t.contains("A [5, 7], B [3, 3]"); }));
    m_session.selectPair(std::nullopt);
    EXPECT_TRUE(m_view.emptyText().startsWith("Select a pair")) << m_view.emptyText().toStdString();
    m_session.close();
    EXPECT_TRUE(m_view.emptyText().startsWith("Open two runs"));
}

TEST_F(HeatmapViewTest, ADigestWithoutValues)
{
    for (const char* name : { "single", "ddp" }) {
        auto writer = bundle::RankWriter::create(folder(name), 0);
        ASSERT_TRUE(writer);
        ASSERT_TRUE(bundle::writeBundleInfo(folder(name), { { "name", name }, { "world_size", 1 } }));
        ASSERT_TRUE(writer->info({ { "world_size", 1 }, { "status", "complete" } }));
        bundle::TensorRecord record;
        record.micro = 0;
        record.phase = bundle::Phase::Forward;
        record.kind = bundle::Kind::Output;
        record.module = "fc";
        record.shape = { 2, 2 };
        record.digest = bundle::Digest {};
        record.stats = bundle::RecordedStats { 0, 1, 0.5, 1, 0, 0 };
        ASSERT_TRUE(writer->tensor(record, {}));
    }
    open();
    EXPECT_TRUE(m_view.emptyText().contains("did not record") || m_view.emptyText().contains("Neither run recorded")) << m_view.emptyText().toStdString();
    EXPECT_TRUE(m_view.emptyText().contains("same digest"));
}

TEST_F(HeatmapViewTest, ClickPinsArrowsMoveEscapeUnpins)
{
    compare({ { "fc", { 20, 30 }, counting(600) } }, { { "fc", { 20, 30 }, changed(counting(600), [](std::size_t, float v) { return v + 1; }) } });
    QTest::mouseClick(&m_view.canvas(), Qt::LeftButton, {}, m_view.canvas().cellRect({ 7, 11 }).center().toPoint());
    settle();
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 7, 11 }));
    EXPECT_EQ(m_view.canvas().pinned(), (Cell { 7, 11 }));
    const QString text = m_view.elements().pinnedText();
    EXPECT_TRUE(text.startsWith("[7, 11]")) << text.toStdString();
    EXPECT_TRUE(text.contains("A: 221\n") && text.contains("B: 222\n") && text.contains("B − A: 1\n") && text.contains("ULP: 65,536\n")) << text.toStdString();
    EXPECT_TRUE(text.contains("bits A: 0x435d0000") && text.contains("bits B: 0x435e0000") && text.contains("A xor B: 0x00030000")) << text.toStdString();
    key(Qt::Key_Right);
    key(Qt::Key_Down);
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 8, 12 }));
    key(Qt::Key_Left);
    key(Qt::Key_Up);
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 7, 11 }));
    key(Qt::Key_Escape);
    EXPECT_FALSE(m_session.selection().element);
    EXPECT_FALSE(m_view.canvas().pinned());
    EXPECT_TRUE(m_view.elements().pinnedText().isEmpty());
    key(Qt::Key_Right); // none pinned: from the largest difference, here the first of many
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 0, 1 }));
    m_session.pinElement(std::vector<std::int64_t> { 0, 0 });
    settle();
    key(Qt::Key_Left); // the edge
    key(Qt::Key_Up);
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 0, 0 }));
}

TEST_F(HeatmapViewTest, TheLargestDifferenceIsShownUntilAnElementIsPinned)
{
    compare({ { "fc", { 20, 30 }, counting(600) } }, { { "fc", { 20, 30 }, changed(counting(600), [](std::size_t i, float v) { return i == 77 ? v + 9 : v + 1; }) } });
    EXPECT_TRUE(m_view.elements().largestText().startsWith("[2, 17]")) << m_view.elements().largestText().toStdString();
    EXPECT_TRUE(m_view.elements().largestText().contains("B − A: 9\n"));
    EXPECT_FALSE(m_session.selection().element); // nobody chose it
    EXPECT_TRUE(m_view.elements().pinnedText().isEmpty());
}

TEST_F(HeatmapViewTest, LongStripsFillTheRoom)
{
    compare({ { "fc", { 400, 4 }, counting(1600) } }, { { "fc", { 400, 4 }, counting(1600) } });
    const QRectF first = m_view.canvas().cellRect({ 0, 0 }), last = m_view.canvas().cellRect({ 399, 3 });
    EXPECT_GT(last.right() - first.left(), 0.9 * m_view.canvas().width());
    EXPECT_GT(last.bottom() - first.top(), 0.9 * m_view.canvas().height());
}

TEST_F(HeatmapViewTest, HoverShowsTheElement)
{
    compare({ { "fc", { 20, 30 }, counting(600) } }, { { "fc", { 20, 30 }, counting(600) } });
    QTest::mouseMove(&m_view.canvas(), m_view.canvas().cellRect({ 3, 4 }).center().toPoint());
    settle();
    EXPECT_TRUE(m_view.elements().hoveredText().startsWith("[3, 4]")) << m_view.elements().hoveredText().toStdString();
    EXPECT_TRUE(m_view.elements().hoveredText().contains("A: 94\n"));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&m_view.canvas(), &leave);
    EXPECT_TRUE(m_view.elements().hoveredText().isEmpty());
    EXPECT_FALSE(m_session.selection().element);
}

TEST_F(HeatmapViewTest, WheelZoomsAtTheMouseDragPansAndFitReturns)
{
    compare({ { "fc", { 64, 64 }, wave(4096, 1) } }, { { "fc", { 64, 64 }, wave(4096, 2) } });
    auto& canvas = m_view.canvas();
    const auto fitted = canvas.viewport();
    const QPointF at = canvas.cellRect({ 20, 40 }).center();
    QWheelEvent wheel(at, canvas.mapToGlobal(at), {}, { 0, 480 }, {}, {}, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&canvas, &wheel);
    EXPECT_FALSE(canvas.isFitted());
    EXPECT_LT(canvas.viewport().columnsPerPixel, fitted.columnsPerPixel / 1.5);
    EXPECT_EQ(canvas.cellAtPoint(at), (Cell { 20, 40 }));
    QTest::mousePress(&canvas, Qt::LeftButton, {}, at.toPoint());
    QTest::mouseMove(&canvas, at.toPoint() + QPoint(30, 20));
    QTest::mouseMove(&canvas, at.toPoint() + QPoint(60, 40));
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, at.toPoint() + QPoint(60, 40));
    EXPECT_EQ(canvas.cellAtPoint(at + QPointF(60, 40)), (Cell { 20, 40 }));
    EXPECT_FALSE(m_session.selection().element); // a drag is no click
    key(Qt::Key_0);
    EXPECT_EQ(canvas.viewport(), fitted);
    key(Qt::Key_Minus);
    EXPECT_GT(canvas.viewport().columnsPerPixel, fitted.columnsPerPixel);
    key(Qt::Key_F);
    EXPECT_EQ(canvas.viewport(), fitted);
    key(Qt::Key_Plus);
    QTest::mouseClick(child<QToolButton>("fit"), Qt::LeftButton);
    EXPECT_EQ(canvas.viewport(), fitted);
}

TEST_F(HeatmapViewTest, ValuesAreWrittenIntoLargeCells)
{
    compare({ { "fc", { 9, 4 }, counting(36) } }, { { "fc", { 9, 4 }, counting(36) } }, { 900, 700 });
    key(Qt::Key_1);
    const auto inside = m_view.canvas().cellRect({ 2, 2 }).adjusted(4, 4, -4, -4).toRect();
    const auto colours = [&] {
        const QImage image = m_view.canvas().grab(inside).toImage();
        std::set<QRgb> out;
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                out.insert(image.pixel(x, y));
            }
        }
        return out.size();
    };
    EXPECT_GT(colours(), 1u);
    m_view.resize(360, 420); // cells too small for text
    settle();
    const auto small = m_view.canvas().cellRect({ 2, 2 });
    ASSERT_TRUE(small.width() < 64 || small.height() < 22) << small.width() << " x " << small.height();
    const QImage image = m_view.canvas().grab(small.adjusted(3, 3, -3, -3).toRect()).toImage();
    for (int y = 0; y < image.height(); ++y) {
        EXPECT_EQ(image.pixel(image.width() / 2, y), image.pixel(0, 0));
    }
}

TEST_F(HeatmapViewTest, GoToIndexByKeys)
{
    compare({ { "fc", { 400, 600 }, wave(240000, 1) } }, { { "fc", { 400, 600 }, wave(240000, 2) } });
    QTest::keyClick(&m_view.canvas(), Qt::Key_G, Qt::ControlModifier);
    auto* field = child<QLineEdit>("index");
    auto* problem = child<QLabel>("indexProblem");
    ASSERT_TRUE(field->isVisible());
    ASSERT_TRUE(field->hasFocus());
    QTest::keyClicks(field, "12, x");
    QTest::keyClick(field, Qt::Key_Return);
    EXPECT_TRUE(problem->text().contains("“x”")) << problem->text().toStdString();
    field->clear();
    QTest::keyClicks(field, "12 600");
    QTest::keyClick(field, Qt::Key_Return);
    EXPECT_EQ(problem->text(), "Dim 1 has the indexes 0 to 599.");
    field->clear();
    QTest::keyClicks(field, "1 2 3");
    QTest::keyClick(field, Qt::Key_Return);
    EXPECT_TRUE(problem->text().startsWith("2 number"));
    EXPECT_FALSE(m_session.selection().element);
    field->clear();
    QTest::keyClicks(field, "[12, 577]");
    QTest::keyClick(field, Qt::Key_Return);
    settle();
    EXPECT_FALSE(field->isVisible());
    EXPECT_TRUE(m_view.canvas().hasFocus());
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 12, 577 }));
    const auto box = m_view.canvas().cellRect({ 12, 577 });
    EXPECT_TRUE(QRectF(m_view.canvas().rect()).contains(box));
    EXPECT_GE(box.width(), 11.9); // large enough to be told from its neighbours
    m_view.goToIndex();
    field->clear();
    QTest::keyClicks(field, "601"); // flat
    QTest::keyClick(field, Qt::Key_Return);
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 1, 1 }));
    m_view.goToIndex();
    QTest::keyClick(field, Qt::Key_Escape);
    EXPECT_FALSE(field->isVisible());
}

TEST_F(HeatmapViewTest, WorstElement)
{
    auto b = wave(4096, 1);
    b[64 * 10 + 7] += 4;
    b[64 * 50 + 3] -= 5;
    compare({ { "fc", { 64, 64 }, wave(4096, 1) } }, { { "fc", { 64, 64 }, b } });
    key(Qt::Key_W);
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 50, 3 }));
    m_session.pinElement(std::nullopt);
    QTest::mouseClick(child<QToolButton>("worst"), Qt::LeftButton);
    settle();
    EXPECT_EQ(m_session.selection().element, (std::vector<std::int64_t> { 50, 3 }));
}

TEST_F(HeatmapViewTest, LockedRangeStaysAndIsMarkedOtherwiseEachTensorHasItsOwn)
{
    compare({ { "one", { 8, 8 }, wave(64, 1) }, { "two", { 8, 8 }, wave(64, 1) } },
            { { "one", { 8, 8 }, wave(64, 2) }, { "two", { 8, 8 }, changed(wave(64, 2), [](std::size_t, float v) { return 1000 * v; }) } });
    const auto range = [&] { return m_view.canvas().look().normalisation; };
    const auto marked = [&] { return m_view.ranges().range(m_view.seenMode(), QStringLiteral("rows: dim 0, columns: dim 1"))->marked; };
    const auto first = range();
    EXPECT_FALSE(marked());
    select(1);
    const auto second = range();
    EXPECT_GT(second.range.high, 100 * first.range.high);
    EXPECT_FALSE(marked());
    select(0);
    EXPECT_EQ(range(), first);
    QTest::mouseClick(child<QToolButton>("lock"), Qt::LeftButton);
    settle();
    select(1);
    EXPECT_EQ(range(), first);
    EXPECT_EQ(m_view.rangeBar().range(), first);
    EXPECT_TRUE(marked());
    QTest::mouseClick(child<QToolButton>("lock"), Qt::LeftButton);
    settle();
    EXPECT_EQ(range(), second);
    EXPECT_FALSE(marked());
    // By hand.
    emit m_view.rangeBar().rangeDragged({ 1, 2 });
    settle();
    EXPECT_EQ(range().range, (heatmap::ValueRange { 1, 2 }));
    EXPECT_TRUE(marked());
    select(0);
    EXPECT_EQ(range(), first);
    select(1);
    EXPECT_EQ(range().range, (heatmap::ValueRange { 1, 2 }));
    emit m_view.rangeBar().fitRequested();
    settle();
    EXPECT_EQ(range(), second);
    EXPECT_FALSE(marked());
}

TEST_F(HeatmapViewTest, RangeThroughTheClipboard)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, wave(64, 2) } });
    const auto action = [&](const char* text) {
        for (auto* each : m_view.actions()) {
            if (each->text() == QLatin1String(text)) {
                return each;
            }
        }
        ADD_FAILURE() << text;
        return m_view.actions().front();
    };
    key(Qt::Key_3);
    action("Copy the range")->trigger();
    const auto range = m_view.canvas().look().normalisation.range;
    EXPECT_EQ(ui::rangeFromText(QGuiApplication::clipboard()->text()), range);
    QGuiApplication::clipboard()->setText("-0.5, 0.5");
    action("Paste a range")->trigger();
    EXPECT_EQ(m_view.canvas().look().normalisation.range, (heatmap::ValueRange { -0.5, 0.5 }));
    QGuiApplication::clipboard()->setText("nonsense");
    action("Paste a range")->trigger();
    EXPECT_EQ(m_view.canvas().look().normalisation.range, (heatmap::ValueRange { -0.5, 0.5 }));
}

TEST_F(HeatmapViewTest, ColourMapsAndScales)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, changed(wave(64, 1), [](std::size_t i, float v) { return v + static_cast<float>(i) / 10; }) } });
    auto* maps = child<QComboBox>("colourMap");
    EXPECT_EQ(m_view.canvas().look().map, ColourMap::Viridis);
    maps->setFocus();
    QTest::keyClick(maps, Qt::Key_Down);
    settle();
    EXPECT_EQ(m_view.canvas().look().map, ColourMap::Cividis);
    key(Qt::Key_3);
    EXPECT_EQ(m_view.canvas().look().map, ColourMap::BlueWhiteOrange);
    const auto range = m_view.canvas().look().normalisation.range;
    EXPECT_EQ(range.low, -range.high);
    EXPECT_EQ(m_view.canvas().look().normalisation.scale, heatmap::RangeScale::Linear);
    QTest::mouseClick(child<QToolButton>("log"), Qt::LeftButton);
    settle();
    EXPECT_EQ(m_view.canvas().look().normalisation.scale, heatmap::RangeScale::SymLog);
    key(Qt::Key_4);
    EXPECT_EQ(m_view.canvas().look().map, ColourMap::Cividis);
    EXPECT_EQ(m_view.canvas().look().normalisation.scale, heatmap::RangeScale::Log);
    QTest::mouseClick(child<QToolButton>("log"), Qt::LeftButton);
    settle();
    EXPECT_EQ(m_view.canvas().look().normalisation.scale, heatmap::RangeScale::Linear);
    EXPECT_EQ(m_view.canvas().look().normalisation.range.low, 0);
    key(Qt::Key_7);
    EXPECT_FALSE(maps->isEnabled());
    EXPECT_FALSE(child<QToolButton>("log")->isEnabled());
}

TEST_F(HeatmapViewTest, SlicesOfFourDimsAreRememberedPerTensor)
{
    const auto a = counting(3 * 4 * 5 * 6);
    compare({ { "conv", { 3, 4, 5, 6 }, a }, { "fc", { 8, 8 }, wave(64, 1) } }, { { "conv", { 3, 4, 5, 6 }, a }, { "fc", { 8, 8 }, wave(64, 1) } });
    QTest::mouseClick(child<QToolButton>("plane"), Qt::LeftButton);
    settle();
    const auto& slice = [&]() -> const heatmap::Slice& { return m_view.canvas().pyramid()->slice(); };
    EXPECT_EQ(slice().rows(), 5);
    EXPECT_EQ(slice().columns(), 6);
    const auto range = m_view.canvas().look().normalisation;
    child<QSlider>("slider0")->setValue(2);
    settle();
    child<QSlider>("slider1")->setValue(1);
    settle();
    EXPECT_EQ(slice().indexAt({ 3, 4 }), (std::vector<std::int64_t> { 2, 1, 3, 4 }));
    EXPECT_EQ(m_view.canvas().look().normalisation, range); // never silently another one
    QTest::mouseClick(&m_view.canvas(), Qt::LeftButton, {}, m_view.canvas().cellRect({ 3, 4 }).center().toPoint());
    settle();
    EXPECT_TRUE(m_view.elements().pinnedText().startsWith("[2, 1, 3, 4]"));
    EXPECT_TRUE(m_view.elements().pinnedText().contains("A: 292\n")) << m_view.elements().pinnedText().toStdString();
    m_view.canvas().setFocus();
    key(Qt::Key_Plus);
    const auto view = m_view.canvas().viewport();
    select(1);
    EXPECT_EQ(slice().rows(), 8);
    EXPECT_TRUE(m_view.canvas().isFitted());
    select(0);
    EXPECT_EQ(slice().indexAt({ 0, 0 }), (std::vector<std::int64_t> { 2, 1, 0, 0 }));
    EXPECT_NEAR(m_view.canvas().viewport().columnsPerPixel, view.columnsPerPixel, 1e-9);
    EXPECT_NEAR(m_view.canvas().viewport().left, view.left, 1e-6);
    // An element of another slice that is pinned elsewhere brings its slice.
    m_session.pinElement(std::vector<std::int64_t> { 0, 3, 2, 2 });
    settle();
    EXPECT_EQ(slice().indexAt({ 0, 0 }), (std::vector<std::int64_t> { 0, 3, 0, 0 }));
    EXPECT_EQ(m_view.canvas().pinned(), (Cell { 2, 2 }));
    // One that the tensor does not have is passed over.
    m_session.pinElement(std::vector<std::int64_t> { 9, 9 });
    settle();
    EXPECT_EQ(slice().rows(), 5);
}

TEST_F(HeatmapViewTest, QuickChangesShowTheLastPairOnly)
{
    std::vector<Tensor> a, b;
    for (int i = 0; i < 6; ++i) {
        a.push_back({ "fc" + std::to_string(i), { 256 + i, 512 }, wave(static_cast<std::size_t>((256 + i) * 512), i) });
        b.push_back({ "fc" + std::to_string(i), { 256 + i, 512 }, wave(static_cast<std::size_t>((256 + i) * 512), i + 0.5) });
    }
    compare(a, b);
    for (int round = 0; round < 3; ++round) {
        for (std::size_t pair = 0; pair < 6; ++pair) {
            m_session.selectPair(pair);
            QCoreApplication::processEvents();
            // Whatever is shown belongs together.
            if (m_view.emptyText().isEmpty() && m_view.canvas().pyramid()) {
                EXPECT_TRUE(m_view.title().contains(QStringLiteral("[%1, 512]").arg(m_view.canvas().pyramid()->slice().rows()))) << m_view.title().toStdString();
            }
        }
        settle();
        EXPECT_EQ(m_view.canvas().pyramid()->slice().rows(), 261);
        EXPECT_TRUE(m_view.title().startsWith("fc5")) << m_view.title().toStdString();
    }
    m_session.selectPair(2);
    m_session.selectPair(std::nullopt);
    settle();
    EXPECT_EQ(m_view.canvas().pyramid(), nullptr);
    EXPECT_FALSE(m_view.emptyText().isEmpty());
}

TEST_F(HeatmapViewTest, CancelledReadingCanBeDoneAgain)
{
    compare({ { "one", { 8, 8 }, wave(64, 1) }, { "two", { 9, 8 }, wave(72, 1) } }, { { "one", { 8, 8 }, wave(64, 2) }, { "two", { 9, 8 }, wave(72, 2) } });
    QStringList tags;
    QObject::connect(&m_jobs, &ui::JobRunner::started, &m_view, [&](const QString& tag, const QString& title) {
        if (!title.isEmpty()) {
            tags += tag;
            EXPECT_TRUE(title.startsWith("Reading two")) << title.toStdString();
        }
    });
    m_session.selectPair(1);
    ASSERT_EQ(tags.size(), 1);
    m_jobs.cancel(tags.front());
    EXPECT_TRUE(m_view.emptyText().startsWith("Reading was stopped")) << m_view.emptyText().toStdString();
    EXPECT_FALSE(m_view.isBusy());
    ASSERT_TRUE(child<QPushButton>("again")->isVisible());
    QTest::mouseClick(child<QPushButton>("again"), Qt::LeftButton);
    settle();
    EXPECT_TRUE(m_view.emptyText().isEmpty());
    EXPECT_EQ(m_view.canvas().pyramid()->slice().rows(), 9);
}

TEST_F(HeatmapViewTest, ProfileFollowsThePinnedRowOrColumn)
{
    compare({ { "fc", { 20, 30 }, counting(600) } }, { { "fc", { 20, 30 }, counting(600) } }, { 900, 700 });
    m_session.pinElement(std::vector<std::int64_t> { 7, 11 });
    settle();
    auto* profile = m_view.findChild<ui::ProfilePlot*>();
    ASSERT_TRUE(profile->isVisible());
    EXPECT_TRUE(profile->readout().contains("row 7")) << profile->readout().toStdString();
    EXPECT_TRUE(profile->readout().contains("221")) << profile->readout().toStdString();
    // What is under a pixel of the picture is above the same pixel of the profile.
    EXPECT_NEAR(profile->mapTo(&m_view, QPoint(0, 0)).x() + profile->positionOf(11), m_view.canvas().mapTo(&m_view, QPoint(0, 0)).x() + m_view.canvas().cellRect({ 7, 11 }).left(), 1.0);
    m_view.setProfileOf(ui::HeatmapView::ProfileOf::Column);
    settle();
    EXPECT_TRUE(profile->readout().contains("column 11")) << profile->readout().toStdString();
    m_view.setProfileOf(ui::HeatmapView::ProfileOf::Nothing);
    EXPECT_FALSE(profile->isVisible());
}

TEST_F(HeatmapViewTest, CaptionAndPictureSayWhatIsShown)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, wave(64, 2) } });
    key(Qt::Key_5);
    const QString caption = m_view.caption();
    for (const char* part : { "A single, B ddp", "step 0", "fc", "relative error", "viridis", "log", "Forkpoint" }) {
        EXPECT_TRUE(caption.contains(QLatin1String(part))) << part << " in " << caption.toStdString();
    }
    EXPECT_GT(m_view.picture().height(), m_view.grab().toImage().height());
    QTest::keyClick(&m_view.canvas(), Qt::Key_C, Qt::ControlModifier);
    EXPECT_FALSE(QGuiApplication::clipboard()->image().isNull());
}

TEST_F(HeatmapViewTest, FitsANarrowColumn)
{
    compare({ { "fc", { 64, 128 }, wave(64 * 128, 1) }, { "conv", { 4, 5, 6, 7 }, wave(840, 1) } }, { { "fc", { 64, 128 }, wave(64 * 128, 2) }, { "conv", { 4, 5, 6, 7 }, wave(840, 2) } },
            { 380, 420 });
    m_view.resize(1200, 800);
    settle();
    m_view.resize(380, 420);
    settle();
    EXPECT_EQ(m_view.width(), 380);
    EXPECT_LE(m_view.layout()->minimumSize().width(), 380);
    EXPECT_GE(m_view.canvas().height(), 120);
    for (auto* button : m_view.findChildren<QToolButton*>()) {
        if (button->isVisible()) {
            EXPECT_LE(button->mapTo(&m_view, QPoint(button->width(), 0)).x(), 380) << button->objectName().toStdString();
            EXPECT_GE(button->width(), button->fontMetrics().horizontalAdvance(button->text())) << button->objectName().toStdString();
        }
    }
}

namespace {

/// One rank of a run whose parameter "fc.weight" is [8, 6] in all; `shape` and `offset` of the part that the rank has.
void writePart(const std::filesystem::path& folder, int rank, int worldSize, const Shape& shape, std::int64_t offset, const std::vector<float>& values)
{
    auto writer = bundle::RankWriter::create(folder, rank);
    ASSERT_TRUE(writer) << writer.error().text();
    ASSERT_TRUE(bundle::writeBundleInfo(folder, { { "name", folder.stem().string() }, { "world_size", worldSize } }));
    ASSERT_TRUE(writer->info({ { "world_size", worldSize }, { "status", "complete" } }));
    bundle::TensorRecord record;
    record.phase = bundle::Phase::Start;
    record.kind = bundle::Kind::Param;
    record.module = "fc";
    record.param = "weight";
    record.shape = shape;
    if (worldSize > 1) {
        record.globalShape = { 8, 6 };
        record.globalOffset = { offset, 0 };
        record.placement = { { "tp", bundle::Placement::Type::Shard, 0, "" } };
    }
    const auto written = writer->tensor(record, std::as_bytes(std::span(values)));
    ASSERT_TRUE(written) << written.error().text();
}

} // namespace

TEST_F(HeatmapViewTest, PartsOfRanksAreDrawnAndNamed)
{
    const auto whole = counting(48);
    writePart(folder("single"), 0, 1, { 8, 6 }, 0, whole);
    writePart(folder("ddp"), 0, 2, { 5, 6 }, 0, { whole.begin(), whole.begin() + 30 });
    writePart(folder("ddp"), 1, 2, { 3, 6 }, 5, { whole.begin() + 30, whole.end() });
    open({ 900, 640 });
    ASSERT_TRUE(m_view.emptyText().isEmpty()) << m_view.emptyText().toStdString();
    // A line between rows 4 and 5, dark and light in turn, and nowhere else.
    const auto darkAndLight = [&](std::int64_t row) {
        const auto left = m_view.canvas().cellRect({ row, 3 }).topLeft();
        const QImage image = m_view.canvas().grab().toImage();
        bool dark = false, light = false;
        for (int y = static_cast<int>(left.y()) - 2; y <= static_cast<int>(left.y()) + 2; ++y) {
            for (int x = static_cast<int>(left.x()) + 2; x < static_cast<int>(left.x()) + 40; ++x) {
                dark = dark || image.pixelColor(x, y) == QColor(0, 0, 0);
                light = light || image.pixelColor(x, y) == QColor(255, 255, 255);
            }
        }
        return dark && light;
    };
    EXPECT_TRUE(darkAndLight(5));
    EXPECT_FALSE(darkAndLight(4));
    EXPECT_FALSE(darkAndLight(6));
    key(Qt::Key_1); // A has no parts
    EXPECT_FALSE(darkAndLight(5));
    key(Qt::Key_2);
    EXPECT_TRUE(darkAndLight(5));
    m_session.pinElement(std::vector<std::int64_t> { 6, 2 });
    settle();
    EXPECT_TRUE(m_view.elements().pinnedText().contains("A rank 0 [6, 2], B rank 1 [1, 2]")) << m_view.elements().pinnedText().toStdString();
    m_session.pinElement(std::vector<std::int64_t> { 4, 2 });
    settle();
    EXPECT_TRUE(m_view.elements().pinnedText().startsWith("[4, 2]  rank 0 [4, 2]\n")) << m_view.elements().pinnedText().toStdString();
}

TEST_F(HeatmapViewTest, AParameterAfterTheStepIsSeenAsItsUpdateAsItsNumbersAre)
{
    NetOptions scaled;
    scaled.gradientScale = 0.5;
    writeNet(folder("single"));
    writeNet(folder("ddp"), scaled);
    open();
    const auto& comparison = *m_session.comparison();
    bool found = false;
    for (std::size_t i = 0; i < comparison.pairs() && !found; ++i) {
        const auto* lane = comparison.result(i).worstLane();
        if (lane && lane->ofUpdate) {
            found = true;
            select(i);
            EXPECT_TRUE(m_view.title().contains("update")) << m_view.title().toStdString();
            // The largest difference of the picture is that of the metrics.
            key(Qt::Key_W);
            const auto& worst = lane->statistics.maxAbs;
            ASSERT_TRUE(m_session.selection().element);
            const auto cell = m_view.canvas().pyramid()->slice().cellOf(*m_session.selection().element);
            const auto element = m_view.canvas().pyramid()->element(*cell);
            ASSERT_TRUE(element);
            EXPECT_EQ(std::fabs(element->difference), worst.value);
        }
    }
    EXPECT_TRUE(found);
}

TEST_F(HeatmapViewTest, AReadErrorIsSaidAndCanBeTriedAgain)
{
    compare({ { "one", { 8, 8 }, wave(64, 1) }, { "two", { 8, 8 }, wave(64, 3) } }, { { "one", { 8, 8 }, wave(64, 2) }, { "two", { 8, 8 }, wave(64, 4) } });
    std::filesystem::path bytes;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder("ddp"))) {
        if (entry.is_regular_file() && entry.path().extension() == ".bin") {
            bytes = entry.path();
        }
    }
    ASSERT_FALSE(bytes.empty());
    const auto kept = bytes.string() + ".kept";
    std::filesystem::copy_file(bytes, kept);
    std::filesystem::resize_file(bytes, 10);
    select(1);
    EXPECT_TRUE(m_view.emptyText().startsWith("The elements could not be read")) << m_view.emptyText().toStdString();
    EXPECT_TRUE(m_view.emptyText().contains("rank00000")) << m_view.emptyText().toStdString();
    ASSERT_TRUE(child<QPushButton>("again")->isVisible());
    std::filesystem::copy_file(kept, bytes, std::filesystem::copy_options::overwrite_existing);
    QTest::mouseClick(child<QPushButton>("again"), Qt::LeftButton);
    settle();
    EXPECT_TRUE(m_view.emptyText().isEmpty()) << m_view.emptyText().toStdString();
}

TEST_F(HeatmapViewTest, FollowsTheTheme)
{
    compare({ { "fc", { 30, 30 }, wave(900, 1) } }, { { "fc", { 30, 30 }, wave(900, 2) } });
    ASSERT_GT(m_view.canvas().cellRect({ 0, 0 }).left(), 8); // square cells leave room beside them
    const auto beside = [&] { return m_view.canvas().grab().toImage().pixelColor(4, m_view.canvas().height() / 2); };
    ui::applyTheme(*qApp, ui::ThemeChoice::Dark);
    settle();
    EXPECT_EQ(beside(), ui::Theme::darkTheme().panel);
    ui::applyTheme(*qApp, ui::ThemeChoice::Light);
    settle();
    EXPECT_EQ(beside(), ui::Theme::light().panel);
}

TEST_F(HeatmapViewTest, WordsAreTranslated)
{
    compare({ { "fc", { 8, 8 }, wave(64, 1) } }, { { "fc", { 8, 8 }, wave(64, 2) } });
    Brackets brackets;
    QCoreApplication::installTranslator(&brackets);
    QCoreApplication::processEvents();
    settle();
    EXPECT_EQ(child<QToolButton>("flip")->text(), "[Flip]");
    EXPECT_EQ(child<QToolButton>("modeUlp")->text(), "[ULP]");
    for (auto* action : m_view.actions()) {
        EXPECT_TRUE(action->text().startsWith('[')) << action->text().toStdString();
    }
    m_session.selectPair(std::nullopt);
    EXPECT_TRUE(m_view.emptyText().startsWith('[')) << m_view.emptyText().toStdString();
    QCoreApplication::removeTranslator(&brackets);
}

} // namespace forkpoint::test
