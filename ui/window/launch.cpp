// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/launch.h"

#include "core/import/run_name.h"
#include "ui/models/pair_words.h"
#include "ui/window/language.h"

#include <QApplication>
#include <QSettings>
#include <QTimer>

#include <algorithm>
#include <cstdio>

namespace forkpoint::ui {

namespace {

constexpr int kPollMilliseconds = 15;
constexpr int kQuietPolls = 3; ///< a view may start a job in the event after the one that made it idle

void complain(const QString& message) { std::fprintf(stderr, "forkpoint: %s\n", message.toUtf8().constData()); }

int statusOf(const Error& error) { return error.code == ErrorCode::Usage ? kUsage : kUnreadable; }

ThemeChoice themeOf(const Launch& request)
{
    if (request.theme) {
        return *request.theme;
    }
    if (!request.screenshot.isEmpty()) {
        return ThemeChoice::Light;
    }
    const QString chosen = QSettings().value(QStringLiteral("theme")).toString();
    return chosen == QLatin1String("light") ? ThemeChoice::Light : chosen == QLatin1String("dark") ? ThemeChoice::Dark : ThemeChoice::System;
}

/// Applies step and pair once the verdict is there; false if there is no such step or pair.
bool applySelection(Session& session, const Launch& request)
{
    if (session.logs() && (request.step || !request.select.isEmpty())) {
        complain(QStringLiteral("logs have no recorded steps and pairs: leave out --step and --select"));
        return false;
    }
    if (request.step) {
        const auto steps = session.steps();
        if (std::find(steps.begin(), steps.end(), *request.step) == steps.end()) {
            complain(QStringLiteral("step %1 was not compared; there are %2").arg(*request.step).arg(stepsText(steps)));
            return false;
        }
        session.selectStep(*request.step);
    }
    if (!request.select.isEmpty()) {
        const auto& pairs = session.comparison()->structure().alignment.pairs;
        const auto id = request.select.toStdString();
        const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const align::Pair& p) { return p.id == id; });
        if (found == pairs.end()) {
            complain(QStringLiteral("there is no pair %1; forkpoint-cli compare --json lists them").arg(request.select));
            return false;
        }
        session.selectPair(static_cast<std::size_t>(found - pairs.begin()));
    }
    return true;
}

/// Takes the picture when the comparison is done, or has failed, and nothing works or paints any more.
class Photographer : public QObject {
public:
    Photographer(MainWindow& window, Session& session, QString path)
        : m_window(window)
        , m_session(session)
        , m_path(std::move(path))
    {
        connect(&m_timer, &QTimer::timeout, this, [this] { look(); });
        m_timer.start(kPollMilliseconds);
    }

private:
    void look()
    {
        m_quiet = m_session.state() != Session::State::Loading && !m_window.isBusy() ? m_quiet + 1 : 0;
        if (m_quiet < kQuietPolls) {
            return;
        }
        m_timer.stop();
        if (!m_window.picture().save(m_path, "PNG")) {
            complain(QStringLiteral("cannot write %1").arg(m_path));
            QApplication::exit(1);
            return;
        }
        if (const auto& error = m_session.error()) { // the picture is of the page that explains it
            complain(shown(error->text()));
            QApplication::exit(statusOf(*error));
            return;
        }
        QApplication::exit(kSuccess);
    }

    MainWindow& m_window;
    Session& m_session;
    QString m_path;
    QTimer m_timer;
    int m_quiet = 0;
};

} // namespace

int launch(QApplication& app, const Launch& request)
{
    const bool photograph = !request.screenshot.isEmpty();
    for (const auto& run : { request.runs.reference, request.runs.candidate, request.runs.noise }) {
        if (photograph && !run.isEmpty() && import::liesIn(request.screenshot.toStdString(), run.toStdString())) {
            complain(QStringLiteral("--screenshot %1 would overwrite what is read from %2: give another name").arg(request.screenshot, run));
            return kUsage;
        }
    }
    const auto theme = themeOf(request);
    applyTheme(app, theme);
    const QString language = installLanguage(app, photograph && request.language.isEmpty() ? QStringLiteral("en") : request.language);
    JobRunner jobs;
    Session session(jobs);
    MainWindow window(session, { language, theme, !photograph });
    window.showPanel(request.panel);
    if (request.size.isValid()) {
        window.resize(request.size);
    }
    QObject::connect(&session, &Session::verdictReady, &window, [&, first = true]() mutable {
        // Only for what the command line opened, not for what is opened later.
        if (first && !applySelection(session, request) && photograph) {
            QMetaObject::invokeMethod(&window, [] { QApplication::exit(kUsage); }, Qt::QueuedConnection);
        }
        first = false;
    });
    if (!request.sample.isEmpty()) {
        if (!window.openSample(request.sample)) {
            QStringList names;
            for (const auto& sample : samples()) {
                names += sample.name;
            }
            complain(QStringLiteral("there is no sample %1; there are: %2").arg(request.sample, names.isEmpty() ? QStringLiteral("none") : names.join(QStringLiteral(", "))));
            return kUsage;
        }
    } else if (!request.runs.reference.isEmpty()) {
        window.openRuns(request.runs);
    }
    window.show();
    std::unique_ptr<Photographer> photographer;
    if (photograph) {
        photographer = std::make_unique<Photographer>(window, session, request.screenshot);
    }
    return QApplication::exec();
}

} // namespace forkpoint::ui
