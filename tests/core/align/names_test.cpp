// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/names.h"

#include <gtest/gtest.h>

namespace forkpoint::align {
namespace {

using bundle::Kind;
using bundle::ModuleRecord;
using bundle::Phase;

using Renames = std::map<std::string, std::string>;

ModuleRecord module(const std::string& path, const std::string& className, const std::vector<std::string>& parameters = {})
{
    return { path, className, "", parameters, {} };
}

TEST(NormalisedPath, WrapperComponentsAreRemovedWhereverTheyStand)
{
    EXPECT_EQ(normalisedPath("module.layers.0.fc1"), "layers.0.fc1");
    EXPECT_EQ(normalisedPath("_orig_mod.layers.0"), "layers.0");
    EXPECT_EQ(normalisedPath("layers.0._fsdp_wrapped_module.fc1"), "layers.0.fc1");
    EXPECT_EQ(normalisedPath("layers.0._checkpoint_wrapped_module"), "layers.0");
    EXPECT_EQ(normalisedPath("module._orig_mod.layers._fsdp_wrapped_module._checkpoint_wrapped_module.0"), "layers.0");
    EXPECT_EQ(normalisedPath("module"), "");
    EXPECT_EQ(normalisedPath(""), "");
}

TEST(NormalisedPath, OnlyWholeComponentsAreWrappers)
{
    EXPECT_EQ(normalisedPath("modules.0"), "modules.0");
    EXPECT_EQ(normalisedPath("submodule.fc"), "submodule.fc");
    EXPECT_EQ(normalisedPath("my_orig_mod"), "my_orig_mod");
    EXPECT_EQ(normalisedPath("Module.fc"), "Module.fc");
}

TEST(IsRoot, IsWhatNormalisesToTheEmptyPath)
{
    for (const auto* path : { "", "module", "_orig_mod.module", "fc", "module.fc", "fc.module", "modules", ".", "module." }) {
        EXPECT_EQ(isRoot(path), normalisedPath(path).empty()) << path;
    }
}

TEST(JoinName, LeavesOutWhatIsEmpty)
{
    EXPECT_EQ(joinName("layers.0", "weight"), "layers.0.weight");
    EXPECT_EQ(joinName("", "weight"), "weight");
    EXPECT_EQ(joinName("layers.0", ""), "layers.0");
    EXPECT_EQ(joinName("", ""), "");
}

/// A key of step 0 and, in phases that have micro-steps, of micro-step 0.
PairKey key(Phase phase, Kind kind, const std::string& module, const std::string& param = {}, const std::string& slot = {})
{
    PairKey out;
    out.micro = bundle::hasMicro(phase) ? 0 : bundle::kNoMicro;
    out.phase = phase;
    out.kind = kind;
    out.module = module;
    out.param = param;
    out.slot = slot;
    return out;
}

TEST(PairId, PartsAtTheirDefaultAreLeftOut)
{
    EXPECT_EQ(pairId(key(Phase::Reduce, Kind::Grad, "fc1", "weight")), "s0/reduce/grad/fc1.weight");
    EXPECT_EQ(pairId(key(Phase::Forward, Kind::Output, "layers.0.fc1")), "s0/forward/output/layers.0.fc1");
    EXPECT_EQ(pairId(key(Phase::Forward, Kind::Output, "")), "s0/forward/output/") << "the root is the empty path";
    EXPECT_EQ(pairId(key(Phase::Start, Kind::Param, "", "scale")), "s0/start/param/scale");
    EXPECT_EQ(pairId(key(Phase::Data, Kind::Batch, "")), "s0/data/batch/batch");
}

TEST(PairId, StepMicroStepCallAndSlot)
{
    auto k = key(Phase::Backward, Kind::GradOutput, "layers.0.attn", "", "0");
    k.step = 2;
    k.micro = 3;
    k.call = 1;
    EXPECT_EQ(pairId(k), "s2.m3/backward/grad_output/layers.0.attn#1:0");
    k = key(Phase::Data, Kind::Batch, "", "", "labels");
    k.micro = 1;
    EXPECT_EQ(pairId(k), "s0.m1/data/batch/batch:labels");
}

TEST(PairId, SeparatorsInNamesArePercentEncoded)
{
    EXPECT_EQ(pairId(key(Phase::Optimizer, Kind::OptimizerState, "fc", "weight", "exp_avg@before")),
        "s0/optimizer/optimizer_state/fc.weight:exp_avg%40before");
    EXPECT_EQ(pairId(key(Phase::Forward, Kind::Output, "fc/aten::addmm")), "s0/forward/output/fc%2Faten%3A%3Aaddmm");
    EXPECT_EQ(pairId(key(Phase::Forward, Kind::Output, "a#b%c")), "s0/forward/output/a%23b%25c");
}

TEST(PairId, DifferentKeysHaveDifferentIds)
{
    auto secondCall = key(Phase::Forward, Kind::Output, "loss");
    secondCall.call = 1;
    EXPECT_EQ(pairId(secondCall), "s0/forward/output/loss#1");
    EXPECT_EQ(pairId(key(Phase::Forward, Kind::Output, "loss#1")), "s0/forward/output/loss%231") << "the root of a second backward";
    EXPECT_EQ(pairId(key(Phase::Forward, Kind::Output, "loss%231")), "s0/forward/output/loss%25231");
}

TEST(PairKeyName, SaysWhatHasNoPath)
{
    EXPECT_EQ(key(Phase::Data, Kind::Batch, "").name(), "batch");
    EXPECT_EQ(key(Phase::Forward, Kind::Output, "").name(), "(root)");
    EXPECT_EQ(key(Phase::Start, Kind::Param, "", "scale").name(), "scale");
}

TEST(RenamedModules, SameClassAndParametersUnderAMatchedParent)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("fc1", "Linear", { "weight", "bias" }),
        module("norm", "LayerNorm", { "weight", "bias" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("dense", "Linear", { "weight", "bias" }),
        module("norm", "LayerNorm", { "weight", "bias" }) };
    EXPECT_EQ(matchRenamedModules(a, b), (Renames { { "dense", "fc1" } }));
}

TEST(RenamedModules, ChildrenFollowTheirParent)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("encoder", "Block"), module("encoder.fc", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("enc", "Block"), module("enc.fc", "Linear", { "weight" }) };
    const auto renames = matchRenamedModules(a, b);
    EXPECT_EQ(renames, (Renames { { "enc", "encoder" } }));
    EXPECT_EQ(renamed(renames, "enc.fc"), "encoder.fc");
    EXPECT_EQ(renamed(renames, "enc"), "encoder");
    EXPECT_EQ(renamed(renames, "encore.fc"), "encore.fc") << "only whole components are a prefix";
    EXPECT_EQ(renamed(renames, "other"), "other");
    EXPECT_EQ(renamed(renames, ""), "");
}

TEST(RenamedModules, AChildMayBeRenamedWithinARenamedParent)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("encoder", "Block"), module("encoder.fc", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("enc", "Block"), module("enc.dense", "Linear", { "weight" }) };
    const auto renames = matchRenamedModules(a, b);
    EXPECT_EQ(renamed(renames, "enc.dense"), "encoder.fc");
}

