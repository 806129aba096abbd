// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/curves_run.h"

#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QTranslator>

#include <limits>

namespace forkpoint::test {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Series falling(int count, double scale = 1)
{
    return series("loss", count, [=](int step) { return scale * (2 + std::exp(-step / 10.0)); });
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

/// Equal up to `fork`, then a tenth larger.
Series forked(int count, int fork)
{
    return series("loss", count, [=](int step) { return (step >= fork ? 1.1 : 1.0) * (2 + std::exp(-step / 10.0)); });
}

} // namespace

class CurvesViewTest : public CurvesFixture { };

TEST_F(CurvesViewTest, ShowsLossFirstThenTheOthers)
{
    const auto lr = series("lr", 10, [](int) { return 0.1; });
    compare({ 0 }, { lr, falling(10) }, { lr, falling(10) });
    auto* scalars = child<QComboBox>("scalars");
    ASSERT_EQ(scalars->count(), 2);
    EXPECT_EQ(m_view.scalar(), "loss");
    QTest::keyClick(scalars, Qt::Key_Down);
    EXPECT_EQ(m_view.scalar(), "lr");
    EXPECT_EQ(drawn("a"), std::vector<double>(10, 0.1));
    EXPECT_TRUE(m_view.plot().onsetLabel().isEmpty());
}

TEST_F(CurvesViewTest, ClickOnARecordedStepSelectsIt)
{
    compare({ 0, 5, 20 }, { falling(30) }, { falling(30) });
    EXPECT_EQ(m_session.selection().step, 0);
    QTest::mouseClick(&m_view.plot(), Qt::LeftButton, {}, laneAt(20));
    EXPECT_EQ(m_session.selection().step, 20);
    QTest::mouseClick(&m_view.plot(), Qt::LeftButton, {}, laneAt(5) + QPoint(4, 0));
    EXPECT_EQ(m_session.selection().step, 5);
    QTest::mouseClick(&m_view.plot(), Qt::LeftButton, {}, laneAt(13)); // nothing is recorded there
    EXPECT_EQ(m_session.selection().step, 5);
}

TEST_F(CurvesViewTest, ArrowsMoveThroughRecordedSteps)
{
    compare({ 0, 5, 20 }, { falling(30) }, { falling(30) });
    m_view.setFocus();
    ASSERT_TRUE(m_view.plot().hasFocus());
    QTest::keyClick(&m_view.plot(), Qt::Key_Right);
    EXPECT_EQ(m_session.selection().step, 5);
    QTest::keyClick(&m_view.plot(), Qt::Key_Right);
    QTest::keyClick(&m_view.plot(), Qt::Key_Right);
    EXPECT_EQ(m_session.selection().step, 20);
    QTest::keyClick(&m_view.plot(), Qt::Key_Left);
    EXPECT_EQ(m_session.selection().step, 5);
}

TEST_F(CurvesViewTest, ReadoutIsOfTheSelectedStepThenOfTheMouse)
{
    compare(
        { 0, 5 }, { series("loss", 10, [](int step) { return 4.0 + step; }) }, { series("loss", 10, [](int step) { return 5.0 + step; }) });
    EXPECT_EQ(m_view.readout(), "step 0: A 4, B 5, B - A 1, relative 0.2");
    m_session.selectStep(5);
    EXPECT_EQ(m_view.readout(), "step 5: A 9, B 10, B - A 1, relative 0.1");
    QTest::mouseMove(&m_view.plot(), valuesAt(6) + QPoint(3, 0));
    EXPECT_EQ(m_view.readout(), "step 6: A 10, B 11, B - A 1, relative 0.0909");
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&m_view.plot(), &leave);
    EXPECT_EQ(m_view.readout(), "step 5: A 9, B 10, B - A 1, relative 0.1");
}

TEST_F(CurvesViewTest, ReadoutWhereOneSideLoggedNothing)
{
    compare({ 0 }, { falling(10) }, { series("loss", 10, [](int step) { return step % 2 ? std::nullopt : std::optional(3.0); }) });
    QTest::mouseMove(&m_view.plot(), valuesAt(1));
    EXPECT_TRUE(m_view.readout().endsWith("B no value")) << m_view.readout().toStdString();
    EXPECT_EQ(m_view.plot().curve().difference.points, 5u);
}

