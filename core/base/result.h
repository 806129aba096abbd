// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace forkpoint {

/// What kind of failure: decides the exit status (usage 2, unreadable input 3) and the icon in the window.
enum class ErrorCode {
    Usage,       ///< the request makes no sense (a rank that the run does not have)
    NotFound,    ///< no such file or folder
    NotABundle,  ///< the path exists and is something else
    Unreadable,  ///< the operating system refused to read it
    Corrupt,     ///< a length, shape, offset or number contradicts another
    Truncated,   ///< the file ends before its content does
    Unsupported, ///< a newer format, an unknown dtype or codec
    Exists,      ///< the output is there already
    WriteFailed, ///< the disk is full, the folder read-only
    Device,      ///< the GPU or its driver failed
    Cancelled,   ///< the caller's stop token was triggered
};

/// A failure, ready to be shown: `message` says what and what to do next, `where` names the file (and line), empty if none.
struct Error {
    ErrorCode code = ErrorCode::Corrupt;
    std::string message;
    std::string where;

    std::string text() const { return where.empty() ? message : where + ": " + message; }
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {})
{
    return tl::unexpected<Error>(Error{code, std::move(message), std::move(where)});
}

} // namespace forkpoint
