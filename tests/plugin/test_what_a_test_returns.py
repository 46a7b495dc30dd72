"""A marked test returns a Training or nothing; everything else is said clearly, and other tests are left alone."""

from __future__ import annotations

import pytest

from .conftest import Project

#: pytest 8.4.0, and no other version, makes an error of what a test returns.
WARNS = hasattr(pytest, "PytestReturnNotNoneWarning")
BOTH = pytest.mark.parametrize("options", [(), ("--trainhealth",)])


@BOTH
def test_a_training_raises_no_warning(project: Project, options: tuple[str, ...]) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.gradients_flow
        def test_it():
            return Training()
    """)
    result = project.runpytest(*(("-W", "error::pytest.PytestReturnNotNoneWarning") if WARNS else ()), *options)
    result.assert_outcomes(**({"passed": 1} if options else {"skipped": 1}))


@BOTH
def test_something_else_fails(project: Project, options: tuple[str, ...]) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.gradients_flow
        def test_it():
            return {"loss": 0.3}
    """)
    result = project.runpytest(*options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["a test*returns a Training or nothing, not dict"])
    result.stdout.no_fnmatch_line("During handling*")


def test_an_unmarked_test_still_warns(project: Project) -> None:
    project.makepyfile("def test_it(): return 3")
    expected = {"passed": 1, "warnings": 1} if WARNS else {"failed": 1}
    project.runpytest("--trainhealth").assert_outcomes(**expected)


def test_a_skip_in_the_body_stays_a_skip(project: Project) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.gradients_flow
        def test_it():
            pytest.skip("no GPU")
    """
    )
    result = project.runpytest("--trainhealth", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] test_it.py:5: no GPU"])


def test_a_coroutine_nobody_runs_fails(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.gradients_flow
        async def test_it():
            pass
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["a coroutine can be watched only where a plugin such as pytest-asyncio runs it: *"])


def test_a_coroutine_that_a_plugin_runs_is_watched(project: Project) -> None:
    """The way of pytest-asyncio: while the test runs, the item's function is a synchronous one."""
    project.makepyfile(
        sync_plugin="""
        import asyncio, functools, inspect
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            coroutine = item.obj
            assert inspect.iscoroutinefunction(coroutine)
            item.obj = functools.wraps(coroutine)(lambda **kwargs: asyncio.run(coroutine(**kwargs)))
            return (yield)
        """,
        test_it="""
        import pytest

        @pytest.mark.gradients_flow
        async def test_it(tmp_path):
            print("the coroutine ran")
        """,
    )
    project.syspathinsert()
    result = project.runpytest("--trainhealth", "-s", "-p", "sync_plugin")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*the coroutine ran*"])


def test_without_the_flag_coroutines_are_left_to_whoever_runs_them(project: Project) -> None:
    """The way of anyio: a hook of its own calls the item's function, if that is a coroutine."""
    project.makepyfile(
        running_plugin="""
        import asyncio, inspect
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            if inspect.iscoroutinefunction(pyfuncitem.obj):
                asyncio.run(pyfuncitem.obj())
                return True
        """,
        test_it="""
        import pytest

        @pytest.mark.gradients_flow
        async def test_it():
            pass
        """,
    )
    project.syspathinsert()
    result = project.runpytest("-p", "running_plugin")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 marker not enforced: run pytest --trainhealth"])


def test_a_plugin_that_calls_the_test_itself_is_not_a_silent_pass(project: Project) -> None:
    project.makepyfile(
        calling_plugin="""
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            return True
        """,
        test_it="""
        import pytest

        @pytest.mark.gradients_flow
        def test_it():
            pass
        """,
    )
    project.syspathinsert()
    result = project.runpytest("--trainhealth", "-p", "calling_plugin")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the test was called in a way that keeps its training health from being judged"])


def test_xfail_is_honoured(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.xfail
        @pytest.mark.gradients_flow
        def test_it():
            return Training(gradients_flow="failed")
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["test_it *failed*parameters-not-in-optimizer (confirmed)*(expected)"])


def test_the_test_function_is_put_back(project: Project) -> None:
    project.makepyfile("""
        import pytest
        from pytest_trainhealth import Training

        seen = []

        @pytest.fixture(autouse=True)
        def functions(request):
            seen.append(request.node.obj)
            yield
            seen.append(request.node.obj)

        @pytest.mark.gradients_flow
        def test_it():
            return Training(gradients_flow="failed")

        def test_after():
            assert seen[0] is seen[1]
    """)
    project.runpytest("--trainhealth").assert_outcomes(failed=1, passed=1)
