// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/verdict_words.h"

#include "core/compare/pair_counts.h"
#include "core/report/sentence.h"
#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

using diagnose::Gate;
using diagnose::GateState;
using diagnose::Severity;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(VerdictWords)
};

const align::Pair& pairAt(const compare::Snapshot& comparison, std::size_t pair) { return comparison.structure().alignment.pairs[pair]; }

/// "in the reduced gradients", as it stands in a sentence after "step 0".
QString placeOf(Gate gate)
{
    switch (gate) {
    case Gate::Environment:
        return Words::tr("in the environment", "where the runs fork");
    case Gate::Data:
        return Words::tr("in the data", "where the runs fork");
    case Gate::Weights:
        return Words::tr("in the initial weights", "where the runs fork");
    case Gate::Forward:
        return Words::tr("in the forward pass", "where the runs fork");
    case Gate::Loss:
        return Words::tr("in the loss", "where the runs fork");
    case Gate::Backward:
        return Words::tr("in the backward pass", "where the runs fork");
    case Gate::Reduce:
        return Words::tr("in the reduced gradients", "where the runs fork");
    case Gate::Optimizer:
        return Words::tr("in the optimizer step", "where the runs fork");
    }
    return {};
}

/// "output of layers.0.ff.down", as it stands in a sentence.
QString described(const align::PairKey& key)
{
    const QString name = tensorName(key);
    switch (key.kind) {
    case bundle::Kind::Batch:
        return Words::tr("the batch");
    case bundle::Kind::Input:
        return Words::tr("input of %1").arg(name);
    case bundle::Kind::Output:
        return diagnose::gateOf(key) == Gate::Loss ? Words::tr("the loss") : Words::tr("output of %1").arg(name);
    case bundle::Kind::GradOutput:
        return Words::tr("gradient of the output of %1").arg(name);
    case bundle::Kind::Grad:
        return Words::tr("gradient of %1").arg(name);
    case bundle::Kind::Param:
        return Words::tr("parameter %1").arg(name);
    case bundle::Kind::Buffer:
        return Words::tr("buffer %1").arg(name);
    case bundle::Kind::OptimizerState:
        return Words::tr("optimizer state of %1").arg(name);
    case bundle::Kind::Scale:
        return Words::tr("loss scale %1").arg(name);
    }
    return name;
}

/// Largest multiple of the floor among the pairs before `end`; nullopt if one of them is above it or on one side only.
std::optional<double> agreementBefore(const compare::Snapshot& comparison, std::size_t end)
{
    double worst = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const auto& result = comparison.result(i);
        if (result.severity > Severity::Noise) {
            return std::nullopt;
        }
        if (!result.undecidable && std::isfinite(result.ratio)) {
            worst = std::max(worst, result.ratio);
        }
    }
    return worst;
}

/// Two sentences in a row; Chinese puts no space after its full stop.
void addSentence(QString& text, const QString& sentence)
{
    if (!text.isEmpty() && !text.endsWith(QChar(0x3002))) {
        text += QLatin1Char(' ');
    }
    text += sentence;
}

/// What was not compared, one sentence each.
void addLeftOut(QString& text, const compare::PairCounts& counts)
{
    if (counts.differing > 0) {
        addSentence(text, counts.differing == 1 ? Words::tr("1 tensor differs in bits; by how much was not recorded.")
                                                : Words::tr("%1 tensors differ in bits; by how much was not recorded.").arg(counts.differing));
    }
    if (counts.unreadable > 0) {
        addSentence(text, Words::tr("%n tensor(s) could not be read.", nullptr, static_cast<int>(counts.unreadable)));
    }
    if (counts.oneSided() > 0) {
        addSentence(text, Words::tr("%n tensor(s) exist on one side only.", nullptr, static_cast<int>(counts.oneSided())));
    }
}

