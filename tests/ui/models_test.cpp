// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compare/compare.h"
#include "core/compare/pair_counts.h"
#include "tests/ui/run_builder.h"
#include "ui/curves/curve_text.h"
#include "ui/heatmap/element_panel.h"
#include "ui/models/detail_rows.h"
#include "ui/models/pair_filter.h"
#include "ui/models/pair_model.h"
#include "ui/models/pair_words.h"
#include "ui/models/text_table.h"
#include "ui/models/verdict_words.h"
#include "ui/theme/theme.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QLocale>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <limits>

namespace forkpoint::test {
namespace {

using diagnose::Severity;
using ui::PairFilter;
using ui::PairModel;
using ui::TextTable;

/// A model as text: a line per row, cells between bars.
std::string printed(const QAbstractItemModel& model, int columns = -1)
{
    std::string out;
    columns = columns < 0 ? model.columnCount() : columns;
    for (int row = 0; row < model.rowCount(); ++row) {
        for (int column = 0; column < columns; ++column) {
            out += (column == 0 ? "" : " | ") + model.index(row, column).data().toString().toStdString();
        }
        out += '\n';
    }
    return out;
}

/// Keeps every stage that a comparison published.
struct Stages : compare::Sink {
    std::vector<compare::Snapshot> all;
    void onStructure(const compare::Snapshot& s) override { all.push_back(s); }
    void onResults(const compare::Snapshot& s) override { all.push_back(s); }
};

class ModelTest : public testing::Test {
protected:
    ModelTest() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

    std::filesystem::path folder(const char* name) const { return std::filesystem::path(m_folder.path().toStdString()) / (std::string(name) + ".forkpoint"); }

    compare::Snapshot compared(const NetOptions& a, const NetOptions& b)
    {
        writeNet(folder("one"), a);
        writeNet(folder("two"), b);
        auto left = align::openSide(folder("one").string()), right = align::openSide(folder("two").string());
        EXPECT_TRUE(left && right);
        auto done = compare::compare(std::move(*left), std::move(*right), {}, &m_stages);
        EXPECT_TRUE(done) << (done ? "" : done.error().text());
        return *done;
    }
    compare::Snapshot halved()
    {
        NetOptions b;
        b.gradientScale = 0.5;
        return compared({}, b);
    }

