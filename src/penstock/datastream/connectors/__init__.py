"""Connectors under PyFlink's paths; the sources and sinks themselves are in `penstock.connectors`."""

from typing import TYPE_CHECKING

from penstock.connectors.discarding_sink import DiscardingSink
from penstock.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["DeliveryGuarantee", "DiscardingSink", "Sink", "Source"]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
