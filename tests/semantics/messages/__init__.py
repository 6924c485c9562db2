import pytest

pytest.register_assert_rewrite("tests.semantics.messages.says")
