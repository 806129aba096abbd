// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/profile_plot.h"
#include "ui/heatmap/range_bar.h"
#include "ui/heatmap/range_handle.h"
#include "ui/heatmap/slice_bar.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace forkpoint {
namespace {

using heatmap::ColourMap;
using heatmap::Histogram;
using heatmap::LogBins;
using heatmap::Mode;
using heatmap::RangeScale;
using heatmap::SliceAxes;
using heatmap::ValueRange;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

void addTo(LogBins& bins, double magnitude, std::int64_t count)
{
    const auto bin = LogBins::binOf(magnitude);
    if (bins.counts.empty()) {
        bins.first = bin;
    }
    if (bin < bins.first) {
        bins.counts.insert(bins.counts.begin(), static_cast<std::size_t>(bins.first - bin), 0);
        bins.first = bin;
    }
    const auto place = static_cast<std::size_t>(bin - bins.first);
    bins.counts.resize(std::max(bins.counts.size(), place + 1));
    bins.counts[place] += count;
}

std::shared_ptr<Histogram> histogramOf(Mode mode, const std::vector<std::pair<double, std::int64_t>>& values)
{
    auto histogram = std::make_shared<Histogram>();
    histogram->mode = mode;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto [value, count] = values[i];
        histogram->min = i == 0 ? value : std::min(histogram->min, value);
        histogram->max = i == 0 ? value : std::max(histogram->max, value);
        if (value == 0) {
            histogram->zeros += count;
        } else {
            addTo(value < 0 ? histogram->negative : histogram->positive, std::abs(value), count);
        }
    }
    return histogram;
}

// The axis.

TEST(RangeAxis, PlacesRiseWithValuesAndComeBack)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<double> exponent(-300, 300);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::pair<double, std::int64_t>> values;
        for (int i = 0; i < 20; ++i) {
            values.push_back({ std::pow(10, exponent(random) / (1 + round % 10)) * (round % 2 && i % 2 ? -1 : 1), 1 + i });
        }
        const auto histogram = histogramOf(Mode::A, values);
        ui::RangeAxis axis(histogram.get(), { RangeScale::Linear, { histogram->min, histogram->max }, 1 }, round % 3 == 0);
        axis.setPlace(10, 800);
        EXPECT_LE(axis.lowest(), histogram->min);
        EXPECT_GE(axis.highest(), histogram->max);
        std::sort(values.begin(), values.end());
        double before = axis.left();
        for (const auto& [value, count] : values) {
            const double x = axis.positionOf(value);
            EXPECT_GE(x, before);
            EXPECT_LE(x, axis.right());
            before = x;
            EXPECT_NEAR(axis.positionOf(axis.valueAt(x)), x, 1e-6);
        }
    }
}

TEST(RangeAxis, ASingleValueAmongManyHasABar)
{
    std::vector<std::pair<double, std::int64_t>> values { { 0, 100000000 } };
    for (int i = 0; i < 500; ++i) {
        values.push_back({ std::pow(1.05, i), 100000 });
    }
    values.push_back({ 3e30, 1 });
    const auto histogram = histogramOf(Mode::AbsDifference, values);
    ui::RangeAxis axis(histogram.get(), { RangeScale::Linear, { 0, 1e6 }, 1 }, false);
    for (const int columns : { 60, 200, 3000 }) {
        axis.setPlace(0, columns);
        const auto counts = ui::barCounts(*histogram, axis, columns);
        const int at = static_cast<int>(axis.positionOf(3e30));
        std::int64_t there = 0;
        for (int i = std::max(0, at - columns / 100 - 1); i <= std::min(columns - 1, at + columns / 100 + 1); ++i) {
            there += counts[static_cast<std::size_t>(i)];
        }
        EXPECT_GT(there, 0) << columns;
    }
    EXPECT_EQ(ui::countInBand(*histogram, axis), histogram->zeros);
}

TEST(RangeAxis, TicksDoNotTouch)
{
    for (const double smallest : { 1e-300, 1e-40, 1e-6, 0.5 }) {
        for (const int width : { 100, 312, 1300 }) {
            const auto histogram = histogramOf(Mode::Difference, { { -smallest, 1 }, { smallest, 1 }, { 2, 5 } });
            ui::RangeAxis axis(histogram.get(), { RangeScale::Linear, { -2, 2 }, 1 }, true);
            axis.setPlace(0, width);
            const auto ticks = axis.ticks([](const QString& text) { return 8.0 * static_cast<double>(text.size()); }, 10);
            EXPECT_GE(ticks.size(), 1u);
            for (std::size_t i = 1; i < ticks.size(); ++i) {
                EXPECT_GT(ticks[i].position, ticks[i - 1].position);
                EXPECT_GT(ticks[i].value, ticks[i - 1].value);
            }
            if (width == 1300) {
                EXPECT_GE(ticks.size(), 5u) << smallest;
            }
        }
    }
}

