"""Topics in Spark through PySpark, without jars: `format("strandline")` (SPEC D1, docs/spark.md).

Spark finds `pyspark_strandline` by its name, and in it `data_source.StrandlineDataSource`. What a user asks for is read
by `source_options` and `sink_options`. On the driver, `topic_offsets` asks the cluster, `rate_limits` and
`range_planning` decide what a batch holds and who reads it; in the workers `partition_reader` fetches, `record_writer`
produces.
"""
