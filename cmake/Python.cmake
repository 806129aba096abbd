# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
#
# Two interpreters. FORKPOINT_PYTHON3 runs scripts of the standard library. FORKPOINT_TORCH_PYTHON imports torch and runs the recorder's
# tests; the python3 first on the path is often another one (pyenv, conda) without it, hence the search by trying. Only success is
# cached: after PyTorch was installed, the next configuration finds it.
find_program(FORKPOINT_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH DOC "Python 3 for the structure tests")
find_program(FORKPOINT_PYTHON3 python3 REQUIRED)

if(NOT FORKPOINT_TORCH_PYTHON)
    find_program(FORKPOINT_PATH_PYTHON python3)
    mark_as_advanced(FORKPOINT_PATH_PYTHON)
    foreach(candidate IN ITEMS "$ENV{FORKPOINT_PYTHON}" /usr/bin/python3 "${FORKPOINT_PATH_PYTHON}")
        if(candidate)
            execute_process(COMMAND "${candidate}" -c "import torch" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
            if(NOT failed)
                set(FORKPOINT_TORCH_PYTHON "${candidate}" CACHE FILEPATH "Python with PyTorch, for the recorder's tests")
                break()
            endif()
        endif()
    endforeach()
endif()
set(FORKPOINT_HAVE_TORCH_PYTHON OFF)
if(FORKPOINT_TORCH_PYTHON)
    set(FORKPOINT_HAVE_TORCH_PYTHON ON)
endif()
add_feature_info(RecorderTests FORKPOINT_HAVE_TORCH_PYTHON
    "a Python with PyTorch found (python3-torch, or FORKPOINT_PYTHON): the recorder's tests are run")