QString agreed(const compare::PairCounts& counts, bool oneRun)
{
    const int within = static_cast<int>(counts.identical + counts.noise);
    if (within + counts.undecidable == 0) {
        return oneRun && counts.compared() > 0 ? Words::tr("Nothing that must be equal on all ranks was compared.")
            : counts.unreadable > 0            ? Words::tr("Nothing could be compared.")
                                               : Words::tr("Nothing could be compared: no tensor exists on both sides.");
    }
    if (within == 0) {
        return Words::tr("No tensor could be decided: %n exceed(s) the floor, but may have grown from rounding.", nullptr, static_cast<int>(counts.undecidable));
    }
    if (oneRun) {
        return counts.noise == 0 ? Words::tr("Weights, reduced gradients and optimizer are bit-identical in %n compared tensor(s).", nullptr, within)
                                 : Words::tr("Weights, reduced gradients and optimizer agree within rounding in %n compared tensor(s).", nullptr, within);
    }
    if (!counts.complete()) {
        return counts.noise == 0 ? Words::tr("The runs are bit-identical in the %n tensor(s) that could be compared.", nullptr, within)
                                 : Words::tr("The runs agree within rounding in the %n tensor(s) that could be compared.", nullptr, within);
    }
    return counts.noise == 0 ? Words::tr("The runs are bit-identical in all %n compared tensor(s).", nullptr, within)
                             : Words::tr("The runs agree within rounding in all %n compared tensor(s).", nullptr, within);
}

/// Said before the verdict on two ranks of one run.
QString lead(const compare::Snapshot& comparison)
{
    const auto& ranks = comparison.structure().alignment.ranksOfOneRun;
    return ranks ? Words::tr("Ranks %1 and %2 of one run: their data differ by design.").arg(ranks->first).arg(ranks->second) : QString();
}

QString agreementHeadline(const compare::Snapshot& comparison)
{
    const auto counts = compare::countPairs(comparison);
    QString text = lead(comparison);
    if (counts.differing > 0 && text.isEmpty()) { // what is known to differ is said first
        addLeftOut(text, counts);
        addSentence(text, Words::tr("%n tensor(s) bit-identical.", nullptr, static_cast<int>(counts.identical)));
        return text;
    }
    addSentence(text, agreed(counts, !text.isEmpty()));
    addLeftOut(text, counts);
    return text;
}

QString agreementDetail(const compare::Snapshot& comparison)
{
    const auto counts = compare::countPairs(comparison);
    QString text;
    if (counts.noise > 0) {
        text = Words::tr("%n tensor(s) bit-identical.", nullptr, static_cast<int>(counts.identical));
    }
    if (const auto& closest = comparison.outcome()->verdict.closest) {
        addSentence(text, Words::tr("Closest to the floor: step %1, %2: %3.")
                              .arg(QString::number(pairAt(comparison, *closest).key.step), described(pairAt(comparison, *closest).key), pairNumbers(comparison, *closest)));
    }
    if (counts.undecidable > 0 && counts.identical + counts.noise > 0) {
        addSentence(text, Words::tr("%n tensor(s) in later steps exceed the floor, but may have grown from rounding.", nullptr, static_cast<int>(counts.undecidable)));
    }
    return text;
}

QString capitalised(QString text)
{
    if (!text.isEmpty()) {
        text[0] = text[0].toUpper();
    }
    return text;
}

} // namespace

diagnose::Gates gatesOf(const compare::Snapshot& comparison, std::optional<int> step)
{
    diagnose::GateQuestion question;
    question.step = step;
    if (const auto* outcome = comparison.outcome(); outcome && outcome->verdict.fork && outcome->verdict.ordered) {
        question.forkPair = outcome->verdict.fork->pair;
    }
    question.environmentDiffers = diagnose::unexpectedDifferences(comparison.structure().context);
    return diagnose::summariseGates(comparison.structure().alignment, comparison.results(), question);
}

ContextCount countContext(const compare::Snapshot& comparison)
{
    const auto& context = comparison.structure().context;
    if (!context) {
        return {};
    }
    return { static_cast<int>(*diagnose::unexpectedDifferences(context)), static_cast<int>(context->size()) };
}

