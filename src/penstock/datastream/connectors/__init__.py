"""Connectors under PyFlink's paths; the sources and sinks themselves are in `penstock.connectors`."""

from penstock.connectors.discarding_sink import DiscardingSink
from penstock.datastream.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "DiscardingSink", "Sink", "Source"]