    QTemporaryDir m_folder;
    Stages m_stages;
};

TEST_F(ModelTest, PairsInExecutionOrder)
{
    NetOptions a, b;
    a.steps = b.steps = 1;
    b.gradientScale = 0.5;
    PairModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setComparison(compared(a, b));
    EXPECT_EQ(printed(model, 2),
              "identical | start / param / fc1.weight\n"
              "identical | start / param / fc2.weight\n"
              "identical | data / batch / batch\n"
              "identical | forward / input / fc1\n"
              "identical | forward / output / fc1\n"
              "identical | forward / input / fc2\n"
              "identical | forward / output / fc2\n"
              "identical | forward / output / loss\n"
              "identical | backward / grad / fc1.weight\n"
              "identical | backward / grad / fc2.weight\n"
              "divergent | reduce / grad / fc1.weight\n"
              "divergent | reduce / grad / fc2.weight\n"
              "divergent | optimizer / param / fc1.weight\n"
              "divergent | optimizer / param / fc2.weight\n");
    const auto cell = [&](int row, PairModel::Column column) { return model.index(row, column).data().toString().toStdString(); };
    EXPECT_EQ(cell(10, PairModel::ErrorColumn), "0.5");
    EXPECT_EQ(cell(10, PairModel::DTypeColumn), "float32");
    EXPECT_EQ(cell(10, PairModel::ShapeColumn), "[4, 8]");
    EXPECT_EQ(cell(7, PairModel::ShapeColumn), "scalar");
    EXPECT_EQ(cell(10, PairModel::RuleColumn), "same name");
    EXPECT_TRUE(model.index(10, 0).data(PairModel::IsForkRole).toBool());
    EXPECT_FALSE(model.index(11, 0).data(PairModel::IsForkRole).toBool());
    EXPECT_EQ(model.index(10, PairModel::Name).data(PairModel::ShortNameRole).toString(), QStringLiteral("reduce / fc1.weight"));
    EXPECT_EQ(model.index(3, PairModel::Name).data(PairModel::ShortNameRole).toString(), QStringLiteral("forward / fc1 (input)"));
    for (int column = 0; column < PairModel::kColumns; ++column) {
        EXPECT_FALSE(ui::columnDefinition(static_cast<PairModel::Column>(column)).isEmpty()) << column;
        EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty()) << column;
    }
}

TEST_F(ModelTest, PairsFillInWithoutAReset)
{
    const auto done = halved();
    ASSERT_GT(m_stages.all.size(), 3u);
    PairModel model;
    PairFilter filter(model);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    QAbstractItemModelTester filterTester(&filter, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setComparison(m_stages.all.front());
    EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("pending"));
    EXPECT_EQ(filter.counts().pending, static_cast<int>(done.pairs()));
    QSignalSpy resets(&filter, &QAbstractItemModel::modelReset);
    for (std::size_t i = 1; i < m_stages.all.size(); ++i) {
        model.update(m_stages.all[i]);
        EXPECT_EQ(filter.counts().pending, static_cast<int>(done.pairs() - m_stages.all[i].ready()));
    }
    model.update(done);
    EXPECT_EQ(resets.count(), 0);
    EXPECT_EQ(filter.counts().pending, 0);
    EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("identical"));
    model.setComparison(std::nullopt);
    EXPECT_EQ(filter.rowCount(), 0);
}

TEST_F(ModelTest, FiltersAndSorts)
{
    PairModel model;
    PairFilter filter(model);
    QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setComparison(halved());
    const int all = filter.rowCount();
    EXPECT_EQ(all, 28);
    filter.setStep(0);
    EXPECT_EQ(filter.rowCount(), 14);
    filter.setText(QStringLiteral("FC1"));
    EXPECT_EQ(filter.rowCount(), 6);
    filter.setText(QStringLiteral("/^reduce.*fc[12]/"));
    EXPECT_EQ(printed(filter, 2), "divergent | reduce / grad / fc1.weight\ndivergent | reduce / grad / fc2.weight\n");
    filter.setText(QStringLiteral("/(/"));
    EXPECT_EQ(filter.rowCount(), 0);
    EXPECT_FALSE(filter.problem().isEmpty());
    filter.setText({});
    EXPECT_TRUE(filter.problem().isEmpty());
    filter.setGate(diagnose::Gate::Loss);
    EXPECT_EQ(printed(filter, 2), "identical | forward / output / loss\n");
    EXPECT_EQ(filter.counts().severity[static_cast<std::size_t>(Severity::Identical)], 1);
    filter.setGate(std::nullopt);
    filter.setSeverities({ Severity::Divergent });
    EXPECT_EQ(filter.rowCount(), 4);
    filter.setSeverities({});
    filter.setStep(std::nullopt);

    filter.sort(PairModel::Ratio, Qt::DescendingOrder);
    double last = std::numeric_limits<double>::infinity();
    for (int row = 0; row < filter.rowCount(); ++row) {
        const double ratio = filter.index(row, PairModel::Ratio).data(PairModel::SortRole).toDouble();
        EXPECT_LE(ratio, last);
        last = ratio;
    }
    filter.sort(PairModel::Name, Qt::AscendingOrder);
    EXPECT_TRUE(filter.index(0, PairModel::Name).data().toString().startsWith(QStringLiteral("backward")));
    filter.sort(-1);
    for (int row = 0; row < filter.rowCount(); ++row) {
        EXPECT_EQ(filter.pairAt(filter.index(row, 0)), static_cast<std::size_t>(row));
    }
}