// The bar.

class RangeBarTest : public testing::Test {
protected:
    void SetUp() override
    {
        QLocale::setDefault(QLocale::c());
        ui::applyTheme(*qApp, ui::ThemeChoice::Light);
        QObject::connect(&m_bar, &ui::RangeBar::rangeDragged, [this](ValueRange range) {
            EXPECT_LT(range.low, range.high);
            EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high));
            EXPECT_EQ(range, m_bar.range().range);
            m_asked.push_back(range);
        });
        QObject::connect(&m_bar, &ui::RangeBar::fitRequested, [this] { ++m_fits; });
        resize(700);
    }
    void TearDown() override { QLocale::setDefault(QLocale()); }

    void resize(int width)
    {
        m_bar.resize(width, m_bar.heightForWidth(width));
        m_bar.show();
        QApplication::processEvents();
    }
    void set(std::shared_ptr<Histogram> histogram, RangeScale scale, ValueRange range)
    {
        m_bar.setHistogram(std::move(histogram));
        m_bar.setRange({ scale, range, 1 });
    }
    ui::RangeHandle* handle(bool high) { return m_bar.findChild<ui::RangeHandle*>(high ? "highHandle" : "lowHandle"); }
    /// By its grip, to a place on the bar, in several moves.
    void drag(bool high, double to, bool release = true)
    {
        auto* h = handle(high);
        const QPoint grip(high ? ui::RangeHandle::kInwards + 4 : ui::RangeHandle::kOutwards - 4, 8);
        const QPoint from = h->mapTo(&m_bar, grip);
        const double shift = to - h->lineAt();
        QTest::mousePress(h, Qt::LeftButton, {}, grip);
        for (const double share : { 0.3, 0.7, 1.0 }) {
            QTest::mouseMove(h, h->mapFrom(&m_bar, from + QPoint(static_cast<int>(std::lround(shift * share)), 0)));
        }
        if (release) {
            QTest::mouseRelease(h, Qt::LeftButton, {}, h->mapFrom(&m_bar, from + QPoint(static_cast<int>(std::lround(shift)), 0)));
        }
    }
    std::shared_ptr<Histogram> errors() const
    {
        std::vector<std::pair<double, std::int64_t>> values { { 0, 1000 } };
        for (int i = -60; i <= 20; ++i) {
            values.push_back({ std::pow(10, i / 10.0), 50 });
        }
        return histogramOf(Mode::AbsDifference, values);
    }

    ui::RangeBar m_bar;
    std::vector<ValueRange> m_asked;
    int m_fits = 0;
};

TEST_F(RangeBarTest, AHandleIsDraggedToAValue)
{
    set(errors(), RangeScale::Linear, { 0, 1 });
    const double target = m_bar.axis().positionOf(0.01);
    drag(true, target);
    ASSERT_GE(m_asked.size(), 4u); // while it moves, and once more when it is dropped
    EXPECT_NEAR(m_asked.back().high, 0.01, 0.001);
    EXPECT_EQ(m_asked.back().low, 0);
    EXPECT_EQ(m_asked[m_asked.size() - 2], m_asked.back());
    EXPECT_NEAR(handle(true)->lineAt(), target, 1.5);
    EXPECT_EQ(QString::number(m_asked.back().high, 'g', 4).toDouble(), m_asked.back().high); // no more digits than pixels
    EXPECT_EQ(m_fits, 0);
}

TEST_F(RangeBarTest, AClickOnAHandleAsksForNothing)
{
    set(errors(), RangeScale::Linear, { 0, 1 });
    QTest::mouseClick(handle(true), Qt::LeftButton);
    EXPECT_TRUE(m_asked.empty());
}

TEST_F(RangeBarTest, TheLowHandleFindsZeroAgain)
{
    set(errors(), RangeScale::Linear, { 0.01, 1 });
    drag(false, m_bar.axis().positionOf(0) + 2);
    EXPECT_EQ(m_bar.range().range.low, 0);
}

TEST_F(RangeBarTest, AHandleDoesNotPassTheOther)
{
    set(errors(), RangeScale::Linear, { 0.001, 1 });
    drag(false, m_bar.axis().right() + 50);
    EXPECT_EQ(m_bar.range().range.high, 1);
    EXPECT_LT(m_bar.range().range.low, 1);
    EXPECT_GT(m_bar.range().range.low, 0.9);
    set(errors(), RangeScale::Linear, { 0.001, 1 });
    drag(true, m_bar.axis().left() - 50);
    EXPECT_EQ(m_bar.range().range.low, 0.001);
    EXPECT_GT(m_bar.range().range.high, 0.001);
    EXPECT_LT(m_bar.range().range.high, 0.0011);
}

