// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/detail_rows.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>

namespace forkpoint::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Metrics)
};

struct LaneView {
    const diagnose::LaneMeasurement* lane = nullptr;
    const diagnose::Judgement* judgement = nullptr;
};

LaneView laneOf(const compare::Snapshot& comparison, std::size_t pair, int lane)
{
    if (pair >= comparison.ready()) {
        return {};
    }
    const auto& result = comparison.result(pair);
    if (result.lanes.empty()) {
        return {};
    }
    const auto index = lane >= 0 && static_cast<std::size_t>(lane) < result.lanes.size() ? static_cast<std::size_t>(lane) : result.worst;
    return { &result.lanes[index], index < result.judgements.size() ? &result.judgements[index] : nullptr };
}

QString countText(std::int64_t n) { return QLocale().toString(static_cast<qlonglong>(n)); }

/// "12 of 4,096 (0.3 %)"
QString shareText(std::int64_t n, std::int64_t all)
{
    if (n == 0 || all == 0) {
        return countText(n);
    }
    return Words::tr("%1 (%2 %)", "count (share)").arg(countText(n), number(100.0 * static_cast<double>(n) / static_cast<double>(all), 3));
}

QString extremumText(const metrics::Extremum& extremum, const Shape& shape)
{
    return extremum.index < 0 ? number(extremum.value) : QStringLiteral("%1 %2").arg(number(extremum.value), indexText(shape, extremum.index));
}

QString atText(const metrics::Extremum& extremum)
{
    return extremum.index < 0 ? QString() : QLatin1Char('\n') + Words::tr("There A is %1 and B is %2.").arg(number(extremum.a, 9), number(extremum.b, 9));
}

} // namespace

std::vector<TextTable::Row> metricRows(const compare::Snapshot& comparison, std::size_t pair, int lane)
{
    const auto view = laneOf(comparison, pair, lane);
    if (!view.lane) {
        return {};
    }
    const auto& s = view.lane->statistics;
    // Nothing is known of differences where no element is finite on both sides.
    const bool none = s.finite == 0 && s.count > 0 && !view.lane->sameBytes;
    const auto ofPairs = [none](const QString& text) { return none ? QStringLiteral("–") : text; };
    const auto& result = comparison.result(pair);
    const auto& shape = comparison.structure().alignment.pairs[pair].shapeA;
    std::vector<TextTable::Row> rows;
    const auto add = [&rows](const QString& name, const QString& value, const QString& definition) { rows.push_back({ { name, value }, definition, false, {} }); };
    if (view.judgement) {
        add(Words::tr("× floor"), number(view.judgement->ratio, 3),
            Words::tr("The larger of error / floor and max |d| / (16 × floor × largest magnitude): up to 1 is noise, up to 100 drift, above divergent."));
        add(Words::tr("error"), number(view.judgement->error),
            Words::tr("|B − A| / max(|A|, |B|, S) in the 2-norm. S applies to parameter gradients: the largest rms gradient in the module times √n."));
        add(Words::tr("floor"), number(view.judgement->floor),
            Words::tr("What rounding explains: estimated from the narrowest type that computed it (32 u for float32 and wider, 4 u for half types), or "
                      "measured by a repeat of A where that showed more. Integers have none."));
    }
    add(Words::tr("inherited"), number(result.inherited), Words::tr("Largest error among the recorded inputs of the pair."));
    add(Words::tr("new error here"), number(result.added), Words::tr("max(0, error − inherited): what this pair adds to what it was given."));
    add(Words::tr("relative L2"), ofPairs(number(s.relL2)), Words::tr("|d| / max(|A|, |B|) in the 2-norm, over elements finite on both sides; 0 if both are zero. d = B − A."));
    add(Words::tr("relative L∞"), ofPairs(number(s.relLinf)), Words::tr("max |d| / max(max |A|, max |B|)."));
    add(Words::tr("max |d|"), ofPairs(extremumText(s.maxAbs, shape)), Words::tr("Largest |B − A|, with its index; of several the first.") + atText(s.maxAbs));
    add(Words::tr("max relative"), ofPairs(extremumText(s.maxRel, shape)),
        Words::tr("Largest |d| / max(|a|, |b|), the symmetric relative error; 0/0 is 0. Other tools divide by |b| alone.") + atText(s.maxRel));
    add(Words::tr("mean |d|"), ofPairs(number(s.meanAbs)), Words::tr("Mean of |B − A|."));
    add(Words::tr("mean d (bias)"), ofPairs(number(s.meanDiff)), Words::tr("Mean of B − A: a bias where it is not small against mean |d|."));
    add(Words::tr("RMSE"), ofPairs(number(s.rmse)), Words::tr("Square root of the mean of d²."));
    add(Words::tr("cosine"), ofPairs(number(s.cosine, 9)), Words::tr("<A, B> / (|A| |B|); 1 if both are zero, 0 if one is."));
    add(Words::tr("norm ratio"), ofPairs(number(s.normRatio, 7)), Words::tr("|B| / |A|; 1 if both are zero."));
    add(Words::tr("best scale"), ofPairs(number(s.bestScale, 7)), Words::tr("s = <A, B> / <A, A>, the factor that minimises |B − s A|; 1 if A is zero."));
    add(Words::tr("its residual"), ofPairs(number(s.scaleResidual)), Words::tr("|B − s A| / |B| with the best scale s: small where one factor explains the whole difference."));
    add(Words::tr("bit-equal"), shareText(s.bitEqual, s.count), Words::tr("Elements with the same bits; types of different width count as equal if the values are."));
    add(Words::tr("allclose violations"), shareText(s.allcloseViolations, s.count),
        Words::tr("Elements with |d| > atol + rtol × |a|, as torch.isclose(B, A) with rtol 1.3e-6 and atol 1e-5; NaN and unequal infinities violate."));
    add(Words::tr("zero on one side"), shareText(s.zeroMismatch, s.count), Words::tr("Elements that are zero on one side only."));
    add(Words::tr("factor z"), ofPairs(number(s.factorZ, 3)), Words::tr("<a, d> / √Σ a² d²: about N(0, 1) if the errors are independent; beyond 6 a factor runs through the difference."));
    add(Words::tr("bias z"), ofPairs(number(s.biasZ, 3)), Words::tr("Σ d / √Σ d²: about N(0, 1) if the errors are independent; beyond 6 a bias runs through the difference."));
    if (view.lane->ofUpdate) {
        add(Words::tr("error of the values"), number(view.lane->plainError),
            Words::tr("Relative L2 difference of the parameters themselves; all other numbers are of their update (after − start)."));
    }
    if (view.lane->illConditioned > 0) {
        add(Words::tr("ill-conditioned"), shareText(view.lane->illConditioned, s.count + view.lane->illConditioned),
            Words::tr("Elements left out: their gradient is itself within the floor, and decides the sign of their update."));
    }
    add(Words::tr("elements"), countText(s.count), Words::tr("Elements compared; %1 of them are finite on both sides.").arg(countText(s.finite)));
    return rows;
}

