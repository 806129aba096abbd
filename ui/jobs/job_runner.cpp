// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/jobs/job_runner.h"

#include <QElapsedTimer>
#include <QMetaObject>

#include <QThread>

#include <algorithm>
#include <mutex>

namespace forkpoint::ui {

namespace {

constexpr int kMillisecondsBetweenReports = 50;

/// Forwards progress to the UI thread, not more often than the eye needs.
class PostedProgress : public Progress {
public:
    explicit PostedProgress(std::function<void(QString, double)> post)
        : m_post(std::move(post))
    {
        m_clock.start();
    }
    void report(std::string_view stage, double fraction) override
    {
        const std::lock_guard lock(m_mutex);
        if (m_last >= 0 && m_clock.elapsed() - m_last < kMillisecondsBetweenReports && fraction < 1) {
            return;
        }
        m_last = m_clock.elapsed();
        m_post(QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size())), fraction);
    }

private:
    std::function<void(QString, double)> m_post;
    std::mutex m_mutex;
    QElapsedTimer m_clock;
    qint64 m_last = -1;
};

} // namespace

JobRunner::JobRunner(QObject* parent)
    : QObject(parent)
{
    m_pool.setMaxThreadCount(std::max(2, QThread::idealThreadCount())); // a replaced job may still be winding down
}

JobRunner::~JobRunner()
{
    cancelAll();
    m_pool.waitForDone();
}

void JobRunner::run(const QString& tag, const QString& title, QObject* receiver, Work work, std::function<void()> done)
{
    cancel(tag);
    auto job = std::make_shared<Job>();
    job->id = m_nextId++;
    job->receiver = receiver;
    m_jobs.insert(tag, job);
    emit started(tag, title);
    m_pool.start([this, tag, job, work = std::move(work), done = std::move(done)] {
        PostedProgress progress([this, tag, job](const QString& stage, double fraction) {
            QMetaObject::invokeMethod(this, [this, tag, job, stage, fraction] {
                if (!job->stop.stop_requested() && m_jobs.value(tag) == job) {
                    emit progressed(tag, stage, fraction);
                }
            }, Qt::QueuedConnection);
        });
        if (!job->stop.stop_requested()) {
            work(progress, job->stop.get_token());
        }
        QMetaObject::invokeMethod(this, [this, tag, job, done] {
            if (job->stop.stop_requested() || m_jobs.value(tag) != job) {
                return; // replaced or cancelled: `finished` was emitted then
            }
            m_jobs.remove(tag);
            if (job->receiver) {
                done();
            }
            emit finished(tag);
        }, Qt::QueuedConnection);
    });
}

void JobRunner::post(const QString& tag, std::stop_token stop, std::function<void()> call)
{
    QMetaObject::invokeMethod(this, [this, tag, stop = std::move(stop), call = std::move(call)] {
        const auto job = m_jobs.value(tag);
        if (!stop.stop_requested() && job && job->stop.get_token() == stop && job->receiver) {
            call();
        }
    }, Qt::QueuedConnection);
}

void JobRunner::cancel(const QString& tag)
{
    if (const auto job = m_jobs.take(tag)) {
        job->stop.request_stop();
        emit finished(tag);
    }
}

void JobRunner::cancelAll()
{
    for (const auto& tag : m_jobs.keys()) {
        cancel(tag);
    }
}

} // namespace forkpoint::ui