TEST_F(RangeBarTest, OnALogScaleTheRangeStaysAboveZero)
{
    set(errors(), RangeScale::Log, { 0.001, 1 });
    drag(false, m_bar.axis().left() - 100);
    EXPECT_GT(m_bar.range().range.low, 0);
    handle(false)->setFocus();
    for (int i = 0; i < 100; ++i) {
        QTest::keyClick(handle(false), Qt::Key_Left, Qt::ShiftModifier);
    }
    EXPECT_GT(m_bar.range().range.low, 0);
}

TEST_F(RangeBarTest, WithADivergingMapZeroStaysInTheMiddle)
{
    m_bar.setColours(ColourMap::BlueWhiteOrange, heatmap::specialColours(ColourMap::BlueWhiteOrange));
    set(histogramOf(Mode::Difference, { { -3, 5 }, { -0.001, 100 }, { 0, 7 }, { 0.002, 90 }, { 0.5, 1 } }), RangeScale::SymLog, { -1, 1 });
    for (const bool high : { false, true }) {
        for (const double target : { -5.0, -0.01, 0.0, 0.01, 5.0 }) {
            drag(high, m_bar.axis().positionOf(target));
            EXPECT_EQ(m_bar.range().range.low, -m_bar.range().range.high);
        }
    }
    EXPECT_GT(m_asked.size(), 20u);
}

TEST_F(RangeBarTest, KeysMoveTheFocusedHandle)
{
    QWidget window;
    QHBoxLayout layout(&window);
    QLineEdit before, after;
    layout.addWidget(&before);
    layout.addWidget(&m_bar);
    layout.addWidget(&after);
    set(errors(), RangeScale::Linear, { 0.001, 1 });
    window.resize(900, 120);
    window.show();
    window.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
    before.setFocus();
    QTest::keyClick(&before, Qt::Key_Tab);
    EXPECT_EQ(QApplication::focusWidget(), handle(false));
    QTest::keyClick(handle(false), Qt::Key_Tab);
    EXPECT_EQ(QApplication::focusWidget(), handle(true));
    QTest::keyClick(handle(true), Qt::Key_Left);
    EXPECT_LT(m_bar.range().range.high, 1);
    EXPECT_GT(m_bar.range().range.high, 0.9);
    const double once = m_bar.range().range.high;
    QTest::keyClick(handle(true), Qt::Key_Right);
    EXPECT_GT(m_bar.range().range.high, once);
    QTest::keyClick(handle(true), Qt::Key_Left, Qt::ShiftModifier);
    EXPECT_LT(m_bar.range().range.high, 0.95);
    EXPECT_EQ(m_bar.range().range.low, 0.001);
    QTest::keyClick(handle(true), Qt::Key_Home);
    EXPECT_EQ(m_fits, 1);
    QTest::keyClick(handle(true), Qt::Key_Tab);
    EXPECT_EQ(QApplication::focusWidget(), &after);
    m_bar.setParent(nullptr);
}

TEST_F(RangeBarTest, KeysGoThroughZero)
{
    set(histogramOf(Mode::A, { { -4, 10 }, { 4, 10 } }), RangeScale::Linear, { 1, 4 });
    int presses = 0;
    for (; presses < 2000 && m_bar.range().range.low > -2; ++presses) {
        const double now = m_bar.range().range.low;
        QTest::keyClick(handle(false), Qt::Key_Left);
        ASSERT_LT(m_bar.range().range.low, now);
    }
    EXPECT_LT(presses, 2000);
}

TEST_F(RangeBarTest, ADoubleClickBesideTheHandlesFits)
{
    set(errors(), RangeScale::Linear, { 0, 1 });
    QTest::mouseDClick(&m_bar, Qt::LeftButton, {}, m_bar.barsRect().center());
    EXPECT_EQ(m_fits, 1);
    EXPECT_TRUE(m_asked.empty());
}

TEST_F(RangeBarTest, ANumberCanBeTyped)
{
    set(errors(), RangeScale::Linear, { 0, 1 });
    QTest::mouseDClick(handle(true), Qt::LeftButton);
    EXPECT_EQ(m_fits, 0);
    auto* field = m_bar.findChild<QLineEdit*>("rangeNumber");
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->text(), "1");
    EXPECT_EQ(field->selectedText(), "1");
    for (const char* wrong : { "abc", "", "nan", "inf", "-2", "0" }) { // stays, and says why
        field->setText(wrong);
        QTest::keyClick(field, Qt::Key_Return);
        EXPECT_FALSE(field->toolTip().isEmpty()) << wrong;
        EXPECT_TRUE(field->isVisible());
    }
    EXPECT_TRUE(m_asked.empty());
    field->clear();
    QTest::keyClicks(field, "2.5e-3");
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_EQ(m_asked.size(), 1u);
    EXPECT_EQ(m_asked[0], (ValueRange { 0, 0.0025 }));
    EXPECT_FALSE(field->isVisible());

    QTest::keyClick(handle(false), Qt::Key_Return);
    field = nullptr;
    for (auto* candidate : m_bar.findChildren<QLineEdit*>("rangeNumber")) {
        field = candidate->isVisible() ? candidate : field;
    }
    ASSERT_NE(field, nullptr);
    field->setText("0.001");
    QTest::keyClick(field, Qt::Key_Escape);
    EXPECT_FALSE(field->isVisible());
    EXPECT_EQ(m_asked.size(), 1u);
}

