// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/window_fixture.h"

#include "ui/window/pair_panel.h"
#include "ui/window/start_screen.h"
#include "ui/window/verdict_bar.h"

#include <QDropEvent>
#include <QMimeData>
#include <QPushButton>
#include <QUrl>

// One session as a person has it, from dropping two bundles to the picture for the bug report. CTest runs it off screen and, where there is
// one, on an X server.
namespace forkpoint::test {
namespace {

class SessionTest : public WindowFixture { };

TEST_F(SessionTest, FromDropToPicture)
{
    NetOptions b;
    b.gradientScale = 0.5;
    writeNet(folder("single"));
    writeNet(folder("ddp"), b);
    auto& window = makeWindow();
    for (const bool reference : { true, false }) {
        auto* zone = window.startScreen()->zone(reference);
        QMimeData data;
        data.setUrls({ QUrl::fromLocalFile(path(reference ? "single" : "ddp")) });
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(zone, &enter);
        QDropEvent event({ 10, 10 }, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(zone, &event);
    }
    QTest::mouseClick(window.startScreen()->compareButton(), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == ui::Session::State::Ready; }, 30000)) << static_cast<int>(m_session.state());
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window.isBusy(); }, 30000));
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc1.weight");
    QTest::keyClick(&window, Qt::Key_F8);
    EXPECT_EQ(selectedId(), "s0/reduce/grad/fc2.weight");
    const auto picture = window.picture();
    ASSERT_FALSE(picture.isNull());
    EXPECT_TRUE(picture.save(m_folder.filePath(QStringLiteral("picture.png"))));
    // The verdict's tint is on it: the window was really painted.
    const QPoint bar = window.verdictBar()->mapTo(&window, QPoint(4, window.verdictBar()->height() / 2));
    EXPECT_EQ(picture.pixelColor(bar * picture.devicePixelRatio()), ui::Theme::current().verdictBad);
}

} // namespace
} // namespace forkpoint::test
