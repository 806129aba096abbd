// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/ui/run_builder.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QLocale>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <functional>
#include <memory>

namespace forkpoint::test {

/// The real window on written runs. Settings go to a folder of the test's own.
class WindowFixture : public testing::Test {
protected:
    WindowFixture()
    {
        QApplication::setOrganizationName(QStringLiteral("forkpoint-test"));
        QApplication::setApplicationName(QStringLiteral("forkpoint-test"));
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_folder.filePath(QStringLiteral("settings")));
        QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
        ui::applyTheme(*qApp, ui::ThemeChoice::Light);
    }

    ui::MainWindow& makeWindow(ui::MainWindow::Look look = { QStringLiteral("en"), ui::ThemeChoice::Light, false })
    {
        m_window = std::make_unique<ui::MainWindow>(m_session, look);
        m_window->resize(1300, 800);
        m_window->show();
        EXPECT_TRUE(QTest::qWaitForWindowExposed(m_window.get()));
        m_window->activateWindow(); // a bare X server has no window manager that would
        EXPECT_TRUE(QTest::qWaitForWindowActive(m_window.get()));
        return *m_window;
    }

    std::filesystem::path folder(const char* name) const { return std::filesystem::path(m_folder.path().toStdString()) / (std::string(name) + ".forkpoint"); }
    QString path(const char* name) const { return QString::fromStdString(folder(name).string()); }

    void open(const char* a = "single", const char* b = "ddp")
    {
        m_session.open(path(a), path(b));
        ASSERT_TRUE(QTest::qWaitFor(
            [&] { return m_session.state() == ui::Session::State::Ready || m_session.state() == ui::Session::State::Failed; }, 60000));
        QTest::qWait(10); // what was queued for after the verdict
    }

    /// Two runs whose reduced gradients differ by one half.
    ui::MainWindow& openHalved()
    {
        NetOptions b;
        b.gradientScale = 0.5;
        writeNet(folder("single"));
        writeNet(folder("ddp"), b);
        auto& window = makeWindow();
        open();
        EXPECT_EQ(m_session.state(), ui::Session::State::Ready);
        return window;
    }

    void waitUntilPainted() { EXPECT_TRUE(QTest::qWaitFor([&] { return !m_window->isBusy(); }, 30000)); }

    /// Runs `use` on the modal dialog that opens next, which it must close. None is waited for after the test.
    template <class Dialog> void whenDialogOpens(std::function<void(Dialog&)> use)
    {
        auto* timer = new QTimer(&m_timers);
        QObject::connect(timer, &QTimer::timeout, &m_timers, [timer, use = std::move(use)] {
            if (auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget())) {
                timer->deleteLater();
                use(*dialog);
            }
        });
        timer->start(10);
    }

    std::string selectedId() const
    {
        const auto pair = m_session.selection().pair;
        return pair ? m_session.comparison()->structure().alignment.pairs[*pair].id : std::string();
    }

    QObject m_timers;
    QTemporaryDir m_folder;
    ui::JobRunner m_jobs;
    ui::Session m_session { m_jobs };
    std::unique_ptr<ui::MainWindow> m_window;
};

} // namespace forkpoint::test