TEST_F(CurvesViewTest, OnsetIsMarkedAndNamed)
{
    compare({ 0 }, { falling(30) }, { forked(30, 7) });
    EXPECT_EQ(m_view.plot().onsetLabel(), "onset: step 7");
    EXPECT_FALSE(m_view.notes().contains("onset"));
    const QColor red = ui::Theme::current().strong(diagnose::Severity::Divergent);
    EXPECT_EQ(m_view.plot().differenceColour(), red);
    const QImage picture = m_view.plot().grab().toImage();
    const int x = valuesAt(7).x(), top = m_view.plot().valuesRect().top();
    int marked = 0;
    for (int y = top; y < top + 60; ++y) {
        for (int dx = -1; dx <= 1; ++dx) {
            const QColor c = picture.pixelColor(x + dx, y);
            marked += c.red() > 160 && c.green() < 140 && c.blue() < 150 ? 1 : 0;
        }
    }
    EXPECT_GT(marked, 20);
}

TEST_F(CurvesViewTest, NoOnsetIsSaidInWordsAndIsNoAlarm)
{
    compare({ 0 }, { falling(30) }, { falling(30, 1 + 1e-8) });
    EXPECT_TRUE(m_view.plot().onsetLabel().isEmpty());
    EXPECT_TRUE(m_view.notes().contains("No onset")) << m_view.notes().toStdString();
    EXPECT_EQ(m_view.plot().differenceColour(), ui::Theme::current().muted);
}

TEST_F(CurvesViewTest, ASingleRanksLogSetsNoOnset)
{
    compare({ 0 }, { falling(30) }, { forked(30, 7) }, 2); // one of two ranks was recorded
    EXPECT_TRUE(m_view.plot().onsetLabel().isEmpty());
    EXPECT_TRUE(m_view.notes().contains("a single rank's log sets no onset")) << m_view.notes().toStdString();
}

TEST_F(CurvesViewTest, LogAxisCountsWhatItHides)
{
    const auto signedValue = [](int step) { return step - 3.0; }; // three negative, one zero
    compare(
        { 0 }, { series("loss", 10, signedValue) }, { series("loss", 10, [=](int step) { return std::max(signedValue(step), -1.0); }) });
    const QCPRange steps = m_view.plot().stepAxis()->range();
    QTest::mouseClick(child<QToolButton>("logValues"), Qt::LeftButton);
    EXPECT_EQ(m_view.plot().valueAxis()->scaleType(), QCPAxis::stLogarithmic);
    EXPECT_TRUE(m_view.notes().contains("4 of A, 4 of B")) << m_view.notes().toStdString();
    EXPECT_EQ(m_view.plot().stepAxis()->range(), steps);
    EXPECT_GT(m_view.plot().valueAxis()->range().lower, 0);
    EXPECT_TRUE(std::isnan(drawn("a")[3]));
    EXPECT_EQ(drawn("a")[4], 1);

    QTest::mouseClick(child<QToolButton>("logDifference"), Qt::LeftButton);
    EXPECT_TRUE(m_view.notes().contains("hides 8 steps with equal values")) << m_view.notes().toStdString();
    EXPECT_EQ(drawn("difference")[0], 2); // |B - A| = |-1 - -3|
    EXPECT_EQ(m_view.plot().differenceAxis()->label(), "|B - A|");
    QTest::mouseClick(child<QToolButton>("logDifference"), Qt::LeftButton);
    EXPECT_EQ(m_view.plot().differenceAxis()->label(), "B - A");
}

TEST_F(CurvesViewTest, AxesWriteNumbersAsTheWindowDoes)
{
    compare({ 0 }, { series("loss", 4, [](int step) { return step * 1e-7; }) }, { series("loss", 4, [](int step) { return step * 1e-7; }) });
    m_view.plot().replot(QCustomPlot::rpImmediateRefresh);
    const auto labels = m_view.plot().valueAxis()->tickVectorLabels();
    ASSERT_FALSE(labels.isEmpty());
    for (const auto& label : labels) {
        EXPECT_TRUE(label == "0" || (label.contains("e-") && !label.contains("e-0"))) << label.toStdString();
    }
}

