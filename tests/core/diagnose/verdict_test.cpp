// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnose/verdict.h"

#include "tests/support/compared.h"

#include <gtest/gtest.h>

// The fork and the gates, on pairs whose severities and inputs are given.
namespace forkpoint::diagnose {
namespace {

using align::PairStatus;
using bundle::Kind;
using bundle::Phase;

/// A comparison written down pair by pair.
class Table {
public:
    /// `inputs`: indices of earlier pairs.
    std::size_t add(Phase phase, Kind kind, Severity severity, std::vector<std::size_t> inputs = {},
        PairStatus status = PairStatus::Matched, const std::string& module = "fc")
    {
        align::Pair pair;
        pair.key.phase = phase;
        pair.key.kind = kind;
        pair.key.module = module;
        pair.status = status;
        m_alignment.pairs.push_back(pair);
        m_inputs.of.push_back(std::move(inputs));
        PairResult result;
        result.severity = severity;
        m_results.push_back(result);
        return m_results.size() - 1;
    }
    std::size_t output(Severity severity, std::vector<std::size_t> inputs = {}, PairStatus status = PairStatus::Matched)
    {
        return add(Phase::Forward, Kind::Output, severity, std::move(inputs), status);
    }
    std::size_t input(Severity severity, std::vector<std::size_t> inputs = {})
    {
        return add(Phase::Forward, Kind::Input, severity, std::move(inputs));
    }
    std::size_t batch(Severity severity) { return add(Phase::Data, Kind::Batch, severity); }
    PairResult& result(std::size_t pair) { return m_results[pair]; }

