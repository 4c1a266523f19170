"""Configuration and execution settings."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import ConfigOptions, Configuration, Duration, ExecutionConfig
from penstock.errors import ConfigurationError


def test_values_are_read_as_asked() -> None:
    configuration = Configuration.from_dict({"n": "5", "b": "TRUE", "f": "1.5", "d": "10 s", "i": 7, "Case": "x"})
    assert configuration.get_integer("n", 0) == 5
    assert configuration.get_boolean("b", False) is True
    assert configuration.get_float("f", 0.0) == 1.5
    assert configuration.get_duration("d", None) == Duration.of_seconds(10)
    assert configuration.get_string("i", "") == "7"
    assert configuration.get_string("case", "keys are case-sensitive") == "keys are case-sensitive"
    assert configuration.set_boolean("b", False).to_dict()["b"] == "false"


@pytest.mark.parametrize(
    ("getter", "value", "message"),
    [
        ("get_integer", "five", "k: expected a whole number, got 'five'"),
        ("get_integer", True, "k: expected a whole number, got True"),
        ("get_boolean", "yes", "k: expected true or false, got 'yes'"),
        ("get_float", "x", "k: expected a number, got 'x'"),
        ("get_bytearray", "x", "k: expected bytes, got 'x'"),
        ("get_duration", "soon", "k: 'soon' is not a duration"),
    ],
)
def test_wrong_values_name_the_key(getter: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        getattr(Configuration.from_dict({"k": value}), getter)("k", None)


def test_wrong_keys_and_nothing_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="non-empty string"):
        Configuration().set_string("", "x")
    with pytest.raises(ConfigurationError, match="k was set to None"):
        Configuration.from_dict({"k": None})


def test_copies_are_apart() -> None:
    first = Configuration().set_string("a", "1")
    second = Configuration(first).set_string("b", "2")
    assert first.key_set() == {"a"} and second.key_set() == {"a", "b"}
    assert first.add_all(second, "x.").key_set() == {"a", "x.a", "x.b"}
    assert (second.remove_config("a"), second.remove_config("a")) == (True, False)
    target: dict[str, Any] = {}
    second.add_all_to_dict(target)
    assert target == {"b": "2"} and not second.contains_key("a")
    assert second == Configuration.from_dict({"b": "2"}) and hash(second) == hash(Configuration(second))


def test_options() -> None:
    option = ConfigOptions.key("my.count").int_type().default_value(3)
    configuration = Configuration()
    assert configuration.get(option) == 3
    assert configuration.set(option, 4).get(option) == 4
    assert configuration.get(ConfigOptions.key("other").string_type().no_default_value()) is None


@pytest.mark.parametrize("text", ["a;b", "[a, b]", "['a', 'b']", " a ; b ; ", "- a\n- b", "- 'a'\n\n - b\n"])
def test_lists(text: str) -> None:
    assert Configuration.parse_list_value(text) == ["a", "b"]
    assert Configuration.parse_list_value(None) == Configuration.parse_list_value("") == []


def test_prints_as_in_pyflink() -> None:
    configuration = Configuration().set_string("k1", "v1").set_integer("k2", 1).set_boolean("k3", True)
    assert str(configuration) == "{k1=v1, k2=1, k3=true}"


@pytest.mark.parametrize(
    ("setter", "value", "message"),
    [
        ("set_parallelism", 0, "parallelism must be a whole number of at least 1, got 0"),
        ("set_max_parallelism", 32769, "from 1 to 32768, got 32769"),
        ("set_auto_watermark_interval", -1, "auto watermark interval must be 0 or more"),
        ("set_global_job_parameters", "x", "a dict of strings, got str"),
    ],
)
def test_wrong_execution_settings_are_refused(setter: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        getattr(ExecutionConfig(), setter)(value)


@pytest.mark.filterwarnings("ignore:.* has no effect")
def test_execution_settings() -> None:
    config = ExecutionConfig().set_parallelism(3).set_global_job_parameters({"a": 1}).disable_generic_types()
    assert config.get_parallelism() == 3 and config.has_generic_types_disabled()
    assert config.get_global_job_parameters() == {"a": "1"}
    same = ExecutionConfig().set_parallelism(3).set_global_job_parameters({"a": "1"}).disable_generic_types()
    assert config == same and hash(config) == hash(same)
    assert config != same.enable_force_avro()
