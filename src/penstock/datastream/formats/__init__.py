"""File formats under PyFlink's paths; reading is Spark's, writing is in `penstock.connectors`."""