TEST_F(RangeBarTest, EscapeTakesADragBack)
{
    set(errors(), RangeScale::Linear, { 0, 1 });
    drag(true, m_bar.axis().positionOf(0.01), false);
    EXPECT_LT(m_bar.range().range.high, 0.1);
    QTest::keyClick(handle(true), Qt::Key_Escape);
    EXPECT_EQ(m_asked.back(), (ValueRange { 0, 1 }));
    QTest::mouseRelease(handle(true), Qt::LeftButton);
    EXPECT_EQ(m_bar.range().range, (ValueRange { 0, 1 }));
}

TEST_F(RangeBarTest, TheAxisStaysWhileAHandleMoves)
{
    set(errors(), RangeScale::Linear, { 0, 1e6 });
    const auto before = m_bar.axis();
    drag(true, m_bar.axis().positionOf(1), false);
    EXPECT_EQ(m_bar.axis(), before);
    m_bar.setRange({ RangeScale::Linear, { 0, 1 }, 1 }); // as a view answers
    EXPECT_EQ(m_bar.axis(), before);
    QTest::mouseRelease(handle(true), Qt::LeftButton);
    EXPECT_LT(m_bar.axis().highest(), 1e6); // what nothing reaches any more is given back
}

TEST_F(RangeBarTest, EveryHistogramHasAPicture)
{
    auto nothing = histogramOf(Mode::A, {});
    auto allNaN = histogramOf(Mode::A, {});
    allNaN->nan = 4096;
    auto classes = histogramOf(Mode::OverTolerance, {});
    classes->classes = { 90, 9, 1 };
    auto emptyClasses = histogramOf(Mode::OverTolerance, {});
    const std::vector<std::shared_ptr<Histogram>> all { nullptr, nothing, allNaN, classes, emptyClasses, histogramOf(Mode::A, { { 3, 100 } }),
        histogramOf(Mode::A, { { -3, 100 } }), histogramOf(Mode::AbsDifference, { { 0, 100 } }),
        histogramOf(Mode::A, { { -1.7e308, 1 }, { 5e-324, 1 }, { 1.7e308, 1 } }), errors() };
    for (const int width : { 100, 240, 340, 560, 1400 }) {
        for (const auto& histogram : all) {
            for (const auto scale : { RangeScale::Linear, RangeScale::Log, RangeScale::SymLog }) {
                m_asked.clear();
                set(histogram, scale, histogram ? heatmap::fittedRange(*histogram, scale) : ValueRange { 0, 1 });
                resize(width);
                EXPECT_FALSE(m_bar.grab().toImage().isNull());
                const bool hasClasses = histogram && histogram->mode == Mode::OverTolerance;
                EXPECT_EQ(handle(true)->isVisible(), !hasClasses);
                EXPECT_EQ(handle(false)->isVisible(), !hasClasses);
                if (!hasClasses) {
                    drag(true, m_bar.axis().left() + 0.6 * (m_bar.axis().right() - m_bar.axis().left()));
                    EXPECT_FALSE(m_asked.empty());
                }
                EXPECT_FALSE(m_bar.accessibleDescription().isEmpty());
            }
        }
    }
    for (const ValueRange senseless : { ValueRange { 1, 1 }, ValueRange { 2, -2 }, ValueRange { kNaN, kNaN }, ValueRange { -kInf, kInf } }) {
        m_bar.setRange({ RangeScale::Linear, senseless, 1 }); // shown somehow, never a crash
        EXPECT_FALSE(m_bar.grab().toImage().isNull());
    }
}

TEST_F(RangeBarTest, CountsAreTold)
{
    auto histogram = histogramOf(Mode::A, { { 1, 3 }, { 100, 50 }, { 10000, 7 } });
    histogram->nan = 2;
    histogram->positiveInf = 1;
    set(histogram, RangeScale::Linear, { 10, 1000 });
    EXPECT_EQ(m_bar.accessibleDescription(), "60 finite values, 3 below the range, 7 above; NaN 2, +Inf 1, -Inf 0");
    EXPECT_EQ(handle(true)->accessibleName(), "High end of the range: 1000");
}