QString gateDetail(const diagnose::GateSummary& tally)
{
    QStringList parts;
    const auto add = [&parts](std::size_t n, const QString& word) {
        if (n > 0) {
            parts += QStringLiteral("%1 %2").arg(QLocale().toString(static_cast<qulonglong>(n)), word);
        }
    };
    add(tally.identical, severityWord(Severity::Identical));
    add(tally.noise, severityWord(Severity::Noise));
    add(tally.unmatched, severityWord(Severity::Unmatched));
    add(tally.differing, Words::tr("differing in bits"));
    add(tally.above, Words::tr("above the floor"));
    add(tally.invalid, severityWord(Severity::Invalid));
    add(tally.pending, Words::tr("pending"));
    return parts.join(Words::tr(", ", "between parts of a list"));
}

QString pairNumbers(const compare::Snapshot& comparison, std::size_t pair)
{
    if (pair >= comparison.ready()) {
        return Words::tr("not measured yet");
    }
    const auto& result = comparison.result(pair);
    const auto* lane = result.worstLane();
    if (!lane) {
        const auto& p = pairAt(comparison, pair);
        const QString status = statusSentence(p.status);
        const auto& note = result.note.empty() ? *p.note : result.note;
        return note.empty() ? (status.isEmpty() ? Words::tr("not compared") : status) : shown(note);
    }
    const auto& s = lane->statistics;
    if (result.severity == Severity::Identical) {
        return Words::tr("bit-identical");
    }
    if (result.severity == Severity::Invalid) {
        return Words::tr("not finite in different places: NaN %1 in A, %2 in B; infinite %3 in A, %4 in B")
            .arg(s.a.nan)
            .arg(s.b.nan)
            .arg(s.a.positiveInf + s.a.negativeInf)
            .arg(s.b.positiveInf + s.b.negativeInf);
    }
    QStringList parts;
    parts += lane->ofUpdate ? Words::tr("relative difference of the update %1").arg(number(s.relL2, 2)) : Words::tr("relative difference %1").arg(number(s.relL2, 2));
    if (std::isfinite(result.ratio)) {
        parts += Words::tr("%1 times the floor").arg(number(result.ratio, 2));
    } else {
        parts += Words::tr("%1 of %2 elements differ").arg(s.count - s.bitEqual).arg(s.count);
    }
    const bool factor = std::abs(s.bestScale - 1) > 1e-3 && s.scaleResidual < 0.01 * std::min(1.0, s.relL2);
    if (factor && diagnose::isAboveFloor(result.severity)) {
        parts += s.scaleResidual > 0 ? Words::tr("B = %1 × A up to %2").arg(number(s.bestScale, 6), number(s.scaleResidual, 1))
                                     : Words::tr("B = %1 × A exactly").arg(number(s.bestScale, 6));
    }
    if (result.structured) {
        parts += Words::tr("small, but not random: a factor or a bias runs through it");
    }
    if (lane->rank >= 0 && result.lanes.size() > 1) {
        parts += Words::tr("worst on rank %1").arg(lane->rank);
    }
    return parts.join(Words::tr(", ", "between parts of a list"));
}

QString verdictHeadline(const compare::Snapshot& comparison)
{
    const auto& verdict = comparison.outcome()->verdict;
    if (!verdict.fork) {
        return agreementHeadline(comparison);
    }
    const auto& pair = pairAt(comparison, verdict.fork->pair);
    const QString step = QString::number(pair.key.step);
    const QString place = placeOf(diagnose::gateOf(pair.key));
    QString text = lead(comparison);
    if (!text.isEmpty()) {
        addSentence(text, Words::tr("They fork at step %1 %2: %3.").arg(step, place, described(pair.key)));
        return text;
    }
    if (pair.status == align::PairStatus::OnlyA) {
        return Words::tr("The runs fork at step %1 %2: %3 exists in the reference only.").arg(step, place, described(pair.key));
    }
    if (pair.status == align::PairStatus::OnlyB) {
        return Words::tr("The runs fork at step %1 %2: %3 exists in the candidate only.").arg(step, place, described(pair.key));
    }
    return verdict.fork->proven ? Words::tr("The runs fork at step %1 %2: %3.").arg(step, place, described(pair.key))
                                : Words::tr("The runs differ, first at step %1 %2: %3.").arg(step, place, described(pair.key));
}