TEST_F(ModelTest, VerdictInWords)
{
    const auto comparison = halved();
    EXPECT_EQ(ui::verdictHeadline(comparison), QStringLiteral("The runs fork at step 0 in the reduced gradients: gradient of fc1.weight."));
    const QString detail = ui::verdictDetail(comparison);
    EXPECT_TRUE(detail.startsWith(QStringLiteral("Relative difference 0.5, "))) << detail.toStdString();
    EXPECT_TRUE(detail.contains(QStringLiteral("B = 0.5 × A"))) << detail.toStdString();
    EXPECT_TRUE(detail.endsWith(QStringLiteral("Everything before is bit-identical."))) << detail.toStdString();
    const auto tallies = ui::gatesOf(comparison, std::nullopt);
    EXPECT_EQ(tallies[static_cast<std::size_t>(diagnose::Gate::Reduce)].state, diagnose::GateState::Fork);
    EXPECT_EQ(tallies[static_cast<std::size_t>(diagnose::Gate::Reduce)].above, 4u);
    EXPECT_EQ(tallies[static_cast<std::size_t>(diagnose::Gate::Data)].identical, 2u);
    // Of a step alone: what an earlier fork does to the weights of the next step is not said of this one.
    const auto first = ui::gatesOf(comparison, 0), second = ui::gatesOf(comparison, 1);
    const auto weights = static_cast<std::size_t>(diagnose::Gate::Weights), reduce = static_cast<std::size_t>(diagnose::Gate::Reduce);
    EXPECT_EQ(first[reduce].state, diagnose::GateState::Fork);
    EXPECT_EQ(first[reduce].above, 2u);
    EXPECT_EQ(first[weights].state, diagnose::GateState::Ok);
    EXPECT_EQ(second[reduce].state, diagnose::GateState::Differs);
    EXPECT_EQ(second[weights].state, diagnose::GateState::Differs);
    const auto pending = ui::gatesOf(m_stages.all.front(), std::nullopt);
    EXPECT_EQ(pending[static_cast<std::size_t>(diagnose::Gate::Reduce)].pending, 4u);

    const QString summary = ui::summaryText(comparison, std::nullopt);
    EXPECT_TRUE(summary.contains(QStringLiteral("Tensor-likes are not close!\n\nMismatched elements: 32 / 32 (100.0%)\n"))) << summary.toStdString();
    EXPECT_TRUE(summary.contains(QStringLiteral("Greatest absolute difference: "))) << summary.toStdString();
    EXPECT_TRUE(summary.contains(QStringLiteral("Greatest relative difference: 0.5 at index ("))) << summary.toStdString();
    EXPECT_TRUE(summary.contains(QStringLiteral("s0/reduce/grad/fc1.weight"))) << summary.toStdString();
}

TEST_F(ModelTest, ARunAgainstItself)
{
    const auto comparison = compared({}, {});
    EXPECT_EQ(comparison.outcome()->verdict.severity, Severity::Identical);
    EXPECT_TRUE(ui::verdictHeadline(comparison).startsWith(QStringLiteral("The runs are bit-identical in all 28 "))) << ui::verdictHeadline(comparison).toStdString();
    EXPECT_TRUE(ui::verdictDetail(comparison).isEmpty());
}