TEST_F(RangeBarTest, TheMapLiesBetweenTheHandles)
{
    set(errors(), RangeScale::Log, { 0.001, 1 });
    const QImage picture = m_bar.grab().toImage();
    const auto colours = heatmap::colours(ColourMap::Viridis);
    const int y = m_bar.barsRect().bottom() + 1 + 2 + 5;
    const auto at = [&](double value) { return picture.pixelColor(static_cast<int>(m_bar.axis().positionOf(value)), y); };
    for (const double value : { 0.002, 0.01, 0.05, 0.3 }) {
        const auto expected = colours[heatmap::colourIndex({ RangeScale::Log, { 0.001, 1 }, 1 }, value)];
        EXPECT_NEAR(at(value).red(), static_cast<int>(heatmap::redOf(expected)), 6) << value;
        EXPECT_NEAR(at(value).green(), static_cast<int>(heatmap::greenOf(expected)), 6) << value;
        EXPECT_NEAR(at(value).blue(), static_cast<int>(heatmap::blueOf(expected)), 6) << value;
    }
    const auto high = colours[255];
    EXPECT_EQ(at(20).green(), static_cast<int>(heatmap::greenOf(high))); // beyond: the colour of the end
    EXPECT_NE(picture.pixelColor(static_cast<int>(m_bar.axis().positionOf(20)), y - 4), at(20)); // and thinner
}

TEST_F(RangeBarTest, ARangeThatIsNotFittedIsMarked)
{
    set(errors(), RangeScale::Linear, { 0, 1 });
    const QImage plain = m_bar.grab().toImage();
    m_bar.setPartial(true);
    EXPECT_NE(m_bar.grab().toImage(), plain);
    m_bar.setPartial(false);
    EXPECT_EQ(m_bar.grab().toImage(), plain);
}

// The profile.

TEST(ProfileColumns, NoValueIsPassedOver)
{
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        const auto n = static_cast<std::size_t>(1 + random() % 3000);
        std::vector<double> values(n, 0.0);
        const auto bad = random() % n;
        values[bad] = round % 4 == 0 ? kNaN : round % 4 == 1 ? kInf : 77;
        const int columns = static_cast<int>(1 + random() % 900);
        const auto all = ui::profileColumns(values, 0, static_cast<double>(n) / columns, columns);
        ASSERT_EQ(all.size(), static_cast<std::size_t>(columns));
        int seen = 0;
        for (const auto& column : all) {
            seen += column.nan || column.positiveInf || (column.finite && column.max == 77) ? 1 : 0;
        }
        EXPECT_GE(seen, 1) << n << " values, " << columns << " columns, " << bad;
    }
}

TEST(ProfileColumns, ColumnsBeyondTheValuesAreEmpty)
{
    const std::vector<double> values { 1, 2, 3 };
    const auto columns = ui::profileColumns(values, -1, 0.5, 10);
    EXPECT_FALSE(columns[0].finite || columns[1].finite);
    EXPECT_EQ(columns[2].min, 1);
    EXPECT_EQ(columns[3].max, 1);
    EXPECT_EQ(columns[7].max, 3);
    EXPECT_FALSE(columns[8].finite || columns[9].finite);
    EXPECT_TRUE(ui::profileColumns({}, 0, 1, 5).size() == 5);
}

TEST(RoundNumbers, LieWithinAndAreFew)
{
    std::mt19937 random(5);
    std::uniform_real_distribution<double> part(-1, 1), exponent(-250, 250);
    for (int round = 0; round < 500; ++round) {
        const double size = std::pow(10, exponent(random));
        const double x = size * part(random), y = size * part(random);
        const auto numbers = ui::roundNumbers(std::min(x, y), std::max(x, y), 4);
        EXPECT_LE(numbers.size(), 4u);
        EXPECT_GE(numbers.size(), 1u);
        for (const double number : numbers) {
            EXPECT_GE(number, std::min(x, y) - size * 1e-9);
            EXPECT_LE(number, std::max(x, y) + size * 1e-9);
        }
    }
    EXPECT_EQ(ui::roundNumbers(-1, 1, 5), (std::vector<double> { -1, -0.5, 0, 0.5, 1 }));
}

class ProfilePlotTest : public testing::Test {
protected:
    void SetUp() override
    {
        QLocale::setDefault(QLocale::c());
        ui::applyTheme(*qApp, ui::ThemeChoice::Light);
        m_plot.resize(400, 130);
        m_plot.show();
        QApplication::processEvents();
    }
    void TearDown() override { QLocale::setDefault(QLocale()); }
    int pixelsOf(const QColor& colour) const
    {
        const QImage picture = const_cast<ui::ProfilePlot&>(m_plot).grab(m_plot.plotRect()).toImage();
        int count = 0;
        for (int y = 0; y < picture.height(); ++y) {
            for (int x = 0; x < picture.width(); ++x) {
                const QColor there = picture.pixelColor(x, y);
                count += std::abs(there.red() - colour.red()) + std::abs(there.green() - colour.green()) + std::abs(there.blue() - colour.blue()) < 150;
            }
        }
        return count;
    }

    ui::ProfilePlot m_plot;
};

