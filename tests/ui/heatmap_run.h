// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/ui/run_builder.h"
#include "ui/heatmap/element_panel.h"
#include "ui/heatmap/heatmap_view.h"
#include "ui/heatmap/range_bar.h"
#include "ui/session/session.h"

#include <QAction>
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include <string>
#include <vector>

// Runs of a few tensors, and the heatmap on two of them.
namespace forkpoint::test {

struct Tensor {
    std::string module;
    Shape shape;
    std::vector<float> values;
};

/// A heatmap view on two written runs, in a window of its own.
class HeatmapFixture : public testing::Test {
protected:
    std::filesystem::path folder(const char* name) const { return std::filesystem::path(m_folder.path().toStdString()) / (std::string(name) + ".forkpoint"); }

    static void writeSide(const std::filesystem::path& folder, const std::vector<Tensor>& tensors)
    {
        RunBuilder run(folder);
        for (const auto& t : tensors) {
            run.tensor(0, bundle::Phase::Forward, bundle::Kind::Output, t.module, "", t.shape, t.values);
        }
    }

    void compare(const std::vector<Tensor>& a, const std::vector<Tensor>& b, QSize size = { 900, 640 })
    {
        writeSide(folder("single"), a);
        writeSide(folder("ddp"), b);
        open(size);
    }

    /// Opens what was written, and looks at the first pair.
    void open(QSize size = { 900, 640 })
    {
        m_view.resize(size);
        m_view.show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&m_view));
        m_session.open(QString::fromStdString(folder("single").string()), QString::fromStdString(folder("ddp").string()));
        ASSERT_TRUE(QTest::qWaitFor([&] { return m_session.state() == ui::Session::State::Ready || m_session.state() == ui::Session::State::Failed; }, 60000));
        ASSERT_EQ(m_session.state(), ui::Session::State::Ready) << (m_session.error() ? m_session.error()->message : "");
        select(0);
    }

    void select(std::size_t pair)
    {
        m_session.selectPair(pair);
        settle();
        m_view.canvas().setFocus();
    }

    void settle()
    {
        ASSERT_TRUE(QTest::qWaitFor([&] {
            m_view.grab();
            return !m_view.isBusy();
        }, 60000));
        QApplication::processEvents(); // layouts that were asked for
        m_view.grab();
    }

    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(&m_view.canvas(), key, modifiers);
        settle();
    }

    QColor colourAt(heatmap::Cell cell)
    {
        const auto middle = m_view.canvas().cellRect(cell).center() * m_view.canvas().devicePixelRatioF();
        return m_view.canvas().image().pixelColor(static_cast<int>(middle.x()), static_cast<int>(middle.y()));
    }
    static QColor colourOf(heatmap::Rgba rgba)
    {
        return { static_cast<int>(heatmap::redOf(rgba)), static_cast<int>(heatmap::greenOf(rgba)), static_cast<int>(heatmap::blueOf(rgba)) };
    }
    /// Pixels of the picture that have a colour.
    int pixelsOf(const QColor& colour)
    {
        const QImage& image = m_view.canvas().image();
        int count = 0;
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                count += image.pixelColor(x, y) == colour ? 1 : 0;
            }
        }
        return count;
    }
    template <class T> T* child(const char* name) { return m_view.findChild<T*>(QString::fromLatin1(name)); }

    QTemporaryDir m_folder;
    ui::JobRunner m_jobs;
    ui::Session m_session { m_jobs };
    ui::HeatmapView m_view { m_session };
};

} // namespace forkpoint::test