TEST_F(ModelTest, WhatCouldNotBeReadIsNotSaidToAgree)
{
    NetOptions half;
    half.gradientScale = 0.5;
    writeNet(folder("one"), {});
    writeNet(folder("two"), half);
    auto left = align::openSide(folder("one").string()), right = align::openSide(folder("two").string());
    ASSERT_TRUE(left && right);
    std::filesystem::resize_file(folder("two") / "rank00000" / "tensors-0000.bin", 0);
    const auto done = compare::compare(std::move(*left), std::move(*right), {}, &m_stages);
    ASSERT_TRUE(done);
    const auto counts = compare::countPairs(*done);
    ASSERT_GT(counts.unreadable, 0u);
    const QString headline = ui::verdictHeadline(*done), coverage = ui::coverageText(*done);
    EXPECT_TRUE(headline.contains(QStringLiteral("%1 tensor(s) that could be compared").arg(counts.compared()))) << headline.toStdString();
    EXPECT_TRUE(headline.contains(QStringLiteral("%1 tensor(s) could not be read").arg(counts.unreadable))) << headline.toStdString();
    EXPECT_TRUE(coverage.startsWith(QStringLiteral("%1 pair(s) could not be read").arg(counts.unreadable))) << coverage.toStdString();
    EXPECT_FALSE(coverage.contains(QStringLiteral("nothing unseen"))) << coverage.toStdString();
}

TEST_F(ModelTest, MetricsHaveDefinitionsAndNumbers)
{
    const auto comparison = halved();
    TextTable table({ QStringLiteral("metric"), QStringLiteral("value") }, { 1 });
    QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
    const auto fork = comparison.outcome()->verdict.fork->pair;
    table.setRows(ui::metricRows(comparison, fork, -1));
    std::map<std::string, std::string> values;
    for (const auto& row : table.rows()) {
        EXPECT_FALSE(row.definition.isEmpty()) << row.cells[0].toStdString();
        values[row.cells[0].toStdString()] = row.cells[1].toStdString();
    }
    EXPECT_EQ(values["relative L2"], "0.5");
    EXPECT_EQ(values["best scale"], "0.5");
    EXPECT_EQ(values["norm ratio"], "0.5");
    EXPECT_EQ(values["allclose violations"], "32 (100 %)");
    EXPECT_EQ(values["elements"], "32");
    EXPECT_EQ(ui::sideRows(comparison, fork, -1).size(), 8u);
    EXPECT_TRUE(ui::metricRows(m_stages.all.front(), fork, -1).empty()); // pending
}

TEST_F(ModelTest, ContextDifferencesComeFirst)
{
    NetOptions a, b;
    a.info = { { "environment", { { "torch", "2.1" }, { "hostname", "one" }, { "python", "3.11" } } } };
    b.info = { { "environment", { { "torch", "2.2" }, { "hostname", "two" }, { "python", "3.11" } } } };
    const auto comparison = compared(a, b);
    const auto rows = ui::contextRows(comparison, true);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].cells, (QStringList { "≠", "environment", "torch", "\"2.1\"", "\"2.2\"" }));
    EXPECT_FALSE(rows[0].dim);
    EXPECT_EQ(rows[1].cells[2], QStringLiteral("hostname"));
    EXPECT_TRUE(rows[1].dim);
    EXPECT_EQ(rows[2].cells[0], QStringLiteral("="));
    EXPECT_EQ(ui::contextRows(comparison, false).size(), 2u);
    EXPECT_EQ(ui::countContext(comparison).unexpected, 1);
}

TEST(Shown, MakesNamesHarmless)
{
    EXPECT_EQ(ui::shown("a\tb\nc\x7f"), QStringLiteral("a␉b␊c␡"));
    EXPECT_EQ(ui::shown("x\xE2\x80\xAEy"), QStringLiteral("x\\u202ey"));
    EXPECT_EQ(ui::shown("\xD7\xA9\xD7\x9C"), QStringLiteral("\u2068של\u2069"));
    EXPECT_EQ(ui::shown("<b>&amp;</b>"), QStringLiteral("<b>&amp;</b>"));
    EXPECT_EQ(ui::tip(QStringLiteral("<b>x</b>")), QStringLiteral("<qt>&lt;b&gt;x&lt;/b&gt;</qt>"));
    EXPECT_EQ(ui::shown(std::string_view("a\0b", 3)), QStringLiteral("a␀b"));
    ui::shown("\xFF\xFE broken utf-8"); // no crash
}