TEST_F(ProfilePlotTest, PlacesAreThoseOfThePictureAbove)
{
    m_plot.setView(100, 0.25, 60);
    EXPECT_EQ(m_plot.positionOf(100), 60);
    EXPECT_EQ(m_plot.positionOf(101), 64);
    EXPECT_EQ(m_plot.elementAt(62), 100.5);
    EXPECT_EQ(m_plot.plotRect().left(), 60);
}

TEST_F(ProfilePlotTest, HoveringTellsTheElementAndItsValues)
{
    m_plot.setProfile({ { 1, 2, kNaN }, { 1.5, -2, kInf }, 10, 1, "row 3" });
    m_plot.setView(10, 0.01, 20);
    QSignalSpy spy(&m_plot, &ui::ProfilePlot::hovered);
    QTest::mouseMove(&m_plot, QPoint(170, 60));
    ASSERT_EQ(spy.count(), 1);
    EXPECT_DOUBLE_EQ(spy.takeFirst()[0].toDouble(), 11.5);
    EXPECT_EQ(m_plot.readout(), "row 3, at 11: A 2, B -2");
    QTest::mouseMove(&m_plot, QPoint(270, 60));
    EXPECT_EQ(m_plot.readout(), "row 3, at 12: A NaN, B +Inf");
    QTest::mouseMove(&m_plot, QPoint(390, 60)); // beyond the last
    EXPECT_TRUE(std::isnan(spy.takeLast()[0].toDouble()));
    EXPECT_EQ(m_plot.readout(), "row 3");
    m_plot.setMarker(10);
    EXPECT_EQ(m_plot.readout(), "row 3, at 10: A 1, B 1.5");
    QTest::mouseMove(&m_plot, QPoint(170, 60));
    EXPECT_EQ(m_plot.readout(), "row 3, at 11: A 2, B -2");
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&m_plot, &leave);
    EXPECT_TRUE(std::isnan(spy.last()[0].toDouble()));
    m_plot.setProfile({ { 1, 2 }, { 3, 4 }, 0, 64, "row 3" });
    m_plot.setMarker(70);
    EXPECT_EQ(m_plot.readout(), "row 3, at 64 to 127: A 2, B 4");
}

TEST_F(ProfilePlotTest, BothSidesAreSeen)
{
    const auto& theme = ui::Theme::current();
    m_plot.setProfile({ std::vector<double>(100, 1.0), std::vector<double>(100, 2.0), 0, 1, {} });
    m_plot.setView(0, 0.25, 0);
    const int a = pixelsOf(theme.a), b = pixelsOf(theme.b);
    EXPECT_GT(a, 300); // a line all along
    EXPECT_GT(b, 100);
    EXPECT_LT(b, a * 3 / 4); // a dashed one
    m_plot.setProfile({ std::vector<double>(100, 1.0), std::vector<double>(100, 1.0), 0, 1, {} });
    EXPECT_GT(pixelsOf(theme.a), 50); // of equal lines, both
    EXPECT_GT(pixelsOf(theme.b), 50);
}

TEST_F(ProfilePlotTest, OneSpikeInAMillionIsSeen)
{
    std::vector<double> a(1000000, 0.0), b = a;
    m_plot.setView(0, 2500, 0);
    for (const std::size_t at : { 0u, 123457u, 999999u }) {
        std::fill(b.begin(), b.end(), 0.0);
        m_plot.setProfile({ a, b, 0, 1, {} });
        const int without = pixelsOf(ui::Theme::current().b);
        b[at] = 5;
        m_plot.setProfile({ a, b, 0, 1, {} });
        const QImage picture = m_plot.grab().toImage();
        const int x = std::min(static_cast<int>(m_plot.positionOf(static_cast<double>(at))), 399);
        int seen = 0;
        for (int y = m_plot.plotRect().top(); y < m_plot.plotRect().center().y(); ++y) {
            seen += picture.pixelColor(x, y) != ui::Theme::current().panel;
        }
        EXPECT_GT(seen, 10) << at << ", " << without;
    }
}

TEST_F(ProfilePlotTest, GapsAreMarked)
{
    std::vector<double> a(400, 1.0), b(400, 2.0);
    m_plot.setProfile({ a, b, 0, 1, {} });
    m_plot.setView(0, 1, 0);
    const QImage before = m_plot.grab().toImage();
    b[200] = kNaN;
    m_plot.setProfile({ a, b, 0, 1, {} });
    const QImage after = m_plot.grab().toImage();
    const int y = m_plot.plotRect().bottom() - 10;
    EXPECT_EQ(before.pixelColor(200, y), before.pixelColor(210, y));
    EXPECT_NE(after.pixelColor(200, y), after.pixelColor(210, y));
    std::fill(b.begin(), b.end(), kNaN);
    m_plot.setProfile({ b, b, 0, 1, {} });
    EXPECT_FALSE(m_plot.grab().toImage().isNull());
}