    Verdict verdict(std::optional<std::size_t> environment = std::nullopt, bool measured = false) const
    {
        return diagnose::verdict(m_alignment, m_inputs, m_results, environment, measured);
    }
    std::optional<Fork> fork() const { return verdict().fork; }

private:
    align::Alignment m_alignment;
    graph::PairInputs m_inputs;
    std::vector<PairResult> m_results;
};

using Pairs = std::vector<std::size_t>;

TEST(Fork, TheFirstAboveTheFloorWhoseInputsAreWithinIt)
{
    Table table;
    const auto batch = table.batch(Severity::Identical);
    const auto first = table.output(Severity::Noise, { batch });
    const auto second = table.output(Severity::Drift, { batch, first });
    table.output(Severity::Divergent, { second });
    const auto fork = table.fork();
    ASSERT_TRUE(fork);
    EXPECT_EQ(fork->pair, second) << "not the worst: the first";
    EXPECT_TRUE(fork->proven);
    EXPECT_EQ(fork->after, (Pairs { batch, first }));
}

TEST(Verdict, NamesThePairOfNoiseThatComesClosestToTheFloor)
{
    Table table;
    EXPECT_FALSE(table.verdict().closest);
    table.batch(Severity::Identical);
    EXPECT_FALSE(table.verdict().closest) << "nothing but equal bits";
    table.result(table.output(Severity::Noise)).ratio = 0.2;
    const auto closest = table.output(Severity::Noise);
    table.result(closest).ratio = 0.7;
    auto& undecidable = table.result(table.output(Severity::Noise));
    undecidable.ratio = 0.9;
    undecidable.undecidable = true;
    EXPECT_EQ(table.verdict().closest, closest);
}

TEST(Fork, WhatHasAnInputAboveTheFloorIsAConsequence)
{
    Table table;
    const auto early = table.input(Severity::Drift); // not explained: nothing that made it was recorded
    const auto consequence = table.output(Severity::Drift, { early });
    table.output(Severity::Divergent, { consequence });
    EXPECT_EQ(table.fork()->pair, early);
}

TEST(Fork, AMereInputIsPassedOver)
{
    Table table;
    const auto batch = table.batch(Severity::Identical);
    const auto producer = table.output(Severity::Unmatched, { batch }); // of which only a digest was recorded: whether it agrees is not known
    const auto messenger = table.input(Severity::Drift, { producer });
    const auto weight = table.add(Phase::Start, Kind::Param, Severity::Identical);
    table.output(Severity::Drift, { messenger });
    const auto other = table.output(Severity::Divergent, { weight, batch });
    const auto fork = table.fork();
    EXPECT_EQ(fork->pair, other);
    EXPECT_TRUE(fork->proven);
}

TEST(Fork, PlainCodeBetweenModulesIsFoundAtTheInputThatItMade)
{
    Table table;
    const auto batch = table.batch(Severity::Identical);
    const auto producer = table.output(Severity::Noise, { batch });
    const auto made = table.input(Severity::Divergent, { batch, producer });
    table.output(Severity::Divergent, { made });
    const auto fork = table.fork();
    EXPECT_EQ(fork->pair, made);
    EXPECT_TRUE(fork->proven);
    EXPECT_EQ(fork->after, (Pairs { batch, producer }));
}

TEST(Fork, PlainCodeOfAModuleIsFoundAtTheModulesOutput)
{
    Table table;
    const auto producer = table.output(Severity::Noise, { table.batch(Severity::Identical) });
    const auto made = table.add(Phase::Forward, Kind::Input, Severity::Divergent, { producer }, PairStatus::Matched, "layers.0.attention.out");
    const auto out = table.add(Phase::Forward, Kind::Output, Severity::Divergent, { made }, PairStatus::Matched, "layers.0.attention.out");
    const auto whole = table.add(Phase::Forward, Kind::Output, Severity::Divergent, { producer }, PairStatus::Matched, "layers.0.attention");
    EXPECT_EQ(table.fork()->pair, whole) << made << " and " << out << " come before it";
}

TEST(Fork, AnInputOfUnknownOriginMayBeTheFork)
{
    Table table;
    const auto orphan = table.input(Severity::Divergent);
    EXPECT_EQ(table.fork()->pair, orphan);
    EXPECT_TRUE(table.fork()->proven);
}

TEST(Fork, AGradientOfWhichNothingWasRecordedIsNotProven)
{
    Table table;
    const auto gradient = table.add(Phase::Backward, Kind::Grad, Severity::Divergent);
    ASSERT_TRUE(table.fork());
    EXPECT_EQ(table.fork()->pair, gradient);
    EXPECT_FALSE(table.fork()->proven);
}

TEST(Fork, ABatchThatDiffersIsTheFork)
{
    Table table;
    const auto batch = table.batch(Severity::Divergent);
    const auto in = table.input(Severity::Divergent, { batch });
    table.output(Severity::Divergent, { in });
    EXPECT_EQ(table.fork()->pair, batch);
    EXPECT_TRUE(table.fork()->after.empty());
}

TEST(Fork, AModuleOnOneSideThatFeedsADifference)
{
    Table table;
    const auto batch = table.batch(Severity::Identical);
    const auto shared = table.output(Severity::Identical, { batch });
    const auto extra = table.output(Severity::Unmatched, { shared }, PairStatus::OnlyB);
    const auto in = table.input(Severity::Divergent, { shared, extra });
    table.output(Severity::Divergent, { in });
    const auto fork = table.fork();
    EXPECT_EQ(fork->pair, extra);
    EXPECT_TRUE(fork->proven);
    EXPECT_EQ(fork->after, Pairs { shared });
}

TEST(Fork, AModuleOnOneSideThatFeedsNoDifferenceIsNone)
{
    Table table;
    const auto extra = table.output(Severity::Unmatched, {}, PairStatus::OnlyA);
    table.output(Severity::Noise, { extra });
    EXPECT_FALSE(table.fork());
}

TEST(Fork, AModuleOnOneSideIsNotBlamedForWhatCameBefore)
{
    Table table;
    const auto origin = table.output(Severity::Divergent);
    const auto extra = table.output(Severity::Unmatched, { origin }, PairStatus::OnlyB);
    table.output(Severity::Divergent, { origin, extra });
    EXPECT_EQ(table.fork()->pair, origin);
}

TEST(Fork, WhereNoneQualifiesTheFirstAboveTheFloorIsNotProven)
{
    Table table;
    // Each has the other among its inputs: a cycle, as interleaved micro-steps may record.
    table.output(Severity::Noise);
    const auto first = table.output(Severity::Drift, { 2 });
    table.output(Severity::Divergent, { 1 });
    const auto fork = table.fork();
    ASSERT_TRUE(fork);
    EXPECT_EQ(fork->pair, first);
    EXPECT_FALSE(fork->proven);
}

TEST(Fork, NotProvenPrefersWhatIsNoMereInput)
{
    Table table;
    table.input(Severity::Drift, { 1 });
    const auto output = table.output(Severity::Divergent, { 0 });
    EXPECT_EQ(table.fork()->pair, output);
    EXPECT_FALSE(table.fork()->proven);
}

TEST(Fork, NotProvenAMereInputIfThereIsNothingElse)
{
    Table table;
    table.output(Severity::Unmatched);
    const auto in = table.input(Severity::Drift, { 0 });
    EXPECT_EQ(table.fork()->pair, in);
    EXPECT_FALSE(table.fork()->proven);
}

TEST(Fork, NoneWhereNothingIsAboveTheFloor)
{
    Table table;
    table.batch(Severity::Identical);
    table.output(Severity::Noise);
    table.output(Severity::Unmatched, {}, PairStatus::OnlyB);
    EXPECT_FALSE(table.fork());
}

TEST(Fork, NoneWhereNothingWasRecorded)
{
    const auto verdict = Table().verdict();
    EXPECT_FALSE(verdict.fork);
    EXPECT_EQ(verdict.severity, Severity::Identical);
    EXPECT_EQ(verdict.pairs, 0u);
    for (const auto& gate : verdict.gates) {
        EXPECT_EQ(gate.state, GateState::NotRecorded);
    }
}

TEST(Fork, OnlyWhatWasComparedAgrees)
{
    Table table;
    const auto batch = table.batch(Severity::Identical);
    const auto unseen = table.output(Severity::Unmatched, {}, PairStatus::NotObserved);
    const auto unreadable = table.output(Severity::Unmatched);
    const auto fork = table.output(Severity::Divergent, { batch, unseen, unreadable });
    EXPECT_EQ(table.fork()->pair, fork);
    EXPECT_EQ(table.fork()->after, Pairs { batch });
}

TEST(Fork, WithAnInputThatCouldNotBeComparedIsNotProven)
{
    Table table;
    const auto unseen = table.output(Severity::Unmatched, {}, PairStatus::NotObserved);
    const auto fork = table.output(Severity::Divergent, { unseen });
    EXPECT_EQ(table.fork()->pair, fork);
    EXPECT_TRUE(table.fork()->proven) << "of its recorded inputs none is above the floor; what was not observed is said by the coverage";
}

TEST(Fork, ShapesThatCannotBeRelatedAreAboveTheFloor)
{
    Table table;
    const auto invalid = table.add(Phase::Start, Kind::Param, Severity::Invalid, {}, PairStatus::Unrelated);
    table.output(Severity::Divergent, { invalid });
    EXPECT_EQ(table.fork()->pair, invalid);
}

TEST(VerdictSeverity, IsThatOfTheWorstPair)
{
    Table table;
    table.output(Severity::Identical);
    EXPECT_EQ(table.verdict().severity, Severity::Identical);
    table.output(Severity::Noise);
    EXPECT_EQ(table.verdict().severity, Severity::Noise);
    table.output(Severity::Unmatched, {}, PairStatus::OnlyA);
    EXPECT_EQ(table.verdict().severity, Severity::Unmatched);
    table.output(Severity::Drift);
    EXPECT_EQ(table.verdict().severity, Severity::Drift);
    table.output(Severity::Divergent);
    EXPECT_EQ(table.verdict().severity, Severity::Divergent);
    table.output(Severity::Invalid);
    EXPECT_EQ(table.verdict().severity, Severity::Invalid);
    EXPECT_EQ(table.verdict().pairs, 5u) << "what exists on both sides";
}

TEST(VerdictSeverity, WhatWasNotObservedDoesNotCount)
{
    Table table;
    table.output(Severity::Identical);
    table.output(Severity::Unmatched, {}, PairStatus::NotObserved);
    const auto verdict = table.verdict();
    EXPECT_EQ(verdict.severity, Severity::Identical);
    EXPECT_EQ(verdict.pairs, 1u);
    EXPECT_EQ(verdict.gates[static_cast<std::size_t>(Gate::Forward)].unmatched, 0u);
}

TEST(VerdictSeverity, UndecidablePairsAreCounted)
{
    Table table;
    const auto late = table.output(Severity::Noise);
    table.result(late).undecidable = true;
    EXPECT_EQ(table.verdict().undecidable, 1u);
    EXPECT_FALSE(table.verdict().fork);
}

TEST(Gates, EachPairHasItsGate)
{
    const auto gate = [](Phase phase, Kind kind, const std::string& module = "fc") {
        align::PairKey key;
        key.phase = phase;
        key.kind = kind;
        key.module = module;
        return gateOf(key);
    };
    EXPECT_EQ(gate(Phase::Start, Kind::Param), Gate::Weights);
    EXPECT_EQ(gate(Phase::Start, Kind::Buffer), Gate::Weights);
    EXPECT_EQ(gate(Phase::Data, Kind::Batch), Gate::Data);
    EXPECT_EQ(gate(Phase::Forward, Kind::Output), Gate::Forward);
    EXPECT_EQ(gate(Phase::Forward, Kind::Input, "loss"), Gate::Forward);
    EXPECT_EQ(gate(Phase::Forward, Kind::Output, "loss"), Gate::Loss);
    EXPECT_EQ(gate(Phase::Forward, Kind::Output, "loss#1"), Gate::Loss);
    EXPECT_EQ(gate(Phase::Forward, Kind::Output, "losses"), Gate::Forward);
    EXPECT_EQ(gate(Phase::Backward, Kind::Grad), Gate::Backward);
    EXPECT_EQ(gate(Phase::Backward, Kind::GradOutput), Gate::Backward);
    EXPECT_EQ(gate(Phase::Reduce, Kind::Grad), Gate::Reduce);
    EXPECT_EQ(gate(Phase::Optimizer, Kind::OptimizerState), Gate::Optimizer);
}

TEST(Gates, StateAndCounts)
{
    Table table;
    const auto batch = table.batch(Severity::Identical);
    const auto fork = table.output(Severity::Drift, { batch });
    table.output(Severity::Noise, { batch });
    table.output(Severity::Unmatched, {}, PairStatus::OnlyB);
    table.add(Phase::Reduce, Kind::Grad, Severity::Invalid, { fork });
    const auto verdict = table.verdict();
    const auto gate = [&](Gate g) { return verdict.gates[static_cast<std::size_t>(g)]; };
    EXPECT_EQ(gate(Gate::Data).state, GateState::Ok);
    EXPECT_EQ(gate(Gate::Data).identical, 1u);
    EXPECT_EQ(gate(Gate::Forward).state, GateState::Fork);
    EXPECT_EQ(gate(Gate::Forward).noise, 1u);
    EXPECT_EQ(gate(Gate::Forward).above, 1u);
    EXPECT_EQ(gate(Gate::Forward).unmatched, 1u);
    EXPECT_EQ(gate(Gate::Reduce).state, GateState::Differs);
    EXPECT_EQ(gate(Gate::Reduce).invalid, 1u);
    EXPECT_EQ(gate(Gate::Optimizer).state, GateState::NotRecorded);
    EXPECT_EQ(gate(Gate::Environment).state, GateState::NotRecorded);
}

TEST(Gates, TheEnvironmentHasNoPairs)
{
    Table table;
    table.batch(Severity::Identical);
    const auto state = [&](std::optional<std::size_t> differences) {
        return table.verdict(differences).gates[static_cast<std::size_t>(Gate::Environment)].state;
    };
    EXPECT_EQ(state(0), GateState::Ok);
    EXPECT_EQ(state(3), GateState::Differs);
    EXPECT_EQ(state(std::nullopt), GateState::NotRecorded);
}

TEST(Gates, Words)
{
    EXPECT_EQ(name(Gate::Environment), "environment");
    EXPECT_EQ(name(Gate::Optimizer), "optimizer");
    EXPECT_EQ(name(GateState::Ok), "ok");
    EXPECT_EQ(name(GateState::NotRecorded), "not recorded");
}

} // namespace
} // namespace forkpoint::diagnose