std::vector<TextTable::Row> sideRows(const compare::Snapshot& comparison, std::size_t pair, int lane)
{
    const auto view = laneOf(comparison, pair, lane);
    if (!view.lane) {
        return {};
    }
    const auto& a = view.lane->statistics.a;
    const auto& b = view.lane->statistics.b;
    std::vector<TextTable::Row> rows;
    const auto add = [&rows](const QString& name, const QString& left, const QString& right, const QString& definition) {
        rows.push_back({ { name, left, right }, definition, false, {} });
    };
    add(Words::tr("min"), number(a.min), number(b.min), Words::tr("Smallest finite element."));
    add(Words::tr("max"), number(a.max), number(b.max), Words::tr("Largest finite element."));
    add(Words::tr("mean"), number(a.mean), number(b.mean), Words::tr("Mean of the finite elements."));
    add(Words::tr("std"), number(a.std), number(b.std), Words::tr("Standard deviation of the finite elements (population, divisor n)."));
    add(Words::tr("2-norm"), number(a.norm), number(b.norm), Words::tr("√Σ x² over the finite elements."));
    add(Words::tr("zeros"), countText(a.zeros), countText(b.zeros), Words::tr("Elements equal to zero."));
    add(Words::tr("NaN"), countText(a.nan), countText(b.nan), Words::tr("Elements that are not a number; %1 of them on both sides at once.").arg(countText(view.lane->statistics.nanBoth)));
    add(Words::tr("infinite"), countText(a.positiveInf + a.negativeInf), countText(b.positiveInf + b.negativeInf),
        Words::tr("Infinite elements; %1 of them the same on both sides.").arg(countText(view.lane->statistics.infBothEqual)));
    return rows;
}

QString laneName(const compare::Snapshot& comparison, std::size_t pair, std::size_t lane)
{
    const auto& lanes = comparison.structure().alignment.pairs[pair].lanes;
    return lane < lanes.size() && lanes[lane].rank >= 0 ? Words::tr("rank %1").arg(lanes[lane].rank) : Words::tr("assembled");
}

std::vector<TextTable::Row> laneRows(const compare::Snapshot& comparison, std::size_t pair)
{
    std::vector<TextTable::Row> rows;
    if (pair >= comparison.ready() || comparison.result(pair).lanes.size() < 2) {
        return rows;
    }
    const auto& result = comparison.result(pair);
    for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        const auto& lane = result.lanes[i];
        TextTable::Row row;
        const bool judged = i < result.judgements.size();
        row.cells = { laneName(comparison, pair, i), judged ? number(result.judgements[i].ratio, 2) : QString(), judged ? number(result.judgements[i].error, 3) : QString(),
            number(lane.statistics.maxAbs.value, 3) };
        row.severity = judged ? std::optional(result.judgements[i].severity) : std::nullopt;
        row.definition = lane.sameBytes ? Words::tr("Equal digests: the bytes are the same and were not read.") : QString();
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<TextTable::Row> contextRows(const compare::Snapshot& comparison, bool equal)
{
    std::vector<TextTable::Row> rows;
    const auto& alignment = comparison.structure().alignment;
    auto entries = diagnose::contextEntries(alignment.a, alignment.b);
    if (!entries) {
        return rows;
    }
    const auto rank = [](const diagnose::ContextEntry& e) { return !e.differs() ? 2 : e.expected ? 1 : 0; };
    std::stable_sort(entries->begin(), entries->end(), [&](const auto& l, const auto& r) { return rank(l) < rank(r); });
    for (const auto& e : *entries) {
        if (!e.differs() && !equal) {
            break;
        }
        const auto value = [&e](const std::string& text) { return !text.empty() ? shown(text) : e.unreadable ? Words::tr("not readable") : Words::tr("absent"); };
        TextTable::Row row;
        row.cells = { e.differs() ? QStringLiteral("≠") : QStringLiteral("="), shown(e.section), shown(e.key), value(e.a), value(e.b) };
        row.dim = rank(e) > 0;
        row.definition = QStringLiteral("%1 / %2\nA: %3\nB: %4").arg(row.cells[1], row.cells[2], row.cells[3], row.cells[4]);
        if (e.differs() && e.expected && !e.unreadable) {
            row.definition += QLatin1Char('\n') + Words::tr("Expected: this differs between any two such runs.");
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace forkpoint::ui