TEST_F(ProfilePlotTest, AnyValuesAndViewsCanBeShown)
{
    for (const auto& values : { std::vector<double> {}, { 0 }, { 1e308, -1e308 }, { 1.7e308, -1.7e308 }, { 5e-324, 0 }, { kInf }, { kNaN, kInf, -kInf, 3 }, { 1, 1 + 1e-15 } }) {
        for (const double perPixel : { 1e-6, 0.01, 1.0, 1e6, 0.0, -1.0, kNaN }) {
            m_plot.setProfile({ values, values, -5, perPixel == 1.0 ? 3.0 : 1.0, "row 1" });
            m_plot.setView(-6, perPixel, perPixel == 0.01 ? -20 : 40);
            m_plot.setMarker(-5);
            EXPECT_FALSE(m_plot.grab().toImage().isNull());
        }
    }
    m_plot.resize(10, 10);
    EXPECT_FALSE(m_plot.grab().toImage().isNull());
}

// The slice.

class SliceBarTest : public testing::Test {
protected:
    void SetUp() override
    {
        QLocale::setDefault(QLocale::c());
        ui::applyTheme(*qApp, ui::ThemeChoice::Light);
        QObject::connect(&m_bar, &ui::SliceBar::axesChanged, [this](const SliceAxes& axes) {
            EXPECT_EQ(axes, m_bar.axes());
            EXPECT_TRUE(heatmap::Slice::make(m_shape, axes));
            m_changes.push_back(axes);
        });
    }
    void TearDown() override { QLocale::setDefault(QLocale()); }
    void set(const Shape& shape) { set(shape, heatmap::lastPlaneAxes(shape)); }
    void set(const Shape& shape, const SliceAxes& axes)
    {
        m_shape = shape;
        m_bar.setTensor(shape, axes);
        m_bar.resize(900, m_bar.sizeHint().height());
        m_bar.show();
        QApplication::processEvents();
    }
    /// Null if it cannot be seen.
    template <class T>
    T* child(const QString& name)
    {
        for (auto* found : m_bar.findChildren<T*>(name)) {
            if (found->isVisible()) {
                return found;
            }
        }
        return nullptr;
    }
    /// As a user does: by the keyboard, in the list.
    void pick(const char* name, int item)
    {
        auto* box = child<QComboBox>(name);
        ASSERT_NE(box, nullptr);
        QTest::keyClick(box, Qt::Key_Home);
        for (int i = 0; i < item; ++i) {
            QTest::keyClick(box, Qt::Key_Down);
        }
    }

    Shape m_shape;
    ui::SliceBar m_bar;
    std::vector<SliceAxes> m_changes;
};

TEST_F(SliceBarTest, ATensorIsShownWithoutAnAnswer)
{
    set({ 4, 5, 6, 7 });
    EXPECT_TRUE(m_changes.empty());
    EXPECT_EQ(child<QComboBox>("rows")->currentText(), "dim 2 (6)");
    EXPECT_EQ(child<QComboBox>("columns")->currentText(), "dim 3 (7)");
    ASSERT_NE(child<QSlider>("slider1"), nullptr);
    EXPECT_EQ(child<QSlider>("slider1")->maximum(), 4);
    EXPECT_EQ(child<QSlider>("slider2"), nullptr);
    EXPECT_TRUE(child<QToolButton>("plane")->isChecked());
    set({ 4, 5, 6, 7 }, { { 0, 1 }, { 2, 2 }, { 0, 3, 0, 0 }, 0 });
    EXPECT_EQ(child<QSpinBox>("index1")->value(), 3);
    EXPECT_EQ(child<QComboBox>("columns")->currentText(), "dims 2-3 (42)");
    EXPECT_FALSE(child<QToolButton>("plane")->isChecked());
    EXPECT_TRUE(m_changes.empty());
}

TEST_F(SliceBarTest, SliderAndFieldChooseAnIndex)
{
    set({ 4, 50, 6, 7 });
    QTest::keyClick(child<QSlider>("slider1"), Qt::Key_Right);
    ASSERT_EQ(m_changes.size(), 1u);
    EXPECT_EQ(m_changes[0].fixed, (std::vector<std::int64_t> { 0, 1, 0, 0 }));
    EXPECT_EQ(child<QSpinBox>("index1")->value(), 1);
    auto* field = child<QSpinBox>("index1");
    field->selectAll();
    QTest::keyClicks(field, "37");
    EXPECT_EQ(m_changes.size(), 1u); // not at every digit
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_EQ(m_changes.size(), 2u);
    EXPECT_EQ(m_changes[1].fixed[1], 37);
    EXPECT_EQ(child<QSlider>("slider1")->value(), 37);
    EXPECT_TRUE(child<QToolButton>("plane")->isChecked());
}