namespace {

QString forkDetail(const compare::Snapshot& comparison)
{
    const auto& fork = *comparison.outcome()->verdict.fork;
    const auto& pair = pairAt(comparison, fork.pair);
    QString text;
    if (pair.status == align::PairStatus::OnlyA || pair.status == align::PairStatus::OnlyB) {
        text = Words::tr("What it feeds differs.");
    } else {
        text = capitalised(pairNumbers(comparison, fork.pair)) + Words::tr(".", "end of a sentence");
    }
    if (!fork.proven) {
        addSentence(text, Words::tr("Not all of its inputs agree or were recorded."));
    } else {
        switch (compare::forkEvidence(comparison)) {
        case compare::ForkEvidence::MustBeEqual:
            addSentence(text, Words::tr("It must be equal on all ranks."));
            return text;
        case compare::ForkEvidence::InputsNotCompared:
            addSentence(text, Words::tr("None of its recorded inputs could be compared."));
            return text;
        case compare::ForkEvidence::InputsNotRecorded: // that what comes before agrees would sound like its inputs
            addSentence(text, Words::tr("None of its inputs was recorded."));
            return text;
        case compare::ForkEvidence::FirstRecorded:
            addSentence(text, Words::tr("Nothing recorded comes before it."));
            return text;
        case compare::ForkEvidence::InputsAgree:
            addSentence(text, Words::tr("All %n recorded tensor(s) it was computed from agree.", nullptr, static_cast<int>(fork.after.size())));
            break;
        }
    }
    if (const auto before = agreementBefore(comparison, fork.pair); before && fork.pair > 0) {
        addSentence(text, *before > 0 ? Words::tr("Everything before agrees within %1 times the floor.").arg(number(*before, 2))
                                      : Words::tr("Everything before is bit-identical."));
    }
    return text;
}

/// What is wrong with the bundles and what was not compared, worst first.
QStringList gaps(const compare::Snapshot& comparison)
{
    const auto& alignment = comparison.structure().alignment;
    const auto counts = compare::countPairs(comparison);
    QStringList parts;
    std::size_t damage = 0, missing = 0, incomplete = 0;
    for (const auto* side : { &alignment.a, &alignment.b }) {
        const auto& problems = side->bundle->problems();
        damage += static_cast<std::size_t>(std::count_if(problems.begin(), problems.end(), [](const auto& p) { return p.level == bundle::Problem::Level::Warning; }));
        missing += static_cast<std::size_t>(std::max(0, side->bundle->worldSize() - static_cast<int>(side->ranks.size())));
        incomplete += report::coverageOf(*side).incompleteRanks;
    }
    if (counts.unreadable > 0) {
        parts += Words::tr("%n pair(s) could not be read", nullptr, static_cast<int>(counts.unreadable));
    }
    if (damage > 0) {
        parts += Words::tr("%n problem(s) in the bundles", nullptr, static_cast<int>(damage));
    }
    if (missing > 0) {
        parts += Words::tr("%n rank(s) not compared", nullptr, static_cast<int>(missing));
    }
    if (incomplete > 0) {
        parts += Words::tr("%n rank(s) did not end regularly", nullptr, static_cast<int>(incomplete));
    }
    if (const auto steps = alignment.stepsOnlyA + alignment.stepsOnlyB; steps > 0) {
        parts += Words::tr("%n step(s) on one side only", nullptr, static_cast<int>(steps));
    }
    // Before the results are there, the structure knows these.
    const auto withStatus = [&](auto... statuses) {
        return static_cast<int>(std::count_if(alignment.pairs.begin(), alignment.pairs.end(), [&](const align::Pair& p) { return ((p.status == statuses) || ...); }));
    };
    if (const int oneSided = withStatus(align::PairStatus::OnlyA, align::PairStatus::OnlyB); oneSided > 0) {
        parts += Words::tr("%n tensor(s) on one side only", nullptr, oneSided);
    }
    if (const int unrelated = withStatus(align::PairStatus::Unrelated); unrelated > 0) {
        parts += Words::tr("%n pair(s) with shapes that cannot be related", nullptr, unrelated);
    }
    if (const auto& kept = comparison.structure().kept) {
        parts += kept->leftOut() == 0 ? Words::tr("portable, with all tensors that differ")
                                      : Words::tr("portable, with %1 of %2 tensors that differ").arg(kept->kept()).arg(kept->kept() + kept->leftOut());
    }
    return parts;
}

/// What a portable comparison was made from, and what it holds of it.
QStringList provenanceLines(const compare::KeptTensors& kept)
{
    const auto& from = kept.provenance();
    QStringList options;
    for (const auto& option : from.options) {
        options += shown(option);
    }
    QStringList lines { Words::tr("Portable comparison, written by %1 at %2.").arg(shown(from.producer), shown(from.created)) };
    if (!options.isEmpty()) {
        lines += Words::tr("Options: %1").arg(options.join(QStringLiteral(", ")));
    }
    const auto origin = [&lines](const QString& letter, const compare::Origin& run) {
        lines += Words::tr("%1: %2, from %3, identity %4", "letter, name, path, digest")
                     .arg(letter, shown(run.label), shown(run.path), shown(run.identity.empty() ? "-" : run.identity));
    };
    origin(Words::tr("A"), from.a);
    origin(Words::tr("B"), from.b);
    if (from.noise) {
        origin(QStringLiteral("A′"), *from.noise);
    }
    lines += Words::tr("It holds the elements of %1 differing pairs; those of %2 others are in the runs only.").arg(kept.kept()).arg(kept.leftOut());
    return lines;
}

} // namespace