TEST_F(CurvesViewTest, SmoothingChangesOnlyTheSmoothedLine)
{
    const auto noisy = [](double seed) { return series("loss", 200, [=](int step) { return 3 + std::sin(step * seed); }); };
    compare({ 0 }, { noisy(12.9) }, { noisy(7.3) });
    EXPECT_TRUE(drawn("a-smooth").empty());
    const auto a = drawn("a"), b = drawn("b"), difference = drawn("difference");
    const QString readout = m_view.readout();
    auto* slider = child<QSlider>("smoothing");
    slider->setFocus();
    for (int i = 0; i < 5; ++i) {
        QTest::keyClick(slider, Qt::Key_PageUp);
    }
    EXPECT_EQ(drawn("a"), a);
    EXPECT_EQ(drawn("b"), b);
    EXPECT_EQ(drawn("difference"), difference);
    EXPECT_EQ(m_view.readout(), readout);
    const auto smooth = drawn("a-smooth");
    ASSERT_EQ(smooth.size(), a.size());
    EXPECT_DOUBLE_EQ(smooth[0], a[0]); // not dragged towards zero at the start
    const auto roughness = [](const std::vector<double>& line) {
        double sum = 0;
        for (std::size_t i = 1; i < line.size(); ++i) {
            sum += std::abs(line[i] - line[i - 1]);
        }
        return sum;
    };
    EXPECT_LT(roughness(smooth), roughness(a) / 5);
    QTest::keyClick(slider, Qt::Key_Home);
    EXPECT_TRUE(drawn("a-smooth").empty());
}

TEST_F(CurvesViewTest, NaNAndInfAreGapsWithMarks)
{
    compare({ 0 }, { series("loss", 30, [](int step) { return step == 12 || step == 13 ? kNaN : 2.0; }) },
        { series("loss", 30, [](int step) { return step == 20 ? kInf : 2.0; }) });
    EXPECT_TRUE(std::isnan(drawn("a")[12]));
    EXPECT_TRUE(std::isnan(drawn("b")[20])); // never a spike that squeezes the rest
    EXPECT_EQ(m_view.plot().curve().a.nonFinite.size(), 2u);
    EXPECT_EQ(m_view.plot().onsetLabel(), "onset: step 12");
    EXPECT_TRUE(m_view.notes().contains("A: 2 NaN; B: 1 Inf")) << m_view.notes().toStdString();
    QTest::mouseMove(&m_view.plot(), valuesAt(12));
    EXPECT_EQ(m_view.readout(), "step 12: A NaN, B 2, B - A NaN");
    const QImage picture = m_view.plot().grab().toImage();
    EXPECT_NE(picture.pixelColor(valuesAt(13) + QPoint(4, 20)), picture.pixelColor(valuesAt(16) + QPoint(4, 20))); // the tinted band
}

TEST_F(CurvesViewTest, OnePointIsVisible)
{
    compare({ 3 }, { series("loss", 4, [](int step) { return step == 3 ? std::optional(2.5) : std::nullopt; }) },
        { series("loss", 4, [](int step) { return step == 3 ? std::optional(2.6) : std::nullopt; }) });
    const auto range = m_view.plot().stepAxis()->range();
    EXPECT_LT(range.lower, 3);
    EXPECT_GT(range.upper, 3);
    EXPECT_FALSE(m_view.plot().graph("a")->scatterStyle().isNone());
    const QImage picture = m_view.plot().grab().toImage();
    int blue = 0;
    for (int y = m_view.plot().valuesRect().top(); y < m_view.plot().valuesRect().bottom(); ++y) {
        for (int dx = -4; dx <= 4; ++dx) {
            blue += picture.pixelColor(valuesAt(3).x() + dx, y) == ui::Theme::current().a ? 1 : 0;
        }
    }
    EXPECT_GT(blue, 4);
}

TEST_F(CurvesViewTest, WithoutLossTheOthersAreShown)
{
    const auto lr = series("lr", 10, [](int) { return 0.1; });
    compare({ 0 }, { lr }, { lr });
    EXPECT_EQ(m_view.scalar(), "lr");
    EXPECT_TRUE(m_view.notes().contains("No loss was recorded"));
    EXPECT_TRUE(m_view.emptyText().isEmpty());
}

TEST_F(CurvesViewTest, EmptyStatesSayWhatToDo)
{
    EXPECT_TRUE(m_view.emptyText().contains("Open two runs"));
    compare({ 0 }, {}, {});
    EXPECT_TRUE(m_view.emptyText().contains("No scalars were recorded")) << m_view.emptyText().toStdString();
    EXPECT_TRUE(m_view.emptyText().contains("rec.scalar"));
    EXPECT_TRUE(m_view.scalar().isEmpty());
    m_view.grab();
    m_session.close();
    EXPECT_TRUE(m_view.emptyText().contains("Open two runs"));
}

TEST_F(CurvesViewTest, ScalarOfOneSideOnly)
{
    compare({ 0 }, { falling(10), series("extra", 10, [](int) { return 1.0; }) }, { falling(10) });
    m_session.selectCurve("extra");
    EXPECT_EQ(m_view.scalar(), "extra");
    EXPECT_TRUE(m_view.notes().contains("B does not have this scalar"));
    m_view.grab();
}

