// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/known_runs.h"

#include "core/portable/portable.h"
#include "ui/models/pair_words.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QSettings>

#include <algorithm>
#include <array>

namespace forkpoint::ui {

namespace {

constexpr int kRecent = 10;
const QString kRecentKey = QStringLiteral("recent");

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Samples)
};

/// Which bundles make a sample; what each shows is said in the user's language.
struct Known {
    const char* name;
    const char* reference;
    const char* candidate;
};
constexpr std::array<Known, 3> kKnown { {
    { "sumloss", "sumloss-single", "sumloss-ddp2" },
    { "healthy", "healthy-single", "healthy-ddp2" },
    { "fault", "healthy-single", "fault" },
} };

QString titleOf(const QString& name)
{
    return name == QLatin1String("sumloss") ? Words::tr("Summed loss under DDP")
        : name == QLatin1String("healthy")  ? Words::tr("Healthy: one process and two")
        : name == QLatin1String("fault")    ? Words::tr("A fault in one layer")
                                            : name;
}

QString textOf(const QString& name)
{
    return name == QLatin1String("sumloss") ? Words::tr("The loss is a sum over the batch and DDP averages gradients: every gradient is halved.")
        : name == QLatin1String("healthy")  ? Words::tr("The same training in one process and in two: they agree within rounding.")
        : name == QLatin1String("fault")    ? Words::tr("One module computes something else in one of two single-process runs.")
                                            : QString();
}

} // namespace

std::vector<Sample> samplesIn(const QString& folder)
{
    std::vector<Sample> out;
    for (const auto& known : kKnown) {
        const auto path = [&](const char* bundle) { return QDir(folder).filePath(QStringLiteral("%1.forkpoint").arg(QLatin1String(bundle))); };
        const QString name = QString::fromLatin1(known.name);
        Sample sample { name, titleOf(name), textOf(name), { path(known.reference), path(known.candidate), {} } };
        if (QFileInfo::exists(sample.runs.reference) && QFileInfo::exists(sample.runs.candidate)) {
            out.push_back(std::move(sample));
        }
    }
    return out;
}

std::vector<Sample> samples()
{
    const QDir program(QCoreApplication::applicationDirPath());
    for (const auto* folder : { "../share/forkpoint/samples", "../../resources/samples", "../../../resources/samples" }) {
        if (auto found = samplesIn(QDir::cleanPath(program.filePath(QLatin1String(folder)))); !found.empty()) {
            return found;
        }
    }
    return {};
}

namespace {

std::vector<RunPair> storedPairs()
{
    std::vector<RunPair> out;
    QSettings settings;
    const int n = settings.beginReadArray(kRecentKey);
    for (int i = 0; i < std::min(n, kRecent); ++i) {
        settings.setArrayIndex(i);
        out.push_back({ settings.value(QStringLiteral("a")).toString(), settings.value(QStringLiteral("b")).toString(),
            settings.value(QStringLiteral("noise")).toString() });
    }
    settings.endArray();
    return out;
}

/// Whether RUN or RUN@RANK can be opened, as written or with the bundle's suffix.
bool isThere(const QString& run)
{
    const QString bundle = run.section(QLatin1Char('@'), 0, -2);
    for (const auto& name : { run, bundle }) {
        if (!name.isEmpty() && (QFileInfo::exists(name) || QFileInfo::exists(name + QStringLiteral(".forkpoint")))) {
            return true;
        }
    }
    return false;
}

} // namespace

std::vector<RunPair> recentPairs()
{
    auto pairs = storedPairs();
    std::erase_if(pairs, [](const RunPair& pair) { return !isThere(pair.reference) || (!pair.candidate.isEmpty() && !isThere(pair.candidate)); });
    return pairs;
}

void rememberPair(const RunPair& pair)
{
    auto pairs = storedPairs(); // those on a disk that is away are kept
    std::erase(pairs, pair);
    pairs.insert(pairs.begin(), pair);
    pairs.resize(std::min<std::size_t>(pairs.size(), kRecent));
    QSettings settings;
    settings.beginWriteArray(kRecentKey, static_cast<int>(pairs.size()));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        settings.setArrayIndex(static_cast<int>(i));
        settings.setValue(QStringLiteral("a"), pairs[i].reference);
        settings.setValue(QStringLiteral("b"), pairs[i].candidate);
        settings.setValue(QStringLiteral("noise"), pairs[i].noise);
    }
    settings.endArray();
}

QString titleOf(const RunPair& pair)
{
    const auto name = [](const QString& path) { return shown(QFileInfo(path).completeBaseName().toStdString()); };
    return pair.candidate.isEmpty() ? Words::tr("%1 (portable)", "a comparison in one file").arg(name(pair.reference))
                                    : Words::tr("%1 against %2").arg(name(pair.reference), name(pair.candidate));
}

RunPair absolute(const RunPair& pair)
{
    const auto path = [](const QString& given) { return given.isEmpty() ? QString() : QFileInfo(given).absoluteFilePath(); };
    return { path(pair.reference), path(pair.candidate), path(pair.noise) };
}

bool looksPortable(const QString& path)
{
    return path.endsWith(QLatin1String(".forkcmp"), Qt::CaseInsensitive) || (QFileInfo(path).isFile() && portable::isPortable(path.toStdString()));
}

} // namespace forkpoint::ui