TEST_F(SliceBarTest, RowsAndColumnsNeverShareADim)
{
    set({ 4, 5, 6, 7 });
    QTest::mouseClick(child<QToolButton>("swap"), Qt::LeftButton);
    EXPECT_EQ(m_bar.axes().rows.first, 3u);
    EXPECT_EQ(m_bar.axes().columns.first, 2u);
    for (int choice = 0; choice < child<QComboBox>("rows")->count(); ++choice) {
        for (const char* box : { "rows", "columns", "rows" }) {
            pick(box, choice); // axesChanged is checked to be valid
        }
    }
    EXPECT_GT(m_changes.size(), 20u);
}

TEST_F(SliceBarTest, AnIndexIsRemembered)
{
    set({ 4, 5, 6, 7 });
    child<QSlider>("slider0")->setValue(3);
    child<QSlider>("slider1")->setValue(2);
    pick("rows", 0); // dim 0
    EXPECT_EQ(m_bar.axes().rows.first, 0u);
    EXPECT_EQ(m_bar.axes().fixed[1], 2);
    QTest::mouseClick(child<QToolButton>("plane"), Qt::LeftButton);
    EXPECT_EQ(m_bar.axes().fixed, (std::vector<std::int64_t> { 3, 2, 0, 0 }));
}

TEST_F(SliceBarTest, PlaneAndOverview)
{
    set({ 4, 5, 6, 7 });
    QTest::mouseClick(child<QToolButton>("overview"), Qt::LeftButton);
    ASSERT_EQ(m_changes.size(), 1u);
    EXPECT_EQ(m_changes[0].rows, heatmap::overviewAxes(m_shape).rows);
    EXPECT_EQ(m_changes[0].columns, heatmap::overviewAxes(m_shape).columns);
    EXPECT_EQ(child<QSlider>("slider0"), nullptr); // nothing is hidden
    QTest::mouseClick(child<QToolButton>("overview"), Qt::LeftButton);
    EXPECT_EQ(m_changes.size(), 1u); // nothing new
    EXPECT_TRUE(child<QToolButton>("overview")->isChecked());
    EXPECT_FALSE(child<QToolButton>("plane")->isChecked());
}

TEST_F(SliceBarTest, FewDimsNeedNoChoice)
{
    for (const auto& shape : { Shape {}, Shape { 7 }, Shape { 4, 5 }, Shape { 100000 } }) {
        set(shape);
        EXPECT_EQ(child<QComboBox>("rows"), nullptr);
        EXPECT_EQ(child<QToolButton>("plane"), nullptr);
        EXPECT_LE(m_bar.sizeHint().height(), 4) << shape.size();
    }
    set({ 1, 100000 }); // one row, or folded
    ASSERT_NE(child<QToolButton>("overview"), nullptr);
    EXPECT_EQ(child<QComboBox>("rows"), nullptr);
    EXPECT_EQ(child<QToolButton>("swap"), nullptr);
    QTest::mouseClick(child<QToolButton>("overview"), Qt::LeftButton);
    EXPECT_GT(m_bar.axes().foldWidth, 0);
    EXPECT_EQ(m_changes.size(), 1u);
}

TEST_F(SliceBarTest, WithoutRowsALongLineIsFolded)
{
    set({ 40, 50, 60 });
    pick("columns", 5); // all dims; the rows get none
    EXPECT_EQ(m_bar.axes().columns.count, 3u);
    EXPECT_EQ(m_bar.axes().rows.count, 0u);
    EXPECT_EQ(m_bar.axes().foldWidth, heatmap::foldedWidth(120000));
}

TEST_F(SliceBarTest, SenselessAxesBecomeThePlane)
{
    set({ 3, 4, 5 }, { { 0, 2 }, { 1, 2 }, {}, 0 });
    EXPECT_EQ(m_bar.axes().rows, heatmap::lastPlaneAxes(m_shape).rows);
    EXPECT_EQ(m_bar.axes().fixed.size(), 3u);
    EXPECT_TRUE(m_changes.empty());
    set({ 3, 0, 5 });
    set({ 2, 2, 2, 2, 2, 2, 2, 2 });
    EXPECT_NE(child<QSlider>("slider5"), nullptr);
    set({ 1, 1, 5, 5 });
    EXPECT_EQ(child<QSlider>("slider0"), nullptr); // one index: nothing to choose
}

TEST_F(SliceBarTest, EveryWidthShowsEverything)
{
    set({ 8, 12, 512, 64 });
    for (const int width : { 340, 600, 900, 1400, 340 }) {
        m_bar.resize(width, 10);
        QApplication::processEvents();
        m_bar.resize(width, m_bar.sizeHint().height());
        QApplication::processEvents();
        EXPECT_LE(m_bar.minimumSizeHint().width(), width);
        for (auto* widget : m_bar.findChildren<QWidget*>()) {
            if (widget->isVisible() && widget->parentWidget()->parentWidget() == &m_bar) {
                const QRect place(widget->mapTo(&m_bar, QPoint()), widget->size());
                EXPECT_TRUE(m_bar.rect().contains(place)) << width << " " << widget->objectName().toStdString();
            }
        }
    }
}

} // namespace
} // namespace forkpoint