QString verdictDetail(const compare::Snapshot& comparison)
{
    QString text = comparison.outcome()->verdict.fork ? forkDetail(comparison) : agreementDetail(comparison);
    if (comparison.structure().alignment.ranksOfOneRun) {
        addSentence(text, Words::tr("Look at weights, reduced gradients and optimizer."));
    }
    return text;
}

QString coverageText(const compare::Snapshot& comparison)
{
    const auto& alignment = comparison.structure().alignment;
    const auto a = report::coverageOf(alignment.a), b = report::coverageOf(alignment.b);
    QStringList parts = gaps(comparison); // first: the end is cut where there is little room
    const int unseen = static_cast<int>(a.notObserved.size() + b.notObserved.size());
    if (unseen > 0) {
        parts += Words::tr("%n thing(s) not observed", nullptr, unseen);
    }
    const bool whole = parts.isEmpty();
    if (a.calls >= 0 && b.calls >= 0) {
        const auto all = a.calls + b.calls, seen = a.callsSeen + b.callsSeen;
        parts += Words::tr("coverage: %1 of %2 module calls").arg(QLocale().toString(qlonglong(seen)), QLocale().toString(qlonglong(all)));
        if (whole && seen == all) {
            parts += Words::tr("nothing unseen");
        }
    } else {
        parts += Words::tr("coverage: module calls not counted");
    }
    return parts.join(Words::tr(", ", "between parts of a list"));
}