TEST(ElementWords, IntegersAreExactToTheLastDigit)
{
    heatmap::PickedElement element;
    const std::int64_t a = -9007199254740993, b = std::numeric_limits<std::int64_t>::max();
    element.a = static_cast<double>(a);
    element.b = static_cast<double>(b);
    element.bitsA = static_cast<std::uint64_t>(a);
    element.bitsB = static_cast<std::uint64_t>(b);
    const auto digits = [](QString text) { return text.remove(QLatin1Char(',')); };
    const auto words = ui::elementWords(element, DType::Int64, DType::Int64, {}, {});
    EXPECT_EQ(digits(words.lines[0].value), QStringLiteral("-9007199254740993"));
    EXPECT_EQ(digits(words.lines[1].value), QStringLiteral("9223372036854775807"));
    EXPECT_EQ(digits(words.lines[2].value), QStringLiteral("9232379236109516800"));
    EXPECT_EQ(words.place, QStringLiteral("sum of all ranks"));
    ui::PartPlace weighted;
    weighted.weighted = true;
    EXPECT_EQ(ui::elementWords(element, DType::Int64, DType::Int64, weighted, weighted).place, QStringLiteral("weighted sum of all ranks"));
}

TEST(CurveNotes, ClaimNothingOfValuesThatAreNotFiniteOrTooLarge)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double value : { nan, 1e300 }) {
        curves::Overlay loss;
        loss.name = "loss";
        loss.a = loss.b = { { 0, value }, { 1, value } };
        const auto curve = ui::plotted(loss, {});
        EXPECT_EQ(curve.finite, 0u);
        EXPECT_TRUE(curve.a.values.isEmpty()) << "no axis reaches there";
        const auto notes = (ui::onsetNotes(loss, curve) + ui::curveNotes(loss, curve, {})).join(QLatin1Char(' '));
        EXPECT_FALSE(notes.contains(QStringLiteral("agree"))) << notes.toStdString();
        EXPECT_TRUE(notes.contains(QStringLiteral("no common step has finite losses"))) << notes.toStdString();
        EXPECT_EQ(notes.contains(QStringLiteral("beyond 1e250")), value == 1e300) << notes.toStdString();
    }
}

TEST(Words, NumbersAndIndices)
{
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    EXPECT_EQ(ui::number(1.49e5, 2), QStringLiteral("1.5e5"));
    EXPECT_EQ(ui::number(1e-7, 2), QStringLiteral("1e-7"));
    EXPECT_EQ(ui::number(0.5), QStringLiteral("0.5"));
    EXPECT_EQ(ui::number(std::numeric_limits<double>::quiet_NaN()), QStringLiteral("NaN"));
    EXPECT_EQ(ui::indexText({ 4, 8 }, 10), QStringLiteral("[1, 2]"));
    EXPECT_EQ(ui::indexText({}, 0), QStringLiteral("[]"));
    EXPECT_EQ(ui::indexText({ 0, 3 }, 0), QString());
    EXPECT_EQ(ui::stepsText({ 0, 1, 2 }), QStringLiteral("0-2"));
    EXPECT_EQ(ui::stepsText({ 0, 5 }), QStringLiteral("0, 5"));
}

TEST(Catalogues, AreComplete)
{
    for (const char* language : { "zh_CN", "en" }) {
        QFile file(QStringLiteral("%1/../../resources/translations/forkpoint_%2.ts").arg(QLatin1String(FORKPOINT_TEST_DATA), QLatin1String(language)));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly)) << file.fileName().toStdString();
        const auto text = file.readAll();
        EXPECT_FALSE(text.contains("type=\"unfinished\"")) << language << ": translate what is new, then ninja update_translations";
        EXPECT_FALSE(text.contains("type=\"vanished\"")) << language;
        EXPECT_GT(text.count("<message"), 10) << language;
    }
}

} // namespace
} // namespace forkpoint::test
