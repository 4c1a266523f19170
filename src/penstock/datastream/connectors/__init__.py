"""Connectors under PyFlink's paths; the sources and sinks themselves are in `penstock.connectors`."""

from penstock.datastream.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