TEST_F(CurvesViewTest, WheelZoomsDragMovesDoubleClickAndHomeFit)
{
    compare({ 0 }, { falling(100) }, { falling(100) });
    auto& plot = m_view.plot();
    const QCPRange all = plot.stepAxis()->range(), values = plot.valueAxis()->range();
    const QPoint at = valuesAt(30);
    const double before = plot.stepAxis()->pixelToCoord(at.x());
    const auto wheel = [&](Qt::KeyboardModifiers modifiers) {
        QWheelEvent event(at, plot.mapToGlobal(at), {}, { 0, 120 }, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&plot, &event);
    };
    wheel({});
    EXPECT_LT(plot.stepAxis()->range().size(), all.size() * 0.9);
    EXPECT_NEAR(plot.stepAxis()->pixelToCoord(at.x()), before, 1e-6); // about the mouse
    EXPECT_EQ(plot.valueAxis()->range(), values);
    EXPECT_EQ(plot.valueAxis()->axisRect()->axis(QCPAxis::atBottom)->range(), plot.stepAxis()->range()); // linked
    wheel(Qt::ControlModifier);
    EXPECT_LT(plot.valueAxis()->range().size(), values.size());

    const double centre = plot.stepAxis()->range().center();
    QTest::mousePress(&plot, Qt::LeftButton, {}, at);
    QTest::mouseMove(&plot, at - QPoint(60, 0));
    QTest::mouseMove(&plot, at - QPoint(120, 0));
    QTest::mouseRelease(&plot, Qt::LeftButton, {}, at - QPoint(120, 0));
    EXPECT_GT(plot.stepAxis()->range().center(), centre + 5);
    EXPECT_EQ(plot.valueAxis()->axisRect()->axis(QCPAxis::atBottom)->range(), plot.stepAxis()->range());

    QTest::mouseDClick(&plot, Qt::LeftButton, {}, at);
    EXPECT_EQ(plot.stepAxis()->range(), all);
    EXPECT_EQ(plot.valueAxis()->range(), values);
    wheel({});
    QTest::keyClick(&plot, Qt::Key_Home);
    EXPECT_EQ(plot.stepAxis()->range(), all);
    QTest::keyClick(&plot, Qt::Key_Plus);
    EXPECT_LT(plot.stepAxis()->range().size(), all.size());
    QTest::keyClick(&plot, Qt::Key_Minus);
    EXPECT_NEAR(plot.stepAxis()->range().size(), all.size(), 1e-6);
    QTest::keyClick(&plot, Qt::Key_Plus);
    QTest::mouseClick(child<QToolButton>("fit"), Qt::LeftButton);
    EXPECT_EQ(plot.stepAxis()->range(), all);
    for (int i = 0; i < 200; ++i) {
        plot.zoomSteps(2);
    }
    EXPECT_LT(plot.stepAxis()->range().size(), 400); // nobody gets lost
}

TEST_F(CurvesViewTest, ARefreshMovesNothing)
{
    compare({ 0, 5 }, { falling(100) }, { forked(100, 7) });
    m_view.plot().zoomSteps(0.4);
    const QCPRange steps = m_view.plot().stepAxis()->range(), values = m_view.plot().valueAxis()->range();
    emit m_session.resultsChanged();
    emit m_session.verdictReady();
    emit m_session.stateChanged();
    m_session.selectStep(5);
    EXPECT_EQ(m_view.plot().stepAxis()->range(), steps);
    EXPECT_EQ(m_view.plot().valueAxis()->range(), values);
}

TEST_F(CurvesViewTest, AnotherScalarKeepsTheStepsUnlessItHasNoneThere)
{
    const auto s = std::vector<Series> { falling(100), series("early", 10, [](int step) { return step; }),
        series("lr", 100, [](int) { return 0.1; }) };
    compare({ 0 }, s, s);
    m_view.plot().zoomSteps(0.3); // 35 to 65
    const QCPRange steps = m_view.plot().stepAxis()->range();
    m_session.selectCurve("lr");
    EXPECT_EQ(m_view.plot().stepAxis()->range(), steps);
    m_session.selectCurve("early");
    EXPECT_TRUE(m_view.plot().showsSteps());
    EXPECT_LT(m_view.plot().stepAxis()->range().upper, 12);
}