TEST(RenamedModules, ANamesakeUnderARenamedParentIsNotGivenAwayTwice)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("encoder", "Block"), module("encoder.y", "Linear", { "weight" }),
        module("encoder.z", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("enc", "Block"), module("enc.x", "Linear", { "weight" }),
        module("enc.y", "Linear", { "weight" }) };
    const auto renames = matchRenamedModules(a, b);
    EXPECT_EQ(renamed(renames, "enc.y"), "encoder.y");
    EXPECT_EQ(renamed(renames, "enc.x"), "encoder.z");
}

TEST(RenamedModules, InOrderWhereSeveralFit)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("l1", "Linear", { "weight" }), module("l2", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("first", "Linear", { "weight" }),
        module("second", "Linear", { "weight" }) };
    EXPECT_EQ(matchRenamedModules(a, b), (Renames { { "first", "l1" }, { "second", "l2" } }));
}

TEST(RenamedModules, AnotherClassOrOtherParametersDoNotMatch)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("fc1", "Linear", { "weight", "bias" }) };
    EXPECT_TRUE(matchRenamedModules(a, { module("", "Net"), module("dense", "Conv2d", { "weight", "bias" }) }).empty());
    EXPECT_TRUE(matchRenamedModules(a, { module("", "Net"), module("dense", "Linear", { "weight" }) }).empty());
}

TEST(RenamedModules, AModuleWithANamesakeIsNeverRenamed)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("fc1", "Linear", { "weight" }), module("fc2", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("fc2", "Linear", { "weight" }), module("fc3", "Linear", { "weight" }) };
    EXPECT_EQ(matchRenamedModules(a, b), (Renames { { "fc3", "fc1" } }));
}

TEST(RenamedModules, UnderAnUnmatchedParentNothingMatches)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("encoder", "Block"), module("encoder.fc", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "Net"), module("tower", "Tower"), module("tower.fc", "Linear", { "weight" }) };
    EXPECT_TRUE(matchRenamedModules(a, b).empty());
}

TEST(RenamedModules, WrappersAreSeenThrough)
{
    const std::vector<ModuleRecord> a { module("", "Net"), module("fc1", "Linear", { "weight" }) };
    const std::vector<ModuleRecord> b { module("", "DistributedDataParallel"), module("module", "Net"),
        module("module.fc1", "Linear", { "weight" }) };
    EXPECT_TRUE(matchRenamedModules(a, b).empty());
}

} // namespace
} // namespace forkpoint::align
