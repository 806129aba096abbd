// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"

#include <QHash>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QThreadPool>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>

namespace forkpoint::ui {

/// Long work off the UI thread. Every job has a tag; a new job with the tag of a running one replaces it: the old one is asked to stop and
/// its result is dropped, whatever it says. Results arrive on the UI thread, and only while their receiver lives. A job that throws fails with an
/// Unreadable if its result can hold an error, and has no result otherwise.
class JobRunner : public QObject {
    Q_OBJECT
public:
    explicit JobRunner(QObject* parent = nullptr);
    ~JobRunner() override; ///< stops all jobs and waits for them

    /// What a job gets: where to report to (never null), and when to stop.
    using Work = std::function<void(Progress&, std::stop_token)>;

    /// Starts `work` on a worker and calls `done` on the UI thread with its value, unless it was replaced, cancelled or `receiver` is gone.
    /// `title` is shown in the status bar while it runs (already translated); empty: a quiet job (hover, drag).
    template <class T>
    void start(const QString& tag, const QString& title, QObject* receiver, std::function<T(Progress&, std::stop_token)> work,
               std::function<void(T)> done)
    {
        auto slot = std::make_shared<std::optional<T>>();
        run(
            tag, title, receiver,
            [slot, work = std::move(work)](Progress& progress, std::stop_token stop) {
                // Core returns its errors; what is thrown is the library's, for want of memory above all, and must not end the program.
                try {
                    slot->emplace(work(progress, stop));
                } catch (const std::exception& e) {
                    if constexpr (std::is_constructible_v<T, tl::unexpected<Error>>) {
                        slot->emplace(fail(ErrorCode::Unreadable, std::string("this takes more than the machine has: ") + e.what()));
                    }
                }
            },
            [slot, done = std::move(done)] {
                if (*slot) {
                    done(std::move(**slot));
                }
            });
    }

    /// Runs `call` on the UI thread if job `tag` is still the one that posted it: for streamed partial results. Call it from the worker.
    void post(const QString& tag, std::stop_token stop, std::function<void()> call);

    void cancel(const QString& tag); ///< the worker is idle within 100 ms; its result is dropped
    void cancelAll();
    bool isRunning(const QString& tag) const { return m_jobs.contains(tag); }
    int running() const { return static_cast<int>(m_jobs.size()); }
    int workersBusy() const { return m_pool.activeThreadCount(); }

signals:
    void started(const QString& tag, const QString& title);
    void progressed(const QString& tag, const QString& stage, double fraction);
    void finished(const QString& tag); ///< also when cancelled or replaced

private:
    struct Job {
        std::uint64_t id = 0;
        std::stop_source stop;
        QPointer<QObject> receiver;
    };
    void run(const QString& tag, const QString& title, QObject* receiver, Work work, std::function<void()> done);

    QHash<QString, std::shared_ptr<Job>> m_jobs;
    QThreadPool m_pool;
    std::uint64_t m_nextId = 1;
};

} // namespace forkpoint::ui