TEST_F(CurvesViewTest, AMillionPointsAreMadeReadyOffTheUiThread)
{
    const auto noisy = [](double seed) {
        return series("loss", 1'000'000, [=](int step) { return 3 + std::sin(step * seed) + std::exp(-step / 1e5); });
    };
    compare({ 0 }, { noisy(12.9) }, { noisy(7.3) });
    EXPECT_EQ(m_view.plot().curve().a.points, 1'000'000u);
    EXPECT_EQ(m_view.plot().curve().difference.points, 1'000'000u);
    child<QSlider>("smoothing")->setValue(60);
    EXPECT_TRUE(m_view.isBusy()); // made ready on a worker
    EXPECT_TRUE(drawn("a-smooth").empty());
    child<QSlider>("smoothing")->setValue(70); // and replaced while it is
    ASSERT_TRUE(QTest::qWaitFor([&] { return !m_view.isBusy(); }, 30000));
    EXPECT_EQ(drawn("a-smooth").size(), 1'000'000u);
    QTest::mouseMove(&m_view.plot(), valuesAt(500'000));
    EXPECT_TRUE(m_view.readout().startsWith("step ")) << m_view.readout().toStdString();
    EXPECT_NE(m_view.readout(), "step 0");
}

TEST_F(CurvesViewTest, FollowsTheme)
{
    compare({ 0 }, { falling(10) }, { falling(10) });
    ui::applyTheme(*qApp, ui::ThemeChoice::Dark);
    QCoreApplication::processEvents();
    EXPECT_EQ(m_view.grab().toImage().pixelColor(m_view.width() - 4, 200), ui::Theme::darkTheme().panel);
    EXPECT_EQ(m_view.plot().graph("a")->pen().color(), ui::Theme::darkTheme().a);
    ui::applyTheme(*qApp, ui::ThemeChoice::Light);
    QCoreApplication::processEvents();
    EXPECT_EQ(m_view.grab().toImage().pixelColor(m_view.width() - 4, 200), ui::Theme::light().panel);
    EXPECT_EQ(m_view.plot().graph("b")->pen().style(), Qt::CustomDashLine);
    EXPECT_EQ(m_view.plot().graph("a")->pen().style(), Qt::SolidLine);
}

TEST_F(CurvesViewTest, FollowsLanguage)
{
    compare({ 0 }, { falling(30) }, { forked(30, 7) });
    Brackets brackets;
    QCoreApplication::installTranslator(&brackets);
    QCoreApplication::processEvents();
    EXPECT_EQ(child<QToolButton>("fit")->text(), "[Fit]");
    EXPECT_EQ(m_view.plot().onsetLabel(), "[onset: step 7]");
    EXPECT_EQ(m_view.plot().differenceAxis()->label(), "[B - A]");
    EXPECT_TRUE(m_view.readout().startsWith("[step 0"));
    EXPECT_EQ(child<QLabel>("definition")->text(), "[one rank]");
    QCoreApplication::removeTranslator(&brackets);
    QCoreApplication::processEvents();
    EXPECT_EQ(child<QToolButton>("fit")->text(), "Fit");
}

TEST_F(CurvesViewTest, CopiesAPictureWithItsCaption)
{
    compare({ 0, 5 }, { falling(10) }, { falling(10) });
    m_view.setFocus();
    QTest::keyClick(&m_view.plot(), Qt::Key_C, Qt::ControlModifier);
    const QImage copied = QApplication::clipboard()->image();
    EXPECT_EQ(copied.width(), m_view.grab().width());
    EXPECT_GT(copied.height(), m_view.grab().height());
    EXPECT_TRUE(m_view.caption().startsWith(QStringLiteral("A single, B ddp  ·  step 0  ·  loss  ·  floor: "))) << m_view.caption().toStdString();
}

TEST_F(CurvesViewTest, StrangeNamesAreText)
{
    const std::string name = "<b>loss</b>\xD7\xA9" + std::string(500, 'x');
    const auto s = series(name, 10, [](int) { return 1.0; });
    compare({ 0 }, { s }, { s });
    EXPECT_EQ(m_view.scalar(), QString::fromStdString(name));
    EXPECT_FALSE(child<QComboBox>("scalars")->toolTip().contains("<b>loss</b>"));
    EXPECT_LT(m_view.minimumSizeHint().width(), 900);
    m_view.grab();
}

TEST_F(CurvesViewTest, EverythingHasAName)
{
    compare({ 0 }, { falling(10) }, { falling(10) });
    for (const char* name : { "scalars", "logValues", "logDifference", "smoothing", "plot" }) {
        EXPECT_FALSE(m_view.findChild<QWidget*>(QString::fromLatin1(name))->accessibleName().isEmpty()) << name;
    }
    EXPECT_EQ(m_view.plot().accessibleDescription(), m_view.readout());
    EXPECT_TRUE(child<QComboBox>("scalars")->toolTip().contains("one rank"));
}

} // namespace forkpoint::test