QStringList coverageDetails(const compare::Snapshot& comparison)
{
    const auto& kept = comparison.structure().kept;
    QStringList lines = kept ? provenanceLines(*kept) : QStringList();
    const auto& alignment = comparison.structure().alignment;
    for (const auto& plan : alignment.steps) {
        lines += Words::tr("Step %1: %2").arg(QString::number(plan.step), shown(plan.text));
    }
    for (const auto& note : alignment.notes) {
        lines += shown(note);
    }
    const std::array<std::pair<const align::Side*, QString>, 2> sides { { { &alignment.a, Words::tr("A") }, { &alignment.b, Words::tr("B") } } };
    for (const auto& [side, letter] : sides) {
        const auto coverage = report::coverageOf(*side);
        lines += coverage.calls < 0 ? Words::tr("%1: module calls were not counted").arg(letter)
                                    : Words::tr("%1: %2 of %3 module calls seen").arg(letter).arg(coverage.callsSeen).arg(coverage.calls);
        if (coverage.incompleteRanks > 0) {
            lines += Words::tr("%1: %2 of %3 ranks did not end regularly").arg(letter).arg(coverage.incompleteRanks).arg(side->ranks.size());
        }
        for (const auto& what : coverage.notObserved) {
            lines += Words::tr("%1: not observed: %2").arg(letter, shown(what));
        }
        for (const auto& problem : side->bundle->problems()) {
            lines += QStringLiteral("%1: %2: %3").arg(letter, shown(problem.where), shown(problem.message));
        }
    }
    if (const auto unreadable = compare::countPairs(comparison).unreadable; unreadable > 0) {
        lines += Words::tr("%n pair(s) could not be read", nullptr, static_cast<int>(unreadable));
    }
    return lines;
}

QString floorText(const compare::Snapshot& comparison)
{
    const auto& label = comparison.structure().noiseLabel;
    return label ? Words::tr("floor: measured (A against %1)").arg(shown(*label)) : Words::tr("floor: estimated");
}

QString summaryText(const compare::Snapshot& comparison, std::optional<std::size_t> pair)
{
    const auto& structure = comparison.structure();
    QStringList lines;
    lines += Words::tr("Forkpoint: A = %1, B = %2").arg(shown(structure.alignment.a.label), shown(structure.alignment.b.label));
    if (comparison.outcome()) {
        lines += verdictHeadline(comparison);
        lines += verdictDetail(comparison);
        lines += capitalised(coverageText(comparison)) + Words::tr("; ", "between clauses") + floorText(comparison);
        if (!pair && comparison.outcome()->verdict.fork) {
            pair = comparison.outcome()->verdict.fork->pair;
        }
    }
    lines.removeAll(QString());
    if (!pair || *pair >= comparison.ready() || !comparison.result(*pair).worstLane()) {
        return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
    }
    const auto& p = pairAt(comparison, *pair);
    const auto& s = comparison.result(*pair).worstLane()->statistics;
    // The words of torch.testing.assert_close, so that whoever reads the bug report knows them; its indices are tuples.
    const auto tuple = [&](std::int64_t flat) { return indexText(p.shapeA, flat).replace(QLatin1Char('['), QLatin1Char('(')).replace(QLatin1Char(']'), QLatin1Char(')')); };
    const auto c = [](double value) { return QString::number(value, 'g', 8); };
    const double share = s.count > 0 ? 100.0 * static_cast<double>(s.allcloseViolations) / static_cast<double>(s.count) : 0;
    lines += QString();
    lines += QStringLiteral("%1  %2 %3").arg(shown(p.id), dtypeText(p), shapeText(p));
    lines += comparison.result(*pair).worstLane()->ofUpdate ? QStringLiteral("Tensor-likes are compared by their update (after - start).") : QString();
    if (lines.last().isEmpty()) {
        lines.removeLast();
    }
    lines += s.allcloseViolations > 0 ? QStringLiteral("Tensor-likes are not close!") : QStringLiteral("Tensor-likes are close.");
    lines += QString();
    lines += QStringLiteral("Mismatched elements: %1 / %2 (%3%)").arg(s.allcloseViolations).arg(s.count).arg(share, 0, 'f', 1);
    lines += QStringLiteral("Greatest absolute difference: %1 at index %2").arg(c(s.maxAbs.value), tuple(s.maxAbs.index));
    lines += QStringLiteral("Greatest relative difference: %1 at index %2").arg(c(s.maxRel.value), tuple(s.maxRel.index));
    lines += QStringLiteral("(rtol 1.3e-06, atol 1e-05; relative difference is |B - A| / max(|A|, |B|))");
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

} // namespace forkpoint::ui
